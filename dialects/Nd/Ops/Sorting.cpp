//===- Sorting.cpp - the order of entries along a dim ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SortingOps.h"
#include "dialects/Nd/Ops/SourceOps.h"

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Sorting.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::registerSorting() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Sorting.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// What both ops share
//===----------------------------------------------------------------------===//

/// `keepsDim`: the result's dim may have the name of the operand's.
template <typename Adaptor>
static LogicalResult inferSorting(std::optional<Location> location,
                                  StringRef op, Adaptor adaptor, bool keepsDim,
                                  SmallVectorImpl<Type> &types) {
  TensorType type = getTensorType(adaptor.getInput());
  StringAttr dim = adaptor.getDimAttr(), into = adaptor.getIntoAttr();
  if (!type)
    return emitOptionalError(location, op,
                             ": operand must be an nd tensor, got ",
                             adaptor.getInput().getType());
  if (!type.hasDim(dim.getValue()))
    return reportMissingDim(location, op, dim, type);
  if ((into != dim || !keepsDim) && type.hasDim(into.getValue()))
    return reportTakenDim(location, op, into);
  if (failed(checkNumbered(location, op, type.getDim(dim.getValue()))) ||
      failed(checkDomain(location, op, type.getElementType(), Domain::Number)))
    return failure();
  auto count = static_cast<int64_t>(adaptor.getCount());
  int64_t size = type.getSize(dim.getValue());
  if (count < 1 || count > size)
    return emitOptionalError(location, op, ": expected 1 to ", size,
                             " entries of dim '", dim.getValue(), "', got ",
                             count);
  SmallVector<DimAttr> dims(type.withoutDims(dim).getGlobal().getDims());
  dims.push_back(DimAttr::get(dim.getContext(), into.getValue(), count));
  return appendTensorType(location, IntegerType::get(dim.getContext(), 32),
                          dims, types);
}

/// Whether `a` comes before `b` by their values alone.
static bool isBefore(double a, double b, bool descending) {
  if (descending)
    std::swap(a, b);
  return a < b || (std::isnan(b) && !std::isnan(a));
}

template <typename Op>
static SmallVector<HostTensor>
evaluateSorting(Op op, const HostTensor &input, bool descending,
                const EvaluationContext &context) {
  SmallVector<HostTensor> results;
  HostTensor &result = results.emplace_back(context.makeTensor(op.getType()));
  int64_t along = input.type.getDimIndex(op.getDim());
  int64_t count = result.sizes[result.type.getDimIndex(op.getInto())];
  int64_t resultStride = result.getStrideOf(op.getInto());
  SmallVector<SmallVector<int64_t>> strides = {
      input.getStrides(), result.getStridesAlong(input.type)};
  int64_t stride = strides[0][along];
  SmallVector<int64_t> rows(input.sizes);
  rows[along] = 1;
  std::vector<int64_t> order(input.sizes[along]);
  forEachIndex(rows, strides, [&](auto, ArrayRef<int64_t> offsets) {
    const double *row = &input.data[offsets[0]];
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](int64_t a, int64_t b) {
      double left = row[a * stride], right = row[b * stride];
      return isBefore(left, right, descending) ||
             (a < b && !isBefore(right, left, descending));
    });
    for (int64_t i = 0; i < count; ++i)
      result.data[offsets[1] + i * resultStride] =
          static_cast<double>(order[i]);
  });
  return results;
}

/// An element that comes behind all others of lower index.
static double getLastInOrder(ArgsortOp op, Type elementType) {
  if (op.getDescending())
    return getIdentity(ReductionKind::Max, elementType);
  return isa<FloatType>(elementType)
             ? std::numeric_limits<double>::quiet_NaN()
             : getIdentity(ReductionKind::Min, elementType);
}

/// The same of the largest entries, the first of which come first.
static double getLastInOrder(TopKOp, Type elementType) {
  return getIdentity(ReductionKind::Max, elementType);
}

template <typename Op> static PartitionRule getSortingRule(Op op) {
  PartitionRule rule = getRuleByNames(op, op.getDim());
  std::optional<double> neutral;
  if (op.getDim() == op.getInto())
    neutral = getLastInOrder(op, op.getInput().getType().getElementType());
  makeWhole(rule, op.getInto(), neutral);
  return rule;
}

/// The steps of a heap, in operations that other kernels do in the same time.
/// A step computes on single numbers, and waits for its entry and for a branch:
/// 7 ns on a core (Zen 4). The price of a choice of shardings is a byte for two
/// operations, which takes 0.1 to 0.2 ns over the links of such a machine.
template <typename Op> static OpCost getSortingCost(Op op) {
  constexpr double operationsOfStep = 128;
  OpCost cost;
  SortWork work = SortWork::of(op, op.getDimAttr(), op.getIntoAttr());
  cost.flops = operationsOfStep * work.rows * work.getHeapSteps();
  cost.bytes = getTrafficBytes(op);
  return cost;
}

/// Interface methods of the family's ops.
#define MESHC_SORTING_OP(OP, KEEPS_DIM, DESCENDING)                            \
  LogicalResult OP::inferReturnTypes(                                          \
      MLIRContext *, std::optional<Location> location, ValueRange operands,    \
      DictionaryAttr attributes, OpaqueProperties properties,                  \
      RegionRange regions, SmallVectorImpl<Type> &types) {                     \
    return inferSorting(location, getShortName<OP>(),                          \
                        Adaptor(operands, attributes, properties, regions),    \
                        KEEPS_DIM, types);                                     \
  }                                                                            \
  SmallVector<HostTensor> OP::evaluate(ArrayRef<const HostTensor *> operands,  \
                                       const EvaluationContext &context) {     \
    return evaluateSorting(*this, *operands[0], DESCENDING, context);          \
  }                                                                            \
  LogicalResult OP::buildGradient(OpBuilder &, ArrayRef<Value>,                \
                                  SmallVectorImpl<Value> &) {                  \
    return success();                                                          \
  }                                                                            \
  PartitionRule OP::getPartitionRule() { return getSortingRule(*this); }       \
  OpCost OP::getCost() { return getSortingCost(*this); }

MESHC_SORTING_OP(ArgsortOp, true, getDescending())
MESHC_SORTING_OP(TopKOp, false, true)

//===----------------------------------------------------------------------===//
// TopKOp
//===----------------------------------------------------------------------===//

/// The number of blocks of the dim. Each rank has one and chooses `count`
/// entries of it. 1 if a block has no more than `count` entries.
static int64_t getBlockCount(TopKOp op) {
  int64_t size = op.getInput().getType().getSize(op.getDim());
  int64_t blocks = getBlocksOfRanks(op, op.getDim(), size);
  auto count = static_cast<int64_t>(op.getCount());
  return size / blocks > count ? blocks : 1;
}

// Blocks keep the dim's name, so that the layout's rules for it apply to them.
// What is chosen of all blocks is in the order of indices among equals, so the
// second choice keeps the first index, too.
SmallVector<Value> TopKOp::decompose(OpBuilder &builder) {
  ValueBuilder build(builder, getLoc());
  TensorType type = getInput().getType();
  UnitAttr descending = builder.getUnitAttr();
  auto choose = [&](Value from, StringAttr dim, StringAttr into) {
    return build.make<ArgsortOp>(from, dim, into, getCountAttr(), descending);
  };
  int64_t size = type.getSize(getDim()), blocks = getBlockCount(*this);
  if (blocks == 1)
    return {choose(getInput(), getDimAttr(), getIntoAttr())};
  StringAttr entry = namePart(type, getDimAttr(), "entry");
  StringAttr chosen = namePart(type, getDimAttr(), "chosen");
  Value split = build.make<SplitDimOp>(
      getInput(), getDimAttr(), builder.getArrayAttr({getDimAttr(), entry}),
      SmallVector<int64_t>{blocks, size / blocks});
  Value within = choose(split, entry, chosen);
  Value values = build.make<GatherOp>(split, within, entry);
  Type i32 = builder.getI32Type();
  Value block = build.make<IotaOp>(
      TensorType::get(i32, DimAttr::get(getContext(), getDim(), blocks)));
  Value first = build.make<MulOp>(
      block, build.scalar(i32, static_cast<double>(size / blocks)));
  Value indices = build.make<AddOp>(within, first);
  ArrayAttr parts = builder.getArrayAttr({getDimAttr(), chosen});
  auto merge = [&](Value value) {
    return build.make<MergeDimsOp>(value, parts, getDimAttr());
  };
  Value places = choose(merge(values), getDimAttr(), getIntoAttr());
  return {build.make<GatherOp>(merge(indices), places, getDim())};
}

} // namespace meshc::nd
