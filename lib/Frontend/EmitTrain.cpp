//===- EmitTrain.cpp - the loss and how it is minimized -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmitTrain.h"

#include "lib/Frontend/DimHistory.h"
#include "lib/Frontend/Emitter.h"
#include "lib/Frontend/Syntax/Spelling.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::Argument;
using syntax::quote;

/// The value that `train` names as the loss, checked; null without `train` and
/// after an error.
/// [L7.2]
Value TrainEmitter::findLoss() {
  const syntax::TrainDeclaration *train = emitter.declarations.train;
  if (!train)
    return {};
  const syntax::Name &name = train->loss;
  for (const auto &[metric, value] : emitter.results)
    if (metric.text == name.text) {
      emitter
          .error(metric.span,
                 quote(name.text) +
                     " is the loss, which is printed anyway; a metric "
                     "needs another name")
          .note(name.span, "minimized here");
      return {};
    }
  const Operand *found = emitter.findModelValue(name);
  if (!found)
    return {};
  if (!found->value) {
    if (found->constant)
      emitter.noteOrigin(
          emitter.error(name.span,
                        "loss " + quote(name.text) +
                            " is a constant; it depends on no parameter"),
          name.span);
    else
      emitter.rejectUnusable(name);
    return {};
  }
  Value loss = found->value;
  nd::TensorType type = nd::getTensorType(loss);
  if (type.getRank() != 0 || !type.getElementType().isF32()) {
    emitter.noteOrigin(
        emitter.error(name.span,
                      "loss " + quote(name.text) +
                          " must be a scalar f32, got " + describe(type) +
                          (type.getRank() ? "; reduce it, as in mean(…)"
                                          : "; cast it: cast(…, f32)")),
        name.span);
    return {};
  }
  checkGradients(loss, name.span);
  return loss;
}

/// The loss depends on a parameter. [L7.2] (The steps phase warns of parameters
/// that it does not depend on, in any program.)
void TrainEmitter::checkGradients(Value loss, syntax::Span at) {
  llvm::SetVector<Value> reached;
  reached.insert(loss);
  for (unsigned i = 0; i < reached.size(); ++i) {
    if (reached[i].getDefiningOp<nd::ParameterOp>())
      return;
    for (Value source : DimHistory(emitter).findSources(reached[i]))
      reached.insert(source);
  }
  emitter.noteOrigin(
      emitter.error(
          at, "the loss depends on no parameter; there is nothing to train"),
      at);
}

namespace {

/// Reads `adamw(lr = 3e-4 * warmup(200), weight_decay = 0.1)`. [L7.3]
class OptimizerReader {
public:
  OptimizerReader(Emitter &emitter, const syntax::CallExpr &call,
                  syntax::Declarations &declarations,
                  syntax::Diagnostics &diagnostics)
      : emitter(emitter), call(call), declarations(declarations),
        diagnostics(diagnostics) {}

  /// Creates an nd.setting for each setting.
  void read(ArrayRef<syntax::SettingRule> rules);
  /// Creates the nd.clip.
  void readClip(const syntax::ClipClause &clip);
  /// Creates the nd.average.
  void readAverage(const syntax::Expr &decay);

private:
  bool findSettings();
  bool readSetting(const Argument &argument, bool isFirst);
  const nd::OptimizerSetting *findSetting(std::string_view name) const;
  bool isConstant(const syntax::Expr &expr) const;
  bool readRule(const syntax::SettingRule &rule);
  Operand readValue(StringRef name, const syntax::Expr &expr);
  bool check(const nd::OptimizerSetting &setting, const Operand &value,
             syntax::Span at);
  FloatAttr makeNumber(const Operand &value);
  std::string listSettings() const;

  Emitter &emitter;
  const syntax::CallExpr &call;
  syntax::Declarations &declarations;
  syntax::Diagnostics &diagnostics;
  SmallVector<nd::OptimizerSetting> settings;
  std::map<std::string_view, syntax::Span> given; ///< settings so far
  // The parameters that the settings are of; null for all.
  ArrayAttr patterns;
  bool isOptional = false;
  syntax::Span patternsAt;
};

} // namespace

/// Optimizers are the ops `nd.NAME_update`; they say what can be set.
bool OptimizerReader::findSettings() {
  MLIRContext *context = emitter.builder.getContext();
  constexpr StringRef prefix = "nd.", suffix = "_update";
  std::vector<std::string_view> names;
  for (RegisteredOperationName info : context->getRegisteredOperations()) {
    auto *optimizer = info.getInterface<nd::OptimizerOpInterface>();
    StringRef op = info.getStringRef();
    if (!optimizer || !op.consume_front(prefix) || !op.consume_back(suffix))
      continue;
    names.push_back(std::string_view(op));
    if (op != StringRef(call.callee.text))
      continue;
    settings = optimizer->getKnownSettings();
    return true;
  }
  std::string hint = syntax::didYouMean(call.callee.text, names);
  if (hint.empty()) {
    hint = "; there are";
    for (std::string_view name : names)
      hint += (name == names.front() ? " " : ", ") + std::string(name);
  }
  emitter.error(call.callee.span,
                "unknown optimizer " + quote(call.callee.text) + hint);
  return false;
}

std::string OptimizerReader::listSettings() const {
  std::string list;
  for (const nd::OptimizerSetting &setting : settings)
    list += (list.empty() ? "" : ", ") + setting.name.str();
  return list;
}

const nd::OptimizerSetting *
OptimizerReader::findSetting(std::string_view name) const {
  const auto *found =
      llvm::find_if(settings, [&](const nd::OptimizerSetting &setting) {
        return setting.name == StringRef(name);
      });
  return found == settings.end() ? nullptr : found;
}

/// name = expression; the first may be the learning rate without its name.
bool OptimizerReader::readSetting(const Argument &argument, bool isFirst) {
  bool isNamed = argument.kind == Argument::Kind::Named;
  if (!isNamed && !(isFirst && argument.kind == Argument::Kind::Value)) {
    emitter.error(argument.span, "expected a setting, as in lr = 3e-4");
    return false;
  }
  std::string_view name = isNamed ? argument.key.text : "lr";
  const nd::OptimizerSetting *setting = findSetting(name);
  if (!setting) {
    std::vector<std::string_view> names;
    for (const nd::OptimizerSetting &each : settings)
      names.push_back(std::string_view(each.name));
    std::string hint = syntax::didYouMean(name, names);
    emitter.error(argument.key.span,
                  "optimizer " + quote(call.callee.text) + " has no setting " +
                      quote(name) +
                      (hint.empty() ? "; it has " + listSettings() : hint));
    return false;
  }
  auto [first, isNew] = given.insert({name, argument.span});
  if (!isNew) {
    emitter.error(argument.span, quote(name) + " is given twice")
        .note(first->second, "first given here");
    return false;
  }
  syntax::Span at = argument.value->span;
  Operand value = readValue(setting->name, *argument.value);
  if (!check(*setting, value, at))
    return false;
  nd::SettingOp::create(emitter.builder,
                        emitter.locate(patterns ? patternsAt : at),
                        emitter.builder.getStringAttr(setting->name),
                        makeNumber(value), value.value, patterns, isOptional);
  return true;
}

/// Whether the expression calls nothing but functions of numbers. [L2.3]
bool OptimizerReader::isConstant(const syntax::Expr &expr) const {
  if (const auto *unary = std::get_if<syntax::UnaryExpr>(&expr.node))
    return isConstant(*unary->operand);
  if (const auto *binary = std::get_if<syntax::BinaryExpr>(&expr.node))
    return isConstant(*binary->left) && isConstant(*binary->right);
  if (const auto *entry = std::get_if<syntax::EntryExpr>(&expr.node))
    return isConstant(*entry->operand);
  const auto *called = std::get_if<syntax::CallExpr>(&expr.node);
  if (!called)
    return true;
  std::string_view name = called->callee.text;
  if (called->module || declarations.functions.count(name) ||
      (name != "size" && !syntax::fold(name, syntax::Constant::number(1))))
    return false;
  return llvm::all_of(called->arguments, [&](const Argument &argument) {
    return !argument.value || isConstant(*argument.value);
  });
}

/// The value of an expression: a number, or a scalar f32 that each training
/// step computes. Neither after an error.
Operand OptimizerReader::readValue(StringRef name, const syntax::Expr &expr) {
  if (isConstant(expr)) {
    std::optional<syntax::Constant> number =
        syntax::evaluate(expr, declarations, diagnostics);
    return number ? Operand::of(*number) : Operand();
  }
  Operand operand = emitter.emit(expr);
  if (!operand.value)
    return operand;
  nd::TensorType type = nd::getTensorType(operand.value);
  if (type.getRank() == 0 && type.getElementType().isF32())
    return operand;
  emitter.noteOrigin(
      emitter.error(expr.span,
                    quote(name) + " must be a scalar f32, got " +
                        describe(type) +
                        (type.getRank() ? "; reduce it, as in mean(…)"
                                        : "; cast it: cast(…, f32)")),
      expr.span);
  return {};
}

/// Whether the value is one of the setting; reports an error if not.
bool OptimizerReader::check(const nd::OptimizerSetting &setting,
                            const Operand &value, syntax::Span at) {
  if (!value.ok())
    return false;
  if (value.value && setting.kind != nd::OptimizerSetting::Kind::Number) {
    emitter.error(at, quote(setting.name) +
                          " must be a constant: it decides what an update "
                          "consists of");
    return false;
  }
  std::string mistake;
  if (value.constant)
    mistake = setting.describeMistake(value.constant->real);
  if (!mistake.empty())
    emitter.noteOrigin(emitter.error(at, quote(setting.name) + " " + mistake),
                       at);
  return mistake.empty();
}

FloatAttr OptimizerReader::makeNumber(const Operand &value) {
  return value.constant ? emitter.builder.getF64FloatAttr(value.constant->real)
                        : FloatAttr();
}

/// [L7.5]
bool OptimizerReader::readRule(const syntax::SettingRule &rule) {
  SmallVector<Attribute> texts;
  for (const syntax::SettingRule::Pattern &pattern : rule.patterns)
    texts.push_back(emitter.builder.getStringAttr(pattern.text));
  patterns = emitter.builder.getArrayAttr(texts);
  isOptional = rule.isOptional;
  patternsAt = rule.patterns.front().span;
  given.clear();
  bool ok = true;
  for (const Argument &argument : rule.settings.arguments)
    ok &= readSetting(argument, /*isFirst=*/false);
  return ok;
}

void OptimizerReader::read(ArrayRef<syntax::SettingRule> rules) {
  if (!findSettings())
    return;
  bool ok = true;
  for (const Argument &argument : call.arguments)
    ok &= readSetting(argument, &argument == call.arguments.data());
  if (ok && !given.count("lr"))
    emitter.error(call.callee.span, "optimizer " + quote(call.callee.text) +
                                        " needs a learning rate: " +
                                        std::string(call.callee.text) +
                                        "(lr = …)");
  for (const syntax::SettingRule &rule : rules)
    readRule(rule);
}

/// [L7.6]
void OptimizerReader::readClip(const syntax::ClipClause &clip) {
  syntax::Span at = clip.bound->span;
  Operand bound = readValue("clip", *clip.bound);
  if (bound.constant && bound.constant->real <= 0) {
    emitter.noteOrigin(
        emitter.error(at, "'clip' must be above 0, got " +
                              syntax::toString(*bound.constant) +
                              ": it bounds the norm of the gradients"),
        at);
    return;
  }
  if (!check({"clip", std::nullopt}, bound, at))
    return;
  StringAttr metric;
  if (clip.metric)
    metric = emitter.builder.getStringAttr(StringRef(clip.metric->text));
  nd::ClipOp::create(emitter.builder,
                     emitter.locate(clip.metric ? clip.metric->span : at),
                     makeNumber(bound), bound.value, metric);
}

/// [L7.10]
void OptimizerReader::readAverage(const syntax::Expr &expr) {
  Operand decay = readValue("average", expr);
  if (!check({"average", std::nullopt}, decay, expr.span))
    return;
  if (decay.constant && decay.constant->real >= 1) {
    emitter.error(expr.span,
                  "'average' must be below 1: the decay is the share "
                  "of an average that a step keeps");
    return;
  }
  nd::AverageOp::create(emitter.builder, emitter.locate(expr.span),
                        makeNumber(decay), decay.value);
}

/// The type in which the model may compute; null for f32, and after an error.
/// [L7.8]
TypeAttr TrainEmitter::readPrecision(const syntax::TrainDeclaration &train) {
  if (!train.precision)
    return {};
  const syntax::Name &name = *train.precision;
  if (name.text == "f16")
    return TypeAttr::get(emitter.builder.getF16Type());
  if (name.text == "bf16")
    return TypeAttr::get(emitter.builder.getBF16Type());
  if (name.text != "f32")
    emitter.error(name.span, "unknown precision " + quote(name.text) +
                                 "; a model computes in f32, bf16 or f16");
  return {};
}

/// How ranks add up parts of sums, or a setting of the scale of the loss.
/// [L7.8] [L7.9]
void TrainEmitter::readPrecisionSetting(const Argument &setting,
                                        nd::TrainOp op) {
  const bool scalesLoss = op.getPrecision() && op.getPrecision()->isF16();
  std::string_view key = setting.key.text;
  const bool isScale = key == "scale";
  if (setting.kind == Argument::Kind::Named && key == "sums") {
    const syntax::Name *type = setting.value->asName();
    if (type && type->text == "f32")
      return op.setWideSums(true);
    emitter.error(setting.value->span,
                  "'sums' must be f32: ranks then do not round "
                  "their parts of a sum; without it they do");
    return;
  }
  if (setting.kind != Argument::Kind::Named ||
      (!isScale && key != "interval")) {
    emitter.error(setting.span,
                  scalesLoss
                      ? "expected 'scale = number' or 'interval = number', the "
                        "scale of the loss at first and the steps until it "
                        "doubles, or 'sums = f32'"
                      : "expected 'sums = f32', the type of ranks' parts of a "
                        "sum");
    return;
  }
  if (!scalesLoss) {
    emitter.error(setting.span,
                  "only 'precision f16' scales the loss; 'precision bf16' "
                  "has the setting 'sums = f32'");
    return;
  }
  std::optional<syntax::Constant> value = syntax::evaluate(
      *setting.value, emitter.declarations, emitter.diagnostics);
  if (!value)
    return;
  if (isScale && value->real >= 1 && value->real <= 0x1p126)
    op.setLossScale(APFloat(value->real));
  else if (!isScale && value->isInteger && value->integer >= 1)
    op.setScaleInterval(value->integer);
  else
    emitter.error(setting.value->span,
                  isScale ? "'scale' must be a number from 1 to 2**126"
                          : "'interval' must be a whole number from 1");
}

/// [L7.1]
void TrainEmitter::emit() {
  const syntax::TrainDeclaration *train = emitter.declarations.train;
  if (!train)
    return;
  if (!emitter.checkModel(train->model))
    return;
  const auto &call = std::get<syntax::CallExpr>(train->optimizer->node);
  auto op = nd::TrainOp::create(
      emitter.builder, emitter.locate(train->span),
      StringRef(train->model.text), StringRef(train->loss.text),
      StringRef(call.callee.text), emitter.declarations.microBatches,
      readPrecision(*train),
      /*wide_sums=*/false, /*loss_scale=*/APFloat(0x1p16));
  const auto &settings = train->precisionSettings.arguments;
  if (train->precision && train->precision->text == "f32" && !settings.empty())
    emitter.error(settings.front().span, "'precision f32' has no settings");
  else
    for (const Argument &setting : settings)
      readPrecisionSetting(setting, op);
  OpBuilder::InsertionGuard guard(emitter.builder);
  // Settings are computed in the region as values are in the model.
  emitter.modelBody = &op.getBody().emplaceBlock();
  emitter.builder.setInsertionPointToStart(emitter.modelBody);
  Scope own;
  own.module = &emitter.declarations;
  emitter.scope = &own;
  emitter.isTraining = true;
  OptimizerReader reader(emitter, call, emitter.declarations,
                         emitter.diagnostics);
  reader.read(train->rules);
  if (train->clip)
    reader.readClip(*train->clip);
  if (train->average)
    reader.readAverage(*train->average);
  emitter.loopEmitter.finish();
  emitter.scope = nullptr;
}
