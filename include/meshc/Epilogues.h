//===- Epilogues.h - what is known of each epilogue -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rows of meshc/Epilogues.def, for the compiler and the runtime. Code that
/// handles epilogues asks here and does not list kinds.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_EPILOGUES_H
#define MESHC_EPILOGUES_H

#include "meshc/RuntimeAbi.h"

#include <cmath>

namespace meshc {

// The columns of the table; Epilogues.def explains them.
enum class EpilogueOperand { None, Bias, Argument, A, B };
enum class EpilogueResult { Value, Gradient, Sums };
enum class EpilogueMask { None, Writes, Reads };
enum class EpilogueKept { Nothing, Argument };
enum class Activation {
#define MESHC_ACTIVATION(Kind, name, value, gradient) Kind,
#include "meshc/Epilogues.def"
};

/// A row of the table.
struct EpilogueTraits {
  MeshcEpilogueKind kind;
  const char *name;
  const char *text;
  EpilogueOperand operand;
  Activation function;
  EpilogueResult result;
  EpilogueMask mask;
  EpilogueKept kept;

  constexpr bool hasBias() const { return operand == EpilogueOperand::Bias; }
  /// Whether the call reads a tensor of C's shape.
  constexpr bool readsLikeC() const {
    return operand == EpilogueOperand::Argument;
  }
  constexpr bool isActivation() const {
    return result == EpilogueResult::Value;
  }
  constexpr bool isGradient() const {
    return result == EpilogueResult::Gradient;
  }
  /// Whether it sums a factor over k. C is then a result of its own; with all
  /// others D takes the place of C.
  constexpr bool sumsFactor() const { return result == EpilogueResult::Sums; }
  constexpr bool keepsProduct() const { return sumsFactor(); }
  constexpr bool writesMask() const { return mask == EpilogueMask::Writes; }
  constexpr bool readsMask() const { return mask == EpilogueMask::Reads; }
  constexpr bool mayHaveMask() const { return mask != EpilogueMask::None; }
  constexpr bool mayKeepArgument() const {
    return kept == EpilogueKept::Argument;
  }
  /// Inputs of the kernel. Its first result follows them.
  constexpr uint32_t getInputCount() const {
    return hasBias() || readsLikeC() ? 2 : 1;
  }
};

inline constexpr EpilogueTraits epilogueTable[] = {
#define MESHC_EPILOGUE(CONSTANT, Kind, name, number, Operand, Function,        \
                       Result, Mask, Kept, text)                               \
  {MESHC_##CONSTANT,                                                           \
   #name,                                                                      \
   text,                                                                       \
   EpilogueOperand::Operand,                                                   \
   Activation::Function,                                                       \
   EpilogueResult::Result,                                                     \
   EpilogueMask::Mask,                                                         \
   EpilogueKept::Kept},
#include "meshc/Epilogues.def"
};

/// The row of a MeshcEpilogueKind, or null if no epilogue has that number.
constexpr const EpilogueTraits *findEpilogue(uint32_t kind) {
  for (const EpilogueTraits &row : epilogueTable)
    if (row.kind == kind)
      return &row;
  return nullptr;
}

/// The row with these columns, or null.
constexpr const EpilogueTraits *findEpilogue(EpilogueOperand operand,
                                             Activation function,
                                             EpilogueResult result) {
  for (const EpilogueTraits &row : epilogueTable)
    if (row.operand == operand && row.function == function &&
        row.result == result)
      return &row;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

/// gelu(x) / x: sigmoid(u(x)), u(x) = 2·sqrt(2/pi)·(x + 0.044715·x^3).
inline double geluGate(double x) {
  constexpr double scale = 1.5957691216057308, cubic = 0.044715;
  return 1 / (1 + std::exp(-scale * (x + cubic * x * x * x)));
}
/// The derivative of geluGate.
inline double geluGateSlope(double x) {
  constexpr double scale = 1.5957691216057308, cubic = 0.044715;
  double gate = geluGate(x);
  return gate * (1 - gate) * scale * (1 + 3 * cubic * x * x);
}

/// f(x).
inline double applyActivation(Activation function, double x) {
  switch (function) {
#define MESHC_ACTIVATION(Kind, name, value, gradient)                          \
  case Activation::Kind:                                                       \
    return value;
#include "meshc/Epilogues.def"
  }
  return x;
}

/// g·f'(x).
inline double applyGradient(Activation function, double x, double g) {
  switch (function) {
#define MESHC_ACTIVATION(Kind, name, value, gradient)                          \
  case Activation::Kind:                                                       \
    return gradient;
#include "meshc/Epilogues.def"
  }
  return g;
}

/// An element of D, for the element `c` of C and `other`, the operand's number
/// for that element (of any value if there is no operand). Not for sums.
/// `argument`, if not null, receives f's argument.
inline double applyEpilogue(const EpilogueTraits &epilogue, double c,
                            double other, double *argument = nullptr) {
  if (epilogue.isGradient())
    return applyGradient(epilogue.function, other, c);
  double x = epilogue.hasBias() ? c + other : c;
  if (argument)
    *argument = x;
  return applyActivation(epilogue.function, x);
}

} // namespace meshc

#endif // MESHC_EPILOGUES_H
