//===- PtxRun.cpp - a kernel's PTX beside its emulation -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/PtxRun.h"
#include "dialects/Exec/Exec.h"
#include "lib/Codegen/Gpu/GpuCode.h"
#include "lib/Codegen/Gpu/Toolkit.h"
#include "test/Codegen/BufferElements.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;

namespace meshc::codegen {

/// Of the kernels and their grids, one in so many is drawn.
static constexpr uint64_t sampledPart = 16;

/// Empty, and said once, if the CUDA toolkit is not installed.
static const std::string &getLibdevice() {
  static const std::string path = [] {
    auto toolkit = findCudaToolkit("");
    if (toolkit)
      return toolkit->libdevice;
    llvm::consumeError(toolkit.takeError());
    llvm::outs() << "no PTX is run: the CUDA toolkit, which has libdevice, is "
                    "not installed\n";
    return std::string();
  }();
  return path;
}

/// Whether the kernel has ops that libdevice computes otherwise than the host.
static bool usesLibdevice(StringRef text) {
  constexpr StringLiteral names[] = {"nd.sin", "nd.cos", "nd.pow", "normal"};
  return llvm::any_of(names,
                      [&](StringRef name) { return text.contains(name); });
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

std::unique_ptr<PtxRun> PtxRun::make(ModuleOp module, const GpuOptions &gpu) {
  std::string text = print(module);
  const char *seed = std::getenv("MESHC_RANDOM_SEED");
  uint64_t hash = llvm::xxh3_64bits(text + (seed ? seed : "") +
                                    std::to_string(gpu.threadsToFill) +
                                    std::to_string(gpu.leastSteps));
  // Some chips take maxima from libdevice, too.
  if ((seed && hash % sampledPart != 0) || getLibdevice().empty())
    return nullptr;
  constexpr StringLiteral chips[] = {"sm_80", "sm_90", "sm_100"};
  GpuCodeOptions options;
  options.mapping = gpu;
  options.chips = {chips[hash / sampledPart % std::size(chips)].str()};
  options.libdevice = getLibdevice();
  auto code = GpuCode::generate(module, options);
  EXPECT_TRUE(succeeded(code));
  if (failed(code) || code->images.empty())
    return nullptr;
  auto result = std::make_unique<PtxRun>();
  auto [kernel, launch] = code->launches.front();
  result->name = kernel.getSymName().str();
  result->blocks = launch.blocks;
  result->threads = launch.threads;
  result->isExact = !usesLibdevice(text);
  result->program =
      std::make_unique<ptx::Program>(code->images.back().bytes, hash);
  return result;
}

bool PtxRun::run(MeshcContext context, llvm::ArrayRef<Buffer> buffers,
                 int64_t axisCount) {
  ptx::Program::Launch launch;
  launch.blocks = blocks;
  launch.threads = threads;
  launch.parameters.push_back(&context);
  launch.memory.emplace_back(&context, sizeof(context));
  launch.memory.emplace_back(const_cast<int64_t *>(context.coords),
                             axisCount * sizeof(int64_t));
  for (const Buffer &buffer : buffers) {
    launch.parameters.push_back(buffer.data);
    launch.memory.emplace_back(buffer.data, buffer.bytes);
  }
  std::string found = program->run(name, launch);
  EXPECT_EQ(found, "") << "the interpreter of PTX found this";
  return found.empty();
}

bool PtxRun::isEqual(const char *ptx, const char *emulated, Type type) const {
  double got = readElement(ptx, type), want = readElement(emulated, type);
  // NaN is canonical on a GPU.
  if (std::memcmp(ptx, emulated, getBytes(type)) == 0 ||
      (std::isnan(got) && std::isnan(want)))
    return true;
  if (isExact || !isa<FloatType>(type))
    return false;
  double bound = type.isF32() ? 7e-7 : 0x1p-7; // or a rounding to 16 bits
  return std::abs(got - want) <= bound * (1 + std::abs(want));
}

} // namespace meshc::codegen
