//===- EmitModel.cpp - the mesh, the layout, the model --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmitModel.h"

#include "dialects/Nd/MetricNames.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Frontend/DeclaredTypes.h"
#include "lib/Frontend/EmitGenerate.h"
#include "lib/Frontend/EmitTrain.h"
#include "lib/Frontend/Emitter.h"
#include "lib/Frontend/Imports.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

OwningOpRef<ModuleOp> ModelEmitter::emitProgram() {
  syntax::Span start;
  auto module = ModuleOp::create(emitter.locate(start));
  OwningOpRef<ModuleOp> owner = module;
  emitter.builder.setInsertionPointToEnd(module.getBody());
  if (!emitter.declarations.model) {
    // A model that could not be parsed is not missing.
    if (!emitter.diagnostics.hasErrors())
      emitter.error(start,
                    "the program has no model; declare one: model name(inputs) "
                    "{ … }");
    return nullptr;
  }
  rejectBuiltinNames(emitter.declarations, emitter.diagnostics);
  emitMesh(module);
  emitModel(*emitter.declarations.model);
  emitLayout(module);
  TrainEmitter(emitter).emit();
  GenerateEmitter(emitter).emit();
  emitter.warnUncalled();
  return owner;
}

/// [L3.1]
void ModelEmitter::emitMesh(ModuleOp module) {
  MLIRContext *context = emitter.builder.getContext();
  SmallVector<nd::AxisAttr> axes;
  for (const syntax::AxisInfo &axis : emitter.declarations.axes)
    axes.push_back(nd::AxisAttr::get(
        context, emitter.builder.getStringAttr(StringRef(axis.name)),
        axis.size));
  nd::setMesh(module, nd::MeshAttr::get(context, axes));
}

/// [L3.2] Before the model in the module, though checked after it.
void ModelEmitter::emitLayout(ModuleOp module) {
  OpBuilder::InsertionGuard guard(emitter.builder);
  emitter.builder.setInsertionPointToStart(module.getBody());
  for (const syntax::LayoutRule *rule :
       emitter.declarations.checkLayout(emitter.tensorNames)) {
    SmallVector<StringRef> axes;
    for (const syntax::Name &axis : rule->axes)
      axes.push_back(axis.text);
    StringAttr scopeName;
    if (rule->scope)
      scopeName = emitter.builder.getStringAttr(StringRef(rule->scope->text));
    nd::RuleOp::create(emitter.builder, emitter.locate(rule->span), scopeName,
                       emitter.builder.getStringAttr(StringRef(rule->dim.text)),
                       emitter.builder.getStrArrayAttr(axes), rule->isOptional,
                       rule->isWeak);
  }
}

void ModelEmitter::emitModel(const syntax::ModelDeclaration &model) {
  OpBuilder::InsertionGuard guard(emitter.builder);
  auto function = func::FuncOp::create(
      emitter.builder, emitter.locate(model.name.span),
      StringRef(model.name.text), emitter.builder.getFunctionType({}, {}));
  emitter.modelBody = function.addEntryBlock();
  emitter.builder.setInsertionPointToStart(emitter.modelBody);
  Scope own;
  own.module = &emitter.declarations;
  emitter.scope = &own;
  emitInputs(model, function);
  for (const syntax::Statement &statement : model.body.statements)
    emitter.emitStatement(statement);
  finishModel(model, function);
  emitter.scope = nullptr;
}

/// Whether an argument of the model is a tensor without a default value.
bool ModelEmitter::checkInput(const syntax::TensorDeclaration &input) {
  using Kind = syntax::TensorDeclaration::Kind;
  if (input.kind == Kind::Dim)
    emitter.error(input.name.span,
                  "a model has no dim arguments; declare the dim "
                  "above: dim name = size");
  else if (input.kind == Kind::Function)
    emitter.error(input.name.span,
                  "a model has no functions as arguments; declare "
                  "the function above: fn name(x) { … }");
  else if (input.defaultValue)
    emitter.error(input.defaultValue->span,
                  "an input has no default value; it is read from a file");
  else
    return true;
  return false;
}

void ModelEmitter::emitInputs(const syntax::ModelDeclaration &model,
                              func::FuncOp function) {
  Block &block = function.getBody().front();
  SmallVector<DictionaryAttr> attributes;
  for (const syntax::TensorDeclaration &input : model.inputs) {
    bool isInput = checkInput(input);
    bool isNew = isInput && emitter.declare(input.name);
    nd::TensorType type = isInput
                              ? DeclaredTypes(emitter).getType(input, "input")
                              : nd::TensorType();
    emitter.tensorNames.push_back(input.name);
    emitter.scope->places[input.name.text] = input.name.span;
    if (!isNew || !type) {
      emitter.scope->values.insert({input.name.text, Operand()});
      continue;
    }
    SmallVector<StringRef> order;
    for (const syntax::Name &dim : *input.dims)
      order.push_back(dim.text);
    emitter.scope->values[input.name.text] = {
        block.addArgument(type, emitter.locate(input.name.span)), std::nullopt,
        order};
    NamedAttrList list;
    nd::setName(list,
                emitter.builder.getStringAttr(StringRef(input.name.text)));
    nd::setRole(list, emitter.builder.getContext(), nd::TensorRole::Input);
    nd::setOrder(list, emitter.builder.getStrArrayAttr(order));
    attributes.push_back(list.getDictionary(emitter.builder.getContext()));
  }
  function.setFunctionType(
      emitter.builder.getFunctionType(block.getArgumentTypes(), {}));
  function.setAllArgAttrs(attributes);
}

/// [L6.4]
void ModelEmitter::emitMetric(const syntax::MetricStatement &metric,
                              syntax::Span at) {
  if (emitter.scope->loop) {
    emitter
        .error(at,
               "a metric cannot be inside a loop; assign the value, whose "
               "entries after the loop are those of the iterations, and reduce "
               "them in the metric")
        .note(emitter.scope->loop->span, "the loop is here");
    return;
  }
  if (!emitter.frames.empty()) {
    emitter.error(at,
                  "metrics belong to the model; return the value, and name it "
                  "there");
    return;
  }
  Value value = metric.value ? emitter.emitTensor(*metric.value) : Value();
  if (!emitter.declare(metric.name) || !value)
    return;
  nd::TensorType type = nd::getTensorType(value);
  if (type.getRank() != 0 || !type.getElementType().isF32()) {
    emitter.noteOrigin(
        emitter.error(metric.value->span,
                      "metric " + quote(metric.name.text) +
                          " must be a scalar f32, got " + describe(type) +
                          (type.getRank() ? "; reduce it, as in mean(…)"
                                          : "; cast it: cast(…, f32)")),
        metric.value->span);
    return;
  }
  emitter.results.push_back({metric.name, value});
}

/// The results: the loss, then the metrics, then the logits. [L6.5]
void ModelEmitter::finishModel(const syntax::ModelDeclaration &model,
                               func::FuncOp function) {
  Value loss = TrainEmitter(emitter).findLoss();
  if (loss)
    emitter.results.insert(emitter.results.begin(),
                           {emitter.declarations.train->loss, loss});
  if (emitter.results.empty() && !emitter.diagnostics.hasErrors())
    emitter.error(model.name.span,
                  "model " + quote(model.name.text) +
                      " computes nothing; give it a 'metric', or a "
                      "loss in 'train'");
  SmallVector<StringRef> names;
  for (const auto &[name, value] : emitter.results)
    names.push_back(name.text);
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (const auto &[name, value] : emitter.results) {
    if (std::string clash = nd::findLogClash(name.text, names); !clash.empty())
      emitter.error(name.span, clash);
    NamedAttrList list;
    nd::setName(list, emitter.builder.getStringAttr(StringRef(name.text)));
    nd::setRole(list, emitter.builder.getContext(), nd::TensorRole::Metric);
    attributes.push_back(list.getDictionary(emitter.builder.getContext()));
    values.push_back(value);
  }
  if (Value logits = GenerateEmitter(emitter).findLogits()) {
    NamedAttrList list;
    nd::setName(list, emitter.builder.getStringAttr(StringRef(
                          emitter.declarations.generate->logits.text)));
    nd::setRole(list, emitter.builder.getContext(), nd::TensorRole::Logits);
    attributes.push_back(list.getDictionary(emitter.builder.getContext()));
    values.push_back(logits);
  }
  func::ReturnOp::create(emitter.builder, emitter.locate(model.body.close),
                         values);
  function.setFunctionType(emitter.builder.getFunctionType(
      function.getBody().getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllResultAttrs(attributes);
  emitter.loopEmitter.finish();
  if (!emitter.diagnostics.hasErrors())
    emitter.suspects.warnOfScores();
}
