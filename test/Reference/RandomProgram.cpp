//===- RandomProgram.cpp - small programs by chance ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "lib/Autodiff/ReverseMode.h"
#include <cmath>

using namespace mlir;
using namespace meshc::nd;

namespace meshc::reference {

using nd::TensorType;

static constexpr int64_t kMaxElements = 2048;

RandomProgram::RandomProgram(MLIRContext *context, uint64_t seed)
    : context(context), builder(context), loc(builder.getUnknownLoc()),
      make(builder, loc), random(seed) {
  static constexpr int64_t sizes[] = {2, 3, 4, 6, 8, 12};
  for (StringRef name : {"a", "b", "c", "d", "e", "f"})
    pool.push_back(DimAttr::get(context, name, sizes[draw(6)]));
}

static TensorType getType(Value value) { return getTensorType(value); }

static bool isFloat(Value value) { return getType(value).isFloat(); }

static bool isInteger(Value value) {
  return getType(value).getElementType().isSignlessInteger(32);
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
// Steps
//===----------------------------------------------------------------------===//

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

/// `integers` between 0 and below - 1.
Value RandomProgram::makeIndices(Value integers, int64_t below) {
  return make.make<ModOp>(integers, make.scalar(integers, below));
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

bool RandomProgram::addCast() {
  const Known *x = pick([](const Known &) { return true; });
  Known in = *x;
  Type types[] = {builder.getF32Type(), builder.getF32Type(),
                  builder.getBF16Type(), builder.getF16Type()};
  return add(make.castTo(in.value, types[draw(4)]), in.size, in.isExact);
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
