//===- MaskExamples.cpp - padding of incomplete batches -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Statistics/MaskExamples.h"
#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::steps {

namespace {

/// What an op takes in place of padding of an operand.
struct Replacement {
  unsigned operand;
  std::optional<double> neutral; ///< nothing if it is not known
  SmallVector<ExampleNumber, 1> numbers;
};

class ExampleMasks {
public:
  ExampleMasks(const ExampleDims &dims, Value count)
      : dims(dims), count(count) {}

  /// What the op must not see; only operands of which it combines entries of
  /// several examples.
  SmallVector<Replacement> getReplacements(Operation *op) const;
  void mask(Operation *op);

private:
  Value getCount(OpBuilder &builder);
  Value buildNumber(nd::ValueBuilder &build, nd::TensorType type,
                    const ExampleNumber &number, AffineExpr part);
  Value buildMask(OpBuilder &builder, Location loc, nd::TensorType type,
                  ArrayRef<ExampleNumber> numbers);
  void divideByCount(nd::ReduceMeanOp mean);

  const ExampleDims &dims;
  Value count;
};

} // namespace

/// What changes nothing in place of padding along the factor; nothing if it is
/// not known.
static std::optional<double>
getNeutral(const nd::Factor &factor, const ExampleNumber &number, Value value) {
  if (factor.effect == nd::FactorEffect::Reduce)
    return nd::getIdentity(factor.reduction,
                           nd::getTensorType(value).getElementType());
  // Elsewhere padding must stand behind the other entries.
  return number.hasModulo() ? std::nullopt : factor.neutral;
}

SmallVector<Replacement> ExampleMasks::getReplacements(Operation *op) const {
  SmallVector<Replacement> replacements;
  dims.forEachCombined(op, [&](unsigned operand, const nd::Factor &factor,
                               const ExampleNumber &number) {
    if (replacements.empty() || replacements.back().operand != operand)
      replacements.push_back({operand, {}, {}});
    Replacement &replacement = replacements.back();
    if (llvm::is_contained(replacement.numbers, number))
      return;
    replacement.numbers.push_back(number);
    replacement.neutral = getNeutral(factor, number, op->getOperand(operand));
  });
  return replacements;
}

/// The number of examples where the builder is: in a loop, an argument of its
/// body.
Value ExampleMasks::getCount(OpBuilder &builder) {
  SmallVector<nd::ScanOp> loops;
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  for (; isa<nd::ScanOp>(parent); parent = parent->getParentOp())
    loops.push_back(cast<nd::ScanOp>(parent));
  Value value = count;
  for (nd::ScanOp scan : llvm::reverse(loops))
    value = nd::getWholeArgument(scan, value);
  return value;
}

/// `part` of the number, as an i32 tensor over the dims that it depends on.
Value ExampleMasks::buildNumber(nd::ValueBuilder &build, nd::TensorType type,
                                const ExampleNumber &number, AffineExpr part) {
  Type i32 = IntegerType::get(type.getContext(), 32);
  if (auto dim = dyn_cast<AffineDimExpr>(part))
    return build.make<nd::IotaOp>(nd::TensorType::get(
        i32, type.getDim(number.dims[dim.getPosition()].getValue())));
  if (auto constant = dyn_cast<AffineConstantExpr>(part))
    return build.scalar(i32, static_cast<double>(constant.getValue()));
  auto binary = cast<AffineBinaryOpExpr>(part);
  Value lhs = buildNumber(build, type, number, binary.getLHS());
  Value rhs = buildNumber(build, type, number, binary.getRHS());
  switch (part.getKind()) {
  case AffineExprKind::Add:
    return build.make<nd::AddOp>(lhs, rhs);
  case AffineExprKind::Mul:
    return build.make<nd::MulOp>(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return build.make<nd::DivOp>(lhs, rhs);
  default: // split and merge make no others
    return build.make<nd::ModOp>(lhs, rhs);
  }
}

/// Whether entries of a tensor belong to examples of the batch: i1 over those
/// dims of `type` that say so.
Value ExampleMasks::buildMask(OpBuilder &builder, Location loc,
                              nd::TensorType type,
                              ArrayRef<ExampleNumber> numbers) {
  nd::ValueBuilder build(builder, loc);
  Value mask;
  for (const ExampleNumber &number : numbers) {
    Value isReal = build.compare(
        nd::Predicate::Lt, buildNumber(build, type, number, number.number),
        getCount(builder));
    mask = mask ? build.make<nd::AndOp>(mask, isReal) : isReal;
  }
  return mask;
}

/// sum(x) / count, in f32, where padding is 0 in the sum.
void ExampleMasks::divideByCount(nd::ReduceMeanOp mean) {
  OpBuilder builder(mean);
  Location loc = mean.getLoc();
  nd::ValueBuilder build(builder, loc);
  Type f32 = builder.getF32Type();
  Value input = build.castTo(mean.getInput(), f32);
  nd::TensorType type = nd::getTensorType(input);
  Replacement padding = getReplacements(mean).front();
  Value mask = buildMask(builder, loc, type, padding.numbers);
  Value real = build.make<nd::SelectOp>(mask, input, build.scalar(f32, 0));
  SmallVector<StringAttr> reduced = nd::getNames(mean.getDims()), counted;
  double factor = 1; // of dims that count no examples
  for (StringAttr dim : reduced)
    if (nd::getTensorType(mask).hasDim(dim.getValue()))
      counted.push_back(dim);
    else
      factor *= static_cast<double>(type.getSize(dim.getValue()));
  Value sum = build.reduce<nd::ReduceSumOp>(real, reduced);
  // All ranks know how many examples a batch has.
  Value count =
      padding.numbers.size() == 1 && padding.numbers.front().isPlain()
          ? build.castTo(getCount(builder), f32)
          : build.reduce<nd::ReduceSumOp>(build.castTo(mask, f32), counted);
  if (factor != 1)
    count = build.make<nd::MulOp>(count, build.scalar(f32, factor));
  // Its name, for messages: the model has no division there.
  Location named = NameLoc::get(builder.getStringAttr("mean"), loc);
  Value quotient = nd::ValueBuilder(builder, named).make<nd::DivOp>(sum, count);
  Value result = build.castTo(quotient, mean.getType().getElementType());
  if (Operation *maker = result.getDefiningOp())
    nd::copyName(mean, maker);
  mean.replaceAllUsesWith(result);
  mean.erase();
}

void ExampleMasks::mask(Operation *op) {
  SmallVector<Replacement> replacements = getReplacements(op);
  if (replacements.empty())
    return;
  if (auto mean = dyn_cast<nd::ReduceMeanOp>(op))
    return divideByCount(mean);
  OpBuilder builder(op);
  nd::ValueBuilder build(builder, op->getLoc());
  for (const Replacement &replacement : replacements) {
    OpOperand &operand = op->getOpOperand(replacement.operand);
    nd::TensorType type = nd::getTensorType(operand.get());
    Value mask = buildMask(builder, op->getLoc(), type, replacement.numbers);
    operand.set(build.make<nd::SelectOp>(
        mask, operand.get(),
        build.scalar(operand.get(), *replacement.neutral)));
  }
}

/// Whether the op can be computed by ops that mix fewer entries.
static bool isComposite(Operation *op) {
  return isa<nd::CompositeOpInterface, nd::FallbackOpInterface>(op);
}

static void decompose(Operation *op) {
  OpBuilder builder(op);
  auto composite = dyn_cast<nd::CompositeOpInterface>(op);
  SmallVector<Value> values =
      composite ? composite.decompose(builder)
                : cast<nd::FallbackOpInterface>(op).decompose(builder);
  for (auto [result, value] : llvm::zip(op->getResults(), values))
    if (Operation *maker = value.getDefiningOp();
        maker && !nd::TensorAttributes::of(value).getName())
      nd::copyName(op, maker);
  op->replaceAllUsesWith(values);
  op->erase();
}

Operation *maskExamples(func::FuncOp function, ArrayRef<StringAttr> counting,
                        Value count) {
  // Decompositions consist of ops that are to be looked at again.
  while (true) {
    ExampleDims dims(function, counting);
    if (dims.getObstacle())
      return dims.getObstacle();
    ExampleMasks masks(dims, count);
    SmallVector<Operation *> all, composites;
    Operation *obstacle = nullptr;
    function.walk([&](Operation *op) {
      all.push_back(op);
      if (isa<nd::ReduceMeanOp>(op))
        return;
      for (const Replacement &each : masks.getReplacements(op)) {
        if (each.neutral)
          continue;
        if (!isComposite(op))
          obstacle = obstacle ? obstacle : op;
        else if (!llvm::is_contained(composites, op))
          composites.push_back(op);
      }
    });
    if (obstacle)
      return obstacle;
    llvm::for_each(composites, decompose);
    if (!composites.empty())
      continue;
    if (count)
      for (Operation *op : all)
        masks.mask(op);
    return nullptr;
  }
}

} // namespace meshc::steps
