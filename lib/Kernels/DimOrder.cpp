//===- DimOrder.cpp - one dim order for all tensors of a function ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/DimOrder.h"
#include "dialects/Exec/Alignment.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::kernels {

static exec::Order getDeclaredOrder(DictionaryAttr attributes) {
  ArrayAttr order = nd::TensorAttributes(attributes).getOrder();
  return order ? exec::getOrder(order) : exec::Order();
}

/// Whether it comes from outside for each step, as the tokens of a step of
/// generation do.
static bool isInput(DictionaryAttr attributes) {
  nd::TensorAttributes tensor(attributes);
  return tensor.hasRole(nd::TensorRole::Input) ||
         tensor.hasRole(nd::TensorRole::Token);
}

DimOrder::DimOrder(func::FuncOp function) {
  llvm::SmallVector<DictionaryAttr> arguments, results;
  function.getAllArgAttrs(arguments);
  function.getAllResultAttrs(results);
  for (bool wantsInput : {true, false})
    for (DictionaryAttr dictionary : arguments)
      if (isInput(dictionary) == wantsInput)
        addSequence(getDeclaredOrder(dictionary));
  for (DictionaryAttr dictionary : results)
    addSequence(getDeclaredOrder(dictionary));
  function.walk([&](Operation *op) { addOp(op); });
  number();
}

/// Inserts the dims that are new: before the next that is known, so behind
/// those of other tensors, or last.
void DimOrder::addSequence(ArrayRef<StringAttr> dims) {
  auto place = sequence.size();
  for (StringAttr dim : llvm::reverse(dims)) {
    auto position = llvm::find(sequence, dim) - sequence.begin();
    if (static_cast<size_t>(position) == sequence.size()) {
      sequence.insert(sequence.begin() + place, dim);
      continue;
    }
    place = position;
  }
}

void DimOrder::addOp(Operation *op) {
  auto element = dyn_cast<nd::ElementOpInterface>(op);
  for (Value result : op->getResults())
    for (StringAttr dim : exec::getDims(result)) {
      if (llvm::is_contained(sequence, dim))
        continue;
      auto *place = sequence.end();
      for (unsigned i = 0; element && i < op->getNumOperands(); ++i)
        if (StringAttr along = element.getOperandDim(i, dim.getValue()).dim)
          if (auto *found = llvm::find(sequence, along);
              found != sequence.end())
            place = found + 1;
      sequence.insert(place, dim);
    }
}

void DimOrder::number() {
  for (auto [position, dim] : llvm::enumerate(sequence))
    positions[dim] = position;
}

bool DimOrder::isBefore(StringAttr a, StringAttr b) const {
  auto rank = [&](StringAttr dim) {
    auto entry = positions.find(dim);
    return entry == positions.end() ? sequence.size() : entry->second;
  };
  return std::pair(rank(a), a.getValue()) < std::pair(rank(b), b.getValue());
}

exec::Order DimOrder::sort(ArrayRef<StringAttr> dims) const {
  exec::Order sorted(dims);
  llvm::sort(sorted,
             [&](StringAttr a, StringAttr b) { return isBefore(a, b); });
  return sorted;
}

exec::Order DimOrder::sort(Value value) const {
  return sort(exec::getDims(value));
}

} // namespace meshc::kernels
