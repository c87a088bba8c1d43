//===- RandomProgram.cpp - small programs by chance -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "lib/Autodiff/ReverseMode.h"

using namespace mlir;
using namespace meshc::nd;

namespace meshc::reference {

using nd::TensorType;

RandomProgram::RandomProgram(MLIRContext *context, uint64_t seed)
    : context(context), builder(context), loc(builder.getUnknownLoc()),
      make(builder, loc), random(seed) {
  static constexpr int64_t sizes[] = {2, 3, 4, 6, 8, 12};
  for (StringRef name : {"a", "b", "c", "d", "e", "f"})
    pool.push_back(DimAttr::get(context, name, sizes[draw(6)]));
}

const RandomProgram::Known *RandomProgram::pick(Filter filter) {
  llvm::SmallVector<const Known *> fitting;
  for (const Known &known : values)
    if (filter(known))
      fitting.push_back(&known);
  // Later values more often, so that programs grow deep.
  if (fitting.empty())
    return nullptr;
  size_t a = draw(fitting.size()), b = draw(fitting.size());
  return fitting[std::max(a, b)];
}

bool RandomProgram::add(Value value, double size, bool isExact) {
  TensorType type = getType(value);
  if (type.isFloat() && size > 20) {
    value = make.make<MulOp>(value, make.scalar(value, 1 / size));
    size = 1;
  }
  if (isInteger(value) && size > 1000) {
    value = make.make<ModOp>(value, make.scalar(value, 16));
    size = 16;
  }
  values.push_back({value, size, isExact});
  return true;
}

TensorType RandomProgram::drawType(Type elementType, size_t maxDims) {
  llvm::SmallVector<DimAttr> dims;
  int64_t count = 1;
  for (size_t wanted = draw(maxDims + 1), tries = 0;
       dims.size() < wanted && tries < 12; ++tries) {
    DimAttr dim = pool[draw(pool.size())];
    if (llvm::is_contained(dims, dim) || count * dim.getSize() > kMaxElements)
      continue;
    count *= dim.getSize();
    dims.push_back(dim);
  }
  return TensorType::get(elementType, dims);
}

llvm::SmallVector<StringAttr> RandomProgram::drawDims(TensorType type,
                                                      bool atLeastOne) {
  llvm::SmallVector<StringAttr> names;
  for (DimAttr dim : type.getDims())
    if (flip())
      names.push_back(dim.getName());
  if (names.empty() && atLeastOne && type.getRank() > 0)
    names.push_back(type.getDims()[draw(type.getRank())].getName());
  return names;
}

StringAttr RandomProgram::drawFreeName(TensorType type) {
  // A tensor may have all the names of the pool.
  std::string spare = "spare";
  while (type.hasDim(spare))
    spare += "r";
  if (llvm::all_of(pool, [&](DimAttr dim) {
        return type.hasDim(dim.getName().getValue());
      }))
    return builder.getStringAttr(spare);
  while (true) {
    StringAttr name = pool[draw(pool.size())].getName();
    if (!type.hasDim(name.getValue()))
      return name;
  }
}

ArrayAttr RandomProgram::drawOrder(TensorType type) {
  llvm::SmallVector<StringAttr> names;
  for (DimAttr dim : type.getDims())
    names.push_back(dim.getName());
  std::shuffle(names.begin(), names.end(), random);
  return getNames(names);
}

ArrayAttr RandomProgram::getNames(ArrayRef<StringAttr> names) {
  return builder.getArrayAttr(
      llvm::SmallVector<Attribute>(names.begin(), names.end()));
}

/// Whether the two have equal sizes of the dims that both have, and together
/// few elements.
bool RandomProgram::mayJoin(Value a, Value b) {
  int64_t count = getType(a).getElementCount();
  for (DimAttr dim : getType(b).getDims()) {
    DimAttr other = getType(a).getDim(dim.getName().getValue());
    if (other && other.getSize() != dim.getSize())
      return false;
    if (!other)
      count *= dim.getSize();
  }
  return count <= kMaxElements;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void RandomProgram::addArguments() {
  Block &block = function.getBody().front();
  auto addArgument = [&](TensorType type, double size) {
    unsigned index = block.getNumArguments();
    values.push_back({block.addArgument(type, loc), size, true});
    function.setType(builder.getFunctionType(block.getArgumentTypes(), {}));
    function.setArgAttr(index, "nd.name",
                        builder.getStringAttr("x" + std::to_string(index)));
    function.setArgAttr(index, "nd.order", drawOrder(type));
  };
  for (size_t i = 0, count = 2 + draw(3); i < count; ++i)
    addArgument(drawType(builder.getF32Type(), 4), 1);
  for (size_t i = 0, count = draw(3); i < count; ++i)
    addArgument(drawType(builder.getI32Type(), 2), 8);
}

/// The gradients of the sum of some float value by all float arguments.
void RandomProgram::addGradients() {
  const Known *y = pick(
      [](const Known &x) { return getType(x.value).getElementType().isF32(); });
  if (!y)
    return;
  llvm::SmallVector<StringAttr> dims;
  for (DimAttr dim : getType(y->value).getDims())
    dims.push_back(dim.getName());
  Value loss = make.reduce<ReduceSumOp>(make.make<SinOp>(y->value), dims);
  llvm::SmallVector<Value> variables;
  for (BlockArgument argument : function.getArguments())
    if (isFloat(argument))
      variables.push_back(argument);
  auto gradients = autodiff::buildGradients(builder, loss, variables);
  if (failed(gradients))
    return;
  for (Value gradient : *gradients)
    if (gradient)
      values.push_back({gradient, 1, false});
}

void RandomProgram::addNames() {
  static constexpr StringRef classes[] = {"parameter", "gradient", "optimizer"};
  size_t number = 0;
  for (Operation &op : function.getBody().front()) {
    if (draw(4) == 0)
      op.setAttr("nd.name",
                 builder.getStringAttr("t" + std::to_string(number++)));
    if (draw(8) == 0)
      op.setAttr("nd.class", builder.getStringAttr(classes[draw(3)]));
  }
}

/// Returns all values that nothing uses, and a few others.
void RandomProgram::finish() {
  llvm::SmallVector<Value> results;
  for (const Known &known : values)
    if (!llvm::is_contained(results, known.value) &&
        (known.value.use_empty() || draw(6) == 0))
      results.push_back(known.value);
  func::ReturnOp::create(builder, loc, results);
  function.setType(builder.getFunctionType(
      function.getBody().front().getArgumentTypes(), ValueRange(results)));
  for (size_t i = 0; i < results.size(); ++i) {
    function.setResultAttr(i, "nd.name",
                           builder.getStringAttr("r" + std::to_string(i)));
    function.setResultAttr(i, "nd.order", drawOrder(getType(results[i])));
  }
}

OwningOpRef<ModuleOp> RandomProgram::build() {
  static constexpr Step steps[] = {
      &RandomProgram::addUnary,     &RandomProgram::addSafeUnary,
      &RandomProgram::addJump,      &RandomProgram::addBinary,
      &RandomProgram::addBinary,    &RandomProgram::addDivision,
      &RandomProgram::addSelect,    &RandomProgram::addEinsum,
      &RandomProgram::addEinsum,    &RandomProgram::addEinsum,
      &RandomProgram::addReduction, &RandomProgram::addReduction,
      &RandomProgram::addArgmax,    &RandomProgram::addRename,
      &RandomProgram::addSplit,     &RandomProgram::addMerge,
      &RandomProgram::addBroadcast, &RandomProgram::addSlice,
      &RandomProgram::addConcat,    &RandomProgram::addPad,
      &RandomProgram::addSource,    &RandomProgram::addGather,
      &RandomProgram::addScatter,   &RandomProgram::addOneHot,
      &RandomProgram::addSoftmax,   &RandomProgram::addCrossEntropy,
      &RandomProgram::addCast,      &RandomProgram::addUpdate};
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, loc, "step",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  addArguments();
  for (size_t i = 0, count = 4 + draw(8); i < count; ++i)
    (this->*steps[draw(std::size(steps))])();
  if (flip())
    addGradients();
  addNames();
  finish();
  return std::move(module);
}

} // namespace meshc::reference
