//===- Optimizer.cpp - what all updates of parameters share ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Optimizer.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include <charconv>
#include <cmath>

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Optimizer.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::registerOptimizer() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Optimizer.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

/// The shortest text of the number: "0.9", "1", "1e+39".
static std::string formatNumber(double value) {
  char text[32];
  std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

std::string OptimizerSetting::describeMistake(double value) const {
  std::string got = ", got " + formatNumber(value);
  if (kind == Kind::Switch && value != 0 && value != 1)
    return "must be 0 or 1" + got;
  if (!std::isfinite(value) || value < 0)
    return "must be a finite number of at least 0" + got;
  if (kind == Kind::Count && value != std::floor(value))
    return "must be a whole number" + got;
  if (value >= limit)
    return "must be in [0, " + formatNumber(limit) + ")" + got;
  auto used = static_cast<float>(value);
  if (!std::isfinite(used) || (used == 0 && value != 0))
    return "is used in f32, which has no such number: got " +
           formatNumber(value) + ", expected 0 or 1.2e-38 to 3.4e+38";
  return {};
}

SmallVector<StringAttr> getStackedDims(Operation *op) {
  auto names = op->getAttrOfType<ArrayAttr>("stacked");
  return names ? getNames(names) : SmallVector<StringAttr>();
}

static DictionaryAttr getAdjustable(Operation *op) {
  return op->getAttrOfType<DictionaryAttr>("adjustable");
}

DictionaryAttr getConstantSettings(Operation *op) {
  return op->getAttrOfType<DictionaryAttr>("settings");
}

UpdateParts::UpdateParts(Operation *op)
    : op(op), settings(getConstantSettings(op)), adjustable(getAdjustable(op)),
      stacked(getStackedDims(op)) {
  auto optimizer = cast<OptimizerOpInterface>(op);
  known = optimizer.getKnownSettings();
  slots = optimizer.getSlots();
  if (auto names = op->getAttrOfType<ArrayAttr>("computed"))
    computed = getNames(names);
}

std::optional<double> UpdateParts::getConstant(StringRef setting) const {
  if (llvm::any_of(computed, [&](StringAttr name) { return name == setting; }))
    return std::nullopt;
  if (settings)
    if (auto given = settings.getAs<FloatAttr>(setting))
      return given.getValueAsDouble();
  const auto *found = llvm::find_if(
      known, [&](const OptimizerSetting &s) { return s.name == setting; });
  return found->defaultValue;
}

StringAttr UpdateParts::getRunSetting(StringRef setting) const {
  return adjustable ? adjustable.getAs<StringAttr>(setting) : StringAttr();
}

unsigned UpdateParts::getComputed(StringRef setting) const {
  const auto *found =
      llvm::find_if(computed, [&](StringAttr name) { return name == setting; });
  return firstSlot + slots.size() + (found - computed.begin());
}

TensorType UpdateParts::getEntryType() const {
  SmallVector<DimAttr> dims;
  TensorType type = getTensorType(op->getOperand(0));
  for (DimAttr dim : type.getDims())
    if (llvm::is_contained(stacked, dim.getName()))
      dims.push_back(dim);
  return TensorType::get(Float32Type::get(op->getContext()), dims);
}

OptimizerSlots makeSlots(TensorType parameter, ArrayRef<StringRef> names) {
  Type f32 = Float32Type::get(parameter.getContext());
  OptimizerSlots slots;
  for (StringRef name : names)
    slots.push_back({name, parameter.withElementType(f32)});
  return slots;
}

OptimizerSlots addMaster(TensorType parameter, OptimizerSlots slots) {
  if (parameter.isShortFloat()) {
    slots.append(makeSlots(parameter, {"master"}));
    slots.back().isMaster = true;
  }
  return slots;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Each setting is given at most once, as a constant or an operand, and those
/// without a default are given.
static LogicalResult verifySettings(Operation *op, const UpdateParts &parts) {
  auto known = cast<OptimizerOpInterface>(op).getKnownSettings();
  auto find = [&](StringRef name) {
    return llvm::find_if(
        known, [&](const OptimizerSetting &s) { return s.name == name; });
  };
  llvm::SmallDenseSet<StringRef> given;
  if (parts.settings)
    for (NamedAttribute setting : parts.settings) {
      StringRef name = setting.getName();
      auto number = dyn_cast<FloatAttr>(setting.getValue());
      if (find(name) == known.end())
        return op->emitOpError("has no setting '") << name << "'";
      if (!number || !number.getType().isF64())
        return op->emitOpError("expects setting '")
               << name << "' to be an f64, got " << setting.getValue();
      if (std::string mistake =
              find(name)->describeMistake(number.getValueAsDouble());
          !mistake.empty())
        return op->emitOpError("setting '") << name << "' " << mistake;
      given.insert(name);
    }
  for (StringAttr name : parts.computed) {
    const auto *setting = find(name);
    if (setting == known.end())
      return op->emitOpError("has no setting '") << name.getValue() << "'";
    if (setting->kind != OptimizerSetting::Kind::Number)
      return op->emitOpError("expects a constant for setting '")
             << name.getValue() << "'";
    if (!given.insert(name).second)
      return op->emitOpError("setting '")
             << name.getValue() << "' is given twice";
  }
  for (const OptimizerSetting &setting : known)
    if (!setting.defaultValue && !given.contains(setting.name))
      return op->emitOpError("needs setting '") << setting.name << "'";
  for (NamedAttribute setting : parts.adjustable ? parts.adjustable.getValue()
                                                 : ArrayRef<NamedAttribute>()) {
    StringRef name = setting.getName();
    if (!isa<StringAttr>(setting.getValue()) || !parts.settings ||
        !parts.settings.contains(name) ||
        find(name)->kind != OptimizerSetting::Kind::Number)
      return op->emitOpError("expects each adjustable setting to be a number "
                             "of 'settings' and to name an nd.run_setting, "
                             "got '")
             << name << "' = " << setting.getValue();
  }
  return success();
}

static LogicalResult verifyParameter(Operation *op) {
  TensorType parameter = getTensorType(op->getOperand(0));
  if (!parameter.isFloat())
    return op->emitOpError("updates floats, got a parameter of type ")
           << parameter;
  TensorType wide =
      parameter.withElementType(Float32Type::get(op->getContext()));
  Type gradient = op->getOperand(1).getType();
  if (!haveSameGlobalType(gradient, parameter) &&
      !haveSameGlobalType(gradient, wide))
    return op->emitOpError("expects a gradient of the parameter's type ")
           << parameter << ", or of its dims in f32, got " << gradient;
  if (!haveSameGlobalType(op->getResult(0).getType(), parameter))
    return op->emitOpError("expects the new parameter of the parameter's type ")
           << parameter << ", got " << op->getResult(0).getType();
  TensorType step = getTensorType(op->getOperand(2));
  if (step.getRank() != 0 || !step.getElementType().isInteger(32))
    return op->emitOpError("expects a scalar i32 as the number of updates, "
                           "got ")
           << step;
  for (StringAttr dim : getStackedDims(op))
    if (!parameter.hasDim(dim.getValue()))
      return op->emitOpError("is of a parameter without the stacked dim '")
             << dim.getValue() << "': " << parameter;
  return success();
}

LogicalResult verifyUpdate(Operation *op) {
  if (failed(verifyParameter(op)))
    return failure();
  // Constant settings decide which slots there are.
  SmallVector<StringAttr> computed;
  if (auto names = op->getAttrOfType<ArrayAttr>("computed"))
    computed = getNames(names);
  UpdateParts parts(op);
  if (failed(verifySettings(op, parts)))
    return failure();
  size_t operands =
      UpdateParts::firstSlot + parts.slots.size() + computed.size();
  size_t results = 1 + parts.slots.size();
  if (op->getNumOperands() != operands || op->getNumResults() != results)
    return op->emitOpError("expects ")
           << operands << " operands and " << results
           << " results: the parameter, its gradient, the number of updates, "
           << parts.slots.size() << " slots and " << computed.size()
           << " computed settings; got " << op->getNumOperands() << " and "
           << op->getNumResults();
  for (auto [index, slot] : llvm::enumerate(parts.slots))
    for (Value value : {op->getOperand(UpdateParts::firstSlot + index),
                        Value(op->getResult(1 + index))})
      if (!haveSameGlobalType(value.getType(), slot.type))
        return op->emitOpError("expects slot '")
               << slot.name << "' of type " << slot.type << ", got "
               << value.getType();
  for (StringAttr name : computed) {
    Value value = op->getOperand(parts.getComputed(name));
    TensorType type = getTensorType(value);
    if (type.getRank() != 0 || !type.getElementType().isF32())
      return op->emitOpError("expects a scalar f32 as setting '")
             << name.getValue() << "', got " << type;
  }
  return success();
}

LogicalResult refuseGradient(Operation *op, ArrayRef<Value> resultGrads) {
  if (llvm::none_of(resultGrads, [](Value g) { return g != nullptr; }))
    return success();
  return op->emitOpError("cannot be differentiated: the update of a parameter "
                         "is the end of a step");
}

//===----------------------------------------------------------------------===//
// Reference semantics
//===----------------------------------------------------------------------===//

ReferenceUpdate::ReferenceUpdate(Operation *op,
                                 ArrayRef<const HostTensor *> operands,
                                 const EvaluationContext &context)
    : UpdateParts(op), t(operands[2]->data[0] + 1), operands(operands),
      context(context) {
  for (Type type : op->getResultTypes())
    results.push_back(context.makeTensor(type));
}

double ReferenceUpdate::get(StringRef setting) const {
  if (std::optional<double> number = getConstant(setting))
    return *number;
  return operands[getComputed(setting)]->data[0];
}

std::vector<size_t> ReferenceUpdate::project(TensorType to) const {
  const HostTensor &from = results[0];
  HostTensor target = context.makeTensor(to);
  std::vector<size_t> elements;
  forEachIndex(from.sizes, {target.getStridesAlong(from.type)},
               [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
                 elements.push_back(offsets[0]);
               });
  return elements;
}

void ReferenceUpdate::set(unsigned result, size_t element, double value) {
  auto store = [&](HostTensor &tensor) {
    value = context.round(value, tensor.type.getElementType());
    tensor.data[element] = value;
  };
  if (result == 0 && hasMaster())
    store(results.back());
  store(results[result]);
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

UpdateBuilder::UpdateBuilder(OpBuilder &builder, Operation *op)
    : UpdateParts(op), build(builder, op->getLoc()), f32(builder.getF32Type()) {
}

Value UpdateBuilder::getParameter() {
  return build.castTo(op->getOperand(getWidest()), f32);
}
Value UpdateBuilder::getGradient() {
  return build.castTo(op->getOperand(1), f32);
}

UpdateScalar UpdateBuilder::get(StringRef setting) {
  if (std::optional<double> number = getConstant(setting)) {
    if (StringAttr name = getRunSetting(setting))
      return build.make<SettingValueOp>(name, *number);
    return *number;
  }
  return op->getOperand(getComputed(setting));
}

UpdateScalar UpdateBuilder::getStep() {
  Value step = build.castTo(op->getOperand(2), f32);
  return build.make<AddOp>(step, build.scalar(f32, 1.0));
}

Value UpdateBuilder::add(Value a, Value b) { return build.make<AddOp>(a, b); }
Value UpdateBuilder::sub(Value a, Value b) { return build.make<SubOp>(a, b); }
Value UpdateBuilder::mul(Value a, Value b) { return build.make<MulOp>(a, b); }
Value UpdateBuilder::div(Value a, Value b) { return build.make<DivOp>(a, b); }

Value UpdateBuilder::materialize(const UpdateScalar &scalar) {
  return scalar.number ? build.scalar(f32, *scalar.number) : scalar.value;
}

UpdateScalar UpdateBuilder::mul(const UpdateScalar &a, const UpdateScalar &b) {
  if (a.number && b.number)
    return *a.number * *b.number;
  return a.is(1)   ? b
         : b.is(1) ? a
                   : UpdateScalar(mul(materialize(a), materialize(b)));
}

UpdateScalar UpdateBuilder::div(const UpdateScalar &a, const UpdateScalar &b) {
  if (a.number && b.number)
    return *a.number / *b.number;
  return b.is(1) ? a : UpdateScalar(div(materialize(a), materialize(b)));
}

UpdateScalar UpdateBuilder::sub(const UpdateScalar &a, const UpdateScalar &b) {
  if (a.number && b.number)
    return *a.number - *b.number;
  return b.is(0) ? a : UpdateScalar(sub(materialize(a), materialize(b)));
}

UpdateScalar UpdateBuilder::rsqrt(const UpdateScalar &a) {
  if (a.number)
    return 1 / std::sqrt(*a.number);
  return build.make<RsqrtOp>(a.value);
}

/// The value in another form, if a run may change it; otherwise null.
static Value getForm(ValueBuilder &build, Value value, SettingForm form) {
  auto setting = value.getDefiningOp<SettingValueOp>();
  if (!setting || setting.getForm() != SettingForm::Value)
    return {};
  return build.make<SettingValueOp>(setting.getName(),
                                    setting.getValue().convertToDouble(), form);
}

UpdateScalar UpdateBuilder::complement(const UpdateScalar &a) {
  if (a.number)
    return 1 - *a.number;
  if (Value value = getForm(build, a.value, SettingForm::Complement))
    return value;
  return sub(1.0, a);
}

UpdateScalar UpdateBuilder::negativeLog(const UpdateScalar &a) {
  if (a.number)
    return -std::log(*a.number);
  if (Value value = getForm(build, a.value, SettingForm::NegativeLog))
    return value;
  return build.make<NegOp>(build.make<LogOp>(a.value));
}

Value UpdateBuilder::scale(Value a, const UpdateScalar &factor) {
  return factor.is(1) ? a : mul(a, materialize(factor));
}

Value UpdateBuilder::addScaled(Value a, Value b, const UpdateScalar &factor) {
  return factor.is(0) ? a : add(a, scale(b, factor));
}

Value UpdateBuilder::average(Value average, Value value,
                             const UpdateScalar &beta) {
  return addScaled(scale(value, complement(beta)), average, beta);
}

Value UpdateBuilder::decay(Value p, const UpdateScalar &rate) {
  UpdateScalar decay = get("weight_decay");
  return decay.is(0) ? p : scale(p, sub(1.0, mul(rate, decay)));
}

Value UpdateBuilder::sum(Value value) {
  return build.sumTo(value, getEntryType());
}

Value UpdateBuilder::wherePositive(Value condition, Value a, Value b) {
  Value isPositive =
      build.compare(Predicate::Gt, condition, build.scalar(f32, 0.0));
  return build.make<SelectOp>(isPositive, a, b);
}

// With z = -t·log(beta) it is 1 - exp(-z) = tanh(z/2)·(1 + exp(-z)), which
// keeps all digits where beta^t is near 1.
UpdateScalar UpdateBuilder::getCorrection(const UpdateScalar &beta) {
  if (beta.is(0))
    return 1.0;
  Value z = materialize(mul(getStep(), negativeLog(beta)));
  Value half = build.make<TanhOp>(scale(z, 0.5));
  Value power = build.make<ExpOp>(build.make<NegOp>(z));
  return mul(half, add(power, build.scalar(f32, 1.0)));
}

SmallVector<Value> finishUpdate(UpdateBuilder &builder,
                                SmallVector<Value> values) {
  Type type = getTensorType(builder.op->getOperand(0)).getElementType();
  if (builder.hasMaster())
    values.push_back(values[0]);
  values[0] = builder.build.castTo(values[0], type);
  return values;
}

} // namespace meshc::nd
