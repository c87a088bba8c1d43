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
#include "dialects/Nd/RoundedParts.h"
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

// Parts of a sum of 16 bits may be f32.
bool EinsumOp::isCompatibleReturnTypes(TypeRange a, TypeRange b) {
  auto inferred = dyn_cast<TensorType>(a.front()),
       actual = dyn_cast<TensorType>(b.front());
  if (inferred && actual && inferred.isShortFloat() && actual.isPartial() &&
      actual.getElementType().isF32())
    return haveSameGlobalType(inferred.withElementType(actual.getElementType()),
                              actual);
  return haveSameGlobalTypes(a, b);
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
/// Sums of products, one row of the result at a time: the entries along one of
/// its dims. All entries of a row are added up together, so that the innermost
/// loop has no sum that waits for the one before. Each entry is summed in the
/// order of the reduced dims.
class Contraction {
public:
  Contraction(EinsumOp op, ArrayRef<const HostTensor *> operands,
              const HostTensor &result, const EvaluationContext &context);

  /// Computes all entries. Number: double, or uint32_t for i32, which wraps.
  template <typename Number> void run(HostTensor &result) const;

private:
  /// The inner loops: adds the products of the innermost reduced dim to a row.
  /// `starts`: of each operand, the offset of the row's first factor.
  template <typename Number>
  void addProducts(ArrayRef<int64_t> starts, MutableArrayRef<Number> row) const;
  template <typename Number>
  void addProduct(ArrayRef<const double *> factors,
                  MutableArrayRef<Number> row) const;

  template <typename Number> static Number convert(double value) {
    if constexpr (std::is_integral_v<Number>)
      return static_cast<Number>(static_cast<int64_t>(value));
    else
      return value;
  }

  const EvaluationContext &context;
  ArrayRef<const HostTensor *> operands;
  /// Of the dims of the result but the row's: sizes, and the strides of each
  /// operand and, last, of the result.
  SmallVector<int64_t> outerSizes;
  SmallVector<SmallVector<int64_t>> outerStrides;
  int64_t rowSize = 1;
  SmallVector<int64_t> rowStrides;   ///< of each operand and, last, the result
  SmallVector<int64_t> reducedSizes; ///< all but the innermost
  SmallVector<SmallVector<int64_t>> reducedStrides;
  int64_t innerSize = 1;
  SmallVector<int64_t> innerStrides; ///< of each operand
};
} // namespace

Contraction::Contraction(EinsumOp op, ArrayRef<const HostTensor *> operands,
                         const HostTensor &result,
                         const EvaluationContext &context)
    : context(context), operands(operands), outerSizes(result.sizes) {
  for (const HostTensor *operand : operands)
    outerStrides.push_back(operand->getStridesAlong(result.type));
  outerStrides.push_back(result.getStrides());
  rowStrides.resize(outerStrides.size());
  if (!outerSizes.empty()) { // a row lies along the longest dim
    auto *longest = llvm::max_element(outerSizes);
    auto dim = longest - outerSizes.begin();
    rowSize = *longest;
    outerSizes.erase(longest);
    for (auto [stride, strides] : llvm::zip(rowStrides, outerStrides)) {
      stride = strides[dim];
      strides.erase(strides.begin() + dim);
    }
  }
  reducedStrides.resize(operands.size());
  for (auto name : op.getReduced().getAsRange<StringAttr>()) {
    for (auto [operand, strides] : llvm::zip(operands, reducedStrides)) {
      strides.push_back(operand->getStrideOf(name.getValue()));
      if (operand->type.hasDim(name.getValue()))
        innerSize = context.getCount(operand->type, name.getValue());
    }
    reducedSizes.push_back(innerSize);
  }
  bool reduces = !reducedSizes.empty();
  innerSize = reduces ? reducedSizes.pop_back_val() : 1;
  for (auto &strides : reducedStrides)
    innerStrides.push_back(reduces ? strides.pop_back_val() : 0);
}

template <typename Number>
void Contraction::addProduct(ArrayRef<const double *> factors,
                             MutableArrayRef<Number> row) const {
  const double *a = factors.front(), *b = factors.back();
  int64_t aStride = rowStrides[0], bStride = rowStrides[factors.size() - 1];
  auto size = static_cast<int64_t>(row.size());
  Number *sums = row.data();
  // Most have two factors, of which one or both lie along the row.
  if (factors.size() == 2 && aStride == 1 && bStride == 0)
    for (int64_t j = 0; j < size; ++j)
      sums[j] += convert<Number>(a[j]) * convert<Number>(*b);
  else if (factors.size() == 2 && aStride == 0 && bStride == 1)
    for (int64_t j = 0; j < size; ++j)
      sums[j] += convert<Number>(*a) * convert<Number>(b[j]);
  else if (factors.size() == 2)
    for (int64_t j = 0; j < size; ++j)
      sums[j] +=
          convert<Number>(a[j * aStride]) * convert<Number>(b[j * bStride]);
  else
    for (int64_t j = 0; j < size; ++j) {
      Number product = 1;
      for (size_t i = 0; i < factors.size(); ++i)
        product *= convert<Number>(factors[i][j * rowStrides[i]]);
      sums[j] += product;
    }
}

template <typename Number>
void Contraction::addProducts(ArrayRef<int64_t> starts,
                              MutableArrayRef<Number> row) const {
  SmallVector<const double *> factors;
  for (auto [operand, start] : llvm::zip(operands, starts))
    factors.push_back(operand->data.data() + start);
  for (int64_t k = 0; k < innerSize; ++k) {
    addProduct<Number>(factors, row);
    for (auto [factor, stride] : llvm::zip(factors, innerStrides))
      factor += stride;
  }
}

template <typename Number> void Contraction::run(HostTensor &result) const {
  Type elementType = result.type.getElementType();
  SmallVector<Number> row(rowSize);
  SmallVector<int64_t> starts(operands.size());
  if (rowSize == 0)
    return;
  forEachIndex(
      outerSizes, outerStrides,
      [&](ArrayRef<int64_t>, ArrayRef<int64_t> first) {
        llvm::fill(row, 0);
        forEachIndex(reducedSizes, reducedStrides,
                     [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
                       for (auto [start, a, b] :
                            llvm::zip(starts, first, offsets))
                         start = a + b;
                       addProducts<Number>(starts, row);
                     });
        double *values = result.data.data() + first.back();
        for (int64_t j = 0; j < rowSize; ++j) {
          double value;
          if constexpr (std::is_integral_v<Number>)
            value = static_cast<int32_t>(row[j]);
          else
            value = row[j];
          values[j * rowStrides.back()] = context.round(value, elementType);
        }
      });
}

SmallVector<HostTensor>
EinsumOp::evaluate(ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context) {
  SmallVector<HostTensor> results;
  HostTensor &result = results.emplace_back(context.makeTensor(getType()));
  Contraction contraction(*this, operands, result, context);
  if (getType().isFloat())
    contraction.run<double>(result);
  else
    contraction.run<uint32_t>(result);
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
      auto sum = ReduceSumOp::create(rewriter, op.getLoc(), inputs[0],
                                     op.getReduced());
      copyRoundedParts(op, sum);
      rewriter.replaceOp(op, sum);
      return success();
    }
    if (!op.getReduced().empty() ||
        (op.getType().isShortFloat() && inputs.size() > 2))
      return failure();
    Value product = inputs[0];
    for (Value input : inputs.drop_front()) {
      auto factor = MulOp::create(rewriter, op.getLoc(), product, input);
      copyRoundedParts(op, factor);
      product = factor;
    }
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
