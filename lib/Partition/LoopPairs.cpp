//===- LoopPairs.cpp - loops before and after the phase -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/LoopPairs.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

static llvm::SmallVector<nd::ScanOp> findLoops(ModuleOp module) {
  llvm::SmallVector<nd::ScanOp> loops;
  module.walk<WalkOrder::PreOrder>(
      [&](nd::ScanOp loop) { loops.push_back(loop); });
  return loops;
}

/// Whether `local`, without copies that it keeps, has the results of `loop`.
static bool hasResultsOf(nd::ScanOp loop, nd::ScanOp local) {
  unsigned count = loop->getNumResults();
  return count <= local->getNumResults() &&
         llvm::equal(loop->getResultTypes(),
                     local->getResults().take_front(count).getTypes(),
                     [](Type x, Type y) {
                       return cast<TensorType>(x).getGlobal() ==
                              cast<TensorType>(y).getGlobal();
                     });
}

llvm::SmallVector<LoopPair> findLoopPairs(ModuleOp layout,
                                          ModuleOp partitioned) {
  auto before = findLoops(layout), after = findLoops(partitioned);
  if (!llvm::equal(before, after, hasResultsOf))
    return {};
  return llvm::map_to_vector(llvm::zip(before, after), [](auto pair) {
    return LoopPair{std::get<0>(pair), std::get<1>(pair)};
  });
}

} // namespace meshc::partition
