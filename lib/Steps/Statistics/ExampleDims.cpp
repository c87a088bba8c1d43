//===- ExampleDims.cpp - dims that count examples -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Statistics/ExampleDims.h"
#include "dialects/Nd/Ops/CustomGradientOps.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/StackOps.h"
#include "dialects/Nd/Ops/WindowOps.h"

using namespace mlir;

namespace meshc::steps {

namespace {
/// The indices along the dims of one value as functions of those along the dims
/// of another one.
class IndexMap {
public:
  explicit IndexMap(MLIRContext *context) : context(context) {}

  /// The index along a dim of the other value.
  AffineExpr along(StringAttr dim) {
    auto place = llvm::find(dims, dim);
    unsigned position = place - dims.begin();
    if (place == dims.end())
      dims.push_back(dim);
    return getAffineDimExpr(position, context);
  }
  AffineExpr constant(int64_t value) {
    return getAffineConstantExpr(value, context);
  }
  /// The number as a function of the indices `replacements` for its dims.
  ExampleNumber apply(const ExampleNumber &number,
                      ArrayRef<AffineExpr> replacements);

private:
  MLIRContext *context;
  SmallVector<StringAttr> dims; ///< of the other value
};
} // namespace

ExampleNumber IndexMap::apply(const ExampleNumber &number,
                              ArrayRef<AffineExpr> replacements) {
  AffineExpr expression = simplifyAffineExpr(
      number.number.replaceDims(replacements), dims.size(), 0);
  SmallVector<StringAttr, 1> used;
  for (auto [position, dim] : llvm::enumerate(dims))
    if (expression.isFunctionOfDim(position))
      used.push_back(dim);
  llvm::sort(used, [](StringAttr a, StringAttr b) {
    return a.getValue() < b.getValue();
  });
  SmallVector<AffineExpr> sorted;
  for (StringAttr dim : dims)
    sorted.push_back(
        getAffineDimExpr(llvm::find(used, dim) - used.begin(), context));
  return {simplifyAffineExpr(expression.replaceDims(sorted), used.size(), 0),
          used};
}

bool ExampleNumber::hasModulo() const {
  bool found = false;
  number.walk(
      [&](AffineExpr part) { found |= part.getKind() == AffineExprKind::Mod; });
  return found;
}

ExampleDims::ExampleDims(func::FuncOp function,
                         ArrayRef<StringAttr> countingDims)
    : counting(countingDims.begin(), countingDims.end()) {
  for (BlockArgument argument : function.getArguments())
    addCounting(argument);
  follow(function.getBody().front());
}

ArrayRef<ExampleNumber> ExampleDims::of(Value value) const {
  auto found = numbers.find(value);
  return found == numbers.end() ? ArrayRef<ExampleNumber>() : found->second;
}

bool ExampleDims::add(Value value, const ExampleNumber &number) {
  ExampleNumbers &known = numbers[value];
  addDependence(value);
  if (llvm::is_contained(known, number))
    return false;
  known.push_back(number);
  return true;
}

bool ExampleDims::addAll(Value value, Value from) {
  bool isNew = dependsOnExamples(from) && addDependence(value);
  for (const ExampleNumber &number : ExampleNumbers(of(from)))
    isNew |= add(value, number);
  return isNew;
}

/// A dim of a counting name numbers the examples by itself.
void ExampleDims::addCounting(Value value) {
  for (nd::DimAttr dim : nd::getTensorType(value).getDims())
    if (counting.contains(dim.getName()))
      add(value, {getAffineDimExpr(0, value.getContext()), {dim.getName()}});
}

void ExampleDims::follow(Block &block) {
  for (Operation &op : block.without_terminator())
    if (auto scan = dyn_cast<nd::ScanOp>(op))
      followLoop(scan);
    else
      follow(&op);
}

/// Passes what is known of one member of the tie on to the others.
bool ExampleDims::followTie(nd::ScanOp scan, const nd::Tie &tie) {
  bool isNew = false;
  if (tie.argument)
    isNew |= addAll(tie.argument, tie.operand);
  if (tie.argument && tie.yielded)
    isNew |= addAll(tie.argument, tie.yielded);
  if (tie.result)
    isNew |= addAll(tie.result, tie.yielded);
  if (tie.result && tie.argument)
    isNew |= addAll(tie.result, tie.argument);
  for (const ExampleNumber &number : of(tie.operand))
    if (tie.kind == nd::TieKind::StackedOperand &&
        number.has(scan.getDimAttr()))
      obstacle = obstacle ? obstacle : scan;
  return isNew;
}

void ExampleDims::followLoop(nd::ScanOp scan) {
  if (counting.contains(scan.getDimAttr()) && !obstacle)
    obstacle = scan;
  bool isNew = true;
  while (isNew) { // ends: a value has few examples
    isNew = false;
    for (const nd::Tie &tie : scan.getTies())
      if (tie.argument)
        isNew |= addAll(tie.argument, tie.operand);
    follow(scan.getBlock());
    for (const nd::Tie &tie : scan.getTies())
      isNew |= followTie(scan, tie);
  }
}

/// The index along `dim` from which the op takes a result, number `result`;
/// nothing if it is no such op.
static std::optional<int64_t> findEntry(Operation *op, unsigned result,
                                        StringAttr dim) {
  if (auto entry = dyn_cast<nd::EntryOp>(op);
      entry && entry.getDimAttr() == dim)
    return static_cast<int64_t>(entry.getIndex());
  if (auto unstack = dyn_cast<nd::UnstackOp>(op);
      unstack && unstack.getDimAttr() == dim)
    return result;
  return std::nullopt;
}

/// How an op that regroups dims finds the index along `dim` of its operand, for
/// result number `result`; null if the op keeps the dim.
static AffineExpr findRegrouped(Operation *op, unsigned result, StringAttr dim,
                                IndexMap &indices) {
  if (auto entry = findEntry(op, result, dim))
    return indices.constant(*entry);
  if (auto split = dyn_cast<nd::SplitDimOp>(op)) {
    if (split.getDimAttr() != dim)
      return {};
    AffineExpr index = indices.constant(0);
    for (auto [part, size] :
         llvm::zip(nd::getNames(split.getInto()), split.getSizes()))
      index = index * size + indices.along(part);
    return index;
  }
  auto merge = dyn_cast<nd::MergeDimsOp>(op);
  if (!merge || !llvm::is_contained(nd::getNames(merge.getDims()), dim))
    return {};
  nd::TensorType type = merge.getInput().getType();
  int64_t inner = 1;
  for (StringAttr part : llvm::reverse(nd::getNames(merge.getDims()))) {
    int64_t size = type.getSize(part.getValue());
    if (part == dim)
      return indices.along(merge.getIntoAttr()).floorDiv(inner) % size;
    inner *= size;
  }
  return {};
}

void ExampleDims::followFactors(Operation *op, unsigned operand,
                                const ExampleNumber &number) {
  auto named = cast<nd::NamedOpInterface>(op);
  nd::PartitionRule rule = named.getPartitionRule();
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    IndexMap indices(op->getContext());
    SmallVector<AffineExpr> replacements;
    bool isReduced = false;
    for (StringAttr dim : number.dims) {
      AffineExpr regrouped = findRegrouped(op, index, dim, indices);
      StringAttr name;
      for (const nd::Factor &factor : rule.factors)
        if (!regrouped && getOperandDim(factor, operand) == dim) {
          if (!factor.segments.empty())
            obstacle = obstacle ? obstacle : op;
          name = factor.resultDims[index];
        }
      isReduced |= !regrouped && !name;
      // The first of the entries that are reduced is the last that is padding.
      replacements.push_back(regrouped ? regrouped
                             : name    ? indices.along(name)
                                       : indices.constant(0));
    }
    ExampleNumber mapped = indices.apply(number, replacements);
    // One example by its number may be missing.
    bool isOne = !isReduced && mapped.dims.empty();
    if ((isReduced && mapped.hasModulo()) || isOne)
      obstacle = obstacle ? obstacle : op;
    if (!mapped.dims.empty())
      add(result, mapped);
  }
}

void ExampleDims::forEachCombined(Operation *op, CombinedVisitor visit) const {
  auto named = dyn_cast<nd::NamedOpInterface>(op);
  bool takesExamples = llvm::any_of(
      op->getOperands(), [&](Value value) { return isPerExample(value); });
  // An entry combines nothing, although ranks add up what they have of it.
  if (!named || !takesExamples || isa<nd::EntryOp, nd::UnstackOp>(op))
    return;
  nd::PartitionRule rule = named.getPartitionRule();
  for (auto [operand, value] : llvm::enumerate(op->getOperands()))
    for (const nd::Factor &factor : rule.factors) {
      StringAttr dim = getOperandDim(factor, operand);
      if (!dim || factor.effect == nd::FactorEffect::Parallel)
        continue;
      for (const ExampleNumber &number : of(value))
        if (number.has(dim))
          visit(operand, factor, number);
    }
}

/// Whether the op puts operands of different examples side by side. An entry of
/// its result belongs to the examples of one operand only.
bool ExampleDims::joinsDifferent(Operation *op) const {
  if (!isa<nd::StackOp, nd::ConcatOp>(op))
    return false;
  SmallVector<Value> each(llvm::make_filter_range(
      op->getOperands(), [&](Value value) { return isPerExample(value); }));
  return llvm::any_of(each, [&](Value value) {
    ArrayRef<ExampleNumber> first = of(each[0]), other = of(value);
    return first.size() != other.size() ||
           !llvm::all_of(other, [&](const ExampleNumber &number) {
             return llvm::is_contained(first, number);
           });
  });
}

void ExampleDims::follow(Operation *op) {
  for (Value result : op->getResults())
    for (Value operand : op->getOperands())
      if (dependsOnExamples(operand))
        addDependence(result);
  if (auto values = dyn_cast<nd::CustomGradientOp>(op)) {
    for (auto [result, value] :
         llvm::zip(values.getResults(), values.getValues()))
      addAll(result, value);
    return;
  }
  if (isa<nd::NamedOpInterface>(op))
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      for (const ExampleNumber &number : ExampleNumbers(of(operand)))
        followFactors(op, index, number);
  if (joinsDifferent(op))
    obstacle = obstacle ? obstacle : op;
  // Dims that arise here, such as those of indices and constants.
  for (Value result : op->getResults())
    for (nd::DimAttr dim : nd::getTensorType(result).getDims())
      if (counting.contains(dim.getName()) &&
          llvm::none_of(of(result), [&](const ExampleNumber &number) {
            return number.has(dim.getName());
          }))
        add(result, {getAffineDimExpr(0, op->getContext()), {dim.getName()}});
}

} // namespace meshc::steps
