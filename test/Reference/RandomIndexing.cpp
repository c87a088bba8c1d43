//===- RandomIndexing.cpp - draws of sources, gathers and updates ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"

using namespace mlir;
using namespace meshc::nd;

namespace meshc::reference {

using nd::TensorType;

/// `integers` between 0 and below - 1.
Value RandomProgram::makeIndices(Value integers, int64_t below) {
  return make.make<ModOp>(integers, make.scalar(integers, below));
}

bool RandomProgram::addSource() {
  Type f32 = builder.getF32Type();
  switch (draw(4)) {
  case 0:
    return add(make.make<ConstantOp>(drawType(f32, 2), drawNumber()), 1, true);
  case 1: {
    Type element = flip() ? f32 : Type(builder.getI32Type());
    DimAttr dim = pool[draw(pool.size())];
    return add(make.make<IotaOp>(TensorType::get(element, dim)), 4, true);
  }
  case 2:
    return add(
        make.castTo(
            make.make<StepOp>(TensorType::get(builder.getI32Type(), {})), f32),
        1, true);
  default:
    auto distribution = flip() ? Distribution::Uniform : Distribution::Normal;
    return add(
        make.make<RandomOp>(drawType(f32, 3), distribution, flip() ? "s" : "t"),
        1, true);
  }
}

bool RandomProgram::addGather() {
  const Known *i = pick([](const Known &x) { return isInteger(x.value); });
  if (!i)
    return false;
  Value indices = i->value;
  StringAttr dim;
  const Known *t = pick([&](const Known &x) {
    return getType(x.value).getRank() > 0 && mayJoin(indices, x.value) &&
           llvm::any_of(getType(x.value).getDims(), [&](DimAttr d) {
             return !getType(indices).hasDim(d.getName().getValue());
           });
  });
  if (!t)
    return false;
  Known table = *t;
  while (!dim || getType(indices).hasDim(dim.getValue()))
    dim = getType(table.value)
              .getDims()[draw(getType(table.value).getRank())]
              .getName();
  return add(make.make<GatherOp>(table.value, indices, dim), table.size,
             table.isExact);
}

bool RandomProgram::addScatter() {
  const Known *i = pick([](const Known &x) { return isInteger(x.value); });
  if (!i)
    return false;
  Value indices = i->value;
  const Known *u = pick([&](const Known &x) {
    return isFloat(x.value) &&
           llvm::all_of(getType(indices).getDims(), [&](DimAttr dim) {
             return getType(x.value).getDim(dim.getName().getValue()) == dim;
           });
  });
  if (!u)
    return false;
  Known updates = *u;
  TensorType type = getType(updates.value);
  StringAttr dim = drawFreeName(type);
  llvm::SmallVector<DimAttr> dims = {
      DimAttr::get(context, dim.getValue(), 1 + draw(8))};
  for (DimAttr other : type.getDims())
    if (!getType(indices).hasDim(other.getName().getValue()) || flip())
      dims.push_back(other);
  TensorType result = type.withDims(dims);
  if (result.getElementCount() > kMaxElements)
    return false;
  return add(make.make<ScatterAddOp>(result, updates.value, indices, dim),
             2 * updates.size, false);
}

bool RandomProgram::addOneHot() {
  const Known *i = pick([](const Known &x) {
    return isInteger(x.value) && getType(x.value).getRank() < 3;
  });
  if (!i)
    return false;
  TensorType type = getType(i->value);
  llvm::SmallVector<DimAttr> dims(type.getDims());
  StringAttr dim = drawFreeName(type);
  dims.push_back(DimAttr::get(context, dim.getValue(), 2 + 2 * draw(3)));
  TensorType result = TensorType::get(builder.getF32Type(), dims);
  if (result.getElementCount() > kMaxElements)
    return false;
  return add(make.make<OneHotOp>(result, i->value, dim), 1, true);
}

bool RandomProgram::addUpdate() {
  const Known *p = pick(
      [](const Known &x) { return getType(x.value).getElementType().isF32(); });
  if (!p)
    return false;
  Known parameter = *p;
  TensorType type = getType(parameter.value);
  const Known *g =
      pick([&](const Known &x) { return x.value.getType() == type; });
  auto drawSlot = [&](StringRef stream) {
    return make.make<RandomOp>(type, Distribution::Uniform, stream);
  };
  static constexpr StringRef names[] = {"nd.sgd_update", "nd.momentum_update",
                                        "nd.adamw_update"};
  size_t slots = draw(3);
  OperationState state(loc, names[slots]);
  state.addOperands(
      {parameter.value, g->value, make.scalar(builder.getF32Type(), 0.1),
       make.make<StepOp>(TensorType::get(builder.getI32Type(), {}))});
  for (size_t slot = 0; slot < slots; ++slot)
    state.addOperands(drawSlot(slot ? "v" : "m"));
  for (size_t result = 0; result <= slots; ++result)
    state.addTypes(type);
  state.addAttribute("nd.class", builder.getStringAttr("optimizer"));
  Operation *update = builder.create(state);
  for (Value result : update->getResults())
    add(result, parameter.size + 1, false);
  return true;
}

} // namespace meshc::reference
