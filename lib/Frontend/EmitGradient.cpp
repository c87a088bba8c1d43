//===- EmitGradient.cpp - functions with a gradient of their own ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmitGradient.h"

#include "dialects/Nd/Ops/CustomGradientOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "lib/Frontend/Emitter.h"
#include "lib/Frontend/Syntax/Spelling.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;
using syntax::TensorDeclaration;

Value frontend::skipCustomGradient(Value value) {
  if (!value)
    return value;
  while (auto op = value.getDefiningOp<nd::CustomGradientOp>())
    value = op.getValues()[cast<OpResult>(value).getResultNumber()];
  return value;
}

static bool hasGradient(const Operand &operand) {
  return operand.value && nd::getTensorType(operand.value).isFloat();
}

/// The arguments whose gradients are returned.
static SmallVector<syntax::Name>
findArguments(const syntax::FunctionDeclaration &function) {
  SmallVector<syntax::Name> names;
  for (const TensorDeclaration &declared : function.arguments)
    if (declared.kind == TensorDeclaration::Kind::Tensor)
      names.push_back(declared.name);
  return names;
}

static std::string countValues(size_t count) {
  return count == 1 ? "one value" : std::to_string(count) + " values";
}

/// The body of a function, and its gradient. The names of the function have
/// their last values in the gradient; its own names are not seen outside of it.
/// [L4.15]
SmallVector<Operand>
GradientEmitter::emit(const syntax::FunctionDeclaration &function,
                      syntax::Span at) {
  SmallVector<Operand> arguments;
  for (const syntax::Name &name : findArguments(function))
    arguments.push_back(emitter.scope->values.at(name.text));
  llvm::SaveAndRestore inside(emitter.withGradient, emitter.withGradient
                                                        ? emitter.withGradient
                                                        : &function);
  SmallVector<Operand> results = emitter.emitBody(function.body, function.name);
  bool ok =
      llvm::all_of(results, [](const Operand &each) { return each.ok(); });
  if (ok && !results.empty() && checkGradient(function, results))
    emitGradient(function, arguments, results, at);
  return results;
}

/// Whether the gradient has a name for each value that the function returns,
/// and returns a value for each argument.
bool GradientEmitter::checkGradient(const syntax::FunctionDeclaration &function,
                                    ArrayRef<Operand> results) {
  const syntax::GradientDeclaration &gradient = *function.gradient;
  std::string name = quote(function.name.text);
  if (gradient.results.size() != results.size()) {
    emitter
        .error(gradient.span, "function " + name + " returns " +
                                  countValues(results.size()) +
                                  ", but its gradient names " +
                                  std::to_string(gradient.results.size()))
        .note(findReturn(function.body)->span, "the function returns here");
    return false;
  }
  for (auto [index, each] : llvm::enumerate(gradient.results))
    for (const syntax::Name &other :
         ArrayRef(gradient.results).take_front(index))
      if (other.text == each.text) {
        emitter.error(each.span, quote(each.text) + " is given twice")
            .note(other.span, "first given here");
        return false;
      }
  if (llvm::none_of(results, hasGradient)) {
    emitter
        .error(gradient.span, "function " + name +
                                  " returns no floats, and only floats have "
                                  "gradients")
        .note(findReturn(function.body)->span, "the function returns here");
    return false;
  }
  const syntax::Statement *end = findReturn(gradient.body);
  if (!end) {
    emitter.error(gradient.span, "the gradient of " + name +
                                     " returns nothing; end it with 'return'");
    return false;
  }
  size_t wanted = findArguments(function).size();
  size_t count = std::get<syntax::ReturnStatement>(end->node).values.size();
  if (count == wanted)
    return true;
  emitter
      .error(end->span,
             "the gradient of " + name + " returns " + countValues(count) +
                 ", but the function has " + std::to_string(wanted) +
                 (wanted == 1 ? " argument" : " arguments") +
                 " besides dims and functions; return the gradient of "
                 "each")
      .note(function.name.span, "declared here");
  return false;
}

/// The gradient of an argument as a tensor of its type; null after an error.
Value GradientEmitter::emitArgumentGradient(const syntax::Name &argument,
                                            nd::TensorType wanted,
                                            Operand gradient, syntax::Span at) {
  if (gradient.constant) {
    TypedAttr number =
        emitter.makeNumber(*gradient.constant, wanted.getElementType(), at);
    return number
               ? emitter.create(nd::ConstantOp::getOperationName(), at, {},
                                wanted,
                                emitter.builder.getNamedAttr("value", number))
               : Value();
  }
  if (!gradient.value)
    return {};
  nd::TensorType got = nd::getTensorType(gradient.value);
  if (got == wanted)
    return gradient.value;
  std::string hint;
  for (nd::DimAttr dim : got.getDims())
    if (StringRef name = dim.getName().getValue(); !wanted.hasDim(name))
      hint += "; sum it over " + quote(name);
  for (nd::DimAttr dim : wanted.getDims())
    if (StringRef name = dim.getName().getValue(); !got.hasDim(name))
      hint += "; broadcast it along " + quote(name);
  syntax::Diagnostic &mismatch = emitter.error(
      at, "the gradient of " + quote(argument.text) + " must be of its type, " +
              describe(wanted) + ", got " + describe(got) +
              describeSizes(got, wanted) + hint);
  mismatch.note(argument.span, quote(argument.text) + " is declared here");
  return {};
}

/// Gives the names of the gradient the arguments of its block.
static void bindGradients(const syntax::GradientDeclaration &gradient,
                          ArrayRef<Operand> results, Block &block,
                          Scope &inner) {
  for (auto [name, result] : llvm::zip(gradient.results, results)) {
    inner.places[name.text] = name.span;
    inner.values[name.text] = {};
    if (hasGradient(result))
      inner.values[name.text] = Operand::of(
          block.addArgument(result.value.getType(), result.value.getLoc()));
    else
      inner.problems[name.text] =
          "only floats have gradients, and what the function returns here is " +
          (result.value ? describe(nd::getTensorType(result.value))
                        : "a number");
  }
}

/// The gradients that the body returns, of the arguments that have one; some
/// are missing or null after an error.
SmallVector<Value>
GradientEmitter::emitReturned(const syntax::FunctionDeclaration &function,
                              ArrayRef<Operand> arguments) {
  const syntax::Body &body = function.gradient->body;
  SmallVector<Operand> returned = emitter.emitBody(body, function.name);
  SmallVector<Value> gradients;
  const auto &expressions =
      std::get<syntax::ReturnStatement>(findReturn(body)->node).values;
  if (returned.size() != arguments.size())
    return gradients;
  for (auto [name, argument, value, expression] :
       llvm::zip(findArguments(function), arguments, returned, expressions))
    if (hasGradient(argument))
      gradients.push_back(emitArgumentGradient(
          name, nd::getTensorType(argument.value), value, expression->span));
  return gradients;
}

/// Makes residuals of what the region uses of the blocks around it. Ops inside
/// that have regions are isolated themselves.
static void isolate(nd::CustomGradientOp op) {
  Block &block = op.getGradient().front();
  llvm::MapVector<Value, Value> inside;
  for (Operation &inner : block)
    for (OpOperand &operand : inner.getOpOperands()) {
      Value value = operand.get();
      if (value.getParentBlock() == &block)
        continue;
      Value &argument = inside[value];
      if (!argument)
        argument = block.addArgument(value.getType(), value.getLoc());
      operand.set(argument);
    }
  for (Value value : llvm::make_first_range(inside))
    op.getResidualsMutable().append(value);
}

/// Makes the results those of an nd.custom_gradient. What the gradient uses of
/// the blocks around it become its residuals.
void GradientEmitter::emitGradient(const syntax::FunctionDeclaration &function,
                                   ArrayRef<Operand> arguments,
                                   MutableArrayRef<Operand> results,
                                   syntax::Span at) {
  const syntax::GradientDeclaration &gradient = *function.gradient;
  SmallVector<Value> values, inputs;
  for (const Operand &result : results)
    if (hasGradient(result))
      values.push_back(result.value);
  for (const Operand &argument : arguments)
    if (hasGradient(argument))
      inputs.push_back(argument.value);
  Location loc = emitter.locate(at);
  auto op = nd::CustomGradientOp::create(emitter.builder, loc,
                                         ValueRange(values).getTypes(), values,
                                         inputs, ValueRange());
  Block &block = op.getGradient().emplaceBlock();
  Scope inner;
  inner.parent = emitter.scope;
  inner.module = emitter.scope->module;
  bindGradients(gradient, results, block, inner);
  llvm::SaveAndRestore inScope(emitter.scope, &inner);
  OpBuilder::InsertionGuard guard(emitter.builder);
  emitter.builder.setInsertionPointToEnd(&block);
  emitter.gradientBlocks.push_back({&block, emitter.loops.size()});
  SmallVector<Value> gradients = emitReturned(function, arguments);
  emitter.gradientBlocks.pop_back();
  if (gradients.size() != inputs.size() ||
      llvm::is_contained(gradients, Value()))
    return; // after an error
  nd::YieldOp::create(emitter.builder, loc, gradients);
  isolate(op);
  unsigned number = 0;
  for (Operand &result : results)
    if (hasGradient(result))
      result.value = op.getResult(number++);
}
