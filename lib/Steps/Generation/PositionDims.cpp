//===- PositionDims.cpp - dims along which values vary with the text ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Generation/PositionDims.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::steps {

PositionDims::PositionDims(func::FuncOp function, Value tokens,
                           StringAttr positions) {
  for (BlockArgument argument : function.getArguments())
    if (nd::TensorAttributes::of(argument).hasRole(nd::TensorRole::Input))
      add(argument,
          argument == tokens ? ArrayRef(positions) : ArrayRef<StringAttr>());
  // A loop's carried values need as many rounds as the ties are long.
  while (std::exchange(changed, false))
    visit(function.getBody().front());
}

ArrayRef<StringAttr> PositionDims::of(Value value) const {
  auto found = values.find(value);
  return found == values.end() ? ArrayRef<StringAttr>()
                               : ArrayRef(found->second);
}

void PositionDims::add(Value value, ArrayRef<StringAttr> dims) {
  auto [entry, isNew] = values.try_emplace(value);
  changed |= isNew;
  for (StringAttr dim : dims)
    if (!llvm::is_contained(entry->second, dim)) {
      entry->second.push_back(dim);
      changed = true;
    }
  llvm::sort(entry->second, [](StringAttr a, StringAttr b) {
    return a.getValue() < b.getValue();
  });
}

void PositionDims::pass(Value from, Value to, StringRef without) {
  if (!from || !to || !dependsOnText(from))
    return;
  Dims dims(of(from));
  llvm::erase_if(dims,
                 [&](StringAttr dim) { return dim.getValue() == without; });
  add(to, dims);
}

void PositionDims::visit(Block &block) {
  for (Operation &op : block.without_terminator())
    visitOp(op);
}

void PositionDims::visitOp(Operation &op) {
  if (auto scan = dyn_cast<nd::ScanOp>(op))
    return visitScan(scan);
  auto named = dyn_cast<nd::NamedOpInterface>(op);
  if (!named || llvm::none_of(op.getOperands(), [&](Value operand) {
        return dependsOnText(operand);
      }))
    return;
  for (Value result : op.getResults())
    add(result, {});
  for (const nd::Factor &factor : named.getPartitionRule().factors)
    for (auto [operand, dim] : llvm::zip(op.getOperands(), factor.operandDims))
      if (dim && llvm::is_contained(of(operand), dim))
        for (auto [result, to] : llvm::zip(op.getResults(), factor.resultDims))
          if (to)
            add(result, to);
}

/// Along the ties, into the body and out of it.
void PositionDims::visitScan(nd::ScanOp scan) {
  StringRef dim = scan.getDim();
  SmallVector<nd::Tie> ties = scan.getTies();
  for (const nd::Tie &tie : ties)
    pass(tie.operand, tie.argument, dim);
  visit(scan.getBlock());
  for (const nd::Tie &tie : ties) {
    pass(tie.yielded, tie.result);
    // Members of a carried tie have the same dims.
    if (tie.kind == nd::TieKind::Carried) {
      pass(tie.yielded, tie.argument);
      pass(tie.operand, tie.result);
    }
    // The iterations over positions give one entry for each.
    if (tie.kind != nd::TieKind::StackedResult || !tie.yielded ||
        !dependsOnText(tie.yielded))
      continue;
    if (isOverPositions(scan))
      add(tie.result, scan.getDimAttr());
  }
}

bool PositionDims::isOverPositions(nd::ScanOp scan) const {
  return llvm::any_of(scan.getStacked(), [&](Value operand) {
    return llvm::is_contained(of(operand), scan.getDimAttr());
  });
}

} // namespace meshc::steps
