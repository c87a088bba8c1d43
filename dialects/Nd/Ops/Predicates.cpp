//===- Predicates.cpp - what comparisons ask ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Predicates.h"

using namespace mlir;

namespace meshc::nd {

namespace {
/// What a predicate is, in each place that asks.
struct Meaning {
  bool ifLess, ifEqual, ifGreater, ifUnordered;
  Predicate flipped, inverted;
  arith::CmpFPredicate ofFloats;
  arith::CmpIPredicate ofSigned, ofUnsigned;
};
} // namespace

/// By the predicate's number.
static const Meaning &getMeaning(Predicate predicate) {
  using P = Predicate;
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static const Meaning meanings[] = {
      {false, true, false, false, P::Eq, P::Ne, F::OEQ, I::eq, I::eq},
      {true, false, true, true, P::Ne, P::Eq, F::UNE, I::ne, I::ne},
      {true, false, false, false, P::Gt, P::Ge, F::OLT, I::slt, I::ult},
      {true, true, false, false, P::Ge, P::Gt, F::OLE, I::sle, I::ule},
      {false, false, true, false, P::Lt, P::Le, F::OGT, I::sgt, I::ugt},
      {false, true, true, false, P::Le, P::Lt, F::OGE, I::sge, I::uge},
  };
  return meanings[static_cast<int>(predicate)];
}

bool holds(Predicate predicate, double a, double b) {
  const Meaning &meaning = getMeaning(predicate);
  return a < b    ? meaning.ifLess
         : a == b ? meaning.ifEqual
         : a > b  ? meaning.ifGreater
                  : meaning.ifUnordered;
}

Predicate flip(Predicate predicate) { return getMeaning(predicate).flipped; }

Predicate invert(Predicate predicate) { return getMeaning(predicate).inverted; }

arith::CmpFPredicate getFloatPredicate(Predicate predicate) {
  return getMeaning(predicate).ofFloats;
}

arith::CmpIPredicate getIntegerPredicate(Predicate predicate, bool isSigned) {
  const Meaning &meaning = getMeaning(predicate);
  return isSigned ? meaning.ofSigned : meaning.ofUnsigned;
}

} // namespace meshc::nd
