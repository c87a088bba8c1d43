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
  // [L4.1]
  for (const auto &[name, function] : declarations.functions)
    if (findBuiltin(name))
      error(function->name.span, quote(name) + " is a function of the "
                                               "language; choose another name");
  emitMesh();
  emitModel(*declarations.model);
  emitLayout();
  emitTrain();
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
                       builder.getStrArrayAttr(axes), rule->isOptional);
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
  builder.setInsertionPointToStart(function.addEntryBlock());
  Scope own;
  scope = &own;
  emitInputs(model, function);
  for (const syntax::Statement &statement : model.body.statements)
    emitStatement(statement);
  finishModel(model, function);
  scope = nullptr;
}

static SmallVector<StringRef>
declaredOrder(const syntax::TensorDeclaration &tensor) {
  SmallVector<StringRef> order;
  for (const syntax::Name &dim : *tensor.dims)
    order.push_back(dim.text);
  return order;
}

void Emitter::emitInputs(const syntax::ModelDeclaration &model,
                         func::FuncOp function) {
  Block &block = function.getBody().front();
  SmallVector<DictionaryAttr> attributes;
  for (const syntax::TensorDeclaration &input : model.inputs) {
    if (input.isDim)
      error(input.name.span, "a model has no dim arguments; declare the dim "
                             "above: dim name = size");
    bool isNew = !input.isDim && declare(input.name);
    nd::TensorType type =
        input.isDim ? nd::TensorType() : declaredType(input, "input");
    tensorNames.push_back(input.name);
    scope->places[input.name.text] = input.name.span;
    if (!isNew || !type) {
      scope->values.insert({input.name.text, Operand()});
      continue;
    }
    SmallVector<StringRef> order = declaredOrder(input);
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

void Emitter::emitStatement(const syntax::Statement &statement) {
  if (const auto *assignment =
          std::get_if<syntax::AssignStatement>(&statement.node))
    return assign(*assignment);
  if (const auto *param = std::get_if<syntax::ParamStatement>(&statement.node))
    return emitParameter(*param);
  if (const auto *metric =
          std::get_if<syntax::MetricStatement>(&statement.node))
    return emitMetric(*metric);
  if (const auto *loop = std::get_if<syntax::ForStatement>(&statement.node)) {
    error(statement.span, "'for " + std::string(loop->dim.text) +
                              "' (a scan over layers) is not part of this "
                              "version; write its steps one by one");
    return;
  }
  error(statement.span, "a model does not return; name its results: metric "
                        "name = expression, and the loss in 'train'");
}

/// [L6.2]
void Emitter::emitParameter(const syntax::ParamStatement &param) {
  const syntax::TensorDeclaration &tensor = param.tensor;
  std::string_view name = tensor.name.text;
  tensorNames.push_back(tensor.name);
  nd::TensorType type;
  if (tensor.isDim)
    error(tensor.name.span, "'dim' is not a parameter's name");
  else if (declare(tensor.name))
    type = declaredType(tensor, "parameter");
  if (type && !type.isFloat()) {
    error(tensor.type->span, "parameters are trained and of a float type (f32, "
                             "bf16 or f16), got " +
                                 describe(type.getElementType()));
    type = {};
  }
  // A name that was assigned before would be ambiguous.
  if (type && scope->values.count(name)) {
    noteOrigin(
        error(tensor.name.span,
              quote(name) + " is the name of a value above; choose another"),
        tensor.name.span);
    type = {};
  }
  if (!type) {
    scope->values[name] = {};
    return;
  }
  scope->places[name] = tensor.name.span;
  SmallVector<StringRef> order = declaredOrder(tensor);
  auto parameter = nd::ParameterOp::create(
      builder, locate(tensor.name.span), type,
      builder.getStringAttr(StringRef(name)), builder.getStrArrayAttr(order));
  emitInitializer(param, parameter, type);
  scope->values[name] = {parameter.getResult(), std::nullopt, order};
}

/// [L6.4]
void Emitter::emitMetric(const syntax::MetricStatement &metric) {
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

/// The results: the loss, then the metrics. [L6.5]
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
  func::ReturnOp::create(builder, locate(model.body.close), values);
  function.setFunctionType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllResultAttrs(attributes);
}
