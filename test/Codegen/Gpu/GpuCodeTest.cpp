//===- GpuCodeTest.cpp - what kernels for GPUs are made of ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuCode.h"
#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/Gpu/PtxTarget.h"
#include "lib/Codegen/Gpu/Toolkit.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/SourceMgr.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace meshc::codegen;
using namespace meshc;

namespace {
/// The code of a module of kernels, or the reported errors.
struct Generated {
  std::string ptx, errors;
  std::vector<GpuImage> images;
  std::vector<KernelLaunch> launches;

  explicit Generated(const std::string &kernels, GpuCodeOptions options = {},
                     const std::string &ptxas = "") {
    mlir::MLIRContext context;
    context.loadDialect<nd::NdDialect, exec::ExecDialect>();
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) {
          llvm::raw_string_ostream(errors)
              << diagnostic.getLocation() << ": " << diagnostic << "\n";
        });
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "module attributes {nd.mesh = #nd.mesh<>} {\n" + kernels + "\n}",
        &context);
    EXPECT_TRUE(module) << errors;
    if (!module)
      return;
    auto code = GpuCode::generate(*module, options);
    if (failed(code))
      return;
    if (!ptxas.empty())
      llvm::cantFail(code->assemble(ptxas, options.chips));
    images = code->images;
    for (auto [kernel, launch] : code->launches)
      launches.push_back(launch);
    if (!images.empty())
      ptx = images.back().bytes;
  }
};

/// How often `text` holds `pattern`.
int count(const std::string &text, const std::string &pattern) {
  int found = 0;
  for (size_t at = text.find(pattern); at != std::string::npos;
       at = text.find(pattern, at + 1))
    ++found;
  return found;
}

/// One op on a matrix, `type` its elements.
std::string pointwise(const std::string &op, const std::string &type) {
  std::string x = "!nd.tensor<" + type + ", [b = 512, h = 1024]>";
  return R"(exec.kernel @k #exec.plan<parallel = ["b", "h"], reduce = [],
      lanes = "h", sizes = [512, 1024]> in [["b", "h"]] out [["b", "h"]] {
    ^bb0(%x: )" +
         x + "):\n%0 = nd." + op + " %x : (" + x + ") -> " + x +
         " loc(\"model.mesh\":7:3)\nexec.yield %0 : " + x +
         "\n} loc(\"model.mesh\":7:3)";
}

/// A sum of rows or columns of a matrix.
std::string sum(const std::string &over, int rows, int columns) {
  std::string kept = over == "b" ? "h" : "b";
  int reduced = over == "b" ? rows : columns;
  int left = over == "b" ? columns : rows;
  std::string x = "!nd.tensor<f32, [b = " + std::to_string(rows) +
                  ", h = " + std::to_string(columns) + "]>";
  std::string r =
      "!nd.tensor<f32, [" + kept + " = " + std::to_string(left) + "]>";
  return "exec.kernel @k #exec.plan<parallel = [\"" + kept +
         "\"], reduce = [\"" + over + "\"], lanes = \"h\", sizes = [" +
         std::to_string(left) + ", " + std::to_string(reduced) +
         "]> in [[\"b\", \"h\"]] out [[\"" + kept + "\"]] {\n^bb0(%x: " + x +
         "):\n%0 = nd.reduce_sum %x {dims = [\"" + over + "\"]} : (" + x +
         ") -> " + r + "\nexec.yield %0 : " + r + "\n}";
}
} // namespace

TEST(GpuCode, PointwiseMoves16BytesAtOnce) {
  for (std::string type : {"f32", "bf16", "f16"}) {
    SCOPED_TRACE(type);
    Generated code(pointwise("relu", type));
    EXPECT_EQ(code.errors, "");
    EXPECT_EQ(count(code.ptx, "ld.global.nc.v4.b32"), 1) << code.ptx;
    EXPECT_EQ(count(code.ptx, "st.global.v4.b32"), 1) << code.ptx;
    EXPECT_EQ(count(code.ptx, "ld.global"), 1) << code.ptx;
    EXPECT_EQ(count(code.ptx, ".local"), 0) << code.ptx;
    // Whole blocks: nothing to compare.
    EXPECT_EQ(count(code.ptx, "bra"), 0) << code.ptx;
    ASSERT_EQ(code.launches.size(), 1u);
    EXPECT_EQ(int64_t(code.launches[0].blocks) * code.launches[0].threads *
                  (type == "f32" ? 4 : 8),
              512 * 1024);
  }
}

/// x·s + c by two ops is two roundings, in PTX that ptxas leaves as it is; 16
/// bits are rounded from f32 after each of them.
TEST(GpuCode, OpsAreNotFused) {
  for (std::string type : {"f32", "bf16", "f16"})
    for (std::string op : {"add", "sub"}) {
      SCOPED_TRACE(op + " on " + type);
      std::string x = "!nd.tensor<" + type + ", [b = 512, h = 1024]>",
                  h = "!nd.tensor<" + type + ", [h = 1024]>",
                  binary = " : (" + x + ", " + h + ") -> " + x + "\n";
      Generated code(
          "exec.kernel @k #exec.plan<parallel = [\"b\", \"h\"], reduce = [], "
          "lanes = \"h\", sizes = [512, 1024]> in [[\"b\", \"h\"], [\"h\"], "
          "[\"h\"]] out [[\"b\", \"h\"]] {\n^bb0(%x: " +
          x + ", %s: " + h + ", %c: " + h + "):\n%p = nd.mul %x, %s" + binary +
          "%y = nd." + op + " %p, %c" + binary + "exec.yield %y : " + x +
          "\n}");
      EXPECT_EQ(code.errors, "");
      int lanes = type == "f32" ? 4 : 8;
      EXPECT_EQ(count(code.ptx, "fma"), 0) << code.ptx;
      EXPECT_EQ(count(code.ptx, "mul.rn.f32 "), lanes) << code.ptx;
      EXPECT_EQ(count(code.ptx, op + ".rn.f32 "), lanes) << code.ptx;
      if (type != "f32") {
        // Both ops' results, two at once or one.
        EXPECT_EQ(2 * count(code.ptx, "cvt.rn." + type + "x2.f32") +
                      count(code.ptx, "cvt.rn." + type + ".f32"),
                  2 * lanes)
            << code.ptx;
        EXPECT_EQ(count(code.ptx, "mul." + type), 0) << code.ptx;
        EXPECT_EQ(count(code.ptx, op + "." + type), 0) << code.ptx;
      }
    }
}

/// Within an op's own code a·b + c is one instruction if it is written as one.
TEST(GpuCode, PolynomialsAreFused) {
  for (std::string op : {"exp", "tanh", "gelu"}) {
    SCOPED_TRACE(op);
    Generated code(pointwise(op, "f32"));
    EXPECT_EQ(code.errors, "");
    EXPECT_GE(count(code.ptx, "fma.rn.f32"), 4 * 6) << code.ptx;
    // What ptxas could fuse by itself.
    EXPECT_EQ(count(code.ptx, "mul.f32"), 0) << code.ptx;
    EXPECT_EQ(count(code.ptx, "add.f32"), 0) << code.ptx;
    EXPECT_EQ(count(code.ptx, "sub.f32"), 0) << code.ptx;
  }
}

TEST(GpuCode, RowsAreCombinedByShuffles) {
  Generated code(sum("h", 4096, 1024));
  EXPECT_EQ(code.errors, "");
  EXPECT_GE(count(code.ptx, "shfl.sync"), 5) << code.ptx;
  EXPECT_GE(count(code.ptx, "ld.global.nc.v4.b32"), 4) << code.ptx;
  EXPECT_EQ(count(code.ptx, ".local"), 0) << code.ptx;
}

/// The values of one stage share one barrier.
TEST(GpuCode, OneBarrierForAStage) {
  std::string x = "!nd.tensor<f32, [b = 256, h = 4096]>",
              r = "!nd.tensor<f32, [b = 256]>";
  Generated code(
      "exec.kernel @k #exec.plan<parallel = [\"b\"], reduce = [\"h\"], lanes = "
      "\"h\", sizes = [256, 4096]> in [[\"b\", \"h\"]] out [[\"b\"], [\"b\"], "
      "[\"b\"]] {\n^bb0(%x: " +
      x + "):\n%0 = nd.reduce_sum %x {dims = [\"h\"]} : (" + x + ") -> " + r +
      "\n%1 = nd.reduce_max %x {dims = [\"h\"]} : (" + x + ") -> " + r +
      "\n%2 = nd.reduce_min %x {dims = [\"h\"]} : (" + x + ") -> " + r +
      "\nexec.yield %0, %1, %2 : " + r + ", " + r + ", " + r + "\n}");
  EXPECT_EQ(code.errors, "");
  ASSERT_EQ(code.launches.size(), 1u);
  EXPECT_GT(code.launches[0].threads, 32u);
  EXPECT_EQ(count(code.ptx, "bar.sync"), 1) << code.ptx;
}

TEST(GpuCode, ColumnsAreReadAlongRows) {
  Generated code(sum("b", 8192, 1024));
  EXPECT_EQ(code.errors, "");
  // Several rows at once, each 16 bytes a thread.
  EXPECT_GE(count(code.ptx, "ld.global.nc.v4.b32"), 4) << code.ptx;
  EXPECT_GE(count(code.ptx, "bar.sync"), 1) << code.ptx;
  EXPECT_GE(count(code.ptx, ".shared"), 2) << code.ptx;
  EXPECT_EQ(count(code.ptx, ".local"), 0) << code.ptx;
}

/// A reduction to few values: many blocks share them, and the last one to
/// finish combines all partial results.
TEST(GpuCode, ManyBlocksShareFewPoints) {
  for (auto [rows, columns] :
       {std::pair{65536, 8}, {8192, 128}, {2, 1 << 20}}) {
    SCOPED_TRACE(rows);
    Generated code(sum(rows == 2 ? "h" : "b", rows, columns));
    EXPECT_EQ(code.errors, "");
    ASSERT_EQ(code.launches.size(), 1u);
    EXPECT_GE(code.launches[0].blocks, 16u);
    // NVPTX drops the order of atomic operations; the fences keep it.
    EXPECT_EQ(count(code.ptx, "atom.global.add.u32"), 1) << code.ptx;
    EXPECT_EQ(count(code.ptx, "fence.acq_rel.gpu"), 2) << code.ptx;
    EXPECT_GE(count(code.ptx, "ld.volatile.global"), 1) << code.ptx;
    EXPECT_EQ(count(code.ptx, ".local"), 0) << code.ptx;
    if (auto toolkit = findCudaToolkit(""))
      for (const char *chip : {"sm_90", "sm_100"}) {
        code.ptx.resize(std::strlen(code.ptx.c_str()));
        auto assembled = runPtxas(toolkit->ptxas, code.ptx, chip);
        EXPECT_TRUE(bool(assembled)) << llvm::toString(assembled.takeError());
      }
    else
      llvm::consumeError(toolkit.takeError());
  }
}

TEST(GpuCode, IndicesOf32BitsWhereTheySuffice) {
  // A loop of two dims that memory keeps apart: the rest of a division.
  Generated code(R"(exec.kernel @k #exec.plan<parallel = ["a", "b", "c"],
      reduce = [], lanes = "c", sizes = [6, 10, 12]>
      in [["a", "b", "c"]] out [["b", "a", "c"]] {
    ^bb0(%x: !nd.tensor<f32, [a = 6, b = 10, c = 12]>):
      %0 = nd.relu %x : (!nd.tensor<f32, [a = 6, b = 10, c = 12]>) -> !nd.tensor<f32, [a = 6, b = 10, c = 12]>
      exec.yield %0 : !nd.tensor<f32, [a = 6, b = 10, c = 12]>
    })");
  EXPECT_EQ(code.errors, "");
  EXPECT_EQ(count(code.ptx, "mul.hi.u64"), 0) << code.ptx;
  EXPECT_EQ(count(code.ptx, "div.u64"), 0) << code.ptx;
  EXPECT_EQ(count(code.ptx, "rem.u64"), 0) << code.ptx;
}

TEST(GpuCode, GivesTheSameTextEachTime) {
  std::string kernel = sum("h", 64, 64);
  EXPECT_EQ(Generated(kernel).ptx, Generated(kernel).ptx);
}

TEST(GpuCode, NoKernelsNoImages) {
  Generated code("");
  EXPECT_EQ(code.errors, "");
  EXPECT_TRUE(code.images.empty());
}

TEST(GpuCode, AnUnresolvedFunctionIsAnError) {
  // The sine is libdevice's.
  Generated code(pointwise("sin", "f32"));
  EXPECT_EQ(code.ptx, "");
  EXPECT_NE(code.errors.find("model.mesh\":7:3"), std::string::npos)
      << code.errors;
  EXPECT_NE(code.errors.find("kernel 'k' calls '__nv_sinf'"), std::string::npos)
      << code.errors;
  EXPECT_NE(code.errors.find("libdevice.10.bc"), std::string::npos)
      << code.errors;
  GpuCodeOptions options;
  options.libdevice = "/nowhere/libdevice.10.bc";
  Generated unreadable(pointwise("sin", "f32"), options);
  EXPECT_NE(unreadable.errors.find(
                "cannot read libdevice '/nowhere/libdevice.10.bc'"),
            std::string::npos)
      << unreadable.errors;
}

TEST(GpuCode, FindsCallsThatNobodyAnswers) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto find = [&](const std::string &text) {
    auto module = llvm::parseAssemblyString(text, diagnostic, context);
    EXPECT_TRUE(module) << diagnostic.getMessage().str();
    UnresolvedCall call = findUnresolved(*module);
    return call.kernel + " " + call.function;
  };
  EXPECT_EQ(
      find("declare void @f()\n"
           "define internal void @g() {\n call void @f()\n ret void\n}\n"
           "define ptx_kernel void @k() {\n call void @g()\n ret void\n}"),
      "k f");
  EXPECT_EQ(find("declare float @llvm.pow.f32(float, float)\n"
                 "define ptx_kernel void @k(float %x, ptr %p) {\n"
                 " %y = call float @llvm.pow.f32(float %x, float %x)\n"
                 " store float %y, ptr %p\n ret void\n}"),
            "k llvm.pow.f32");
  EXPECT_EQ(find("declare float @llvm.sqrt.f32(float)\n"
                 "declare i32 @__nvvm_reflect(ptr)\n"
                 "define ptx_kernel void @k(float %x, ptr %p) {\n"
                 " %y = call float @llvm.sqrt.f32(float %x)\n"
                 " %z = call i32 @__nvvm_reflect(ptr %p)\n"
                 " store float %y, ptr %p\n ret void\n}"),
            " ");
}

TEST(GpuCode, Chips) {
  auto check = [](std::vector<std::string> chips) {
    return llvm::toString(checkChips(chips));
  };
  EXPECT_EQ(check({"sm_90", "sm_100", "sm_120"}), "");
  EXPECT_EQ(check({}), "no chip to generate code for; give one, as in "
                       "'--chip=sm_90'");
  for (std::string name :
       {"", "sm_", "sm_9x", "sm_12345", "h100", "90", "sm_90a"})
    EXPECT_NE(check({"sm_90", name}).find("unknown chip '" + name + "'"),
              std::string::npos)
        << name;
  EXPECT_NE(check({"sm_70"}).find("'sm_70' is too old"), std::string::npos);
}

TEST(GpuCode, OneImagePerChipAndThePtxLast) {
  auto toolkit = findCudaToolkit("");
  if (!toolkit)
    GTEST_SKIP() << llvm::toString(toolkit.takeError());
  GpuCodeOptions options;
  options.chips = {"sm_100", "sm_90"};
  Generated code(sum("h", 64, 64), options, toolkit->ptxas);
  EXPECT_EQ(code.errors, "");
  ASSERT_EQ(code.images.size(), 3u);
  for (unsigned image = 0; image < 2; ++image) {
    EXPECT_EQ(code.images[image].kind, MESHC_CUBIN);
    EXPECT_EQ(code.images[image].chip, image == 0 ? 100u : 90u);
    EXPECT_EQ(code.images[image].bytes.substr(0, 4), "\177ELF");
    ASSERT_EQ(code.images[image].usage.size(), 1u);
    EXPECT_EQ(code.images[image].usage[0].kernel, "k");
    EXPECT_GT(code.images[image].usage[0].registers, 0u);
  }
  EXPECT_EQ(code.images[2].kind, MESHC_PTX);
  EXPECT_EQ(code.images[2].chip, 90u);
  EXPECT_NE(code.ptx.find(".target sm_90"), std::string::npos);
  EXPECT_EQ(code.ptx.back(), '\0');
}

TEST(Ptxas, SaysWhatItRefuses) {
  auto missing = runPtxas("/nowhere/ptxas", "", "sm_90");
  ASSERT_FALSE(bool(missing));
  std::string message = llvm::toString(missing.takeError());
  EXPECT_NE(message.find("'/nowhere/ptxas'"), std::string::npos) << message;
  auto toolkit = findCudaToolkit("");
  if (!toolkit)
    GTEST_SKIP() << llvm::toString(toolkit.takeError());
  auto refused = runPtxas(toolkit->ptxas, "this is no PTX", "sm_90");
  ASSERT_FALSE(bool(refused));
  message = llvm::toString(refused.takeError());
  EXPECT_NE(message.find("sm_90"), std::string::npos) << message;
  EXPECT_NE(message.find("error"), std::string::npos) << message;
}
