//===- Reduction.cpp - one value from all along named dims ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "mlir/IR/PatternMatch.h"
#include <cmath>
#include <limits>

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Reduction.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::registerReduction() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Reduction.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Types and verifier
//===----------------------------------------------------------------------===//

/// The operand's dims without `names`, which must be distinct dims of it.
static FailureOr<SmallVector<DimAttr>>
removeDims(std::optional<Location> location, StringRef op, Value input,
           ArrayRef<StringAttr> names) {
  TensorType type = getTensorType(input);
  if (!type)
    return emitOptionalError(
        location, op, ": operand must be an nd tensor, got ", input.getType());
  if (failed(verifyDistinct(location, op, names)))
    return failure();
  for (StringAttr name : names)
    if (!type.hasDim(name.getValue()))
      return reportMissingDim(location, op, name, type);
  return llvm::to_vector(type.withoutDims(names).getDims());
}

static LogicalResult inferReduction(std::optional<Location> location,
                                    StringRef op, ValueRange operands,
                                    ArrayAttr names, Domain domain,
                                    SmallVectorImpl<Type> &types) {
  if (!names || names.empty())
    return emitOptionalError(
        location, op, ": expected at least one dim to reduce over, got none");
  FailureOr<SmallVector<DimAttr>> dims =
      removeDims(location, op, operands[0], getNames(names));
  if (failed(dims))
    return failure();
  Type elementType = getTensorType(operands[0]).getElementType();
  if (failed(checkDomain(location, op, elementType, domain)))
    return failure();
  return appendTensorType(location, elementType, *dims, types);
}

//===----------------------------------------------------------------------===//
// Reference semantics
//===----------------------------------------------------------------------===//

/// Combines the elements of `input` that exist into the elements of `result` at
/// the same place along the dims that it has.
static void accumulate(const HostTensor &input, HostTensor &result,
                       const EvaluationContext &context,
                       function_ref<double(double, double)> combine) {
  SmallVector<SmallVector<int64_t>> strides = {
      result.getStridesAlong(input.type), input.getStrides()};
  forEachIndex(context.getCounts(input.type), strides,
               [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
                 double &total = result.data[offsets[0]];
                 total = combine(total, input.data[offsets[1]]);
               });
}

namespace {
/// What is particular to a reduction: its kind and the gradient.
template <typename Op> struct Reducer;

/// The gradient shared equally by all entries that equal the result.
Value shareByTies(ValueBuilder &b, Value x, Value y, Value g) {
  Value isTied = b.compare(Predicate::Eq, x, y);
  Value one = b.scalar(g, 1.0), zero = b.scalar(g, 0.0);
  Value ties = b.sumTo(b.make<SelectOp>(isTied, one, zero), y.getType());
  return b.make<SelectOp>(isTied, b.make<DivOp>(g, ties), zero);
}

template <> struct Reducer<ReduceSumOp> {
  static constexpr ReductionKind kind = ReductionKind::Sum;
  static Value differentiate(ValueBuilder &b, ReduceSumOp op, Value g) {
    return b.broadcastTo(g, op.getInput().getType());
  }
};

template <> struct Reducer<ReduceMaxOp> {
  static constexpr ReductionKind kind = ReductionKind::Max;
  static Value differentiate(ValueBuilder &b, ReduceMaxOp op, Value g) {
    return shareByTies(b, op.getInput(), op.getResult(), g);
  }
};

template <> struct Reducer<ReduceMinOp> {
  static constexpr ReductionKind kind = ReductionKind::Min;
  static Value differentiate(ValueBuilder &b, ReduceMinOp op, Value g) {
    return shareByTies(b, op.getInput(), op.getResult(), g);
  }
};

template <> struct Reducer<ReduceProdOp> {
  static constexpr ReductionKind kind = ReductionKind::Prod;
  // The product of all other entries. With p the product of those that are not
  // zero: p / x where no entry is zero; p at the only zero; else 0.
  static Value differentiate(ValueBuilder &b, ReduceProdOp op, Value g) {
    Value x = op.getInput();
    Value zero = b.scalar(g, 0.0), one = b.scalar(g, 1.0);
    Value isZero = b.compare(Predicate::Eq, x, zero);
    Value safe = b.make<SelectOp>(isZero, one, x);
    Value p = b.make<ReduceProdOp>(safe, op.getDims());
    Value zeros = b.sumTo(b.make<SelectOp>(isZero, one, zero), p.getType());
    Value scaled = b.make<MulOp>(g, p);
    Value atZero =
        b.make<SelectOp>(b.compare(Predicate::Eq, zeros, one), scaled, zero);
    Value elsewhere =
        b.make<SelectOp>(b.compare(Predicate::Eq, zeros, zero), scaled, zero);
    return b.make<SelectOp>(isZero, atZero, b.make<DivOp>(elsewhere, safe));
  }
};
} // namespace

static SmallVector<HostTensor>
evaluateReduction(ReductionKind kind, TensorType type, const HostTensor &input,
                  const EvaluationContext &context) {
  SmallVector<HostTensor> results;
  HostTensor &result = results.emplace_back(context.makeTensor(type));
  Type elementType = type.getElementType();
  llvm::fill(result.data, getIdentity(kind, elementType));
  accumulate(input, result, context, getCombination(kind, elementType));
  for (double &value : result.data)
    value = context.round(value, elementType);
  return results;
}

/// One combination for each element of the operand.
static OpCost getReductionCost(Operation *op) {
  OpCost cost;
  cost.flops =
      getTensorType(op->getOperand(0)).getLocalElementCount(MeshAttr::of(op));
  cost.bytes = getTrafficBytes(op);
  return cost;
}

/// Interface methods of the reduction that Reducer<OP> describes.
#define MESHC_REDUCTION_OP(OP)                                                 \
  LogicalResult OP::inferReturnTypes(                                          \
      MLIRContext *, std::optional<Location> location, ValueRange operands,    \
      DictionaryAttr attributes, OpaqueProperties properties,                  \
      RegionRange regions, SmallVectorImpl<Type> &types) {                     \
    Adaptor adaptor(operands, attributes, properties, regions);                \
    return inferReduction(location, getShortName<OP>(), operands,              \
                          adaptor.getDims(), Domain::Number, types);           \
  }                                                                            \
  SmallVector<HostTensor> OP::evaluate(ArrayRef<const HostTensor *> operands,  \
                                       const EvaluationContext &context) {     \
    return evaluateReduction(Reducer<OP>::kind, getType(), *operands[0],       \
                             context);                                         \
  }                                                                            \
  LogicalResult OP::buildGradient(OpBuilder &builder,                          \
                                  ArrayRef<Value> resultGrads,                 \
                                  SmallVectorImpl<Value> &operandGrads) {      \
    ValueBuilder build(builder, getLoc());                                     \
    if (resultGrads[0] && getType().isFloat())                                 \
      operandGrads[0] =                                                        \
          Reducer<OP>::differentiate(build, *this, resultGrads[0]);            \
    return success();                                                          \
  }                                                                            \
  PartitionRule OP::getPartitionRule() {                                       \
    PartitionRule rule = getRuleByNames(*this);                                \
    for (Factor &factor : rule.factors)                                        \
      factor.reduction = Reducer<OP>::kind;                                    \
    if (Reducer<OP>::kind == ReductionKind::Sum)                               \
      rule.linearOperands.push_back(0);                                        \
    return rule;                                                               \
  }                                                                            \
  OpCost OP::getCost() { return getReductionCost(*this); }                     \
  SmallVector<StringAttr> OP::getReducedDims() {                               \
    return llvm::to_vector(getDims().getAsRange<StringAttr>());                \
  }                                                                            \
  ReductionKind OP::getReductionKind() { return Reducer<OP>::kind; }

MESHC_REDUCTION_OP(ReduceSumOp)
MESHC_REDUCTION_OP(ReduceMaxOp)
MESHC_REDUCTION_OP(ReduceMinOp)
MESHC_REDUCTION_OP(ReduceProdOp)

//===----------------------------------------------------------------------===//
// Canonicalization of reduce_sum
//===----------------------------------------------------------------------===//

namespace {
/// The sum of a sum is one sum. The sum of a product that is larger than both
/// of its factors is an einsum, which needs no such product. Short floats
/// round in between.
struct MergeIntoSum : OpRewritePattern<ReduceSumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceSumOp op,
                                PatternRewriter &rewriter) const override {
    TensorType type = op.getInput().getType();
    Operation *source = op.getInput().getDefiningOp();
    if (!source || !source->hasOneUse() || type.isShortFloat() ||
        type.isDistributed() || op.getType().isDistributed())
      return failure();
    if (auto inner = dyn_cast<ReduceSumOp>(source);
        inner && !inner.getInput().getType().isDistributed()) {
      SmallVector<Attribute> dims(op.getDims().getValue());
      llvm::append_range(dims, inner.getDims().getValue());
      rewriter.replaceOpWithNewOp<ReduceSumOp>(op, inner.getInput(),
                                               rewriter.getArrayAttr(dims));
      return success();
    }
    auto product = dyn_cast<MulOp>(source);
    if (!product || product.getLhs().getType().getRank() == type.getRank() ||
        product.getRhs().getType().getRank() == type.getRank())
      return failure();
    rewriter.replaceOpWithNewOp<EinsumOp>(
        op, ValueRange{product.getLhs(), product.getRhs()}, op.getDims());
    return success();
  }
};
} // namespace

void ReduceSumOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<MergeIntoSum>(context);
}

//===----------------------------------------------------------------------===//
// ReduceMeanOp
//===----------------------------------------------------------------------===//

LogicalResult
ReduceMeanOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                               ValueRange operands, DictionaryAttr attributes,
                               OpaqueProperties properties, RegionRange regions,
                               SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferReduction(location, getShortName<ReduceMeanOp>(), operands,
                        adaptor.getDims(), Domain::Float, types);
}

/// One over the global number of entries that become one.
static double getMeanFactor(ReduceMeanOp op) {
  double count = 1;
  for (auto name : op.getDims().getAsRange<StringAttr>())
    count *= op.getInput().getType().getSize(name.getValue());
  return 1 / count;
}

SmallVector<HostTensor>
ReduceMeanOp::evaluate(ArrayRef<const HostTensor *> operands,
                       const EvaluationContext &context) {
  SmallVector<HostTensor> results;
  HostTensor &result = results.emplace_back(context.makeTensor(getType()));
  accumulate(*operands[0], result, context,
             getCombination(ReductionKind::Sum, getType().getElementType()));
  double factor = getMeanFactor(*this);
  for (double &value : result.data)
    value = context.round(value * factor, getType().getElementType());
  return results;
}

LogicalResult
ReduceMeanOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGrads,
                            SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0])
    return success();
  ValueBuilder build(builder, getLoc());
  Value factor = build.scalar(resultGrads[0], getMeanFactor(*this));
  operandGrads[0] = build.broadcastTo(build.make<MulOp>(resultGrads[0], factor),
                                      getInput().getType());
  return success();
}

PartitionRule ReduceMeanOp::getPartitionRule() {
  return getPointwiseRule(*this, Linear::First);
}

OpCost ReduceMeanOp::getCost() { return getReductionCost(*this); }

// In f32: the sum of many f16 may overflow before it is divided.
SmallVector<Value> ReduceMeanOp::decompose(OpBuilder &builder) {
  ValueBuilder build(builder, getLoc());
  Value x = build.castTo(getInput(), builder.getF32Type());
  Value sum = build.make<ReduceSumOp>(x, getDims());
  Value mean = build.make<MulOp>(sum, build.scalar(sum, getMeanFactor(*this)));
  return {build.castTo(mean, getType().getElementType())};
}

//===----------------------------------------------------------------------===//
// ArgmaxOp
//===----------------------------------------------------------------------===//

LogicalResult ArgmaxOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  FailureOr<SmallVector<DimAttr>> dims = removeDims(
      location, getShortName<ArgmaxOp>(), operands[0], {adaptor.getDimAttr()});
  if (failed(dims) ||
      failed(
          checkNumbered(location, getShortName<ArgmaxOp>(),
                        getTensorType(operands[0]).getDim(adaptor.getDim()))) ||
      failed(checkDomain(location, getShortName<ArgmaxOp>(),
                         getTensorType(operands[0]).getElementType(),
                         Domain::Number)))
    return failure();
  return appendTensorType(location, IntegerType::get(context, 32), *dims,
                          types);
}

// As `decompose`: the least index whose entry is not less than the largest.
SmallVector<HostTensor>
ArgmaxOp::evaluate(ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context) {
  const HostTensor &input = *operands[0];
  SmallVector<HostTensor> results;
  HostTensor &result = results.emplace_back(context.makeTensor(getType()));
  SmallVector<SmallVector<int64_t>> strides = {
      input.getStridesAlong(result.type)};
  int64_t count = input.sizes[input.type.getDimIndex(getDim())];
  int64_t stride = input.getStrideOf(getDim()), position = 0;
  forEachIndex(result.sizes, strides,
               [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
                 const double *row = &input.data[offsets[0]];
                 int64_t best = 0;
                 bool hasNaN = false;
                 for (int64_t i = 0; i < count; ++i) {
                   hasNaN |= std::isnan(row[i * stride]);
                   if (row[i * stride] > row[best * stride])
                     best = i;
                 }
                 result.data[position++] = hasNaN ? 0 : best;
               });
  return results;
}

LogicalResult ArgmaxOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                      SmallVectorImpl<Value> &) {
  return success();
}

PartitionRule ArgmaxOp::getPartitionRule() {
  return getRuleByNames(*this, getDim());
}

OpCost ArgmaxOp::getCost() { return getReductionCost(*this); }

// `x < largest` rather than `x == largest`: with a NaN in the row it is false
// everywhere, which gives index 0 and not one out of range.
SmallVector<Value> ArgmaxOp::decompose(OpBuilder &builder) {
  ValueBuilder build(builder, getLoc());
  Type i32 = builder.getI32Type();
  DimAttr dim = getInput().getType().getDim(getDim());
  ArrayAttr dims = builder.getArrayAttr({getDimAttr()});
  Value largest = build.make<ReduceMaxOp>(getInput(), dims);
  Value isLess = build.compare(Predicate::Lt, getInput(), largest);
  constexpr double largestI32 = std::numeric_limits<int32_t>::max();
  Value index = build.make<IotaOp>(TensorType::get(i32, {dim}));
  Value candidates =
      build.make<SelectOp>(isLess, build.scalar(i32, largestI32), index);
  return {build.make<ReduceMinOp>(candidates, dims)};
}

} // namespace meshc::nd
