//===- Contraction.cpp - products summed over named dims ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "mlir/IR/PatternMatch.h"

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Contraction.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::registerContraction() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Contraction.cpp.inc"
      >();
}

static bool contains(ArrayAttr names, StringAttr name) {
  return llvm::is_contained(names.getValue(), Attribute(name));
}

//===----------------------------------------------------------------------===//
// Types and verifier
//===----------------------------------------------------------------------===//

LogicalResult
EinsumOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  EinsumOp::Adaptor adaptor(operands, attributes, properties, regions);
  if (operands.empty())
    return emitOptionalError(location,
                             "einsum: expected at least one operand, got none");
  SmallVector<Type> product;
  if (failed(inferPointwise(location, "einsum", operands, Domain::Number,
                            product)))
    return failure();
  auto whole = cast<TensorType>(product.front());
  SmallVector<DimAttr> dims;
  for (DimAttr dim : whole.getDims())
    if (!contains(adaptor.getReduced(), dim.getName()))
      dims.push_back(dim);
  return appendTensorType(location, whole.getElementType(), dims, types);
}

LogicalResult EinsumOp::verify() {
  llvm::SmallDenseSet<Attribute> seen;
  for (auto name : getReduced().getAsRange<StringAttr>()) {
    if (!seen.insert(name).second)
      return emitOpError("names reduced dim '") << name.getValue() << "' twice";
    auto hasDim = [&](Value input) {
      return getTensorType(input).hasDim(name.getValue());
    };
    if (!llvm::any_of(getInputs(), hasDim)) {
      InFlightDiagnostic diagnostic = emitOpError("reduces over dim '")
                                      << name.getValue()
                                      << "', which no operand has";
      for (Value input : getInputs())
        diagnostic.attachNote(input.getLoc())
            << "an operand: " << input.getType();
      return diagnostic;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Reference semantics
//===----------------------------------------------------------------------===//

namespace {
/// One element of the result: the sum over the reduced dims, with the innermost
/// as a plain loop.
struct Contraction {
  ArrayRef<const HostTensor *> operands;
  SmallVector<SmallVector<int64_t>> resultStrides; ///< along the result's dims
  SmallVector<int64_t> reducedSizes;               ///< all but the innermost
  SmallVector<SmallVector<int64_t>> reducedStrides;
  int64_t innerSize = 1;
  SmallVector<int64_t> innerStrides;

  /// Number: double, or uint32_t for i32, which wraps.
  template <typename Number> Number sum(ArrayRef<int64_t> start) const {
    Number total = 0;
    forEachIndex(reducedSizes, reducedStrides,
                 [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
                   for (int64_t k = 0; k < innerSize; ++k) {
                     Number product = 1;
                     for (size_t i = 0; i < operands.size(); ++i)
                       product *= convert<Number>(
                           operands[i]->data[start[i] + offsets[i] +
                                             k * innerStrides[i]]);
                     total += product;
                   }
                 });
    return total;
  }

private:
  template <typename Number> static Number convert(double value) {
    if constexpr (std::is_integral_v<Number>)
      return static_cast<Number>(static_cast<int64_t>(value));
    else
      return value;
  }
};
} // namespace

SmallVector<HostTensor>
EinsumOp::evaluate(ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context) {
  SmallVector<HostTensor> results;
  HostTensor &result = results.emplace_back(context.makeTensor(getType()));
  Contraction contraction;
  contraction.operands = operands;
  contraction.reducedStrides.resize(operands.size());
  for (const HostTensor *operand : operands)
    contraction.resultStrides.push_back(operand->getStridesAlong(result.type));
  for (auto name : getReduced().getAsRange<StringAttr>()) {
    for (auto [i, operand] : llvm::enumerate(operands)) {
      int64_t position = operand->type.getDimIndex(name.getValue());
      contraction.reducedStrides[i].push_back(
          operand->getStrideOf(name.getValue()));
      if (position >= 0)
        contraction.innerSize =
            context.getCount(operand->type, name.getValue());
    }
    contraction.reducedSizes.push_back(contraction.innerSize);
  }
  bool reduces = !contraction.reducedSizes.empty();
  contraction.innerSize = reduces ? contraction.reducedSizes.pop_back_val() : 1;
  for (auto &strides : contraction.reducedStrides)
    contraction.innerStrides.push_back(reduces ? strides.pop_back_val() : 0);

  Type elementType = getType().getElementType();
  int64_t position = 0;
  forEachIndex(result.sizes, contraction.resultStrides,
               [&](ArrayRef<int64_t>, ArrayRef<int64_t> start) {
                 double total = isa<FloatType>(elementType)
                                    ? contraction.sum<double>(start)
                                    : static_cast<int32_t>(
                                          contraction.sum<uint32_t>(start));
                 result.data[position++] = context.round(total, elementType);
               });
  return results;
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

// Of operand i: the gradient of the result times all other operands, summed
// over all dims that operand i has not; the same along those that it alone has.
LogicalResult EinsumOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGrads,
                                      SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !getType().isFloat())
    return success();
  ValueBuilder build(builder, getLoc());
  for (unsigned i = 0; i < getInputs().size(); ++i) {
    TensorType type = getTensorType(getInputs()[i]);
    SmallVector<Value> factors = {resultGrads[0]};
    for (unsigned j = 0; j < getInputs().size(); ++j)
      if (j != i)
        factors.push_back(getInputs()[j]);
    SmallVector<Attribute> reduced;
    for (Value factor : factors)
      for (DimAttr dim : getTensorType(factor).getDims())
        if (!type.hasDim(dim.getName().getValue()) &&
            !llvm::is_contained(reduced, Attribute(dim.getName())))
          reduced.push_back(dim.getName());
    Value grad = factors.front();
    if (factors.size() > 1 || !reduced.empty())
      grad = build.make<EinsumOp>(factors, builder.getArrayAttr(reduced));
    operandGrads[i] = build.broadcastTo(grad, type);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Partition rule and cost
//===----------------------------------------------------------------------===//

PartitionRule EinsumOp::getPartitionRule() {
  return getPointwiseRule(*this, Linear::Each);
}

// All factors multiplied at every point; the kernels may need less by summing
// pair by pair.
OpCost EinsumOp::getCost() {
  MeshAttr mesh = MeshAttr::of(*this);
  double points = getType().getLocalElementCount(mesh);
  for (auto name : getReduced().getAsRange<StringAttr>())
    for (Value input : getInputs()) {
      TensorType type = getTensorType(input);
      int64_t position = type.getDimIndex(name.getValue());
      if (position < 0)
        continue;
      points *= type.getLocalSize(position, mesh);
      break;
    }
  OpCost cost;
  double additions = getReduced().empty() ? 0 : 1;
  cost.flops = points * (getInputs().size() - 1 + additions);
  cost.bytes = getTrafficBytes(*this);
  return cost;
}

//===----------------------------------------------------------------------===//
// Canonicalization
//===----------------------------------------------------------------------===//

namespace {
/// One operand: itself, or a reduction. Nothing reduced: plain products, which
/// fuse with their surroundings; short floats round after each.
struct SimplifyEinsum : OpRewritePattern<EinsumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(EinsumOp op,
                                PatternRewriter &rewriter) const override {
    ValueRange inputs = op.getInputs();
    auto isWhole = [](Value value) {
      return !getTensorType(value).isDistributed();
    };
    if (!isWhole(op.getResult()) || !llvm::all_of(inputs, isWhole))
      return failure();
    if (inputs.size() == 1 && !op.getReduced().empty()) {
      rewriter.replaceOpWithNewOp<ReduceSumOp>(op, inputs[0], op.getReduced());
      return success();
    }
    if (!op.getReduced().empty() ||
        (op.getType().isShortFloat() && inputs.size() > 2))
      return failure();
    Value product = inputs[0];
    for (Value input : inputs.drop_front())
      product = MulOp::create(rewriter, op.getLoc(), product, input);
    rewriter.replaceOp(op, product);
    return success();
  }
};
} // namespace

void EinsumOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<SimplifyEinsum>(context);
}

} // namespace meshc::nd
