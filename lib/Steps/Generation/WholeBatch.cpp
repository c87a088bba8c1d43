//===- WholeBatch.cpp - steps of generation for whole batches -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Generation/WholeBatch.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::steps {

WholeBatch::WholeBatch(func::FuncOp function, Value tokens, StringAttr examples)
    : function(function) {
  add(tokens, examples);
  for (unsigned next = 0; next < entries.size() && !obstacle; ++next) {
    Entry entry = entries[next];
    if (auto argument = dyn_cast<BlockArgument>(entry.first))
      followArgument(argument, entry.second);
    else
      follow(entry.first.getDefiningOp(), entry);
    for (Operation *user : entry.first.getUsers())
      follow(user, entry);
  }
}

void WholeBatch::add(Value value, StringAttr dim) {
  if (value && nd::getTensorType(value).hasDim(dim.getValue()))
    entries.insert({value, dim});
}

/// A parameter has the size that training gives it.
void WholeBatch::followArgument(BlockArgument argument, StringAttr dim) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto scan = dyn_cast<nd::ScanOp>(parent))
    return followLoop(scan, {argument, dim});
  auto known = nd::TensorAttributes::of(argument);
  if (known.hasRole(nd::TensorRole::Parameter))
    obstacle = parent;
  if (known.hasRole(nd::TensorRole::Cache))
    followCache(
        cast<func::ReturnOp>(function.getBody().front().getTerminator()),
        {argument, dim});
}

/// A cache has one type before and after the step.
void WholeBatch::followCache(func::ReturnOp end, Entry entry) {
  for (BlockArgument argument : function.getArguments()) {
    auto known = nd::TensorAttributes::of(argument);
    if (!known.hasRole(nd::TensorRole::Cache))
      continue;
    for (auto [index, value] : llvm::enumerate(end.getOperands()))
      if ((entry.first == value || entry.first == argument) &&
          nd::TensorAttributes::ofResult(function, index).getName() ==
              known.getName()) {
        add(argument, entry.second);
        add(value, entry.second);
      }
  }
}

void WholeBatch::followLoop(nd::ScanOp scan, Entry entry) {
  for (const nd::Tie &tie : scan.getTies()) {
    if (!llvm::is_contained(
            {tie.operand, Value(tie.argument), tie.yielded, Value(tie.result)},
            entry.first))
      continue;
    if (entry.second == scan.getDimAttr())
      obstacle = scan;
    for (Value value :
         {tie.operand, Value(tie.argument), tie.yielded, Value(tie.result)})
      add(value, entry.second);
  }
}

void WholeBatch::follow(Operation *op, Entry entry) {
  if (auto scan = dyn_cast<nd::ScanOp>(op))
    return followLoop(scan, entry);
  if (isa<nd::YieldOp>(op))
    return followLoop(cast<nd::ScanOp>(op->getParentOp()), entry);
  if (auto end = dyn_cast<func::ReturnOp>(op))
    return followCache(end, entry);
  auto named = dyn_cast<nd::NamedOpInterface>(op);
  bool isKnown = false;
  nd::PartitionRule rule =
      named ? named.getPartitionRule() : nd::PartitionRule();
  for (const nd::Factor &factor : rule.factors) {
    bool isAlong = false;
    for (auto [value, dim] : llvm::zip(op->getOperands(), factor.operandDims))
      isAlong |= Entry(value, dim) == entry;
    for (auto [value, dim] : llvm::zip(op->getResults(), factor.resultDims))
      isAlong |= Entry(value, dim) == entry;
    if (!isAlong)
      continue;
    isKnown = factor.isLocal();
    if (!isKnown)
      break;
    for (auto [value, dim] : llvm::zip(op->getOperands(), factor.operandDims))
      if (dim)
        add(value, dim);
    for (auto [value, dim] : llvm::zip(op->getResults(), factor.resultDims))
      if (dim)
        add(value, dim);
  }
  // The results of an op that names the dim may depend on its size.
  bool names = !isa<nd::RenameOp>(op) && nd::namesDim(op, entry.second);
  if (!isKnown || isa<nd::IotaOp>(op) || names)
    obstacle = op;
}

void WholeBatch::multiply(int64_t count) {
  for (auto [value, name] : entries) {
    auto type = nd::getTensorType(value);
    SmallVector<nd::DimAttr> dims(type.getDims());
    for (nd::DimAttr &dim : dims)
      if (dim.getName() == name)
        dim = nd::DimAttr::get(type.getContext(), name.getValue(),
                               dim.getSize() * count);
    value.setType(type.withDims(dims));
  }
  Block &body = function.getBody().front();
  function.setFunctionType(
      FunctionType::get(function.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
}

} // namespace meshc::steps
