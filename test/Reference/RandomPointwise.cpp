//===- RandomPointwise.cpp - draws of pointwise ops -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/Nd/Ops/PointwiseOps.h"

using namespace mlir;
using namespace meshc::nd;

namespace meshc::reference {

using nd::TensorType;

bool RandomProgram::addUnary() {
  const Known *x = pick([](const Known &x) { return isFloat(x.value); });
  if (!x)
    return false;
  Known in = *x;
  switch (draw(9)) {
  case 0:
    return add(make.make<TanhOp>(in.value), 1, in.isExact);
  case 1:
    return add(make.make<SigmoidOp>(in.value), 1, in.isExact);
  case 2:
    return add(make.make<SinOp>(in.value), 1, in.isExact);
  case 3:
    return add(make.make<NegOp>(in.value), in.size, in.isExact);
  case 4:
    return add(make.make<AbsOp>(in.value), in.size, in.isExact);
  case 5:
    return add(make.make<SquareOp>(in.value), in.size * in.size, in.isExact);
  case 6:
    return add(make.make<ReluOp>(in.value), in.size, in.isExact);
  case 7:
    return add(make.make<GeluOp>(in.value), in.size, in.isExact);
  default:
    return add(make.make<SoftplusOp>(in.value), in.size + 1, in.isExact);
  }
}

/// Ops that need an operand of a certain range, brought there first.
bool RandomProgram::addSafeUnary() {
  const Known *x = pick([](const Known &x) { return isFloat(x.value); });
  if (!x)
    return false;
  Known in = *x;
  if (draw(4) == 0)
    return add(make.make<ExpOp>(make.make<TanhOp>(in.value)), 2, in.isExact);
  Value positive =
      make.make<AddOp>(make.make<SquareOp>(in.value), make.scalar(in.value, 1));
  switch (draw(5)) {
  case 0:
    return add(make.make<LogOp>(positive), in.size + 1, in.isExact);
  case 1:
    return add(make.make<SqrtOp>(positive), in.size + 1, in.isExact);
  case 2:
    return add(make.make<RsqrtOp>(positive), 1, in.isExact);
  case 3:
    return add(make.make<ReciprocalOp>(positive), 1, in.isExact);
  default:
    return add(make.make<PowOp>(positive, make.scalar(positive, 0.3)),
               in.size + 1, in.isExact);
  }
}

/// Ops that jump: of exact values only.
bool RandomProgram::addJump() {
  const Known *x =
      pick([](const Known &x) { return isFloat(x.value) && x.isExact; });
  if (!x)
    return false;
  Known in = *x;
  switch (draw(3)) {
  case 0:
    return add(make.make<FloorOp>(in.value), in.size, true);
  case 1:
    return add(make.make<SignOp>(in.value), 1, true);
  default:
    return add(make.castTo(in.value, builder.getI32Type()), in.size, true);
  }
}

bool RandomProgram::addBinary() {
  const Known *x = pick(
      [](const Known &x) { return isFloat(x.value) || isInteger(x.value); });
  if (!x)
    return false;
  Known a = *x;
  const Known *y = pick([&](const Known &y) {
    return getType(y.value).getElementType() ==
               getType(a.value).getElementType() &&
           mayJoin(a.value, y.value);
  });
  if (!y)
    return false;
  Known b = *y;
  bool exact = a.isExact && b.isExact;
  switch (draw(5)) {
  case 0:
    return add(make.make<AddOp>(a.value, b.value), a.size + b.size, exact);
  case 1:
    return add(make.make<SubOp>(a.value, b.value), a.size + b.size, exact);
  case 2:
    return add(make.make<MulOp>(a.value, b.value), a.size * b.size, exact);
  case 3:
    return add(make.make<MaximumOp>(a.value, b.value), std::max(a.size, b.size),
               exact);
  default:
    return add(make.make<MinimumOp>(a.value, b.value), std::max(a.size, b.size),
               exact);
  }
}

bool RandomProgram::addDivision() {
  const Known *x = pick([](const Known &x) { return isFloat(x.value); });
  if (!x)
    return false;
  Known a = *x;
  const Known *y = pick([&](const Known &y) {
    return getType(y.value).getElementType() ==
               getType(a.value).getElementType() &&
           mayJoin(a.value, y.value);
  });
  if (!y)
    return false;
  Known b = *y;
  Value divisor =
      make.make<AddOp>(make.make<SquareOp>(b.value), make.scalar(b.value, 1));
  return add(make.make<DivOp>(a.value, divisor), a.size,
             a.isExact && b.isExact);
}

bool RandomProgram::addSelect() {
  const Known *x =
      pick([](const Known &x) { return isFloat(x.value) && x.isExact; });
  if (!x)
    return false;
  Value a = x->value;
  const Known *y = pick([&](const Known &y) {
    return y.isExact && isFloat(y.value) && mayJoin(a, y.value) &&
           getType(y.value).getElementType() == getType(a).getElementType();
  });
  if (!y)
    return false;
  Value condition = make.compare(static_cast<Predicate>(draw(6)), a, y->value);
  const Known *onTrue = pick([&](const Known &v) {
    return isFloat(v.value) && mayJoin(condition, v.value);
  });
  if (!onTrue)
    return false;
  Known t = *onTrue;
  const Known *onFalse = pick([&](const Known &v) {
    return getType(v.value).getElementType() ==
               getType(t.value).getElementType() &&
           mayJoin(condition, v.value) && mayJoin(t.value, v.value);
  });
  if (!onFalse)
    return false;
  Known f = *onFalse;
  return add(make.make<SelectOp>(condition, t.value, f.value),
             std::max(t.size, f.size), t.isExact && f.isExact);
}

bool RandomProgram::addCast() {
  const Known *x = pick([](const Known &) { return true; });
  Known in = *x;
  Type types[] = {builder.getF32Type(), builder.getF32Type(),
                  builder.getBF16Type(), builder.getF16Type()};
  return add(make.castTo(in.value, types[draw(4)]), in.size, in.isExact);
}

} // namespace meshc::reference
