//===- RandomShape.cpp - draws of ops that move entries -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/WindowOps.h"

using namespace mlir;
using namespace meshc::nd;

namespace meshc::reference {

using nd::TensorType;

bool RandomProgram::addRename() {
  const Known *x =
      pick([](const Known &x) { return getType(x.value).getRank() > 0; });
  if (!x)
    return false;
  Known in = *x;
  TensorType type = getType(in.value);
  llvm::SmallVector<StringAttr> from = drawDims(type, true), to;
  if (from.size() > 1 && flip()) {
    to = from;
    std::rotate(to.begin(), to.begin() + 1, to.end());
  } else {
    from.resize(1);
    to.push_back(drawFreeName(type));
  }
  return add(make.make<RenameOp>(in.value, getNames(from), getNames(to)),
             in.size, in.isExact);
}

bool RandomProgram::addSplit() {
  const Known *x = pick([](const Known &x) {
    TensorType type = getType(x.value);
    return type.getRank() > 0 && type.getRank() < 4;
  });
  if (!x)
    return false;
  Known in = *x;
  TensorType type = getType(in.value);
  DimAttr dim = type.getDims()[draw(type.getRank())];
  llvm::SmallVector<int64_t> divisors;
  for (int64_t d = 1; d <= dim.getSize(); ++d)
    if (dim.getSize() % d == 0)
      divisors.push_back(d);
  int64_t major = divisors[draw(divisors.size())];
  StringAttr first = drawFreeName(type), second = first;
  for (int tries = 0; second == first; ++tries)
    second = flip() || tries > 16 ? dim.getName() : drawFreeName(type);
  if (flip())
    std::swap(first, second);
  return add(make.make<SplitDimOp>(
                 in.value, dim.getName(), getNames({first, second}),
                 builder.getDenseI64ArrayAttr({major, dim.getSize() / major})),
             in.size, in.isExact);
}

bool RandomProgram::addMerge() {
  const Known *x =
      pick([](const Known &x) { return getType(x.value).getRank() > 1; });
  if (!x)
    return false;
  Known in = *x;
  TensorType type = getType(in.value);
  llvm::SmallVector<StringAttr> dims = drawDims(type, true);
  std::shuffle(dims.begin(), dims.end(), random);
  StringAttr into = flip() ? dims[draw(dims.size())] : drawFreeName(type);
  return add(make.make<MergeDimsOp>(in.value, getNames(dims), into), in.size,
             in.isExact);
}

bool RandomProgram::addBroadcast() {
  const Known *x =
      pick([](const Known &x) { return getType(x.value).getRank() < 3; });
  if (!x)
    return false;
  Known in = *x;
  TensorType type = getType(in.value);
  llvm::SmallVector<DimAttr> dims(type.getDims());
  DimAttr added = pool[draw(pool.size())];
  if (type.hasDim(added.getName().getValue()) ||
      type.getElementCount() * added.getSize() > kMaxElements)
    return false;
  dims.push_back(added);
  return add(make.make<BroadcastOp>(type.withDims(dims), in.value), in.size,
             in.isExact);
}

bool RandomProgram::addSlice() {
  const Known *x =
      pick([](const Known &x) { return getType(x.value).getRank() > 0; });
  if (!x)
    return false;
  Known in = *x;
  TensorType type = getType(in.value);
  DimAttr dim = type.getDims()[draw(type.getRank())];
  int64_t size = 1 + draw(dim.getSize());
  int64_t start = draw(dim.getSize() - size + 1);
  return add(make.make<SliceOp>(in.value, dim.getName(),
                                builder.getI64IntegerAttr(start),
                                builder.getI64IntegerAttr(size)),
             in.size, in.isExact);
}

bool RandomProgram::addConcat() {
  const Known *x =
      pick([](const Known &x) { return getType(x.value).getRank() > 0; });
  if (!x)
    return false;
  Known a = *x;
  TensorType type = getType(a.value);
  StringAttr dim = type.getDims()[draw(type.getRank())].getName();
  const Known *y = pick([&](const Known &y) {
    TensorType other = getType(y.value);
    return other.hasDim(dim.getValue()) &&
           other.withoutDims(dim) == type.withoutDims(dim);
  });
  if (!y)
    return false;
  Known b = *y;
  Value operands[] = {a.value, b.value};
  return add(make.make<ConcatOp>(ValueRange(operands), dim),
             std::max(a.size, b.size), a.isExact && b.isExact);
}

bool RandomProgram::addPad() {
  const Known *x = pick([](const Known &x) {
    return getType(x.value).getRank() > 0 && isFloat(x.value);
  });
  if (!x)
    return false;
  Known in = *x;
  TensorType type = getType(in.value);
  DimAttr dim = type.getDims()[draw(type.getRank())];
  double value = flip() ? 0 : drawNumber();
  return add(make.make<PadOp>(in.value, dim.getName(),
                              builder.getI64IntegerAttr(draw(3)),
                              builder.getI64IntegerAttr(draw(3)),
                              builder.getF64FloatAttr(value)),
             in.size, in.isExact);
}

} // namespace meshc::reference
