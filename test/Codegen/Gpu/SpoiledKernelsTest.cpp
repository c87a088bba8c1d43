//===- SpoiledKernelsTest.cpp - what the emulation finds ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Real kernels of GPUs with one fault each, of the kind that gives wrong
/// numbers on a GPU now and then: the emulation ends with a message about it.
///
//===----------------------------------------------------------------------===//
#include "dialects/Exec/Exec.h"
#include "dialects/Nd/NdOps.h"
#include "lib/Codegen/Gpu/EmulateGpu.h"
#include "lib/Codegen/Gpu/GpuKernel.h"
#include "lib/Codegen/Host/LowerToLlvm.h"
#include "lib/Codegen/Lowering.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Device/Emulation.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace meshc;
using namespace meshc::codegen;

namespace {

/// Changes a kernel's code for GPUs.
using Spoil = llvm::function_ref<void(LLVM::LLVMFuncOp kernel)>;

/// The sums of 16 rows of 3000 numbers: several warps share a row.
constexpr const char *rows = R"(
  exec.kernel @k #exec.plan<parallel = ["b"], reduce = ["h"], lanes = "h", sizes = [16, 3000]>
      in [["b", "h"]] out [["b"]] {
  ^bb0(%x: !nd.tensor<f32, [b = 16, h = 3000]>):
    %s = nd.reduce_sum %x {dims = ["h"]} : (!nd.tensor<f32, [b = 16, h = 3000]>) -> !nd.tensor<f32, [b = 16]>
    exec.yield %s : !nd.tensor<f32, [b = 16]>
  })";
/// The sums of 8 columns of 6000 numbers: several blocks share them.
constexpr const char *columns = R"(
  exec.kernel @k #exec.plan<parallel = ["h"], reduce = ["b"], lanes = "h", sizes = [8, 6000]>
      in [["b", "h"]] out [["h"]] {
  ^bb0(%x: !nd.tensor<f32, [b = 6000, h = 8]>):
    %s = nd.reduce_sum %x {dims = ["b"]} : (!nd.tensor<f32, [b = 6000, h = 8]>) -> !nd.tensor<f32, [h = 8]>
    exec.yield %s : !nd.tensor<f32, [h = 8]>
  })";
/// Twice 48000 numbers.
constexpr const char *doubles = R"(
  exec.kernel @k #exec.plan<parallel = ["h"], reduce = [], lanes = "h", sizes = [48000]>
      in [["h"]] out [["h"]] {
  ^bb0(%x: !nd.tensor<f32, [h = 48000]>):
    %s = nd.add %x, %x : (!nd.tensor<f32, [h = 48000]>, !nd.tensor<f32, [h = 48000]>) -> !nd.tensor<f32, [h = 48000]>
    exec.yield %s : !nd.tensor<f32, [h = 48000]>
  })";

llvm::orc::SymbolMap getEmulation(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported};
  };
  add("meshc_emulate", meshc_emulate);
  add("meshc_emulated_barrier", meshc_emulated_barrier);
  add("meshc_emulated_shuffle", meshc_emulated_shuffle);
  add("meshc_emulated_or", meshc_emulated_or);
  add("meshc_emulated_memory", meshc_emulated_memory);
  add("meshc_emulated_access", meshc_emulated_access);
  add("meshc_emulated_fence", meshc_emulated_fence);
  return symbols;
}

/// Runs the kernel of that text once, on 48000 ones that begin `shift` elements
/// after an aligned place. Gives its first result.
float run(const char *text, Spoil spoil, int64_t shift = 0) {
  MLIRContext context;
  context.loadDialect<nd::NdDialect, exec::ExecDialect>();
  loadCodegenDialects(context);
  auto module = parseSourceString<ModuleOp>(
      std::string("module attributes {nd.mesh = #nd.mesh<>} {") + text + "}",
      &context, "model.mlir");
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module->getLoc());
  auto kernel = *module->getOps<exec::KernelOp>().begin();
  auto launch = emitGpuKernel(kernel, *kernels, GpuOptions());
  EXPECT_TRUE(succeeded(launch));
  spoil(*kernels->getOps<LLVM::LLVMFuncOp>().begin());
  EXPECT_TRUE(succeeded(emulateGpu(*kernels)));
  kernels->walk([](LLVM::LLVMFuncOp function) {
    if (function.getName() == "k")
      function.setLinkage(LLVM::Linkage::External);
  });
  HostTarget target = llvm::cantFail(HostTarget::get("native"));
  auto owner = std::make_unique<llvm::LLVMContext>();
  auto code = lowerToLlvm(*kernels, target, *owner);
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(jit->getMainJITDylib().define(
      llvm::orc::absoluteSymbols(getEmulation(*jit))));
  llvm::cantFail(jit->addIRModule(
      {std::move(code), llvm::orc::ThreadSafeContext(std::move(owner))}));
  auto function = llvm::cantFail(jit->lookup("k")).toPtr<MeshcHostKernel>();
  static float input[48064], output[48064];
  float *aligned = input + (-reinterpret_cast<uintptr_t>(input) / 4) % 16;
  std::fill(input, std::end(input), 1.0f);
  void *buffers[] = {aligned + shift, output};
  MeshcContext run = {};
  function(&run, buffers, 0, launch->blocks);
  return output[0];
}

void keep(LLVM::LLVMFuncOp) {}

/// Erases the nth of the kernel's barriers, or all of its fences.
auto withoutBarrier(int number) {
  return [number](LLVM::LLVMFuncOp kernel) {
    int found = 0;
    kernel.walk([&](gpu::BarrierOp barrier) {
      if (found++ == number)
        barrier.erase();
    });
    ASSERT_LT(number, found);
  };
}

#define EXPECT_REPORT(call, text)                                              \
  EXPECT_EXIT(call, testing::ExitedWithCode(1), text)

} // namespace

TEST(SpoiledKernels, AreRightBeforeThat) {
  EXPECT_EQ(run(rows, keep), 3000);
  EXPECT_EQ(run(columns, keep), 6000);
  EXPECT_EQ(run(doubles, keep), 2);
}

TEST(SpoiledKernelsDeathTest, AMissingBarrierIsARace) {
  EXPECT_REPORT(run(rows, withoutBarrier(0)),
                "emulated kernel 'k' has a race: it .* bytes in thread .* of "
                "block .* at model.mlir:.*, which .*thread.* of block .* at "
                "model.mlir:.*, and nothing orders the two "
                ".MESHC_EMULATION_SEED=");
}

TEST(SpoiledKernelsDeathTest, BlocksThatShareAPointNeedTheirFences) {
  auto withoutFences = [](LLVM::LLVMFuncOp kernel) {
    int fences = 0;
    kernel.walk([&](LLVM::FenceOp fence) {
      fence.erase();
      ++fences;
    });
    ASSERT_EQ(fences, 2);
  };
  EXPECT_REPORT(run(columns, withoutFences), "'k' has a race");
  // Each of the barriers orders something: the block's values, its count.
  int barriers = 0;
  run(columns, [&](LLVM::LLVMFuncOp kernel) {
    kernel.walk([&](gpu::BarrierOp) { ++barriers; });
  });
  ASSERT_GE(barriers, 3);
  for (int number = 0; number < barriers; ++number) {
    SCOPED_TRACE("barrier " + std::to_string(number));
    EXPECT_REPORT(run(columns, withoutBarrier(number)), "'k' has a race");
  }
}

/// All threads store to the first place.
TEST(SpoiledKernelsDeathTest, ThreadsThatWriteOneByteRace) {
  auto storeToOne = [](LLVM::LLVMFuncOp kernel) {
    kernel.walk([&](LLVM::StoreOp store) {
      store.getAddrMutable().assign(kernel.getArgument(2));
    });
  };
  EXPECT_REPORT(run(doubles, storeToOne),
                "'k' has a race: it writes 16 bytes .*, which thread .* wrote");
}

/// A vector at an address that is a multiple of 4, not of 16.
TEST(SpoiledKernelsDeathTest, VectorsThatAreNotAlignedFault) {
  EXPECT_REPORT(run(doubles, keep, 1),
                "'k' faults: it reads 16 bytes .* from an address that is not "
                "aligned to 16");
}
