//===- EpiloguePatterns.cpp - fusions that a product's call can do --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/EpiloguePatterns.h"
#include "dialects/Exec/Alignment.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace meshc::exec {

static std::optional<unsigned> getArgument(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber();
  return std::nullopt;
}

static bool isZero(Value value) {
  auto constant = value.getDefiningOp<nd::ConstantOp>();
  auto number =
      constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return number && number.getValue().isZero();
}

namespace {
/// Finds out what one body is.
class Recognizer {
public:
  explicit Recognizer(Value result)
      : result(result), type(nd::getTensorType(result)) {}

  std::optional<EpiloguePattern> run() {
    if (auto reduction = result.getDefiningOp<nd::ReduceSumOp>())
      return recognizeSum(reduction);
    if (auto pattern = recognizeActivation())
      return pattern;
    if (auto pattern = recognizeReluGradient())
      return pattern;
    return recognizeGeluGradient();
  }

private:
  /// An argument of the result's type.
  std::optional<unsigned> getWhole(Value value) const {
    return value.getType() == type ? getArgument(value) : std::nullopt;
  }
  std::optional<EpiloguePattern> recognizeSum(nd::ReduceSumOp reduction) const;
  std::optional<EpiloguePattern> recognizeActivation() const;
  std::optional<EpiloguePattern> recognizeReluGradient() const;
  std::optional<EpiloguePattern> recognizeGeluGradient() const;

  Value result;
  nd::TensorType type;
};
} // namespace

/// The row of the table with these columns; nothing if it has none.
static std::optional<EpiloguePattern>
match(EpilogueOperand operand, Activation function, EpilogueResult result,
      unsigned product, std::optional<unsigned> other = {},
      Value argument = {}) {
  const EpilogueTraits *epilogue = findEpilogue(operand, function, result);
  if (!epilogue)
    return std::nullopt;
  return EpiloguePattern{*epilogue, product, other, argument};
}

std::optional<EpiloguePattern>
Recognizer::recognizeSum(nd::ReduceSumOp reduction) const {
  auto summed = getArgument(reduction.getInput());
  if (!summed)
    return std::nullopt;
  return match(EpilogueOperand::A, Activation::Identity, EpilogueResult::Sums,
               *summed);
}

/// f(c), f(c + bias) or c + bias.
std::optional<EpiloguePattern> Recognizer::recognizeActivation() const {
  Activation function = result.getDefiningOp<nd::ReluOp>() ? Activation::Relu
                        : result.getDefiningOp<nd::GeluOp>()
                            ? Activation::Gelu
                            : Activation::Identity;
  bool isApplied = function != Activation::Identity;
  Value argument = isApplied ? result.getDefiningOp()->getOperand(0) : result;
  Value applied = isApplied ? argument : Value();
  if (argument.getType() != type)
    return std::nullopt;
  if (auto product = getWhole(argument))
    return match(EpilogueOperand::None, function, EpilogueResult::Value,
                 *product, {}, applied);
  auto sum = argument.getDefiningOp<nd::AddOp>();
  if (!sum)
    return std::nullopt;
  Value c = sum->getOperand(0), bias = sum->getOperand(1);
  if (!getWhole(c))
    std::swap(c, bias);
  auto product = getWhole(c);
  auto other = getArgument(bias);
  if (!product || !other || bias.getType() == type ||
      nd::getTensorType(bias).getElementType() != type.getElementType())
    return std::nullopt;
  return match(EpilogueOperand::Bias, function, EpilogueResult::Value, *product,
               other, applied);
}

/// select(h > 0, c, 0).
std::optional<EpiloguePattern> Recognizer::recognizeReluGradient() const {
  auto select = result.getDefiningOp<nd::SelectOp>();
  if (!select || !isZero(select->getOperand(2)))
    return std::nullopt;
  auto compare = select->getOperand(0).getDefiningOp<nd::CompareOp>();
  if (!compare || compare.getPredicate() != nd::Predicate::Gt ||
      !isZero(compare->getOperand(1)))
    return std::nullopt;
  auto product = getWhole(select->getOperand(1));
  auto other = getWhole(compare->getOperand(0));
  if (!product || !other || *product == *other)
    return std::nullopt;
  return match(EpilogueOperand::Argument, Activation::Relu,
               EpilogueResult::Gradient, *product, other);
}

namespace {
/// Compares what two values are made of, names apart.
class ExpressionComparer {
public:
  void setEqual(Value a, Value b) { known[{a, b}] = true; }

  bool areEqual(Value a, Value b) {
    auto [entry, isNew] = known.try_emplace({a, b}, false);
    if (!isNew)
      return entry->second;
    bool equal = compare(a.getDefiningOp(), b.getDefiningOp());
    return known[{a, b}] = equal;
  }

private:
  bool compare(Operation *a, Operation *b) {
    // What is made beside the body has the types of whole tensors.
    if (!a || !b || a->getName() != b->getName() ||
        a->getNumOperands() != b->getNumOperands() ||
        !nd::haveSameGlobalTypes(a->getResultTypes(), b->getResultTypes()))
      return false;
    if (auto constant = dyn_cast<nd::ConstantOp>(a))
      return constant.getValue() == cast<nd::ConstantOp>(b).getValue();
    auto match = [&](unsigned i, unsigned j) {
      return areEqual(a->getOperand(i), b->getOperand(j));
    };
    if (isa<nd::AddOp, nd::MulOp>(a) && match(0, 1) && match(1, 0))
      return true;
    for (unsigned i = 0; i < a->getNumOperands(); ++i)
      if (!match(i, i))
        return false;
    return true;
  }

  DenseMap<std::pair<Value, Value>, bool> known;
};
} // namespace

/// What a cast converts; the value itself if it is none.
static Value skipCast(Value value) {
  auto convert = value.getDefiningOp<nd::CastOp>();
  return convert ? convert.getInput() : value;
}

/// c · gelu'(x), as the op's own gradient says it: in 16 bits, it is computed
/// in f32 and rounded.
std::optional<EpiloguePattern> Recognizer::recognizeGeluGradient() const {
  auto multiply = skipCast(result).getDefiningOp<nd::MulOp>();
  if (!multiply)
    return std::nullopt;
  Block &body = *multiply->getBlock();
  for (Value factor : multiply->getOperands()) {
    Value c = skipCast(factor);
    auto product = getWhole(c);
    if (!product)
      continue;
    for (BlockArgument x : body.getArguments()) {
      if (x == c || x.getType() != type)
        continue;
      // Made beside the body, compared, and thrown away.
      Block scratch;
      OpBuilder builder(type.getContext());
      builder.setInsertionPointToEnd(&scratch);
      auto gelu = nd::GeluOp::create(builder, result.getLoc(), type, x);
      SmallVector<Value> gradients(1);
      bool isMade = succeeded(cast<nd::NamedOpInterface>(*gelu).buildGradient(
          builder, c, gradients));
      ExpressionComparer comparer;
      comparer.setEqual(c, c);
      comparer.setEqual(x, x);
      bool isEqual = isMade && comparer.areEqual(gradients[0], result);
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(scratch)))
        op.erase();
      if (isEqual)
        return match(EpilogueOperand::Argument, Activation::Gelu,
                     EpilogueResult::Gradient, *product, x.getArgNumber());
    }
  }
  return std::nullopt;
}

std::optional<EpiloguePattern> EpiloguePattern::of(FusionOp fusion) {
  Value result = fusion.getBody().front().getTerminator()->getOperand(0);
  if (!nd::getTensorType(result).isFloat())
    return std::nullopt;
  return Recognizer(result).run();
}

std::optional<ResultMatrix> ResultMatrix::of(nd::EinsumOp product) {
  auto shape = ProductShape::of(product);
  if (!shape || shape->sizes[6] != 1)
    return std::nullopt;
  ResultMatrix matrix;
  matrix.rows = shape->sizes[0];
  matrix.columns = shape->sizes[1];
  ProductDims dims = ProductDims::of(product);
  matrix.columnDims =
      restrictOrder(getOrder(product.getResult()).value_or(Order()),
                    shape->isSwapped ? dims.m : dims.n);
  if (matrix.rows < 2 || matrix.columns < 2 ||
      shape->sizes[5] != matrix.columns)
    return std::nullopt;
  return matrix;
}

bool canSumFactor(nd::EinsumOp product, unsigned operand) {
  auto shape = ProductShape::of(product);
  if (!shape || !ResultMatrix::of(product))
    return false;
  bool isA = (operand == 0) != shape->isSwapped;
  return isA ? shape->transA : !shape->transB;
}

} // namespace meshc::exec
