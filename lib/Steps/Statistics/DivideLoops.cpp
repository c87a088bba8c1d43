//===- DivideLoops.cpp - statistics of the iterations of loops ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Steps/Statistics/MetricDivision.h"

using namespace mlir;

namespace meshc::steps {

namespace {

/// The division of one loop.
class LoopDivision {
public:
  LoopDivision(nd::ScanOp scan, const ExampleDims &dims)
      : scan(scan), dims(dims), ties(scan.getTies()) {}

  void run();

private:
  bool isOfTotals(Value value) const {
    return dims.dependsOnExamples(value) && !dims.isPerExample(value);
  }
  bool hasExamples() const;
  void findUndivided();
  void findWanted();
  void addUsedArguments();
  nd::ScanOp build(nd::ScanOp statistics);

  nd::ScanOp scan;
  const ExampleDims &dims;
  SmallVector<nd::Tie> ties;
  SmallVector<Value> undivided; ///< carried arguments
  std::optional<MetricDivision> division;
  MetricDivision::Slice slice;
  /// Numbers of ties: results that the new loop computes, and operands that it
  /// takes besides.
  llvm::SetVector<unsigned> wanted, used;
};

} // namespace

/// A carried value is computed from totals if its next one is.
void LoopDivision::findUndivided() {
  for (bool isNew = true; isNew;) {
    isNew = false;
    division.emplace(scan.getBlock(), dims, undivided);
    for (const nd::Tie &tie : ties)
      if (tie.kind == nd::TieKind::Carried && isOfTotals(tie.argument) &&
          !llvm::is_contained(undivided, tie.argument) &&
          division->isUndivided(tie.yielded)) {
        undivided.push_back(tie.argument);
        isNew = true;
      }
  }
}

void LoopDivision::findWanted() {
  for (auto [number, tie] : llvm::enumerate(ties)) {
    if (!tie.result || tie.result.use_empty() ||
        dims.isPerExample(tie.result) || division->isUndivided(tie.yielded))
      continue;
    bool isCarried = tie.kind == nd::TieKind::Carried;
    if (isCarried ? !llvm::is_contained(undivided, tie.argument)
                  : !division->find(tie.yielded))
      wanted.insert(number);
  }
}

/// Adds the arguments that the ops of the slice use; those that are carried are
/// results, too.
void LoopDivision::addUsedArguments() {
  for (size_t known = ~size_t(0); known != wanted.size();) {
    known = wanted.size();
    SmallVector<Value> yielded;
    for (unsigned number : wanted)
      yielded.push_back(ties[number].yielded);
    slice = division->getSlice(yielded);
    llvm::SmallDenseSet<Value> needed(yielded.begin(), yielded.end());
    for (Operation *op : slice.rest)
      needed.insert(op->operand_begin(), op->operand_end());
    for (auto [number, tie] : llvm::enumerate(ties))
      if (tie.argument && needed.contains(tie.argument)) {
        if (tie.kind == nd::TieKind::Carried)
          wanted.insert(number);
        else
          used.insert(number);
      }
  }
}

/// The loop over the stacked statistics, the last results of `statistics`.
nd::ScanOp LoopDivision::build(nd::ScanOp statistics) {
  OpBuilder builder(scan->getContext());
  builder.setInsertionPointAfter(statistics);
  SmallVector<Value> carried, whole, old;
  SmallVector<Value> stacked(
      statistics.getResults().take_back(slice.statistics.size()));
  SmallVector<Type> stackedTypes;
  auto take = [&](nd::TieKind kind, const llvm::SetVector<unsigned> &numbers,
                  auto each) {
    for (unsigned number : numbers)
      if (ties[number].kind == kind)
        each(ties[number]);
  };
  take(nd::TieKind::Carried, wanted, [&](const nd::Tie &tie) {
    carried.push_back(tie.operand);
    old.push_back(tie.argument);
  });
  llvm::append_range(old, slice.statistics);
  take(nd::TieKind::StackedOperand, used, [&](const nd::Tie &tie) {
    stacked.push_back(tie.operand);
    old.push_back(tie.argument);
  });
  take(nd::TieKind::Whole, used, [&](const nd::Tie &tie) {
    whole.push_back(tie.operand);
    old.push_back(tie.argument);
  });
  take(nd::TieKind::StackedResult, wanted, [&](const nd::Tie &tie) {
    stackedTypes.push_back(tie.yielded.getType());
  });
  for (Type &type : stackedTypes)
    type = nd::getStackedType(cast<nd::TensorType>(type), statistics.getDim(),
                              static_cast<int64_t>(statistics.getSize()));
  auto made = nd::ScanOp::create(
      builder, statistics.getLoc(), statistics.getDim(), statistics.getSize(),
      statistics.getBackwards(), carried, stacked, whole, stackedTypes);
  IRMapping mapping;
  mapping.map(old, made.getBlock().getArguments());
  OpBuilder body = OpBuilder::atBlockEnd(&made.getBlock());
  for (Operation *op : slice.rest)
    body.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (nd::TieKind kind : {nd::TieKind::Carried, nd::TieKind::StackedResult})
    take(kind, wanted, [&](const nd::Tie &tie) {
      yielded.push_back(mapping.lookup(tie.yielded));
    });
  nd::YieldOp::create(body, statistics.getLoc(), yielded);
  return made;
}

/// Whether the loop computes something for each example.
bool LoopDivision::hasExamples() const {
  auto isPerExample = [&](Value value) { return dims.isPerExample(value); };
  nd::ScanOp loop = scan;
  return llvm::any_of(loop->getOperands(), isPerExample) ||
         loop->walk([&](Operation *op) {
               return llvm::any_of(op->getResults(), isPerExample)
                          ? WalkResult::interrupt()
                          : WalkResult::advance();
             })
             .wasInterrupted();
}

void LoopDivision::run() {
  if (scan.getConditional() || !hasExamples())
    return;
  findUndivided();
  findWanted();
  if (wanted.empty())
    return;
  addUsedArguments();
  SmallVector<unsigned> numbers;
  for (nd::TieKind kind : {nd::TieKind::Carried, nd::TieKind::StackedResult})
    for (unsigned number : wanted)
      if (ties[number].kind == kind)
        numbers.push_back(ties[number].result.getResultNumber());
  IRRewriter rewriter(scan->getContext());
  rewriter.setInsertionPoint(scan);
  nd::ScanOp statistics =
      nd::addStackedResults(rewriter, scan, slice.statistics.getArrayRef());
  nd::ScanOp made = build(statistics);
  for (auto [index, number] : llvm::enumerate(numbers)) {
    made.setResultAttributes(index, statistics.getResultAttributes(number));
    statistics.getResult(number).replaceAllUsesWith(made.getResult(index));
  }
}

void divideLoops(func::FuncOp function, ArrayRef<StringAttr> counting) {
  SmallVector<nd::ScanOp> loops; // inner ones first
  function.walk([&](nd::ScanOp scan) { loops.push_back(scan); });
  for (nd::ScanOp scan : loops) {
    ExampleDims dims(function, counting);
    if (dims.getObstacle())
      return;
    LoopDivision(scan, dims).run();
  }
}

} // namespace meshc::steps
