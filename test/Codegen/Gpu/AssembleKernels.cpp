//===- AssembleKernels.cpp - kernels of other tests as machine code -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Another expectKernel, for the same test cases: instead of running a kernel,
/// it expects the CUDA toolkit's assembler to accept it, for the chips of
/// interest. With MESHC_RANDOM_SEED, a third of the kernels is assembled, each
/// for one chip; the seed draws them.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Codegen/Gpu/GpuCode.h"
#include "lib/Codegen/Gpu/Toolkit.h"
#include "mlir/Parser/Parser.h"
#include "test/Codegen/KernelRun.h"
#include "llvm/Support/xxhash.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;

namespace meshc::codegen {

static const CudaToolkit *getToolkit() {
  static auto found = findCudaToolkit("");
  return found ? &*found : nullptr;
}

namespace {
/// Without the toolkit all tests are skipped.
struct NeedsToolkit : ::testing::Environment {
  void SetUp() override {
    if (!getToolkit())
      GTEST_SKIP() << "the CUDA toolkit is not installed";
  }
};
} // namespace

static auto *needsToolkit =
    ::testing::AddGlobalTestEnvironment(new NeedsToolkit);

/// The chips for which a kernel is assembled; none if it is not drawn.
static std::vector<std::string> drawChips(StringRef text) {
  std::vector<std::string> chips = {"sm_90", "sm_100"};
  const char *seed = std::getenv("MESHC_RANDOM_SEED");
  if (!seed)
    return chips;
  uint64_t hash = llvm::xxh3_64bits(text.str() + seed);
  if (hash / chips.size() % 3 != 0)
    return {};
  return {chips[hash % chips.size()]};
}

void expectKernel(StringRef text, const KernelCase &options) {
  GpuCodeOptions gpu;
  gpu.chips = drawChips(text);
  if (gpu.chips.empty())
    return;
  MLIRContext context;
  context.loadDialect<nd::NdDialect, spmd::SpmdDialect, exec::ExecDialect>();
  std::string source = "module attributes {nd.mesh = " + options.mesh +
                       "} {\n" + text.str() + "\n}";
  auto module = parseSourceString<ModuleOp>(source, &context);
  ASSERT_TRUE(module) << source;
  gpu.libdevice = getToolkit()->libdevice;
  auto code = GpuCode::generate(*module, gpu);
  ASSERT_TRUE(succeeded(code)) << source;
  llvm::Error error = code->assemble(getToolkit()->ptxas, gpu.chips);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error)) << source;
  // The machine code for each chip, and PTX.
  ASSERT_EQ(code->images.size(), gpu.chips.size() + 1);
  // ptxas itself stores a few to run two blocks at once.
  constexpr uint32_t fewBytes = 64;
  for (const GpuImage &image : code->images)
    for (const KernelUsage &usage : image.usage)
      EXPECT_LE(usage.spillBytes, fewBytes)
          << "too few registers of sm_" << image.chip << " for\n"
          << source;
}

} // namespace meshc::codegen
