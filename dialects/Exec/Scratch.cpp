//===- Scratch.cpp - memory that a library call uses while it runs --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Scratch.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Order.h"
#include "meshc/GemmScratch.h"

using namespace mlir;

namespace meshc::exec {

int64_t getScratchBytes(Operation *op) {
  auto holder = dyn_cast<ProductOp>(op);
  nd::EinsumOp product =
      holder ? holder.getEinsum() : dyn_cast<nd::EinsumOp>(op);
  if (!product || hasLibraryWorkspace(op->getParentOfType<ModuleOp>()))
    return 0;
  auto orderOf = [](Value value) { return getOrder(value).value_or(Order()); };
  auto shape = ProductShape::of(product, orderOf(product.getInputs()[0]),
                                orderOf(product.getInputs()[1]),
                                orderOf(product.getResult()));
  if (!shape)
    return 0;
  MeshcGemm gemm = {};
  gemm.m = shape->sizes[0];
  gemm.n = shape->sizes[1];
  gemm.k = shape->sizes[2];
  gemm.batch = shape->sizes[6];
  gemm.type =
      getAbiType(nd::getTensorType(product.getInputs()[0]).getElementType());
  gemm.typeC =
      getAbiType(nd::getTensorType(product.getResult()).getElementType());
  return meshcGemmScratchBytes(&gemm);
}

} // namespace meshc::exec
