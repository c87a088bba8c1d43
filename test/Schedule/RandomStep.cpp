//===- RandomStep.cpp - random step functions -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Schedule/RandomStep.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/WindowOps.h"

using namespace mlir;

namespace meshc {

namespace {
struct NamedSize {
  const char *name;
  int64_t size;
};
} // namespace

/// Names of equal size can be exchanged; "ab" is "a" and "b" merged.
static constexpr NamedSize dimPool[] = {{"a", 4},  {"a2", 4}, {"b", 3},
                                        {"b2", 3}, {"c", 5},  {"ab", 12}};
static constexpr const char *indexDim = "b";
static constexpr const char *tableDim = "c";

RandomStep::RandomStep(MLIRContext &context, unsigned seed, bool loops)
    : random(seed), builder(&context), loc(builder.getUnknownLoc()),
      ops(builder, loc), loops(loops) {}

nd::TensorType RandomStep::makeType(unsigned maxRank) {
  SmallVector<nd::DimAttr> dims;
  for (unsigned i = roll(maxRank + 1); i > 0; --i) {
    const NamedSize &dim = dimPool[roll(std::size(dimPool))];
    if (llvm::none_of(dims, [&](nd::DimAttr known) {
          return known.getName().getValue() == dim.name;
        }))
      dims.push_back(
          nd::DimAttr::get(builder.getContext(), dim.name, dim.size));
  }
  return nd::TensorType::get(builder.getF32Type(), dims);
}

ArrayAttr RandomStep::getNames(ArrayRef<StringAttr> names) {
  return builder.getArrayAttr(
      SmallVector<Attribute>(names.begin(), names.end()));
}

ArrayAttr RandomStep::getRandomOrder(nd::TensorType type) {
  SmallVector<StringAttr> names;
  for (nd::DimAttr dim : type.getDims())
    names.push_back(dim.getName());
  std::shuffle(names.begin(), names.end(), random);
  return getNames(names);
}

DictionaryAttr RandomStep::describe(StringRef name, StringRef role,
                                    nd::TensorType type) {
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("nd.name", builder.getStringAttr(name)),
       builder.getNamedAttr("nd.role", builder.getStringAttr(role)),
       builder.getNamedAttr("nd.order", getRandomOrder(type))});
}

/// Recent values more often, so that chains grow.
Value RandomStep::pick() {
  unsigned count = values.size();
  return roll(2) ? values[count - 1 - roll(std::min(count, 4u))]
                 : values[roll(count)];
}

/// One or more of the dims.
SmallVector<StringAttr> RandomStep::pickDims(nd::TensorType type) {
  SmallVector<StringAttr> dims;
  for (nd::DimAttr dim : type.getDims())
    if (roll(2))
      dims.push_back(dim.getName());
  if (dims.empty() && type.getRank() > 0)
    dims.push_back(type.getDims()[roll(type.getRank())].getName());
  return dims;
}

Value RandomStep::addUnary() {
  Value x = pick();
  switch (roll(5)) {
  case 0:
    return ops.make<nd::NegOp>(x);
  case 1:
    return ops.make<nd::ReluOp>(x);
  case 2:
    return ops.make<nd::SigmoidOp>(x);
  case 3:
    return ops.make<nd::ExpOp>(ops.make<nd::TanhOp>(x));
  default:
    return ops.make<nd::TanhOp>(x);
  }
}

Value RandomStep::addBinary() {
  Value x = pick(), y = pick();
  switch (roll(5)) {
  case 0:
    return ops.make<nd::SubOp>(x, y);
  case 1:
    return ops.make<nd::MulOp>(ops.make<nd::TanhOp>(x), y);
  case 2:
    return ops.make<nd::MaximumOp>(x, y);
  case 3:
    return ops.make<nd::SelectOp>(ops.compare(nd::Predicate::Gt, x, y), x, y);
  default:
    return ops.make<nd::AddOp>(x, y);
  }
}

Value RandomStep::addReduction() {
  Value x = pick();
  SmallVector<StringAttr> dims = pickDims(nd::getTensorType(x));
  switch (roll(4)) {
  case 0:
    return ops.reduce<nd::ReduceMaxOp>(x, dims);
  case 1:
    return ops.reduce<nd::ReduceMinOp>(x, dims);
  default:
    return ops.reduce<nd::ReduceSumOp>(x, dims);
  }
}

Value RandomStep::addEinsum() {
  SmallVector<Value> operands;
  SmallVector<StringAttr> reduced;
  for (unsigned i = 0, count = 2 + roll(2); i < count; ++i) {
    operands.push_back(ops.make<nd::TanhOp>(pick()));
    for (nd::DimAttr dim : nd::getTensorType(operands.back()).getDims())
      if (roll(2) && !llvm::is_contained(reduced, dim.getName()))
        reduced.push_back(dim.getName());
  }
  return ops.make<nd::EinsumOp>(operands, getNames(reduced));
}

Value RandomStep::addRename() {
  Value x = pick();
  nd::TensorType type = nd::getTensorType(x);
  SmallVector<StringAttr> from, to;
  for (auto [name, other] : {std::pair("a", "a2"), std::pair("b", "b2")}) {
    if (!type.hasDim(name) && !type.hasDim(other))
      continue;
    StringAttr first = builder.getStringAttr(name);
    StringAttr second = builder.getStringAttr(other);
    if (type.hasDim(name)) {
      from.push_back(first);
      to.push_back(second);
    }
    if (type.hasDim(other)) {
      from.push_back(second);
      to.push_back(first);
    }
  }
  if (from.empty())
    return x;
  return ops.make<nd::RenameOp>(x, getNames(from), getNames(to));
}

Value RandomStep::addMergeOrSplit() {
  Value x = pick();
  nd::TensorType type = nd::getTensorType(x);
  StringAttr a = builder.getStringAttr("a"), b = builder.getStringAttr("b");
  StringAttr ab = builder.getStringAttr("ab");
  if (type.hasDim("a") && type.hasDim("b") && !type.hasDim("ab"))
    return ops.make<nd::MergeDimsOp>(x, getNames({a, b}), ab);
  if (type.hasDim("ab") && !type.hasDim("a") && !type.hasDim("b"))
    return ops.make<nd::SplitDimOp>(x, ab, getNames({a, b}),
                                    builder.getDenseI64ArrayAttr({4, 3}));
  return x;
}

/// Cut and padded to its old size: one dim name has two sizes within.
Value RandomStep::addWindow() {
  Value x = pick();
  nd::TensorType type = nd::getTensorType(x);
  if (type.getRank() == 0)
    return x;
  nd::DimAttr dim = type.getDims()[roll(type.getRank())];
  int64_t size = dim.getSize();
  if (size == 1)
    return x;
  if (roll(3) == 0) {
    Value first =
        ops.make<nd::SliceOp>(x, dim.getName(), builder.getI64IntegerAttr(0),
                              builder.getI64IntegerAttr(1));
    Value rest =
        ops.make<nd::SliceOp>(x, dim.getName(), builder.getI64IntegerAttr(1),
                              builder.getI64IntegerAttr(size - 1));
    return ops.make<nd::ConcatOp>(ValueRange{rest, first}, dim.getName());
  }
  Value inner =
      ops.make<nd::SliceOp>(x, dim.getName(), builder.getI64IntegerAttr(1),
                            builder.getI64IntegerAttr(size - 1));
  int64_t low = roll(2);
  return ops.make<nd::PadOp>(
      inner, dim.getName(), builder.getI64IntegerAttr(low),
      builder.getI64IntegerAttr(1 - low), builder.getF64FloatAttr(0.5));
}

Value RandomStep::addIndexing() {
  Value x = pick();
  nd::TensorType type = nd::getTensorType(x);
  if (type.hasDim(tableDim))
    return ops.make<nd::GatherOp>(x, indices, builder.getStringAttr(tableDim));
  if (!type.hasDim(indexDim))
    return x;
  SmallVector<nd::DimAttr> dims;
  for (nd::DimAttr dim : type.getDims())
    if (dim.getName().getValue() != indexDim)
      dims.push_back(dim);
  dims.push_back(nd::DimAttr::get(builder.getContext(), tableDim, 5));
  if (roll(2)) {
    Value table;
    for (Value value : values)
      if (value.getType() == type.withDims(dims))
        table = value;
    if (!table)
      table = ops.make<nd::RandomOp>(
          type.withDims(dims), nd::Distribution::Normal, "table", iterations);
    return ops.make<nd::InsertOp>(table, x, indices,
                                  builder.getStringAttr(tableDim));
  }
  return ops.make<nd::ScatterAddOp>(type.withDims(dims), x, indices,
                                    builder.getStringAttr(tableDim));
}

Value RandomStep::addSource() {
  nd::TensorType type = makeType(2);
  if (roll(2))
    return nd::RandomOp::create(builder, loc, type, nd::Distribution::Normal,
                                "r" + std::to_string(roll(3)), iterations);
  const NamedSize &dim = dimPool[roll(std::size(dimPool))];
  return ops.make<nd::IotaOp>(nd::TensorType::get(
      builder.getF32Type(),
      nd::DimAttr::get(builder.getContext(), dim.name, dim.size)));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Ops on the loop's arguments, and its own numbers. The outer values are out
/// of reach meanwhile.
void RandomStep::addBody(nd::ScanOp scan, Value numbers) {
  OpBuilder::InsertionGuard guard(builder);
  Block &block = scan.getBlock();
  builder.setInsertionPointToEnd(&block);
  auto outerValues = std::exchange(values, {});
  auto outerIterations = iterations;
  Value outerIndices = indices;
  for (BlockArgument argument : block.getArguments()) {
    Value operand = scan->getOperand(argument.getArgNumber());
    auto *number = llvm::find(outerIterations, operand);
    if (number != outerIterations.end())
      iterations[number - outerIterations.begin()] = argument;
    else if (operand == outerIndices)
      indices = argument;
    else if (operand != numbers)
      values.push_back(argument);
  }
  iterations.push_back(block.getArgument(scan.getCarriedCount()));
  ++depth;
  for (unsigned count = 1 + roll(6); count > 0; --count) {
    Value value = addOp();
    nd::TensorType type = nd::getTensorType(value);
    if (!type.hasDim(scan.getDim()) && type.getElementCount() <= 512)
      values.push_back(value);
  }
  addYield(scan);
  --depth;
  values = outerValues;
  iterations = outerIterations;
  indices = outerIndices;
}

/// Any value of the type for each carried one, then some entries.
void RandomStep::addYield(nd::ScanOp scan) {
  SmallVector<Value> yielded;
  for (Value initial : scan.getCarried()) {
    SmallVector<Value> candidates;
    for (Value value : values)
      if (value.getType() == initial.getType())
        candidates.push_back(value);
    yielded.push_back(roll(3) ? candidates.back()
                              : candidates[roll(candidates.size())]);
  }
  for (unsigned i = scan.getCarriedCount(); i < scan->getNumResults(); ++i) {
    Value value = pick();
    scan->getResult(i).setType(nd::getStackedType(
        nd::getTensorType(value), scan.getDim(), scan.getSize()));
    yielded.push_back(value);
  }
  nd::YieldOp::create(builder, loc, yielded);
}

/// Over a dim by depth and size: other values have it only if loops stack them.
Value RandomStep::addLoop() {
  int64_t size = 1 + roll(4);
  std::string dim = "d" + std::to_string(depth) + "of" + std::to_string(size);
  auto stack = [&](Type element, ArrayRef<nd::DimAttr> dims) {
    return nd::getStackedType(nd::TensorType::get(element, dims), dim, size);
  };
  SmallVector<Value> carried, stacked, whole = iterations;
  auto lacksDim = [&](Value value) {
    return !nd::getTensorType(value).hasDim(dim);
  };
  for (unsigned i = roll(3); i > 0; --i)
    if (Value value = pick(); lacksDim(value))
      carried.push_back(value);
  Value numbers =
      nd::IotaOp::create(builder, loc, stack(builder.getI32Type(), {}));
  stacked.push_back(numbers);
  nd::TensorType entry = makeType(2);
  stacked.push_back(nd::RandomOp::create(
      builder, loc, stack(entry.getElementType(), entry.getDims()),
      nd::Distribution::Normal, "s", iterations));
  for (Value value : values)
    if (!lacksDim(value) && roll(2))
      stacked.push_back(value);
  for (unsigned i = roll(3); i > 0; --i)
    if (Value value = pick(); lacksDim(value))
      whole.push_back(value);
  whole.push_back(indices);
  SmallVector<Type> results(1 + roll(2), entry);
  auto scan = nd::ScanOp::create(builder, loc, dim, size, roll(2) == 0, carried,
                                 stacked, whole, results);
  addBody(scan, numbers);
  for (Value result : scan->getResults())
    if (nd::getTensorType(result).getElementCount() <= 512)
      values.push_back(result);
  return scan->getResult(roll(scan->getNumResults()));
}

Value RandomStep::addOp() {
  if (loops && depth < 2 && roll(8) == 0)
    return addLoop();
  switch (roll(16)) {
  case 0:
  case 1:
  case 2:
    return addUnary();
  case 3:
  case 4:
  case 5:
  case 6:
    return addBinary();
  case 7:
  case 8:
  case 9:
    return addReduction();
  case 10:
  case 11:
    return addEinsum();
  case 12:
    return addRename();
  case 13:
    return roll(2) ? addMergeOrSplit() : addSource();
  case 14:
    return addWindow();
  default:
    return addIndexing();
  }
}

/// New parameters: any value of the type; then some values as metrics.
void RandomStep::addResults() {
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < parameterCount; ++i) {
    Value parameter = function.getArgument(i);
    SmallVector<Value> candidates;
    for (Value value : values)
      if (value.getType() == parameter.getType())
        candidates.push_back(value);
    results.push_back(roll(2) ? candidates.back()
                              : candidates[roll(candidates.size())]);
    attributes.push_back(function.getArgAttrDict(i));
  }
  for (unsigned i = 0, count = 1 + roll(3); i < count; ++i) {
    results.push_back(pick());
    attributes.push_back(describe("metric" + std::to_string(i), "metric",
                                  nd::getTensorType(results.back())));
  }
  func::ReturnOp::create(builder, loc, results);
  function.setFunctionType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(attributes);
}

OwningOpRef<ModuleOp> RandomStep::build(unsigned opCount) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, loc, "train_step",
                                  builder.getFunctionType({}, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  SmallVector<DictionaryAttr> attributes;
  auto addArgument = [&](StringRef role, nd::TensorType type) {
    attributes.push_back(
        describe("t" + std::to_string(attributes.size()), role, type));
    return block->addArgument(type, loc);
  };
  parameterCount = 1 + roll(3);
  for (unsigned i = 0; i < parameterCount; ++i)
    values.push_back(addArgument("parameter", makeType(3)));
  for (unsigned i = 0, count = 1 + roll(2); i < count; ++i)
    values.push_back(addArgument("input", makeType(3)));
  indices = addArgument(
      "input",
      nd::TensorType::get(builder.getI32Type(),
                          nd::DimAttr::get(builder.getContext(), indexDim, 3)));
  function.setFunctionType(
      builder.getFunctionType(block->getArgumentTypes(), {}));
  function.setAllArgAttrs(attributes);
  for (unsigned i = 0; i < opCount; ++i) {
    Value value = addOp();
    if (nd::getTensorType(value).getElementCount() <= 4096)
      values.push_back(value);
  }
  addResults();
  return module;
}

} // namespace meshc
