//===- MutatedPtxTest.cpp - what the interpreter of PTX finds -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The PTX of real kernels with one change each, of the kind that an error in
/// code generation could make. The interpreter must find each one: it reports a
/// fault, or the kernel's results are others.
///
//===----------------------------------------------------------------------===//
#include "dialects/Exec/Exec.h"
#include "dialects/Nd/NdOps.h"
#include "lib/Codegen/Gpu/GpuCode.h"
#include "mlir/Parser/Parser.h"
#include "test/gpu/ptx/RunEntry.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <regex>

using namespace mlir;
using namespace meshc;
using namespace meshc::codegen;

namespace {

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
/// Exponentials of 16-bit numbers, in a grid whose last block is not full.
constexpr const char *exponentials = R"(
  exec.kernel @k #exec.plan<parallel = ["h"], reduce = [], lanes = "h", sizes = [5000]>
      in [["h"]] out [["h"]] {
  ^bb0(%x: !nd.tensor<bf16, [h = 5000]>):
    %e = nd.exp %x : (!nd.tensor<bf16, [h = 5000]>) -> !nd.tensor<bf16, [h = 5000]>
    exec.yield %e : !nd.tensor<bf16, [h = 5000]>
  })";

constexpr size_t inputBytes = 4 * 48000, outputBytes = 4 * 16384;

/// A kernel as text, and its grid.
struct Kernel {
  std::string ptx;
  uint32_t blocks = 0, threads = 0;

  explicit Kernel(const char *text) {
    MLIRContext context;
    context.loadDialect<nd::NdDialect, exec::ExecDialect>();
    auto module = parseSourceString<ModuleOp>(
        std::string("module attributes {nd.mesh = #nd.mesh<>} {") + text + "}",
        &context);
    auto code = GpuCode::generate(*module, GpuCodeOptions());
    EXPECT_TRUE(succeeded(code));
    if (failed(code))
      return;
    ptx = code->images.back().bytes;
    blocks = code->launches.front().second.blocks;
    threads = code->launches.front().second.threads;
  }
};

/// What a launch found, and what it wrote.
struct Result {
  std::string fault;
  std::vector<char> output;

  bool operator==(const Result &other) const {
    return fault == other.fault && output == other.output;
  }
};

Result run(const Kernel &kernel, const std::string &ptx, uint64_t seed = 1) {
  std::vector<char> input(inputBytes + 16), context(64);
  Result result{"", std::vector<char>(outputBytes, 0x55)};
  std::mt19937 random(7);
  // As f32 and as bf16, magnitudes of 0.5 to 2 of either sign: rounding shows
  // in their sums.
  for (size_t i = 0; i < inputBytes; i += 2) {
    input[i] = static_cast<char>(random());
    input[i + 1] = static_cast<char>(random() % 2 ? 0x3f : 0xbf);
  }
  ptx::Program::Launch launch;
  launch.blocks = kernel.blocks;
  launch.threads = kernel.threads;
  launch.parameters = {context.data(), input.data(), result.output.data()};
  launch.memory = {{context.data(), context.size()},
                   {input.data(), inputBytes},
                   {result.output.data(), outputBytes}};
  result.fault = ptx::Program(ptx, seed).run("k", launch);
  return result;
}

/// Texts with one match of the pattern replaced, as std::regex_replace does it.
std::vector<std::string> mutate(const std::string &ptx, const char *pattern,
                                const char *replacement) {
  std::vector<std::string> mutants;
  std::regex expression(pattern);
  for (std::sregex_iterator match(ptx.begin(), ptx.end(), expression), end;
       match != end; ++match)
    mutants.push_back(
        match->prefix().str().insert(
            0, ptx, 0, match->position() - match->prefix().length()) +
        match->format(replacement) + match->suffix().str());
  return mutants;
}

/// Each mutant must be found. There are at least `least`.
void expectFound(const Kernel &kernel, const char *pattern,
                 const char *replacement, size_t least = 1) {
  Result right = run(kernel, kernel.ptx);
  ASSERT_EQ(right.fault, "");
  std::vector<std::string> mutants = mutate(kernel.ptx, pattern, replacement);
  EXPECT_GE(mutants.size(), least) << pattern;
  for (const std::string &mutant : mutants) {
    ASSERT_NE(mutant, kernel.ptx);
    SCOPED_TRACE("number " + std::to_string(&mutant - mutants.data()) +
                 " of '" + pattern + "' as '" + replacement + "'");
    EXPECT_FALSE(run(kernel, mutant) == right) << mutant;
  }
}

} // namespace

/// The order of threads changes nothing.
TEST(MutatedPtx, IsRightBeforeThat) {
  for (const char *text : {rows, columns, exponentials}) {
    Kernel kernel(text);
    Result first = run(kernel, kernel.ptx);
    EXPECT_EQ(first.fault, "");
    EXPECT_NE(first.output[0], 0x55);
    for (uint64_t seed : {2, 3, 4})
      EXPECT_TRUE(run(kernel, kernel.ptx, seed) == first);
  }
}

TEST(MutatedPtx, BarrierDropped) {
  expectFound(Kernel(rows), R"(bar\.sync\s+0;)", ";");
  expectFound(Kernel(columns), R"(bar\.sync\s+0;)", ";", 3);
}

/// Of accesses in shared and in global memory.
TEST(MutatedPtx, OffsetChanged) {
  expectFound(Kernel(columns), R"(\+(\d+)\])", "+1$1]", 10);
  expectFound(Kernel(columns), R"(\+(\d+)\])", "]", 10);
}

TEST(MutatedPtx, ShuffleChanged) {
  for (const char *text : {rows, columns}) {
    Kernel kernel(text);
    expectFound(kernel, R"(, 31, -1;)", ", 31, 65535;", 5); // its mask
    expectFound(kernel, R"(, \d+, 31, -1;)", ", 0, 31, -1;", 5);
    expectFound(kernel, R"(shfl\.sync\.bfly)", "shfl.sync.up", 5);
  }
}

/// Each sum is of many threads: the errors add up.
TEST(MutatedPtx, RoundingChanged) {
  expectFound(Kernel(rows), R"(add\.rn\.f32)", "add.rp.f32", 5);
}

TEST(MutatedPtx, ConversionChanged) {
  Kernel kernel(exponentials);
  expectFound(kernel, R"(cvt\.rn\.bf16(x2)?\.f32)", "cvt.rz.bf16$1.f32", 4);
  expectFound(kernel, R"(cvt\.f32\.bf16)", "cvt.f32.f16", 4);
}

TEST(MutatedPtx, ReadOnlyLoadOfWrittenMemory) {
  expectFound(Kernel(columns), R"(ld\.volatile\.global\.v4)",
              "ld.global.nc.v4");
}

TEST(MutatedPtx, PredicateNegated) {
  for (const char *text : {rows, columns, exponentials})
    expectFound(Kernel(text), "@%p", "@!%p");
}

TEST(MutatedPtx, AtomicMadePlain) {
  expectFound(Kernel(columns),
              R"(atom\.global\.add\.u32\s+(%r\d+), \[k_counts\], 1;)",
              "{ .reg .b32 t; ld.global.b32 $1, [k_counts]; add.s32 t, $1, 1; "
              "st.global.b32 [k_counts], t; }");
}

TEST(MutatedPtx, FenceDropped) {
  expectFound(Kernel(columns), R"(fence\.acq_rel\.gpu;)", ";", 2);
  expectFound(Kernel(columns), R"(fence\.acq_rel\.gpu;)", "fence.acq_rel.cta;",
              2);
}

TEST(MutatedPtx, BoundChanged) {
  expectFound(Kernel(rows), R"(, 749;)", ", 767;");         // a clamped index
  expectFound(Kernel(rows), R"(, 750;)", ", 740;");         // what is added
  expectFound(Kernel(exponentials), R"(, 624;)", ", 625;"); // the last thread
}

TEST(MutatedPtx, AddressChanged) {
  for (const char *text : {rows, columns, exponentials}) {
    Kernel kernel(text);
    expectFound(kernel, R"(%ctaid\.x)", "%nctaid.x");
    expectFound(kernel, R"(\[k_param_1\])", "[k_param_2]");
    expectFound(kernel, R"(\[k_param_2\])", "[k_param_1]");
  }
}

TEST(MutatedPtx, InstructionUnknown) {
  Kernel kernel(rows);
  for (const std::string &mutant :
       mutate(kernel.ptx, R"(add\.rn\.f32)", "add.rna.f32"))
    EXPECT_NE(run(kernel, mutant).fault.find("'add.rna.f32' is an unknown"),
              std::string::npos);
}
