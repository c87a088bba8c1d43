//===- EmulateGpu.cpp - GPU kernels as functions of the host --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/EmulateGpu.h"
#include "lib/Codegen/Gpu/GpuKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace meshc::codegen {

/// Fields of MeshcEmulatedThread, each of 8 bytes.
enum ThreadField { ThreadNumber, BlockNumber, Memory, Context, Buffers };

namespace {
/// Rewrites one kernel.
class KernelEmulator {
public:
  KernelEmulator(ModuleOp module, LLVM::LLVMFuncOp kernel)
      : module(module), kernel(kernel), loc(kernel.getLoc()),
        builder(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        i32(builder.getI32Type()), i64(builder.getI64Type()) {}

  LogicalResult run();

private:
  LLVM::LLVMFuncOp makeThreadFunction();
  void makeKernel(LLVM::LLVMFuncOp thread, const std::string &name);
  LogicalResult rewrite(Operation *op, Value state);
  void replaceMemory(Operation *cast, LLVM::AddressOfOp address, Value state);
  LogicalResult rewriteShuffle(gpu::ShuffleOp op, Value state);
  void announce(Operation *op, Value state);
  Value describePlace();
  Value loadField(Value state, ThreadField field, Type type);
  Value callRuntime(StringRef name, Type result, ArrayRef<Value> arguments);
  Value makeConstant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, type,
                                    builder.getIntegerAttr(type, value));
  }

  ModuleOp module;
  LLVM::LLVMFuncOp kernel;
  Location loc;
  OpBuilder builder;
  Type pointer, i32, i64;
  bool waits = false; ///< threads wait for each other
  int64_t memoryBytes = 0;
  SmallVector<LLVM::GlobalOp> memories;
  llvm::StringMap<std::string> places; ///< symbols of their texts
};
} // namespace

Value KernelEmulator::loadField(Value state, ThreadField field, Type type) {
  Value address =
      LLVM::GEPOp::create(builder, loc, pointer, i64, state,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(field)});
  return LLVM::LoadOp::create(builder, loc, type, address, 8);
}

Value KernelEmulator::callRuntime(StringRef name, Type result,
                                  ArrayRef<Value> arguments) {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(
        result, llvm::to_vector(ValueRange(arguments).getTypes()));
    function = LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
  }
  auto call = LLVM::CallOp::create(builder, loc, function, arguments);
  return call->getNumResults() ? call.getResult() : Value();
}

/// The kernel's body as a function of one thread's state.
LLVM::LLVMFuncOp KernelEmulator::makeThreadFunction() {
  builder.setInsertionPoint(kernel);
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(module.getContext()), {pointer});
  auto thread = LLVM::LLVMFuncOp::create(builder, loc,
                                         (kernel.getName() + ".thread").str(),
                                         type, LLVM::Linkage::Internal);
  thread.getBody().takeBody(kernel.getBody());
  Block &entry = thread.getBody().front();
  unsigned count = entry.getNumArguments();
  Value state = entry.insertArgument(0u, pointer, loc);
  builder.setInsertionPointToStart(&entry);
  Value buffers = loadField(state, Buffers, pointer);
  for (unsigned parameter = 0; parameter < count; ++parameter) {
    Value value;
    if (parameter == 0) {
      value = loadField(state, Context, pointer);
    } else {
      Value slot = LLVM::GEPOp::create(
          builder, loc, pointer, pointer, buffers,
          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(parameter - 1)});
      value = LLVM::LoadOp::create(builder, loc, pointer, slot, 8);
    }
    entry.getArgument(1).replaceAllUsesWith(value);
    entry.eraseArgument(1);
  }
  return thread;
}

/// A MeshcHostKernel that has the runtime run the blocks.
void KernelEmulator::makeKernel(LLVM::LLVMFuncOp thread,
                                const std::string &name) {
  builder.setInsertionPointAfter(thread);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()),
                                  {pointer, pointer, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type,
                                           LLVM::Linkage::Internal);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  SmallVector<Value> arguments(entry->getArguments());
  arguments.push_back(LLVM::createGlobalString(
      loc, builder, name + ".name", StringRef(name.c_str(), name.size() + 1),
      LLVM::Linkage::Internal));
  arguments.push_back(LLVM::AddressOfOp::create(builder, loc, thread));
  arguments.push_back(makeConstant(i64, getBlockThreads(kernel)));
  arguments.push_back(makeConstant(i64, memoryBytes));
  arguments.push_back(makeConstant(i64, waits ? 1 : 0));
  callRuntime("meshc_emulate", LLVM::LLVMVoidType::get(module.getContext()),
              arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

/// Values go through the runtime as 32 bits.
LogicalResult KernelEmulator::rewriteShuffle(gpu::ShuffleOp op, Value state) {
  Type type = op.getValue().getType();
  auto width = op.getWidth().getDefiningOp<arith::ConstantIntOp>();
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() != 32 || !width ||
      width.value() != warpSize ||
      (op.getMode() != gpu::ShuffleMode::XOR &&
       op.getMode() != gpu::ShuffleMode::IDX))
    return op.emitOpError("cannot be emulated: only 'xor' and 'idx' of 32 bits "
                          "over a whole warp are");
  Value bits = arith::BitcastOp::create(builder, loc, i32, op.getValue());
  Value isXor =
      makeConstant(i32, op.getMode() == gpu::ShuffleMode::XOR ? 1 : 0);
  Value got = callRuntime("meshc_emulated_shuffle", i32,
                          {state, bits, op.getOffset(), isXor});
  op.getShuffleResult().replaceAllUsesWith(
      arith::BitcastOp::create(builder, loc, type, got));
  Value valid =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  op.getValid().replaceAllUsesWith(valid);
  op.erase();
  return success();
}

/// Workgroup memory is the state's. Memory of the kernel is the runtime's, one
/// for each rank: a process may run several ranks.
void KernelEmulator::replaceMemory(Operation *cast, LLVM::AddressOfOp address,
                                   Value state) {
  auto global = module.lookupSymbol<LLVM::GlobalOp>(address.getGlobalName());
  auto bytes = static_cast<int64_t>(
      mlir::cast<LLVM::LLVMArrayType>(global.getGlobalType()).getNumElements());
  Value replacement;
  if (global.getAddrSpace() == unsigned(NVVM::NVVMMemorySpace::Shared)) {
    memoryBytes = bytes;
    replacement = loadField(state, Memory, pointer);
  } else {
    std::string name = (global.getSymName() + ".name").str();
    Value key = LLVM::createGlobalString(
        loc, builder, name, StringRef(name.c_str(), name.size() + 1),
        LLVM::Linkage::Internal);
    replacement = callRuntime("meshc_emulated_memory", pointer,
                              {state, key, makeConstant(i64, bytes)});
  }
  cast->replaceAllUsesWith(ValueRange{replacement});
  cast->erase();
  address.erase();
  memories.push_back(global);
}

/// The place in the model that the current location names, as a string of the
/// program.
Value KernelEmulator::describePlace() {
  std::string text = getSourceText(loc);
  std::string &symbol = places[text];
  if (!symbol.empty())
    return LLVM::AddressOfOp::create(builder, loc, pointer, symbol);
  symbol = (kernel.getName() + ".place_" + Twine(places.size())).str();
  return LLVM::createGlobalString(loc, builder, symbol,
                                  StringRef(text.c_str(), text.size() + 1),
                                  LLVM::Linkage::Internal);
}

/// Tells the runtime of an access of memory before it, for what only a GPU
/// would suffer from: races and addresses that are not aligned.
void KernelEmulator::announce(Operation *op, Value state) {
  Value address;
  Type type;
  int64_t kind = 0;
  uint64_t alignment = 0;
  if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    address = load.getAddr();
    type = load.getType();
    alignment = load.getAlignment().value_or(0);
  } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    address = store.getAddr();
    type = store.getValue().getType();
    alignment = store.getAlignment().value_or(0);
    kind = 1;
  } else {
    auto atomic = cast<LLVM::AtomicRMWOp>(op);
    address = atomic.getPtr();
    type = atomic.getType();
    kind = 2;
  }
  DataLayout layout(module);
  auto bytes = static_cast<int64_t>(layout.getTypeSize(type).getFixedValue());
  if (alignment == 0)
    alignment = layout.getTypeABIAlignment(type);
  callRuntime("meshc_emulated_access",
              LLVM::LLVMVoidType::get(module.getContext()),
              {state, address, makeConstant(i64, bytes),
               makeConstant(i64, static_cast<int64_t>(alignment)),
               makeConstant(i64, kind), describePlace()});
}

LogicalResult KernelEmulator::rewrite(Operation *op, Value state) {
  builder.setInsertionPoint(op);
  loc = op->getLoc();
  if (isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::AtomicRMWOp>(op)) {
    announce(op, state);
    return success();
  }
  if (isa<LLVM::FenceOp>(op)) {
    callRuntime("meshc_emulated_fence",
                LLVM::LLVMVoidType::get(module.getContext()), {state});
    return success();
  }
  auto replaceByNumber = [&](gpu::Dimension dimension, ThreadField field) {
    Value number = dimension == gpu::Dimension::x ? loadField(state, field, i64)
                                                  : makeConstant(i64, 0);
    op->replaceAllUsesWith(ValueRange{arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(), number)});
    op->erase();
    return success();
  };
  if (auto thread = dyn_cast<gpu::ThreadIdOp>(op))
    return replaceByNumber(thread.getDimension(), ThreadNumber);
  if (auto block = dyn_cast<gpu::BlockIdOp>(op))
    return replaceByNumber(block.getDimension(), BlockNumber);
  if (auto generic = dyn_cast<LLVM::AddrSpaceCastOp>(op)) {
    auto address = generic.getArg().getDefiningOp<LLVM::AddressOfOp>();
    if (!address)
      return success();
    replaceMemory(op, address, state);
    return success();
  }
  if (op->getName().getDialectNamespace() !=
      gpu::GPUDialect::getDialectNamespace())
    return success();
  waits = true;
  if (isa<gpu::BarrierOp>(op)) {
    callRuntime("meshc_emulated_barrier",
                LLVM::LLVMVoidType::get(module.getContext()), {state});
    op->erase();
    return success();
  }
  if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op))
    return rewriteShuffle(shuffle, state);
  auto reduce = dyn_cast<gpu::SubgroupReduceOp>(op);
  if (!reduce || reduce.getOp() != gpu::AllReduceOperation::OR ||
      !reduce.getType().isInteger(32) || reduce.getClusterSize())
    return op->emitOpError("cannot be emulated");
  op->replaceAllUsesWith(ValueRange{
      callRuntime("meshc_emulated_or", i32, {state, reduce.getValue()})});
  op->erase();
  return success();
}

LogicalResult KernelEmulator::run() {
  std::string name = kernel.getName().str();
  // Before the emulation's own loads are among them.
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (op != kernel && !isa<LLVM::AddressOfOp>(op))
      ops.push_back(op);
  });
  LLVM::LLVMFuncOp thread = makeThreadFunction();
  Value state = thread.getBody().getArgument(0);
  for (Operation *op : ops)
    if (failed(rewrite(op, state)))
      return failure();
  for (LLVM::GlobalOp memory : memories)
    memory.erase();
  loc = kernel.getLoc();
  kernel.setName(name + ".gpu");
  makeKernel(thread, name);
  kernel.erase();
  return success();
}

LogicalResult emulateGpu(ModuleOp kernels) {
  for (auto function :
       llvm::make_early_inc_range(kernels.getOps<LLVM::LLVMFuncOp>()))
    if (function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) &&
        failed(KernelEmulator(kernels, function).run()))
      return failure();
  return success();
}

} // namespace meshc::codegen
