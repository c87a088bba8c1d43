//===- RandomFunction.cpp - draws of functions with gradients -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Functions that state their gradients. A gradient need not be that of the
/// function: it is computed as it stands, under every layout.
///
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

namespace meshc::reference {

/// Declares a function, on one line, and returns its name.
std::string RandomProgram::declare(const std::string &arguments,
                                   const std::string &body,
                                   const std::string &gradient) {
  std::string name = "f" + std::to_string(++numbered);
  functions.push_back("fn " + name + "(" + arguments + ") { " + body +
                      " } gradient(" + gradient + " }");
  return name;
}

/// A function of each element.
bool RandomProgram::addFunction() {
  const Known *x = pick([](const Known &x) { return x.isFloat(); });
  if (!x)
    return false;
  Known in = *x;
  switch (draw(in.isExact ? 3 : 2)) {
  case 0: {
    std::string name =
        declare("x", "y = tanh(x); return y",
                "g) { return g * (1 - y * y) * 0.8 + 0.1 * g * x");
    return add(name + "(" + in.name + ")", in.type, in.dims, 1, in.isExact);
  }
  case 1: {
    std::string name =
        declare("x, bound", "return x",
                "g) { return minimum(maximum(g, -bound), bound), 0");
    return add(name + "(" + in.name + ", " + drawNumber(0.01, 0.5) + ")", in);
  }
  default: {
    std::string name =
        declare("x", "return floor(8 * x + 0.5) / 8", "g) { return g");
    return add(name + "(" + in.name + ")", in);
  }
  }
}

/// A function whose gradient, or whose value, sums over a dim.
bool RandomProgram::addFunctionAlong() {
  const Known *x =
      pick([](const Known &x) { return x.isFloat() && !x.dims.empty(); });
  if (!x)
    return false;
  Known in = *x;
  Dim dim = drawDimOf(in);
  std::string arguments = "(" + in.name + ", " + dim.name + ")";
  if (flip()) {
    std::string name =
        declare("x, dim along",
                "e = exp(x - max(x, along)); p = e / sum(e, along); return p",
                "g) { return p * (g - sum(g * p, along))");
    return add(name + arguments, in.type, in.dims, 1, false);
  }
  std::string name = declare("x, dim along", "return mean(square(x), along)",
                             "g) { return 0.3 * g * x");
  return add(name + arguments, in.type, without(in.dims, {dim}),
             in.size * in.size, false);
}

/// Two values of two arguments.
bool RandomProgram::addFunctionOfTwo() {
  const Known *x = pick([](const Known &x) { return x.isFloat(); });
  if (!x)
    return false;
  Known a = *x;
  Known b = *pick([&](const Known &y) {
    return y.type == a.type && y.dims.size() == a.dims.size() &&
           without(y.dims, a.dims).empty();
  });
  if (a.size * b.size + a.size > 20)
    return false;
  std::string name =
      declare("x, y", "z = x * y; return z + 0.5 * x, sin(z)",
              "g, h) { s = g + h * cos(z); return s * y + 0.5 * g, s * x");
  std::string first = "t" + std::to_string(++numbered);
  std::string second = "t" + std::to_string(++numbered);
  statements.push_back("  " + first + ", " + second + " = " + name + "(" +
                       a.name + ", " + b.name + ")");
  bool isExact = a.isExact && b.isExact;
  values.push_back({first, a.type, a.dims, a.size * (b.size + 0.5), isExact});
  values.push_back({second, a.type, a.dims, 1, isExact});
  return true;
}

/// A square root by Newton's method, whose loop may end early: the gradient
/// does not pass it.
bool RandomProgram::addFunctionWithLoop() {
  Dim dim = pool[draw(pool.size())];
  const Known *x =
      pick([&](const Known &x) { return x.isFloat() && !x.has(dim.name); });
  if (!x || dim.size > 5 || isBatch(dim))
    return false;
  Known in = *x;
  std::string end = flip() ? " while iota(along) < 2" : "";
  std::string name =
      declare("x, dim along",
              "s = square(x) + 1; y = s; for along { y = 0.5 * (y + s / y) }" +
                  end + "; return y",
              "g) { return g * x / y");
  return add(name + "(" + in.name + ", " + dim.name + ")", in.type, in.dims,
             in.size * in.size / 4 + 1, in.isExact);
}

} // namespace meshc::reference
