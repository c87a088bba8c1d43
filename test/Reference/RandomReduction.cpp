//===- RandomReduction.cpp - draws of ops that reduce ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/NormalizationOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include <cmath>

using namespace mlir;
using namespace meshc::nd;

namespace meshc::reference {

using nd::TensorType;

bool RandomProgram::addEinsum() {
  llvm::SmallVector<Value> operands;
  double size = 1;
  llvm::SmallVector<StringAttr> names;
  int64_t count = 1;
  size_t wanted = 1 + draw(3);
  for (size_t tries = 0; operands.size() < wanted && tries < 6; ++tries) {
    const Known *x = pick([&](const Known &x) {
      return isFloat(x.value) && llvm::all_of(operands, [&](Value other) {
               return mayJoin(other, x.value) &&
                      getType(other).getElementType() ==
                          getType(x.value).getElementType();
             });
    });
    if (!x)
      return false;
    int64_t joined = count;
    for (DimAttr dim : getType(x->value).getDims())
      if (!llvm::is_contained(names, dim.getName()))
        joined *= dim.getSize();
    if (joined > 4 * kMaxElements)
      continue;
    count = joined;
    operands.push_back(x->value);
    size *= x->size;
    for (DimAttr dim : getType(x->value).getDims())
      if (!llvm::is_contained(names, dim.getName()))
        names.push_back(dim.getName());
  }
  if (operands.empty())
    return false;
  llvm::SmallVector<StringAttr> reduced;
  for (StringAttr name : names)
    if (flip())
      reduced.push_back(name);
  Value result = make.make<EinsumOp>(operands, getNames(reduced));
  double terms = double(count) / getType(result).getElementCount();
  if (getType(result).getElementCount() > kMaxElements)
    return false;
  return add(result, size * std::sqrt(terms), false);
}

bool RandomProgram::addReduction() {
  const Known *x = pick([](const Known &x) {
    return isFloat(x.value) && getType(x.value).getRank() > 0;
  });
  if (!x)
    return false;
  Known in = *x;
  ArrayAttr dims = getNames(drawDims(getType(in.value), true));
  switch (draw(6)) {
  case 0:
  case 1: {
    Value sum = make.make<ReduceSumOp>(in.value, dims);
    double terms = double(getType(in.value).getElementCount()) /
                   getType(sum).getElementCount();
    return add(sum, in.size * std::sqrt(terms), false);
  }
  case 2:
    return add(make.make<ReduceMeanOp>(in.value, dims), in.size, false);
  case 3:
    return add(make.make<ReduceMaxOp>(in.value, dims), in.size, in.isExact);
  case 4:
    return add(make.make<ReduceMinOp>(in.value, dims), in.size, in.isExact);
  default:
    // Factors around one, so that products neither vanish nor explode.
    Value near = make.make<ExpOp>(make.make<MulOp>(make.make<TanhOp>(in.value),
                                                   make.scalar(in.value, 0.1)));
    return add(make.make<ReduceProdOp>(near, dims), 1, false);
  }
}

bool RandomProgram::addArgmax() {
  const Known *x = pick([](const Known &x) {
    return isFloat(x.value) && x.isExact && getType(x.value).getRank() > 0;
  });
  if (!x)
    return false;
  TensorType type = getType(x->value);
  StringAttr dim = type.getDims()[draw(type.getRank())].getName();
  return add(make.make<ArgmaxOp>(x->value, dim), 4, true);
}

bool RandomProgram::addSoftmax() {
  const Known *x = pick([](const Known &x) {
    return isFloat(x.value) && getType(x.value).getRank() > 0;
  });
  if (!x)
    return false;
  Known in = *x;
  TensorType type = getType(in.value);
  StringAttr dim = type.getDims()[draw(type.getRank())].getName();
  if (flip())
    return add(make.make<SoftmaxOp>(in.value, dim), 1, false);
  return add(make.make<LogSoftmaxOp>(in.value, dim), in.size + 2, false);
}

bool RandomProgram::addCrossEntropy() {
  const Known *i = pick([](const Known &x) { return isInteger(x.value); });
  if (!i)
    return false;
  Value integers = i->value;
  const Known *l = pick([&](const Known &x) {
    return isFloat(x.value) && mayJoin(integers, x.value) &&
           llvm::any_of(getType(x.value).getDims(), [&](DimAttr dim) {
             return !getType(integers).hasDim(dim.getName().getValue());
           });
  });
  if (!l)
    return false;
  Known logits = *l;
  DimAttr dim;
  while (!dim || getType(integers).hasDim(dim.getName().getValue()))
    dim =
        getType(logits.value).getDims()[draw(getType(logits.value).getRank())];
  return add(make.make<CrossEntropyOp>(logits.value,
                                       makeIndices(integers, dim.getSize()),
                                       dim.getName()),
             logits.size + 2, false);
}

} // namespace meshc::reference
