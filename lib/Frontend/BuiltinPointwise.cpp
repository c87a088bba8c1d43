//===- BuiltinPointwise.cpp - functions of single elements ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "lib/Frontend/Builtins.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

/// f(x): one op, one operand. A function of a number is a number if it can be
/// computed here. [L5.5]
static Operand emitUnary(Call &call) {
  Operand operand = call.operand(0);
  if (operand.constant)
    if (std::optional<syntax::Folded> folded = syntax::fold(
            std::string_view(call.builtin.name), *operand.constant)) {
      if (folded->ok())
        return Operand::of(folded->value);
      call.emitter.noteOrigin(
          call.emitter.error(call.ast.callee.span, folded->problem),
          call.place(0));
      return {};
    }
  if (operand.constant)
    operand = Operand::of(call.emitter.materialize(
        *operand.constant, call.emitter.builder.getF32Type(), call.place(0)));
  Value value = operand.value;
  if (!value ||
      !call.emitter.checkKinds(value, call.builtin.kinds, call.builtin.name,
                               call.place(0), call.place(0)))
    return {};
  return Operand::of(
      call.create(call.builtin.op, value, nd::getTensorType(value)));
}

/// f(a, b): aligned by name.
static Operand emitBinary(Call &call) {
  Operand operands[] = {call.operand(0), call.operand(1)};
  syntax::Span places[] = {call.place(0), call.place(1)};
  for (auto [operand, place] : llvm::zip(operands, places))
    if (operand.value &&
        !call.emitter.checkKinds(operand.value, call.builtin.kinds,
                                 call.builtin.name, place, place))
      return {};
  if (!call.emitter.unifyTypes(operands, places, call.builtin.name, call.span))
    return {};
  Value values[] = {operands[0].value, operands[1].value};
  Type elementType = nd::getTensorType(values[0]).getElementType();
  nd::TensorType all =
      call.emitter.unite(values, places, elementType, call.span);
  if (all)
    call.emitter.suspects.warnOfTwins(values, all, call.span);
  return Operand::of(call.create(call.builtin.op, values, all));
}

/// where(condition, a, b)
static Operand emitWhere(Call &call) {
  Value condition = call.tensorOf(0, Booleans);
  Operand operands[] = {call.operand(1), call.operand(2)};
  syntax::Span places[] = {call.place(0), call.place(1), call.place(2)};
  if (!condition ||
      !call.emitter.unifyTypes(operands, ArrayRef(places).drop_front(),
                               call.builtin.name, call.span))
    return {};
  Value values[] = {condition, operands[0].value, operands[1].value};
  Type elementType = nd::getTensorType(values[1]).getElementType();
  nd::TensorType all =
      call.emitter.unite(values, places, elementType, call.span);
  if (all)
    call.emitter.suspects.warnOfTwins(ArrayRef(values).drop_front(), all,
                                      call.span);
  return Operand::of(
      call.create(nd::SelectOp::getOperationName(), values, all));
}

/// cast(x, type)
static Operand emitCast(Call &call) {
  Type type = call.type(1);
  Value value = type ? call.tensor(0, type) : Value();
  if (!value)
    return {};
  nd::TensorType from = nd::getTensorType(value);
  if (from.getElementType() == type)
    return Operand::of(value);
  return Operand::of(call.create(nd::CastOp::getOperationName(), value,
                                 from.withElementType(type)));
}

template <typename Op>
static Builtin unary(StringRef name, StringRef usage, ElementKinds kinds) {
  return {name, usage, 1, 1, emitUnary, Op::getOperationName(), kinds};
}

template <typename Op>
static Builtin binary(StringRef name, StringRef usage, ElementKinds kinds) {
  return {name, usage, 2, 2, emitBinary, Op::getOperationName(), kinds};
}

ArrayRef<Builtin> frontend::pointwiseBuiltins() {
  const ElementKinds numbers = Floats | Integers;
  static const Builtin table[] = {
      unary<nd::ExpOp>("exp", "exp(x)", Floats),
      unary<nd::LogOp>("log", "log(x)", Floats),
      unary<nd::SqrtOp>("sqrt", "sqrt(x)", Floats),
      unary<nd::RsqrtOp>("rsqrt", "rsqrt(x)", Floats),
      unary<nd::ReciprocalOp>("reciprocal", "reciprocal(x)", Floats),
      unary<nd::TanhOp>("tanh", "tanh(x)", Floats),
      unary<nd::ErfOp>("erf", "erf(x)", Floats),
      unary<nd::SigmoidOp>("sigmoid", "sigmoid(x)", Floats),
      unary<nd::GeluOp>("gelu", "gelu(x)", Floats),
      unary<nd::SiluOp>("silu", "silu(x)", Floats),
      unary<nd::SoftplusOp>("softplus", "softplus(x)", Floats),
      unary<nd::SinOp>("sin", "sin(x)", Floats),
      unary<nd::CosOp>("cos", "cos(x)", Floats),
      unary<nd::FloorOp>("floor", "floor(x)", Floats),
      unary<nd::AbsOp>("abs", "abs(x)", numbers),
      unary<nd::SignOp>("sign", "sign(x)", numbers),
      unary<nd::SquareOp>("square", "square(x)", numbers),
      unary<nd::ReluOp>("relu", "relu(x)", numbers),
      unary<nd::StopGradientOp>("stop_gradient", "stop_gradient(x)",
                                numbers | Booleans),
      binary<nd::MaximumOp>("maximum", "maximum(a, b)", numbers),
      binary<nd::MinimumOp>("minimum", "minimum(a, b)", numbers),
      binary<nd::ModOp>("mod", "mod(a, b)", numbers),
      binary<nd::InGenerationOp>("in_generation",
                                 "in_generation(generated, trained)",
                                 numbers | Booleans),
      {"where", "where(condition, a, b)", 3, 3, emitWhere},
      {"cast", "cast(x, type)", 2, 2, emitCast},
  };
  return table;
}
