//===- KernelCost.cpp - what a kernel computes and moves ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/KernelCost.h"
#include "dialects/Exec/Library.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include <numeric>

using namespace mlir;

namespace meshc::cost {

static double getLocalBytesOf(Value tensor, nd::MeshAttr mesh) {
  return nd::getTensorType(tensor).getLocalBytes(mesh);
}

static double getReadBytesOf(BlockArgument argument, nd::MeshAttr mesh) {
  double whole = getLocalBytesOf(argument, mesh), read = 0;
  for (Operation *user : argument.getUsers()) {
    if (Value table = nd::getChangedTable(user)) {
      // In place: entries that stay are not read, nor those that are replaced.
      auto scatter = dyn_cast<nd::ScatterOpInterface>(user);
      double changed =
          scatter ? getLocalBytesOf(scatter.getUpdates(), mesh) : 0;
      read += table == argument ? changed : whole;
      continue;
    }
    auto op = dyn_cast<nd::NamedOpInterface>(user);
    if (!op)
      return whole; // it is an output itself
    double bytes = op.getCost().bytes;
    for (Value result : user->getResults())
      bytes -= getLocalBytesOf(result, mesh);
    read += std::max(bytes, 0.0);
  }
  return std::min(whole, read);
}

static double getWrittenBytesOf(Value result, nd::MeshAttr mesh) {
  double whole = getLocalBytesOf(result, mesh);
  Operation *op = result.getDefiningOp();
  if (!isa_and_nonnull<BlockArgument>(nd::getChangedTable(op)))
    return whole;
  auto scatter = dyn_cast<nd::ScatterOpInterface>(op);
  Value updates = scatter ? scatter.getUpdates()
                          : cast<nd::InsertOpInterface>(op).getUpdates();
  return std::min(whole, getLocalBytesOf(updates, mesh));
}

double KernelCost::getReadBytes() const {
  return std::accumulate(read.begin(), read.end(), 0.0);
}

double KernelCost::getWrittenBytes() const {
  return std::accumulate(written.begin(), written.end(), 0.0);
}

KernelCost KernelCost::of(exec::KernelOp kernel) {
  KernelCost cost;
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  Block &block = kernel.getBody().front();
  cost.element = Float32Type::get(kernel.getContext());
  for (BlockArgument argument : block.getArguments())
    cost.read.push_back(getReadBytesOf(argument, mesh));
  for (Value value : block.getTerminator()->getOperands())
    cost.written.push_back(getWrittenBytesOf(value, mesh));
  for (Operation &op : block) {
    auto named = dyn_cast<nd::NamedOpInterface>(op);
    if (!named)
      continue;
    nd::OpCost work = named.getCost();
    if (exec::isComputedByLibrary(&op)) {
      cost.productFlops += work.flops;
      cost.work.transcendentals += work.transcendentals;
      continue;
    }
    if (auto sort = dyn_cast<nd::SortOpInterface>(op)) {
      cost.sort = nd::SortWork::of(&op, sort.getDimAttr(), sort.getIntoAttr());
      continue;
    }
    cost.work.flops += work.flops;
    cost.work.transcendentals += work.transcendentals;
  }
  cost.work.bytes = cost.getReadBytes() + cost.getWrittenBytes();
  return cost;
}

} // namespace meshc::cost
