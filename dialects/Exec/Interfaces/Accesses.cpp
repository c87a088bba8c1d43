//===- Accesses.cpp - what an op of a step function accesses --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"

using namespace mlir;

namespace meshc::exec {

int64_t ArenaPlace::at(ArrayRef<int64_t> iterations) const {
  int64_t begin = offset;
  for (auto [stride, iteration] : llvm::zip(strides, iterations))
    begin += stride * iteration;
  for (auto [alternate, iteration] : llvm::zip(alternates, iterations))
    begin += alternate * (iteration & 1);
  return begin;
}

int64_t ArenaPlace::getReach(ArrayRef<int64_t> sizes, size_t level) const {
  int64_t reach = 0;
  for (; level < sizes.size(); ++level) {
    if (level < strides.size())
      reach += strides[level] * (sizes[level] - 1);
    if (level < alternates.size() && sizes[level] > 1)
      reach += alternates[level];
  }
  return reach;
}

int64_t ArenaPlace::getAlignment() const {
  int64_t bits = offset | arenaAlignment;
  for (int64_t stride : strides)
    bits |= stride;
  for (int64_t alternate : alternates)
    bits |= alternate;
  return bits & -bits;
}

ArenaPiece ArenaPiece::of(Value value, nd::MeshAttr mesh) {
  auto op = value.getDefiningOp<PieceOpInterface>();
  ArenaPlace place = op.getPlace();
  return {place.offset,
          place.offset + op.getBytes(mesh) + place.getReach(getLoopSizes(op))};
}

ArenaPiece ArenaPiece::at(Value value, nd::MeshAttr mesh,
                          ArrayRef<int64_t> iterations) {
  auto op = value.getDefiningOp<PieceOpInterface>();
  int64_t begin = op.getPlace().at(iterations);
  return {begin, begin + op.getBytes(mesh)};
}

bool Accesses::conflictsWith(const Accesses &other,
                             function_ref<bool(Value, Value)> meet) const {
  auto anyMeet = [&](ArrayRef<Value> mine, ArrayRef<Value> others) {
    return llvm::any_of(mine, [&](Value a) {
      return llvm::any_of(others, [&](Value b) { return meet(a, b); });
    });
  };
  for (ArrayRef<Value> changed :
       {ArrayRef(other.writes), ArrayRef(other.scratch)})
    if (anyMeet(writes, changed) || anyMeet(scratch, changed) ||
        anyMeet(reads, changed))
      return true;
  return anyMeet(writes, other.reads) || anyMeet(scratch, other.reads);
}

/// Whether the buffers lie at multiples of what the kernel relies on.
static LogicalResult verifyAlignment(Operation *op, const KernelUse &use,
                                     KernelOp kernel) {
  SmallVector<Value> buffers(use.inputs);
  llvm::append_range(buffers, use.outputs);
  for (auto [number, buffer] : llvm::enumerate(buffers)) {
    int64_t wanted = kernel.getAlignment(number);
    int64_t known =
        buffer.getDefiningOp<PieceOpInterface>().getPlace().getAlignment();
    // Without loops around it, a buffer is checked by its own rule.
    if (known < wanted && !getLoopsAround(op).empty())
      return op->emitOpError()
             << "buffer " << number << " lies at multiples of " << known
             << " bytes; kernel '" << use.kernel.getValue()
             << "' relies on multiples of " << wanted;
  }
  return success();
}

LogicalResult verifyKernelUse(Operation *op, const KernelUse &use) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(op, use.kernel);
  if (!kernel)
    return op->emitOpError()
           << "there is no kernel '" << use.kernel.getValue() << "'";
  auto matches = [](TypeRange buffers, TypeRange tensors, ArrayAttr orders) {
    if (buffers.size() != tensors.size() || buffers.size() != orders.size())
      return false;
    for (auto [buffer, tensor, order] : llvm::zip(buffers, tensors, orders))
      if (cast<BufferType>(buffer).getTensor() != tensor ||
          !llvm::equal(cast<BufferType>(buffer).getOrder(),
                       cast<ArrayAttr>(order).getAsRange<StringAttr>()))
        return false;
    return true;
  };
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  if (!matches(use.inputs.getTypes(), kernel.getBody().getArgumentTypes(),
               kernel.getInputOrders()) ||
      !matches(use.outputs.getTypes(), yield.getValues().getTypes(),
               kernel.getOutputOrders()))
    return op->emitOpError()
           << "buffers do not match inputs and outputs of kernel '"
           << use.kernel.getValue() << "'";
  return verifyAlignment(op, use, kernel);
}

} // namespace meshc::exec
