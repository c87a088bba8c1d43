//===- Cumulative.cpp - sums of all entries before each entry -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "dialects/Nd/Ops/CumulativeOps.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/ElementCopy.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Cumulative.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::registerCumulative() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Cumulative.cpp.inc"
      >();
}

/// A row of more entries is summed in blocks of about as many entries as there
/// are blocks: rows alone may be too few to keep a GPU busy.
static constexpr int64_t longRow = 1024;

//===----------------------------------------------------------------------===//
// What both ops share
//===----------------------------------------------------------------------===//

static LogicalResult inferCumulative(std::optional<Location> location,
                                     StringRef op, Value input, StringAttr dim,
                                     SmallVectorImpl<Type> &types) {
  TensorType type = getTensorType(input);
  if (!type)
    return emitOptionalError(
        location, op, ": operand must be an nd tensor, got ", input.getType());
  if (!type.hasDim(dim.getValue()))
    return reportMissingDim(location, op, dim, type);
  if (failed(checkDomain(location, op, type.getElementType(), Domain::Number)))
    return failure();
  return appendTensorType(location, type.getElementType(),
                          type.getGlobal().getDims(), types);
}

/// Walks each row once. The sum is rounded only where it is stored.
template <typename Op>
static SmallVector<HostTensor>
evaluateCumulative(Op op, const HostTensor &input, EvaluationContext context) {
  SmallVector<HostTensor> results;
  HostTensor &result = results.emplace_back(context.makeTensor(op.getType()));
  Type elementType = result.type.getElementType();
  auto add = getCombination(ReductionKind::Sum, elementType);
  int64_t along = input.type.getDimIndex(op.getDim());
  int64_t count = input.sizes[along];
  SmallVector<SmallVector<int64_t>> strides = {input.getStrides()};
  int64_t stride = strides[0][along];
  SmallVector<int64_t> rows(input.sizes);
  rows[along] = 1;
  forEachIndex(rows, strides, [&](auto, ArrayRef<int64_t> offsets) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      int64_t place =
          offsets[0] + stride * (op.getBackwards() ? count - 1 - i : i);
      double next = add(sum, input.data[place]);
      result.data[place] =
          context.round(op.getExclusive() ? sum : next, elementType);
      sum = next;
    }
  });
  return results;
}

/// An entry counts in the sums of those after it: the gradient is the same sum
/// of the result's gradient, in the other direction.
template <typename Op>
static void differentiate(OpBuilder &builder, Op op, Value gradient,
                          SmallVectorImpl<Value> &operandGrads) {
  if (gradient && op.getType().isFloat())
    operandGrads[0] = Op::create(
        builder, op.getLoc(), gradient, op.getDimAttr(), op.getExclusiveAttr(),
        op.getBackwards() ? UnitAttr() : builder.getUnitAttr());
}

/// Interface methods of the family's ops.
#define MESHC_CUMULATIVE_OP(OP)                                                \
  LogicalResult OP::inferReturnTypes(                                          \
      MLIRContext *, std::optional<Location> location, ValueRange operands,    \
      DictionaryAttr attributes, OpaqueProperties properties,                  \
      RegionRange regions, SmallVectorImpl<Type> &types) {                     \
    Adaptor adaptor(operands, attributes, properties, regions);                \
    return inferCumulative(location, getShortName<OP>(), operands[0],          \
                           adaptor.getDimAttr(), types);                       \
  }                                                                            \
  SmallVector<HostTensor> OP::evaluate(ArrayRef<const HostTensor *> operands,  \
                                       const EvaluationContext &context) {     \
    return evaluateCumulative(*this, *operands[0], context);                   \
  }                                                                            \
  LogicalResult OP::buildGradient(OpBuilder &builder,                          \
                                  ArrayRef<Value> resultGrads,                 \
                                  SmallVectorImpl<Value> &operandGrads) {      \
    differentiate(builder, *this, resultGrads[0], operandGrads);               \
    return success();                                                          \
  }                                                                            \
  PartitionRule OP::getPartitionRule() {                                       \
    PartitionRule rule = getRuleByNames(*this);                                \
    makeWhole(rule, getDim(), /*neutral=*/0);                                  \
    return makeLinear(rule);                                                   \
  }                                                                            \
  OpCost OP::getCost() { return getElementwiseCost(*this, 1); }

MESHC_CUMULATIVE_OP(CumsumOp)
MESHC_CUMULATIVE_OP(PrefixSumOp)

//===----------------------------------------------------------------------===//
// CumsumOp
//===----------------------------------------------------------------------===//

/// The number of blocks in which the dim is summed, a multiple of those of the
/// ranks. 1 if there are no blocks of several entries.
static int64_t getBlockCount(CumsumOp op, int64_t size) {
  int64_t unit = getBlocksOfRanks(op, op.getDim(), size), count = unit;
  while (size > longRow && (size % count != 0 || count * count < size))
    count += unit;
  return count < size ? count : 1;
}

// The blocks keep the dim's name, so that the layout's rules for it apply to
// them.
SmallVector<Value> CumsumOp::decompose(OpBuilder &builder) {
  ValueBuilder build(builder, getLoc());
  TensorType type = getType();
  Value x = getInput();
  if (type.isFloat())
    x = build.castTo(x, builder.getF32Type());
  int64_t size = type.getSize(getDim());
  int64_t blocks = getBlockCount(*this, size);
  Value sums;
  if (blocks == 1) {
    sums = build.make<PrefixSumOp>(x, getDimAttr(), getExclusiveAttr(),
                                   getBackwardsAttr());
  } else {
    StringAttr entry = namePart(type, getDimAttr(), "entry");
    ArrayAttr parts = builder.getArrayAttr({getDimAttr(), entry});
    SmallVector<int64_t> sizes = {blocks, size / blocks};
    Value split = build.make<SplitDimOp>(x, getDimAttr(), parts, sizes);
    Value within = build.make<PrefixSumOp>(split, entry, getExclusiveAttr(),
                                           getBackwardsAttr());
    Value totals =
        build.make<ReduceSumOp>(split, builder.getArrayAttr({entry}));
    Value before = build.make<PrefixSumOp>(
        totals, getDimAttr(), builder.getUnitAttr(), getBackwardsAttr());
    sums = build.make<MergeDimsOp>(build.make<AddOp>(within, before), parts,
                                   getDimAttr());
  }
  return {build.castTo(sums, type.getElementType())};
}

} // namespace meshc::nd
