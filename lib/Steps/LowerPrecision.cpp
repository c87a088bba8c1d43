//===- LowerPrecision.cpp - the model in 16 bits --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/WindowOps.h"
#include "dialects/Nd/RoundedParts.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>

using namespace mlir;

namespace meshc::steps {

#define GEN_PASS_DEF_LOWERPRECISION
#include "lib/Steps/Passes.h.inc"

namespace {
/// Rewrites the ops of a model in order.
class Lowering {
public:
  Lowering(FloatType shortType, bool roundsParts)
      : shortType(shortType), roundsParts(roundsParts) {}

  void run(Block &block);

private:
  bool runsShort(Operation *op) const;
  bool isLowerable(Value value) const;
  bool fits(const APFloat &number) const;
  bool fits(Value value) const;
  Value lower(Value value);
  Value raise(Value value);
  Value convert(Value value, Type elementType);
  void mark(Operation *op) const;

  FloatType shortType;
  bool roundsParts;              ///< of sums over ranks
  llvm::DenseSet<Value> lowered; ///< f32 in the text
  /// Of a lowered value in f32, and of the others in 16 bits.
  llvm::DenseMap<Value, Value> otherForm;
};
} // namespace

static bool isF32(Value value) {
  return nd::getTensorType(value).getElementType().isF32();
}

bool Lowering::isLowerable(Value value) const {
  return isF32(value) || lowered.contains(value);
}

/// Whether 16 bits hold the number: not one that becomes infinite.
bool Lowering::fits(const APFloat &number) const {
  return !number.isFinite() || std::isfinite(nd::roundToElementType(
                                   number.convertToDouble(), shortType));
}

/// Whether the value is not a constant beyond the range of 16 bits.
bool Lowering::fits(Value value) const {
  auto constant = value.getDefiningOp<nd::ConstantOp>();
  return !constant || fits(cast<FloatAttr>(constant.getValue()).getValue());
}

bool Lowering::runsShort(Operation *op) const {
  bool isProduct = op->hasTrait<nd::ShortProduct>() && op->getNumOperands() > 1;
  if ((!isProduct && !op->hasTrait<nd::KeepsShort>()) ||
      !llvm::all_of(op->getResults(), isF32))
    return false;
  if (auto pad = dyn_cast<nd::PadOp>(op); pad && !fits(pad.getValue()))
    return false;
  // The type of an operand with fewer elements, such as a bias, is that of the
  // others.
  int64_t largest = 0;
  bool isShort = false;
  // Training has the type that it has without a form for generation.
  if (auto forms = dyn_cast<nd::InGenerationOp>(op))
    return lowered.contains(forms.choose(/*inGeneration=*/false));
  for (Value operand : op->getOperands()) {
    nd::TensorType type = nd::getTensorType(operand);
    if (!type.isFloat())
      continue;
    if (!isLowerable(operand) || !fits(operand))
      return false;
    if (operand.getDefiningOp<nd::ConstantOp>() ||
        type.getElementCount() < largest)
      continue;
    bool isNew = type.getElementCount() > largest;
    isShort = lowered.contains(operand) && (isNew || isShort);
    largest = type.getElementCount();
  }
  return isProduct || isShort;
}

/// Marks an op whose result is of 16 bits now.
void Lowering::mark(Operation *op) const {
  if (roundsParts)
    nd::setRoundedParts(op);
}

/// The value in another type, right behind it.
Value Lowering::convert(Value value, Type elementType) {
  Value &other = otherForm[value];
  if (other)
    return other;
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  nd::TensorType type = nd::getTensorType(value).withElementType(elementType);
  if (auto constant = value.getDefiningOp<nd::ConstantOp>())
    other = nd::ConstantOp::create(
        builder, value.getLoc(), type,
        cast<FloatAttr>(constant.getValue()).getValueAsDouble());
  else
    other = nd::CastOp::create(builder, value.getLoc(), type, value);
  if (type.isShortFloat())
    mark(other.getDefiningOp());
  return other;
}

Value Lowering::lower(Value value) {
  return lowered.contains(value) ? value : convert(value, shortType);
}

Value Lowering::raise(Value value) {
  return lowered.contains(value)
             ? convert(value, Float32Type::get(value.getContext()))
             : value;
}

void Lowering::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool isShort = runsShort(&op);
    for (OpOperand &operand : op.getOpOperands())
      if (nd::getTensorType(operand.get()).isFloat())
        operand.set(isShort ? lower(operand.get()) : raise(operand.get()));
    for (OpResult result : op.getResults()) {
      if (!isShort ||
          (op.hasTrait<nd::ShortProduct>() && result.getResultNumber() > 0))
        break;
      result.setType(nd::getTensorType(result).withElementType(shortType));
      lowered.insert(result);
    }
    if (isShort)
      mark(&op);
    // Carried and stacked values of a loop stay in f32.
    if (auto scan = dyn_cast<nd::ScanOp>(op))
      run(scan.getBlock());
  }
}

namespace {
struct LowerPrecision : impl::LowerPrecisionBase<LowerPrecision> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto train : module.getOps<nd::TrainOp>()) {
      auto model = module.lookupSymbol<func::FuncOp>(train.getModel());
      if (!train.getPrecision() || !model || model.isDeclaration())
        continue;
      Lowering(cast<FloatType>(*train.getPrecision()), !train.getWideSums())
          .run(model.getBody().front());
    }
  }
};
} // namespace

} // namespace meshc::steps
