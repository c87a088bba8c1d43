//===- EmitParameter.cpp - parameters and their names ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmitParameter.h"

#include "lib/Frontend/DeclaredTypes.h"
#include "lib/Frontend/Emitter.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The first of `text`, `text`_2, `text`_3, … that is neither a parameter's
/// name nor a path to one yet.
std::string ParameterNames::makePath(const std::string &text,
                                     syntax::Span span) {
  unsigned &number = numbers[text];
  for (;;) {
    std::string path =
        ++number == 1 ? text : text + "_" + std::to_string(number);
    if (paths.insert({path, span}).second)
      return path;
  }
}

StringAttr ParameterNames::make(const syntax::Name &name) {
  std::string prefix;
  for (Part &part : path) {
    if (part.path.empty())
      part.path = makePath(prefix + std::string(part.name), part.span);
    prefix = part.path + ".";
  }
  std::string full = prefix + std::string(name.text);
  auto [known, isNew] = paths.insert({full, name.span});
  if (isNew)
    return emission.builder.getStringAttr(full);
  emission
      .error(name.span, "names of other parameters begin with " +
                            quote(full + ".") + "; choose another name")
      .note(known->second, "they are declared inside this");
  return {};
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Whether a parameter may have this name in the current scope; reports an
/// error if not. [L6.3]
bool ParameterEmitter::declareParameter(const syntax::Name &name) {
  if (emitter.frames.empty() && emitter.loops.empty() && !emitter.declare(name))
    return false;
  syntax::Diagnostic *clash = nullptr;
  // A name that was assigned before would be ambiguous.
  if (emitter.scope->findValue(name.text))
    clash = &emitter.error(
        name.span, quote(name.text) + " is the name of a value above; choose "
                                      "another");
  else if (emitter.file().constants.count(name.text))
    clash = &emitter.error(name.span,
                           quote(name.text) +
                               " is the name of a constant; choose another");
  if (clash)
    emitter.noteName(*clash, name.text);
  return !clash;
}

/// The type of a parameter as declared, without the dims of loops; null after
/// an error. [L6.2]
nd::TensorType
ParameterEmitter::parameterType(const syntax::TensorDeclaration &tensor) {
  if (tensor.kind != syntax::TensorDeclaration::Kind::Tensor) {
    emitter.error(tensor.name.span,
                  quote(tensor.kind == syntax::TensorDeclaration::Kind::Dim
                            ? "dim"
                            : "fn") +
                      " is not a parameter's name");
    return {};
  }
  if (!declareParameter(tensor.name))
    return {};
  nd::TensorType type = DeclaredTypes(emitter).getType(tensor, "parameter");
  if (!type || type.isFloat())
    return type;
  emitter.error(tensor.type->span,
                "parameters are trained and of a float type (f32, "
                "bf16 or f16), got " +
                    describe(type.getElementType()));
  return {};
}

/// The type with the dims of the loops around it; null after an error. [L4.8]
nd::TensorType ParameterEmitter::stackType(nd::TensorType declared,
                                           syntax::Span at) {
  SmallVector<nd::DimAttr> dims;
  for (const Loop *loop : emitter.loops)
    dims.push_back(loop->dim);
  llvm::append_range(dims, declared.getDims());
  return emitter.makeType(declared.getElementType(), dims, at);
}

/// [L6.2], [L4.8] Parameters are ops of the model, outside of all loops.
void ParameterEmitter::emit(const syntax::ParamStatement &param) {
  const syntax::TensorDeclaration &tensor = param.tensor;
  if (emitter.isTraining) {
    emitter.error(tensor.name.span, "a setting of the optimizer declares no "
                                    "parameters; they belong to the model");
    emitter.scope->values[tensor.name.text] = {};
    return;
  }
  if (emitter.withGradient) {
    emitter
        .error(tensor.name.span,
               "a function with a gradient of its own, and what "
               "it calls, declares no parameters; pass them as "
               "arguments")
        .note(emitter.withGradient->gradient->span,
              "the gradient of " + quote(emitter.withGradient->name.text) +
                  " is here");
    emitter.scope->values[tensor.name.text] = {};
    return;
  }
  nd::TensorType declared = parameterType(tensor);
  nd::TensorType type =
      declared ? stackType(declared, tensor.name.span) : nd::TensorType();
  StringAttr name =
      type ? emitter.parameterNames.make(tensor.name) : StringAttr();
  if (!name) {
    emitter.tensorNames.push_back(tensor.name);
    emitter.scope->values[tensor.name.text] = {};
    return;
  }
  emitter.tensorNames.push_back(
      {std::string_view(name.getValue()), tensor.name.span});
  emitter.scope->places[tensor.name.text] = tensor.name.span;
  SmallVector<StringRef> order;
  for (const Loop *loop : emitter.loops)
    order.push_back(loop->dimName());
  for (const syntax::Name &dim : *tensor.dims)
    order.push_back(emitter.resolveDim(dim).getValue());
  nd::ParameterOp parameter;
  {
    OpBuilder::InsertionGuard guard(emitter.builder);
    emitter.builder.setInsertionPointToEnd(emitter.modelBody);
    parameter = nd::ParameterOp::create(
        emitter.builder, emitter.locate(tensor.name.span), type, name,
        emitter.builder.getStrArrayAttr(order),
        emitter.loops.empty()
            ? ArrayAttr()
            : emitter.builder.getStrArrayAttr(
                  ArrayRef(order).take_front(emitter.loops.size())));
  }
  emitInitializer(param, parameter, declared);
  emitter.scope->values[tensor.name.text] = {parameter.getResult(),
                                             std::nullopt, order};
}
