//===- EmitParameter.cpp - parameters and their names ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Emitter.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

/// Whether a parameter may have this name in the current scope; reports an
/// error if not. [L6.3]
bool Emitter::declareParameter(const syntax::Name &name) {
  if (frames.empty() && loops.empty() && !declare(name))
    return false;
  syntax::Diagnostic *clash = nullptr;
  // A name that was assigned before would be ambiguous.
  if (scope->findValue(name.text))
    clash = &error(name.span, quote(name.text) +
                                  " is the name of a value above; choose "
                                  "another");
  else if (file().constants.count(name.text))
    clash = &error(name.span, quote(name.text) +
                                  " is the name of a constant; choose another");
  if (clash)
    noteName(*clash, name.text);
  return !clash;
}

/// The type of a parameter as declared, without the dims of loops; null after
/// an error. [L6.2]
nd::TensorType Emitter::parameterType(const syntax::TensorDeclaration &tensor) {
  if (tensor.kind != syntax::TensorDeclaration::Kind::Tensor) {
    error(tensor.name.span,
          quote(tensor.kind == syntax::TensorDeclaration::Kind::Dim ? "dim"
                                                                    : "fn") +
              " is not a parameter's name");
    return {};
  }
  if (!declareParameter(tensor.name))
    return {};
  nd::TensorType type = declaredType(tensor, "parameter");
  if (!type || type.isFloat())
    return type;
  error(tensor.type->span, "parameters are trained and of a float type (f32, "
                           "bf16 or f16), got " +
                               describe(type.getElementType()));
  return {};
}

/// The first of `text`, `text`_2, `text`_3, … that is neither a parameter's
/// name nor a path to one yet.
std::string Emitter::makePath(const std::string &text, syntax::Span span) {
  unsigned &number = pathNumbers[text];
  for (;;) {
    std::string path =
        ++number == 1 ? text : text + "_" + std::to_string(number);
    if (parameterPaths.insert({path, span}).second)
      return path;
  }
}

/// The name of a parameter in the program: the path to it and its own name.
/// Null after an error. [L4.9]
StringAttr Emitter::nameParameter(const syntax::Name &name) {
  std::string prefix;
  for (PathPart &part : path) {
    if (part.path.empty())
      part.path = makePath(prefix + std::string(part.name), part.span);
    prefix = part.path + ".";
  }
  std::string full = prefix + std::string(name.text);
  auto [known, isNew] = parameterPaths.insert({full, name.span});
  if (isNew)
    return builder.getStringAttr(full);
  error(name.span, "names of other parameters begin with " + quote(full + ".") +
                       "; choose another name")
      .note(known->second, "they are declared inside this");
  return {};
}

/// The type with the dims of the loops around it; null after an error. [L4.8]
nd::TensorType Emitter::stackType(nd::TensorType declared, syntax::Span at) {
  SmallVector<nd::DimAttr> dims;
  for (const Loop *loop : loops)
    dims.push_back(loop->dim);
  llvm::append_range(dims, declared.getDims());
  return makeType(declared.getElementType(), dims, at);
}

/// [L6.2], [L4.8] Parameters are ops of the model, outside of all loops.
void Emitter::emitParameter(const syntax::ParamStatement &param) {
  const syntax::TensorDeclaration &tensor = param.tensor;
  if (isTraining) {
    error(tensor.name.span, "a setting of the optimizer declares no "
                            "parameters; they belong to the model");
    scope->values[tensor.name.text] = {};
    return;
  }
  if (withGradient) {
    error(tensor.name.span, "a function with a gradient of its own, and what "
                            "it calls, declares no parameters; pass them as "
                            "arguments")
        .note(withGradient->gradient->span,
              "the gradient of " + quote(withGradient->name.text) + " is here");
    scope->values[tensor.name.text] = {};
    return;
  }
  nd::TensorType declared = parameterType(tensor);
  nd::TensorType type =
      declared ? stackType(declared, tensor.name.span) : nd::TensorType();
  StringAttr name = type ? nameParameter(tensor.name) : StringAttr();
  if (!name) {
    tensorNames.push_back(tensor.name);
    scope->values[tensor.name.text] = {};
    return;
  }
  tensorNames.push_back({std::string_view(name.getValue()), tensor.name.span});
  scope->places[tensor.name.text] = tensor.name.span;
  SmallVector<StringRef> order;
  for (const Loop *loop : loops)
    order.push_back(loop->dimName());
  for (const syntax::Name &dim : *tensor.dims)
    order.push_back(resolveDim(dim).getValue());
  nd::ParameterOp parameter;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(modelBody);
    parameter = nd::ParameterOp::create(
        builder, locate(tensor.name.span), type, name,
        builder.getStrArrayAttr(order),
        loops.empty() ? ArrayAttr()
                      : builder.getStrArrayAttr(
                            ArrayRef(order).take_front(loops.size())));
  }
  emitInitializer(param, parameter, declared);
  scope->values[tensor.name.text] = {parameter.getResult(), std::nullopt,
                                     order};
}
