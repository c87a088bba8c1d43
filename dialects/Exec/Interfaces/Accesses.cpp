//===- Accesses.cpp - what an op of a step function accesses --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"

using namespace mlir;

namespace meshc::exec {

ArenaPiece ArenaPiece::of(Value value, nd::MeshAttr mesh) {
  return value.getDefiningOp<PieceOpInterface>().getPiece(mesh);
}

bool Accesses::conflictsWith(const Accesses &other, nd::MeshAttr mesh) const {
  using Pieces = SmallVector<ArenaPiece>;
  auto locate = [&](std::initializer_list<ArrayRef<Value>> lists) {
    Pieces pieces;
    for (ArrayRef<Value> values : lists)
      for (Value value : values)
        pieces.push_back(ArenaPiece::of(value, mesh));
    return pieces;
  };
  auto meet = [](const Pieces &a, const Pieces &b) {
    return llvm::any_of(a, [&](const ArenaPiece &x) {
      return llvm::any_of(b,
                          [&](const ArenaPiece &y) { return x.overlaps(y); });
    });
  };
  Pieces changed = locate({writes, scratch}), read = locate({reads});
  Pieces otherChanged = locate({other.writes, other.scratch});
  return meet(changed, otherChanged) || meet(read, otherChanged) ||
         meet(changed, locate({other.reads}));
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
  return success();
}

} // namespace meshc::exec
