//===- Comparisons.h - how two numbers compare ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_COMPARISONS_H
#define MESHC_TEST_GPU_PTX_COMPARISONS_H

#include "test/gpu/ptx/Floats.h"
#include "test/gpu/ptx/Op.h"

namespace meshc::ptx {

/// Those with a `u` are true if an operand is NaN.
enum class Compare {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};
enum class Combine { And, Or, Xor };

template <Compare how, class T> bool compare(T a, T b) {
  bool isUnordered = !(a == a) || !(b == b);
  switch (how) {
  case Compare::Eq:
    return a == b;
  case Compare::Ne:
    return !isUnordered && !(a == b);
  case Compare::Lt:
    return a < b;
  case Compare::Le:
    return a <= b;
  case Compare::Gt:
    return a > b;
  case Compare::Ge:
    return a >= b;
  case Compare::Equ:
    return isUnordered || a == b;
  case Compare::Neu:
    return isUnordered || !(a == b);
  case Compare::Ltu:
    return isUnordered || a < b;
  case Compare::Leu:
    return isUnordered || a <= b;
  case Compare::Gtu:
    return isUnordered || a > b;
  case Compare::Geu:
    return isUnordered || a >= b;
  case Compare::Num:
    return !isUnordered;
  case Compare::Nan:
    return isUnordered;
  }
  return false;
}

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_COMPARISONS_H
