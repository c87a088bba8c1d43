//===- WideSums.cpp - sums of 16 bits whose parts are f32 -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/WideSums.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/RoundedParts.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

static TensorType getWide(TensorType type) {
  return type.isShortFloat()
             ? type.withElementType(Float32Type::get(type.getContext()))
             : type;
}

/// Whether parts that are combined so lose digits in 16 bits.
static bool losesDigits(nd::ReductionKind kind) {
  return kind == nd::ReductionKind::Sum || kind == nd::ReductionKind::Prod;
}

TensorType widenParts(TensorType made, Operation *op, bool adds, bool isWide) {
  if (!made.isPartial() || !losesDigits(made.getPartialKind()))
    return made;
  return isWide || (adds && !nd::hasRoundedParts(op)) ? getWide(made) : made;
}

bool addsOverlaps(const nd::Factor &factor, ArrayRef<StringAttr> axes) {
  return factor.addsOverlaps() && !axes.empty();
}

llvm::SmallVector<TensorType>
getComputedTypes(Operation &op, ArrayRef<TensorType> made, bool addsOverlaps) {
  bool isWide = addsOverlaps && !nd::hasRoundedParts(&op);
  for (auto [result, type] : llvm::zip(op.getResults(), made))
    isWide |= nd::getTensorType(result).getElementType() !=
              TensorType(type).getElementType();
  llvm::SmallVector<TensorType> computed(made);
  if (isWide)
    llvm::transform(computed, computed.begin(), getWide);
  return computed;
}

/// The block in f32. A constant stays one: an op may be linear beside zeros.
static Value widen(Value block, OpBuilder &builder) {
  TensorType type = nd::getTensorType(block), wide = getWide(type);
  if (type == wide)
    return block;
  if (auto constant = block.getDefiningOp<nd::ConstantOp>())
    return nd::ConstantOp::create(
        builder, block.getLoc(), wide,
        cast<FloatAttr>(constant.getValue()).getValueAsDouble());
  return nd::CastOp::create(builder, block.getLoc(), wide, block);
}

llvm::SmallVector<TensorType> getWidened(Operation &op,
                                         ArrayRef<TensorType> computed,
                                         ArrayRef<TensorType> blocks) {
  auto isOther = [](auto pair) {
    return nd::getTensorType(std::get<0>(pair)).getElementType() !=
           TensorType(std::get<1>(pair)).getElementType();
  };
  llvm::SmallVector<TensorType> widened(blocks);
  const bool takesWide =
      llvm::any_of(llvm::zip(op.getOperands(), blocks), isOther);
  const bool makesWide =
      llvm::any_of(llvm::zip(op.getResults(), computed), isOther);
  if (takesWide || (makesWide && !isa<nd::EinsumOp>(op)))
    llvm::transform(widened, widened.begin(), getWide);
  return widened;
}

llvm::SmallVector<Value> widenBlocks(Operation &op,
                                     ArrayRef<TensorType> computed,
                                     ArrayRef<Value> blocks,
                                     OpBuilder &builder) {
  auto types = llvm::map_to_vector(
      blocks, [](Value block) { return nd::getTensorType(block); });
  llvm::SmallVector<Value> widened(blocks);
  for (auto [block, type] : llvm::zip(widened, getWidened(op, computed, types)))
    if (block.getType() != type)
      block = widen(block, builder);
  return widened;
}

} // namespace meshc::partition
