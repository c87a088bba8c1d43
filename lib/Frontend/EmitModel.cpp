//===- EmitModel.cpp - the mesh, the layout, the model --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/MetricNames.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Frontend/Builtins.h"
#include "lib/Frontend/Imports.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

OwningOpRef<ModuleOp> Emitter::emitProgram() {
  syntax::Span start;
  module = ModuleOp::create(locate(start));
  OwningOpRef<ModuleOp> owner = module;
  builder.setInsertionPointToEnd(module.getBody());
  if (!declarations.model) {
    // A model that could not be parsed is not missing.
    if (!diagnostics.hasErrors())
      error(start, "the program has no model; declare one: model name(inputs) "
                   "{ … }");
    return nullptr;
  }
  rejectBuiltinNames(declarations, diagnostics);
  emitMesh();
  emitModel(*declarations.model);
  emitLayout();
  emitTrain();
  emitGenerate();
  warnUncalled();
  return owner;
}

/// [L3.1]
void Emitter::emitMesh() {
  MLIRContext *context = builder.getContext();
  SmallVector<nd::AxisAttr> axes;
  for (const syntax::AxisInfo &axis : declarations.axes)
    axes.push_back(nd::AxisAttr::get(
        context, builder.getStringAttr(StringRef(axis.name)), axis.size));
  nd::setMesh(module, nd::MeshAttr::get(context, axes));
}

/// [L3.2] Before the model in the module, though checked after it.
void Emitter::emitLayout() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  for (const syntax::LayoutRule *rule : declarations.checkLayout(tensorNames)) {
    SmallVector<StringRef> axes;
    for (const syntax::Name &axis : rule->axes)
      axes.push_back(axis.text);
    StringAttr scopeName;
    if (rule->scope)
      scopeName = builder.getStringAttr(StringRef(rule->scope->text));
    nd::RuleOp::create(builder, locate(rule->span), scopeName,
                       builder.getStringAttr(StringRef(rule->dim.text)),
                       builder.getStrArrayAttr(axes), rule->isOptional,
                       rule->isWeak);
  }
}

/// A name of the model's own: an input, a parameter or a metric. [L6.3]
bool Emitter::declare(const syntax::Name &name) {
  auto [entry, isNew] = declared.insert({name.text, name.span});
  if (!isNew) {
    error(name.span, quote(name.text) + " is already declared")
        .note(entry->second, "first declared here");
    return false;
  }
  if (auto constant = declarations.constants.find(name.text);
      constant != declarations.constants.end()) {
    error(name.span, quote(name.text) + " is already declared")
        .note(constant->second.span, "a constant of that name is declared "
                                     "here");
    return false;
  }
  return true;
}

/// The type of an input or parameter; null after an error. [L6.1]
nd::TensorType Emitter::declaredType(const syntax::TensorDeclaration &tensor,
                                     StringRef what) {
  if (!tensor.dims) {
    std::string text(tensor.name.text);
    error(tensor.name.span, what.str() + " " + quote(text) +
                                " needs its dims, as in " + text +
                                "[batch]; a scalar is " + text + "[]");
    return {};
  }
  SmallVector<nd::DimAttr> dims;
  for (const syntax::Name &name : *tensor.dims) {
    nd::DimAttr dim = declaredDim(name);
    if (!dim)
      return {};
    if (const Loop *loop = findLoop(dim.getName().getValue())) {
      error(name.span, "a parameter inside a loop over " +
                           quote(loop->dimName()) +
                           " gets that dim from the loop; leave it out")
          .note(loop->span, "the loop is here");
      return {};
    }
    if (auto *first = llvm::find(dims, dim); first != dims.end()) {
      error(name.span, "dim " + quote(name.text) +
                           " is given twice; a tensor "
                           "has each dim once")
          .note((*tensor.dims)[first - dims.begin()].span, "first given here");
      return {};
    }
    dims.push_back(dim);
  }
  Type elementType =
      tensor.type ? resolveType(*tensor.type) : Type(builder.getF32Type());
  return elementType ? makeType(elementType, dims, tensor.name.span)
                     : nd::TensorType();
}

void Emitter::emitModel(const syntax::ModelDeclaration &model) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = func::FuncOp::create(builder, locate(model.name.span),
                                       StringRef(model.name.text),
                                       builder.getFunctionType({}, {}));
  modelBody = function.addEntryBlock();
  builder.setInsertionPointToStart(modelBody);
  Scope own;
  own.module = &declarations;
  scope = &own;
  emitInputs(model, function);
  for (const syntax::Statement &statement : model.body.statements)
    emitStatement(statement);
  finishModel(model, function);
  scope = nullptr;
}

/// Whether an argument of the model is a tensor without a default value.
bool Emitter::checkInput(const syntax::TensorDeclaration &input) {
  using Kind = syntax::TensorDeclaration::Kind;
  if (input.kind == Kind::Dim)
    error(input.name.span, "a model has no dim arguments; declare the dim "
                           "above: dim name = size");
  else if (input.kind == Kind::Function)
    error(input.name.span, "a model has no functions as arguments; declare "
                           "the function above: fn name(x) { … }");
  else if (input.defaultValue)
    error(input.defaultValue->span,
          "an input has no default value; it is read from a file");
  else
    return true;
  return false;
}

void Emitter::emitInputs(const syntax::ModelDeclaration &model,
                         func::FuncOp function) {
  Block &block = function.getBody().front();
  SmallVector<DictionaryAttr> attributes;
  for (const syntax::TensorDeclaration &input : model.inputs) {
    bool isInput = checkInput(input);
    bool isNew = isInput && declare(input.name);
    nd::TensorType type =
        isInput ? declaredType(input, "input") : nd::TensorType();
    tensorNames.push_back(input.name);
    scope->places[input.name.text] = input.name.span;
    if (!isNew || !type) {
      scope->values.insert({input.name.text, Operand()});
      continue;
    }
    SmallVector<StringRef> order;
    for (const syntax::Name &dim : *input.dims)
      order.push_back(dim.text);
    scope->values[input.name.text] = {
        block.addArgument(type, locate(input.name.span)), std::nullopt, order};
    NamedAttrList list;
    nd::setName(list, builder.getStringAttr(StringRef(input.name.text)));
    nd::setRole(list, builder.getContext(), nd::TensorRole::Input);
    nd::setOrder(list, builder.getStrArrayAttr(order));
    attributes.push_back(list.getDictionary(builder.getContext()));
  }
  function.setFunctionType(
      builder.getFunctionType(block.getArgumentTypes(), {}));
  function.setAllArgAttrs(attributes);
}

/// A statement of the model, a function or a loop; functions handle their
/// 'return' themselves.
void Emitter::emitStatement(const syntax::Statement &statement) {
  if (isUnmet)
    return skip(statement);
  if (const auto *assignment =
          std::get_if<syntax::AssignStatement>(&statement.node))
    return assign(*assignment);
  if (const auto *param = std::get_if<syntax::ParamStatement>(&statement.node))
    return emitParameter(*param);
  if (const auto *metric =
          std::get_if<syntax::MetricStatement>(&statement.node))
    return emitMetric(*metric, statement.span);
  if (std::holds_alternative<syntax::ForStatement>(statement.node))
    return emitLoop(statement);
  if (std::holds_alternative<syntax::RecomputeStatement>(statement.node))
    return emitRecompute(statement);
  if (std::holds_alternative<syntax::RequireStatement>(statement.node))
    return emitRequire(statement);
  if (scope->loop)
    error(statement.span, "'return' cannot be inside a loop; assign the value, "
                          "and return the name after the loop")
        .note(scope->loop->span, "the loop is here");
  else if (!frames.empty())
    error(statement.span, "'return' cannot be inside a block; return the name "
                          "after it");
  else
    error(statement.span, "a model does not return; name its results: metric "
                          "name = expression, and the loss in 'train'");
}

/// [L6.4]
void Emitter::emitMetric(const syntax::MetricStatement &metric,
                         syntax::Span at) {
  if (scope->loop) {
    error(at, "a metric cannot be inside a loop; assign the value, whose "
              "entries after the loop are those of the iterations, and reduce "
              "them in the metric")
        .note(scope->loop->span, "the loop is here");
    return;
  }
  if (!frames.empty()) {
    error(at, "metrics belong to the model; return the value, and name it "
              "there");
    return;
  }
  Value value = metric.value ? emitTensor(*metric.value) : Value();
  if (!declare(metric.name) || !value)
    return;
  nd::TensorType type = nd::getTensorType(value);
  if (type.getRank() != 0 || !type.getElementType().isF32()) {
    noteOrigin(error(metric.value->span,
                     "metric " + quote(metric.name.text) +
                         " must be a scalar f32, got " + describe(type) +
                         (type.getRank() ? "; reduce it, as in mean(…)"
                                         : "; cast it: cast(…, f32)")),
               metric.value->span);
    return;
  }
  results.push_back({metric.name, value});
}

/// The results: the loss, then the metrics, then the logits. [L6.5]
void Emitter::finishModel(const syntax::ModelDeclaration &model,
                          func::FuncOp function) {
  Value loss = findLoss();
  if (loss)
    results.insert(results.begin(), {declarations.train->loss, loss});
  if (results.empty() && !diagnostics.hasErrors())
    error(model.name.span, "model " + quote(model.name.text) +
                               " computes nothing; give it a 'metric', or a "
                               "loss in 'train'");
  SmallVector<StringRef> names;
  for (const auto &[name, value] : results)
    names.push_back(name.text);
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (const auto &[name, value] : results) {
    if (std::string clash = nd::findLogClash(name.text, names); !clash.empty())
      error(name.span, clash);
    NamedAttrList list;
    nd::setName(list, builder.getStringAttr(StringRef(name.text)));
    nd::setRole(list, builder.getContext(), nd::TensorRole::Metric);
    attributes.push_back(list.getDictionary(builder.getContext()));
    values.push_back(value);
  }
  if (Value logits = findLogits()) {
    NamedAttrList list;
    nd::setName(list, builder.getStringAttr(
                          StringRef(declarations.generate->logits.text)));
    nd::setRole(list, builder.getContext(), nd::TensorRole::Logits);
    attributes.push_back(list.getDictionary(builder.getContext()));
    values.push_back(logits);
  }
  func::ReturnOp::create(builder, locate(model.body.close), values);
  function.setFunctionType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllResultAttrs(attributes);
  finishLoops();
  if (!diagnostics.hasErrors())
    warnOfScores();
}
