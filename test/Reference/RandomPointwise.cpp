//===- RandomPointwise.cpp - draws of pointwise ops -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

namespace meshc::reference {

bool RandomProgram::addUnary() {
  static constexpr struct {
    const char *name;
    double scale, offset; ///< magnitude of the result: scale · size + offset
  } functions[] = {
      {"tanh", 0, 1},     {"sigmoid", 0, 1}, {"sin", 0, 1},
      {"cos", 0, 1},      {"-", 1, 0},       {"abs", 1, 0},
      {"relu", 1, 0},     {"gelu", 1, 0},    {"silu", 1, 0},
      {"softplus", 1, 1}, {"erf", 0, 1},     {"stop_gradient", 1, 0}};
  const Known *x = pick([](const Known &x) { return x.isFloat(); });
  if (!x)
    return false;
  Known in = *x;
  if (draw(8) == 0)
    return add("square(" + in.name + ")", in.type, in.dims, in.size * in.size,
               in.isExact);
  const auto &function = functions[draw(std::size(functions))];
  return add(function.name + ("(" + in.name + ")"), in.type, in.dims,
             function.scale * in.size + function.offset, in.isExact);
}

/// Functions that need an operand of a certain range, brought there first.
bool RandomProgram::addSafeUnary() {
  const Known *x = pick([](const Known &x) { return x.isFloat(); });
  if (!x)
    return false;
  Known in = *x;
  if (draw(4) == 0)
    return add("exp(tanh(" + in.name + "))", in.type, in.dims, 2, in.isExact);
  std::string positive = "(square(" + in.name + ") + 1)";
  switch (draw(5)) {
  case 0:
    return add("log" + positive, in.type, in.dims, in.size + 1, in.isExact);
  case 1:
    return add("sqrt" + positive, in.type, in.dims, in.size + 1, in.isExact);
  case 2:
    return add("rsqrt" + positive, in.type, in.dims, 1, in.isExact);
  case 3:
    return add("reciprocal" + positive, in.type, in.dims, 1, in.isExact);
  default:
    return add(positive + " ** 0.3", in.type, in.dims, in.size + 1, in.isExact);
  }
}

/// Functions that jump: of exact values only.
bool RandomProgram::addJump() {
  const Known *x =
      pick([](const Known &x) { return x.isFloat() && x.isExact; });
  if (!x)
    return false;
  Known in = *x;
  switch (draw(3)) {
  case 0:
    return add("floor(" + in.name + ")", in);
  case 1:
    return add("sign(" + in.name + ")", in);
  default:
    return add("cast(" + in.name + ", i32)", Type::I32, in.dims, in.size, true);
  }
}

bool RandomProgram::addBinary() {
  const Known *x = pick([](const Known &x) { return x.type != Type::I1; });
  if (!x)
    return false;
  Known a = *x;
  const Known *y =
      pick([&](const Known &y) { return y.type == a.type && mayJoin(a, y); });
  Known b = *y;
  std::string left = a.name, right = b.name;
  std::vector<Dim> dims = join(a.dims, b.dims);
  bool isExact = a.isExact && b.isExact, bothMayTie = a.mayTie && b.mayTie;
  switch (draw(a.isInteger() ? 6 : 5)) {
  case 0:
    return add(left + " + " + right, a.type, dims, a.size + b.size, isExact);
  case 1:
    return add(left + " - " + right, a.type, dims, a.size + b.size, isExact);
  case 2:
    return add(left + " * " + right, a.type, dims, a.size * b.size, isExact);
  case 3:
    return !bothMayTie && add("maximum(" + left + ", " + right + ")", a.type,
                              dims, std::max(a.size, b.size), isExact);
  case 4:
    return !bothMayTie && add("minimum(" + left + ", " + right + ")", a.type,
                              dims, std::max(a.size, b.size), isExact);
  default:
    return add(flip() ? left + " / " + right
                      : "mod(" + left + ", " + right + ")",
               a.type, dims, std::max(a.size, b.size), isExact);
  }
}

bool RandomProgram::addDivision() {
  const Known *x = pick([](const Known &x) { return x.isFloat(); });
  if (!x)
    return false;
  Known a = *x;
  Known b =
      *pick([&](const Known &y) { return y.type == a.type && mayJoin(a, y); });
  return add(a.name + " / (square(" + b.name + ") + 1)", a.type,
             join(a.dims, b.dims), a.size, a.isExact && b.isExact);
}

bool RandomProgram::addSelect() {
  static const char *const predicates[] = {" < ",  " <= ", " > ",
                                           " >= ", " == ", " != "};
  const Known *x = pick([](const Known &x) { return x.isExact; });
  if (!x)
    return false;
  Known a = *x;
  std::string condition = a.name;
  std::vector<Dim> dims = a.dims;
  if (a.type != Type::I1) {
    Known b = *pick([&](const Known &y) {
      return y.isExact && y.type == a.type && mayJoin(a, y);
    });
    condition += predicates[draw(6)] + b.name;
    dims = join(dims, b.dims);
  }
  Known joined{"", Type::I1, dims, 1, true};
  const Known *onTrue =
      pick([&](const Known &v) { return v.isFloat() && mayJoin(joined, v); });
  if (!onTrue)
    return false;
  Known t = *onTrue;
  joined.dims = join(dims, t.dims);
  Known f = *pick(
      [&](const Known &v) { return v.type == t.type && mayJoin(joined, v); });
  return add("where(" + condition + ", " + t.name + ", " + f.name + ")", t.type,
             join(joined.dims, f.dims), std::max(t.size, f.size),
             t.isExact && f.isExact);
}

/// A truth value of numbers or of truth values.
bool RandomProgram::addLogic() {
  const Known *x =
      pick([](const Known &x) { return x.isExact && x.type != Type::I1; });
  if (!x)
    return false;
  Known a = *x;
  std::string text = a.name + (flip() ? " > 0" : " <= 1");
  std::vector<Dim> dims = a.dims;
  if (Known *y = pick([&](const Known &y) {
        return y.type == Type::I1 && mayJoin(a, y);
      })) {
    text += (flip() ? " and " : " or not ") + y->name;
    dims = join(dims, y->dims);
  }
  return add(text, Type::I1, dims, 1, true);
}

bool RandomProgram::addDropout() {
  const Known *x = pick([](const Known &x) { return x.isFloat(); });
  if (!x)
    return false;
  Known in = *x;
  return add("dropout(" + in.name + ", 0.3)", in);
}

bool RandomProgram::addCast() {
  static constexpr Type types[] = {Type::F32, Type::F32, Type::BF16, Type::F16};
  Known in = *pick([](const Known &) { return true; });
  Type type = types[draw(std::size(types))];
  return add("cast(" + in.name + ", " + spell(type) + ")", type, in.dims,
             in.size, in.isExact);
}

} // namespace meshc::reference
