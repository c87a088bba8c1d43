//===- EstimateMemory.cpp - what a comparison will hold -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/EstimateMemory.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::reference {

/// Of one rank's block of each value; the interpreter holds doubles.
static double getBytes(TypeRange types, nd::MeshAttr mesh) {
  double bytes = 0;
  for (Type type : types)
    if (auto tensor = dyn_cast<nd::TensorType>(type))
      bytes += static_cast<double>(tensor.getLocalElementCount(mesh)) *
               sizeof(double);
  return bytes;
}

/// Of one rank, by op: the bytes of the values that are dropped after it.
static DenseMap<Operation *, double> findDying(Block &block,
                                               nd::MeshAttr mesh) {
  DenseMap<Operation *, double> dying;
  llvm::DenseSet<Value> seen;
  for (Operation &op : llvm::reverse(block)) {
    for (Value operand : op.getOperands())
      if (seen.insert(operand).second)
        dying[&op] += getBytes(operand.getType(), mesh);
    for (Value result : op.getResults())
      if (!seen.contains(result))
        dying[&op] += getBytes(result.getType(), mesh);
  }
  return dying;
}

/// Goes through the block of a function or of a loop as the interpreter does,
/// which drops a value after its last use. `beside`: bytes that are held all
/// the time.
static MemoryNeed measure(Block &block, nd::MeshAttr mesh, double beside) {
  auto ranks = static_cast<double>(mesh.getRankCount());
  DenseMap<Operation *, double> dying = findDying(block, mesh);
  double live = getBytes(block.getArgumentTypes(), mesh);
  MemoryNeed need;
  auto add = [&](MemoryNeed other) {
    if (other.bytes > need.bytes)
      need = other;
  };
  for (Operation &op : block) {
    // Results are copies at the end; each is made once more before it is kept.
    bool isEnd = op.hasTrait<OpTrait::IsTerminator>();
    double made = isEnd ? getBytes(op.getOperandTypes(), mesh)
                        : getBytes(op.getResultTypes(), mesh);
    live += made;
    // A loop fills its results while it runs; its arguments are copies.
    if (auto loop = dyn_cast<nd::ScanOp>(op))
      add(measure(loop.getBlock(), mesh, beside + live * ranks));
    else
      add({beside + live * ranks + (isEnd ? 0 : made), &op});
    live -= dying.lookup(&op);
  }
  return need;
}

MemoryNeed estimateMemory(ModuleOp sequential, ModuleOp partitioned) {
  auto oneDevice =
      nd::MeshAttr::get(sequential.getContext(), ArrayRef<nd::AxisAttr>());
  MemoryNeed most;
  for (auto function : sequential.getOps<func::FuncOp>()) {
    auto other = partitioned.lookupSymbol<func::FuncOp>(function.getName());
    if (!other)
      continue;
    nd::MeshAttr mesh = nd::MeshAttr::of(other);
    auto ranks = static_cast<double>(mesh.getRankCount());
    double cut = getBytes(other.getArgumentTypes(), mesh) * ranks;
    double wanted = getBytes(function.getResultTypes(), oneDevice);
    for (MemoryNeed need : {measure(function.getBody().front(), oneDevice, cut),
                            measure(other.getBody().front(), mesh, wanted)})
      if (need.bytes > most.bytes)
        most = need;
  }
  return most;
}

} // namespace meshc::reference
