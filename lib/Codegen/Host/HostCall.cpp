//===- HostCall.cpp - kernels whose code is the runtime's -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/HostCall.h"
#include "dialects/Exec/AttentionCall.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/AttentionOps.h"
#include "lib/Codegen/Host/HostKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cstddef>

using namespace mlir;

namespace meshc::codegen {

bool isHostCall(exec::KernelOp kernel) {
  return exec::getAttention(kernel) != nullptr;
}

static SmallVector<exec::Order> getOrders(ArrayAttr attributes) {
  return llvm::map_to_vector(
      attributes.getAsRange<ArrayAttr>(),
      [](ArrayAttr order) { return exec::getOrder(order); });
}

// No byte of the form is without a value: the same program has the same bytes
// each time.
static_assert(offsetof(MeshcAttention, lastRow) ==
              offsetof(MeshcAttention, unused) +
                  sizeof(MeshcAttention::unused));

/// A constant of the bytes, and its address at the builder's place. The
/// compiler and the programs that it compiles have one form of MeshcAttention.
static Value emitConstant(OpBuilder &builder, ModuleOp module, Location loc,
                          StringRef name, const MeshcAttention &call) {
  StringRef bytes(reinterpret_cast<const char *>(&call), sizeof(call));
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
  OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
  auto constant = LLVM::GlobalOp::create(
      atEnd, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
      builder.getStringAttr(bytes), alignof(MeshcAttention));
  return LLVM::AddressOfOp::create(builder, loc, constant);
}

/// The runtime's function, declared once.
static LLVM::LLVMFuncOp declare(ModuleOp module, StringRef name) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  MLIRContext *context = module.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, pointer, pointer, pointer});
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

/// The `counts` of meshc_attention: an array of the function, or null if all
/// blocks are full.
static Value emitCounts(exec::KernelOp kernel, KernelEntry &entry,
                        OpBuilder &builder) {
  Operation *op = exec::getAttention(kernel);
  nd::TensorType query = nd::getTensorType(nd::AttentionScores::of(op).query);
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  if (!query.hasPadding(nd::MeshAttr::of(kernel)))
    return LLVM::ZeroOp::create(builder, loc, pointer);
  exec::AttentionLoops loops = *exec::AttentionLoops::of(op);
  SmallVector<StringAttr> dims{loops.row};
  llvm::append_range(dims, loops.outer);
  loadBuffers(kernel, entry, builder);
  KernelElements elements(builder, kernel, entry.context, entry.buffers,
                          /*lanes=*/1, {});
  Type number = builder.getI64Type();
  Value size = LLVM::ConstantOp::create(
      builder, loc, builder.getI64IntegerAttr(int64_t(dims.size())));
  Value counts = LLVM::AllocaOp::create(builder, loc, pointer, number, size, 8);
  for (auto [place, dim] : llvm::enumerate(dims)) {
    Value count = dim ? elements.getEntryCount(query, dim.getValue())
                      : elements.getIndexConstant(1);
    Value slot = LLVM::GEPOp::create(
        builder, loc, pointer, number, counts,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(place)});
    LLVM::StoreOp::create(
        builder, loc,
        arith::IndexCastOp::create(builder, loc, number, count).getResult(),
        slot, 8);
  }
  return counts;
}

void emitHostCall(exec::KernelOp kernel, ModuleOp module, StringRef name) {
  Operation *op = exec::getAttention(kernel);
  MeshcAttention call =
      exec::describeAttention(op, getOrders(kernel.getInputOrders()),
                              getOrders(kernel.getOutputOrders()));
  LLVM::LLVMFuncOp callee = declare(module, isa<nd::AttentionGradientOp>(op)
                                                ? "meshc_attention_gradient"
                                                : "meshc_attention");
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  KernelEntry entry = openHostKernel(kernel, builder, name);
  Value constant = emitConstant(builder, module, kernel.getLoc(),
                                (name + ".call").str(), call);
  Value counts = emitCounts(kernel, entry, builder);
  LLVM::CallOp::create(builder, kernel.getLoc(), callee,
                       ValueRange{entry.context, constant, counts,
                                  entry.function.getArgument(1)});
  LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
}

} // namespace meshc::codegen
