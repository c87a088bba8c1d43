//===- Blocks.cpp - from a whole tensor to blocks of ranks and back -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Blocks.h"
#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "dialects/Spmd/VirtualRanks.h"
#include <cmath>

using namespace mlir;
using meshc::nd::EvaluationContext;
using meshc::nd::HostTensor;

namespace meshc::reference {

/// Where the block of the rank with the context's coordinates begins.
static SmallVector<int64_t> getBlockStart(const EvaluationContext &context,
                                          nd::TensorType type) {
  return llvm::map_to_vector(type.getDims(), [&](nd::DimAttr dim) {
    return context.getOffset(type, dim.getName().getValue());
  });
}

RankTensors cutTensor(const HostTensor &whole, nd::TensorType type,
                      nd::MeshAttr mesh) {
  RankTensors blocks;
  EvaluationContext context;
  context.mesh = mesh;
  SmallVector<int64_t> origin(type.getRank(), 0);
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    context.coordinates = mesh.getCoordinates(rank);
    HostTensor block = context.makeTensor(type);
    if (spmd::getPositionInGroup(rank, type.getPartialAxes(), mesh) == 0)
      spmd::copyBox(whole, getBlockStart(context, type), block, origin,
                    context.getCounts(type));
    else
      std::fill(block.data.begin(), block.data.end(),
                nd::getIdentity(type.getPartialKind(), type.getElementType()));
    context.spoilPadding(block);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

/// The block of `rank`, combined over the axes that the type is partial over.
static HostTensor combineBlock(const RankTensors &blocks, nd::TensorType type,
                               nd::MeshAttr mesh, int64_t rank) {
  SmallVector<int64_t> group =
      spmd::getGroup(rank, type.getPartialAxes(), mesh);
  HostTensor combined = blocks[group.front()];
  nd::Combination combine =
      nd::getCombination(type.getPartialKind(), type.getElementType());
  for (int64_t other : llvm::drop_begin(group))
    for (auto [value, added] : llvm::zip(combined.data, blocks[other].data))
      value = combine(value, added);
  return combined;
}

FailureOr<HostTensor>
assembleTensor(const RankTensors &blocks, nd::TensorType type,
               nd::MeshAttr mesh,
               function_ref<InFlightDiagnostic()> emitError) {
  EvaluationContext context;
  context.mesh = mesh;
  HostTensor whole = context.makeTensor(type.getGlobal());
  std::vector<bool> known(whole.data.size(), false);
  SmallVector<int64_t> strides = whole.getStrides();
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    context.coordinates = mesh.getCoordinates(rank);
    HostTensor block = combineBlock(blocks, type, mesh, rank);
    int64_t start = 0;
    for (auto [first, stride] :
         llvm::zip(getBlockStart(context, type), strides))
      start += first * stride;
    bool agrees = true;
    nd::forEachIndex(context.getCounts(type), {block.getStrides(), strides},
                     [&](auto, ArrayRef<int64_t> offsets) {
                       double value = block.data[offsets[0]];
                       double &knownValue = whole.data[start + offsets[1]];
                       if (known[start + offsets[1]])
                         agrees &=
                             knownValue == value ||
                             (std::isnan(knownValue) && std::isnan(value));
                       knownValue = value;
                       known[start + offsets[1]] = true;
                     });
    if (!agrees)
      return emitError() << "rank " << rank
                         << " holds another value of the same block of " << type
                         << " than a rank before it";
  }
  return whole;
}

} // namespace meshc::reference
