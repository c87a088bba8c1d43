//===- PartitionProgram.cpp - every op on blocks --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/RoundedParts.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/BlockPartitioner.h"
#include "lib/Partition/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::partition {

#define GEN_PASS_DEF_PARTITIONPROGRAM
#include "lib/Partition/Passes.h.inc"

using nd::TensorType;

/// The wanted shardings of the arguments (or results) of a function. Fails,
/// with an error on the function, if one is missing.
static LogicalResult
collectShardings(func::FuncOp function, bool ofResults,
                 llvm::SmallVectorImpl<TensorType> &shardings) {
  unsigned count =
      ofResults ? function.getNumResults() : function.getNumArguments();
  for (unsigned index = 0; index < count; ++index) {
    auto tensor = ofResults ? nd::TensorAttributes::ofResult(function, index)
                            : nd::TensorAttributes::ofArgument(function, index);
    shardings.push_back(getSharding(tensor.getSharding()));
    if (!shardings.back())
      return function.emitError()
             << (ofResults ? "result " : "argument ") << index
             << " lacks a required sharding; run the layout phase first";
  }
  return success();
}

/// Removes the attributes of arguments and results; types carry the shardings
/// now. Set them together: each individual update rebuilds the whole list.
static void dropShardings(func::FuncOp function) {
  llvm::SmallVector<DictionaryAttr> attributes;
  auto drop = [&] {
    for (DictionaryAttr &each : attributes) {
      NamedAttrList list(each);
      nd::removeSharding(list);
      each = list.getDictionary(function.getContext());
    }
  };
  function.getAllArgAttrs(attributes);
  drop();
  function.setAllArgAttrs(attributes);
  attributes.clear();
  function.getAllResultAttrs(attributes);
  drop();
  function.setAllResultAttrs(attributes);
}

static LogicalResult partition(func::FuncOp function,
                               spmd::ReshardPlanner &planner,
                               MoveLimit &limit) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("a function must have one block");
  llvm::SmallVector<TensorType> arguments, results;
  if (failed(collectShardings(function, /*ofResults=*/false, arguments)) ||
      failed(collectShardings(function, /*ofResults=*/true, results)))
    return failure();
  Block *old = &function.getBody().front();
  Block *block = new Block();
  function.getBody().push_back(block);
  BlockPartitioner partitioner(*old, *block, planner,
                               nd::MeshAttr::of(function), limit);
  for (auto [argument, type] : llvm::zip(old->getArguments(), arguments))
    partitioner.addArgument(argument, type);
  partitioner.setEnds(results);
  if (failed(partitioner.run()))
    return failure();
  partitioner.dropUnusedCopies();
  // The types say it now.
  block->walk([](Operation *op) { nd::removeRoundedParts(op); });
  function.setFunctionType(
      FunctionType::get(function.getContext(), block->getArgumentTypes(),
                        block->getTerminator()->getOperandTypes()));
  dropShardings(function);
  old->dropAllReferences();
  old->erase();
  return success();
}

namespace {
struct PartitionProgram : impl::PartitionProgramBase<PartitionProgram> {
  void runOnOperation() override {
    auto planner = spmd::ReshardPlanner::of(getOperation());
    ModuleOp module = getOperation();
    // Only its blocks ask for another program.
    func::FuncOp compared = findCompared(module);
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      MoveLimit limit = readMoveLimit(module);
      if (failed(partition(function, planner, limit)))
        return signalPassFailure();
      if (function == compared)
        setRefusedShare(module, limit);
    }
  }
};
} // namespace

} // namespace meshc::partition
