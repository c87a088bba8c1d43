//===- EmitTrain.cpp - the loss and how it is minimized -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Emitter.h"

#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Frontend/Syntax/Spelling.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::Argument;
using syntax::quote;

/// The value that `train` names as the loss, checked; null without `train` and
/// after an error.
/// [L7.2]
Value Emitter::findLoss() {
  const syntax::TrainDeclaration *train = declarations.train;
  if (!train)
    return {};
  const syntax::Name &name = train->loss;
  for (const auto &[metric, value] : results)
    if (metric.text == name.text) {
      error(metric.span, quote(name.text) +
                             " is the loss, which is printed anyway; a metric "
                             "needs another name")
          .note(name.span, "minimized here");
      return {};
    }
  auto found = scope->values.find(name.text);
  if (found == scope->values.end()) {
    std::vector<std::string_view> names;
    for (const auto &entry : scope->values)
      names.push_back(entry.first);
    syntax::Diagnostic &unknown =
        error(name.span, "model " + quote(declarations.model->name.text) +
                             " has no value " + quote(name.text) +
                             syntax::didYouMean(name.text, names))
            .note(declarations.model->name.span, "the model is declared here");
    noteName(unknown, syntax::nearestName(name.text, names));
    return {};
  }
  if (!found->second.value) {
    if (found->second.constant)
      noteOrigin(
          error(name.span, "loss " + quote(name.text) +
                               " is a constant; it depends on no parameter"),
          name.span);
    else
      rejectUnusable(name);
    return {};
  }
  Value loss = found->second.value;
  nd::TensorType type = nd::getTensorType(loss);
  if (type.getRank() != 0 || !type.getElementType().isF32()) {
    noteOrigin(
        error(name.span, "loss " + quote(name.text) +
                             " must be a scalar f32, got " + describe(type) +
                             (type.getRank() ? "; reduce it, as in mean(…)"
                                             : "; cast it: cast(…, f32)")),
        name.span);
    return {};
  }
  checkGradients(loss, name.span);
  return loss;
}

/// The values that a value is computed from, through loops.
static SmallVector<Value> findSources(Value value) {
  nd::Tie tie;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto scan = dyn_cast<nd::ScanOp>(argument.getOwner()->getParentOp()))
      tie = scan.getTie(argument);
  } else if (auto scan = value.getDefiningOp<nd::ScanOp>()) {
    tie = scan.getTie(cast<OpResult>(value));
  } else {
    return SmallVector<Value>(value.getDefiningOp()->getOperands());
  }
  SmallVector<Value> sources;
  for (Value source : {tie.operand, tie.yielded})
    if (source)
      sources.push_back(source);
  return sources;
}

/// The loss depends on a parameter. [L7.2] (Those that it does not depend on
/// are warned of by the autodiff phase, which finds them in any program.)
void Emitter::checkGradients(Value loss, syntax::Span at) {
  llvm::SetVector<Value> reached;
  reached.insert(loss);
  for (unsigned i = 0; i < reached.size(); ++i) {
    if (reached[i].getDefiningOp<nd::ParameterOp>())
      return;
    for (Value source : findSources(reached[i]))
      reached.insert(source);
  }
  noteOrigin(
      error(at, "the loss depends on no parameter; there is nothing to train"),
      at);
}

namespace {

/// Reads `adamw(lr = 3e-4, weight_decay = 0.1)`. [L7.3]
class OptimizerReader {
public:
  OptimizerReader(Emitter &emitter, const syntax::CallExpr &call,
                  syntax::ConstantScope &constants,
                  syntax::Diagnostics &diagnostics)
      : emitter(emitter), call(call), constants(constants),
        diagnostics(diagnostics) {}

  bool read();

  double rate = 0;
  SmallVector<NamedAttribute> hyper;

private:
  bool findSettings();
  bool readSetting(const Argument &argument, bool isFirst);
  std::string listSettings() const;

  Emitter &emitter;
  const syntax::CallExpr &call;
  syntax::ConstantScope &constants;
  syntax::Diagnostics &diagnostics;
  std::vector<std::string_view> settings = {"lr"};
  std::map<std::string_view, syntax::Span> given; ///< settings so far
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
    for (const auto &entry : optimizer->getHyperParameters())
      settings.push_back(std::string_view(entry.first));
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
  for (std::string_view name : settings)
    list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

/// name = number; the first may be the learning rate without its name.
bool OptimizerReader::readSetting(const Argument &argument, bool isFirst) {
  bool isNamed = argument.kind == Argument::Kind::Named;
  if (!isNamed && !(isFirst && argument.kind == Argument::Kind::Value)) {
    emitter.error(argument.span, "expected a setting, as in lr = 3e-4");
    return false;
  }
  std::string_view name = isNamed ? argument.key.text : "lr";
  if (!llvm::is_contained(settings, name)) {
    std::string hint = syntax::didYouMean(name, settings);
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
  std::optional<syntax::Constant> value =
      syntax::evaluate(*argument.value, constants, diagnostics);
  if (!value)
    return false;
  if (!std::isfinite(value->real) || value->real < 0) {
    emitter.noteOrigin(
        emitter.error(argument.value->span,
                      quote(name) +
                          " must be a finite number of at least 0, got " +
                          syntax::toString(*value)),
        argument.value->span);
    return false;
  }
  auto used = static_cast<float>(value->real);
  if (!std::isfinite(used) || (used == 0 && value->real != 0)) {
    emitter.noteOrigin(
        emitter.error(argument.value->span,
                      quote(name) +
                          " is used in f32, which has no such number: got " +
                          syntax::toString(*value) +
                          ", expected 0 or 1.2e-38 to 3.4e+38"),
        argument.value->span);
    return false;
  }
  if (name == "lr")
    rate = value->real;
  else
    hyper.push_back(emitter.builder.getNamedAttr(
        StringRef(name), emitter.builder.getF64FloatAttr(value->real)));
  return true;
}

bool OptimizerReader::read() {
  if (!findSettings())
    return false;
  bool ok = true;
  for (const Argument &argument : call.arguments)
    ok &= readSetting(argument, &argument == call.arguments.data());
  if (ok && !given.count("lr")) {
    emitter.error(call.callee.span, "optimizer " + quote(call.callee.text) +
                                        " needs a learning rate: " +
                                        std::string(call.callee.text) +
                                        "(lr = …)");
    return false;
  }
  return ok;
}

/// [L7.1]
void Emitter::emitTrain() {
  const syntax::TrainDeclaration *train = declarations.train;
  if (!train)
    return;
  if (train->model.text != declarations.model->name.text) {
    std::string_view name = declarations.model->name.text;
    error(train->model.span, "unknown model " + quote(train->model.text) +
                                 syntax::didYouMean(train->model.text, {name}))
        .note(declarations.model->name.span, "the model is declared here");
    return;
  }
  const auto &call = std::get<syntax::CallExpr>(train->optimizer->node);
  OptimizerReader reader(*this, call, declarations, diagnostics);
  if (!reader.read())
    return;
  nd::TrainOp::create(builder, locate(train->span),
                      StringRef(train->model.text), StringRef(train->loss.text),
                      StringRef(call.callee.text), llvm::APFloat(reader.rate),
                      builder.getDictionaryAttr(reader.hyper));
}
