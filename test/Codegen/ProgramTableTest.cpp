//===- ProgramTableTest.cpp - the descriptor, read back through its ABI ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/AbiTypes.h"
#include "lib/Codegen/Program.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Base/ProcessorFeatures.h"
#include "test/Codegen/KernelRun.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

using namespace meshc;
using namespace meshc::codegen;

static constexpr const char *programText = R"(
!w = !exec.buffer<!nd.tensor<f32, [h = 8 on {data, tensor}, i = 6]>, ["h", "i"]>
!x = !exec.buffer<!nd.tensor<bf16, [b = 4 on {data}]>, ["b"]>
!s = !exec.buffer<!nd.tensor<f32, []>, []>
!c = !exec.buffer<!nd.tensor<f32, [m = 6, n = 6]>, ["m", "n"]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>, exec.arena_bytes = 4096 : i64} {
  exec.tensor "w" parameter ["i", "h"] at 64 : !w
  exec.tensor "w.m" optimizer ["i", "h"] at 128 : !w
  exec.tensor "x" input ["b"] at 192 : !x
  exec.tensor "loss" metric [] at 256 : !s
  exec.func @initialize {
  }
  exec.func @train_step {
    %w = exec.buffer at 64 : !w
    %m = exec.buffer at 128 : !w
    %s = exec.buffer at 256 : !s
    %scratch = exec.scratch at 512 : !exec.scratch<192>
    %c = exec.buffer at 1024 : !c
    exec.gemm %w transposed, %m -> %c [6, 6, 2, 6, 6, 6, 1, 3, 4, 5] scratch %scratch : !exec.scratch<192> : !w, !w -> !c
    %t = exec.collective all_reduce max over ["tensor"] [1, 12, 1, 1, 12, 1, 1, 1, 1, 1, 1, 1] "all_reduce of 'w' over tensor"
      (%w, %s) -> (%m, %s) : (!w, !s) -> (!w, !s) loc("models/gpt.mesh":14:13)
    exec.wait %t
  }
  exec.func @eval_step {
  }
})";

TEST(ProgramTable, SaysWhatTheModuleSays) {
  mlir::MLIRContext context;
  context.loadDialect<nd::NdDialect, exec::ExecDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(programText, &context);
  ASSERT_TRUE(module);
  auto loaded = LoadedProgram::load(*module);
  ASSERT_TRUE(loaded);
  const MeshcProgram &program = **loaded;
  EXPECT_EQ(program.abiVersion, MESHC_ABI_VERSION);
  EXPECT_STREQ(program.name, "test");
  EXPECT_STREQ(program.manifest, "{}");
  EXPECT_NE(program.features, nullptr);
  EXPECT_EQ(program.arenaBytes, 4096);
  ASSERT_EQ(program.axisCount, 2u);
  EXPECT_STREQ(program.axes[1].name, "tensor");
  EXPECT_EQ(program.axes[1].size, 2);
  EXPECT_NE(program.initialize, nullptr);
  EXPECT_NE(program.evalStep, nullptr);

  ASSERT_EQ(program.tensorCount, 4u);
  const MeshcTensor &moment = program.tensors[1];
  EXPECT_STREQ(moment.name, "w.m");
  EXPECT_EQ(moment.role, MESHC_OPTIMIZER);
  EXPECT_EQ(moment.type, MESHC_F32);
  EXPECT_EQ(moment.offsetBytes, 128);
  ASSERT_EQ(moment.rank, 2u);
  EXPECT_STREQ(moment.dims[0].name, "i");
  EXPECT_EQ(moment.dims[0].localStride, 1);
  EXPECT_EQ(moment.dims[0].axisCount, 0u);
  const MeshcDim &cut = moment.dims[1];
  EXPECT_STREQ(cut.name, "h");
  EXPECT_EQ(cut.size, 8);
  EXPECT_EQ(cut.localSize, 2);
  EXPECT_EQ(cut.localStride, 6);
  ASSERT_EQ(cut.axisCount, 2u);
  EXPECT_EQ(cut.axes[0], 0u);
  EXPECT_EQ(cut.axes[1], 1u);
  EXPECT_EQ(program.tensors[2].type, MESHC_BF16);
  EXPECT_EQ(program.tensors[2].role, MESHC_INPUT);
  EXPECT_EQ(program.tensors[3].role, MESHC_METRIC);
  EXPECT_EQ(program.tensors[3].rank, 0u);

  ASSERT_EQ(program.siteCount, 1u);
  EXPECT_STREQ(program.sites[0].location, "gpt.mesh:14:13");
  EXPECT_STREQ(program.sites[0].description, "all_reduce of 'w' over tensor");
}

/// Kernels of GPUs have no function, a grid, and their code in images.
TEST(ProgramTable, ImagesOfKernels) {
  mlir::MLIRContext context;
  context.loadDialect<nd::NdDialect, exec::ExecDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(module attributes {nd.mesh = #nd.mesh<>, exec.arena_bytes = 0 : i64} {
      exec.kernel @double #exec.plan<parallel = ["b"], reduce = [], lanes = "b", sizes = [4096]>
          in [["b"]] out [["b"]] {
      ^bb0(%x: !nd.tensor<f32, [b = 4096]>):
        %0 = nd.add %x, %x : (!nd.tensor<f32, [b = 4096]>, !nd.tensor<f32, [b = 4096]>) -> !nd.tensor<f32, [b = 4096]>
        exec.yield %0 : !nd.tensor<f32, [b = 4096]>
      }
      exec.func @initialize {
      }
      exec.func @eval_step {
      }
    })",
      &context);
  ASSERT_TRUE(module);
  auto gpu = GpuCode::generate(*module, {});
  ASSERT_TRUE(succeeded(gpu));
  // As if there were machine code too.
  gpu->images.insert(gpu->images.begin(), {MESHC_CUBIN, 100, "bytes", {}});
  ProgramOptions options;
  options.gpu = &*gpu;
  auto loaded = LoadedProgram::load(*module, options);
  ASSERT_TRUE(loaded);
  const MeshcProgram &program = **loaded;
  EXPECT_EQ(program.target, MESHC_CUDA);
  ASSERT_EQ(program.kernelCount, 1u);
  const MeshcKernel &kernel = program.kernels[0];
  EXPECT_STREQ(kernel.name, "double");
  EXPECT_EQ(kernel.function, nullptr);
  EXPECT_EQ(kernel.extent, 0);
  EXPECT_EQ(kernel.bufferCount, 2u);
  EXPECT_EQ(kernel.blocks * kernel.threads, 1024u);
  ASSERT_EQ(program.imageCount, 2u);
  EXPECT_EQ(program.images[0].kind, MESHC_CUBIN);
  EXPECT_EQ(program.images[0].chip, 100u);
  EXPECT_EQ(program.images[0].sizeBytes, 5u);
  EXPECT_EQ(std::string(static_cast<const char *>(program.images[0].data), 5),
            "bytes");
  EXPECT_EQ(program.images[1].kind, MESHC_PTX);
  EXPECT_EQ(program.images[1].chip, 90u);
  const auto *ptx = static_cast<const char *>(program.images[1].data);
  EXPECT_EQ(std::strlen(ptx) + 1, program.images[1].sizeBytes);
  EXPECT_NE(std::string(ptx).find(".visible .entry double("),
            std::string::npos);
}

TEST(ProgramTable, ListsTheFeaturesOfTheProcessor) {
  std::string v1 = llvm::cantFail(HostTarget::get("x86-64")).getFeatures();
  std::string v3 = llvm::cantFail(HostTarget::get("x86-64-v3")).getFeatures();
  std::string v4 = llvm::cantFail(HostTarget::get("x86-64-v4")).getFeatures();
  EXPECT_EQ(v1, "");
  EXPECT_NE(v3.find("avx2"), std::string::npos) << v3;
  EXPECT_EQ(v3.find("avx512f"), std::string::npos) << v3;
  EXPECT_NE(v4.find("avx512f"), std::string::npos) << v4;
}

static std::set<std::string> getEnabled(llvm::MCSubtargetInfo &processor,
                                        llvm::StringRef name,
                                        llvm::StringRef features) {
  processor.setDefaultFeatures(name, /*TuneCPU=*/"", features);
  std::set<std::string> names;
  for (const llvm::SubtargetFeatureKV &feature :
       processor.getEnabledProcessorFeatures())
    names.insert(feature.Key);
  return names;
}

/// Not AVX10 and avx512vp2intersect, for which programs have no check.
static bool isVectorFeature(llvm::StringRef feature) {
  return feature.starts_with("avx") && !feature.starts_with("avx10") &&
         feature != "avx512vp2intersect";
}

/// Else a program ends with SIGILL on another processor: code uses no feature
/// that its start does not check, for no processor that LLVM knows.
TEST(ProgramTable, CodeUsesOnlyFeaturesThatProgramsCheck) {
  auto host = llvm::cantFail(HostTarget::get("native"));
  const llvm::Triple &triple = host.getMachine().getTargetTriple();
  if (!triple.isX86())
    GTEST_SKIP() << "programs check features of x86 only";
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      host.getMachine().getTarget().createMCSubtargetInfo(triple, "", ""));
  std::set<std::string> baseline = getEnabled(*known, "x86-64", "");
  // They say what is fast, and enable no instruction.
  baseline.insert({"ermsb", "fsrm"});
  std::vector<std::string> processors = {"native"};
  for (const auto &description : known->getAllProcessorDescriptions())
    if (getEnabled(*known, description.Key, "").count("64bit"))
      processors.push_back(description.Key);
  ASSERT_GT(processors.size(), 50u);
  for (const std::string &name : processors) {
    auto target = llvm::cantFail(HostTarget::get(name));
    llvm::StringRef processor = target.getMachine().getTargetCPU();
    std::set<std::string> checked = baseline;
    std::string list = target.getFeatures();
    for (llvm::StringRef feature : llvm::split(list, ','))
      checked.insert(feature.str());
    std::set<std::string> used = getEnabled(
        *known, processor, target.getMachine().getTargetFeatureString());
    std::string unchecked, lost;
    for (const std::string &feature : used)
      if (!checked.count(feature))
        unchecked += " " + feature;
    EXPECT_EQ(unchecked, "") << name;
    if (name == "native")
      continue;
    // It is tuned for that processor, and keeps what programs can check.
    EXPECT_EQ(processor, name);
    for (const std::string &feature : getEnabled(*known, name, ""))
      if (isVectorFeature(feature) && !used.count(feature))
        lost += " " + feature;
    EXPECT_EQ(lost, "") << name;
  }
}

/// Programs and the compiler mean the same feature by a name.
TEST(ProgramTable, ProgramsFindTheFeaturesOfThisProcessor) {
  std::string text = llvm::cantFail(HostTarget::get("native")).getFeatures();
  EXPECT_EQ(runtime::findMissingFeature(text.c_str()), "");
}

/// Loops run their calls at the addresses of each iteration, in their order, on
/// entries that are aligned like their elements.
TEST(ProgramTable, RunsLoops) {
  mlir::MLIRContext context;
  context.loadDialect<nd::NdDialect, exec::ExecDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(
!s = !nd.tensor<f32, []>
!b = !exec.buffer<!s, []>
module attributes {nd.mesh = #nd.mesh<>, exec.arena_bytes = 4096 : i64} {
  exec.kernel @next <parallel = [], reduce = [], lanes = "", sizes = []> in [[], []] out [[]]
      attributes {alignments = array<i64: 16, 4, 4>} {
  ^bb0(%h: !s, %x: !s):
    %0 = nd.add %h, %h : (!s, !s) -> !s
    %1 = nd.add %0, %x : (!s, !s) -> !s
    exec.yield %1 : !s
  }
  exec.func @initialize {
  }
  exec.func @eval_step {
  }
  exec.func @train_step {
    exec.loop "d" 3 {
      exec.loop "e" 2 backwards {
        %h = exec.buffer at 0 : !b
        %x = exec.buffer at 68 strides [8, 4] : !b
        %y = exec.buffer at 128 strides [4, 12] : !b
        exec.launch @next(%h, %x) -> (%y) : (!b, !b) -> !b
        exec.launch @next(%h, %x) -> (%h) : (!b, !b) -> !b
      }
    }
  }
})",
      &context);
  ASSERT_TRUE(module);
  for (std::optional<GpuOptions> gpu :
       {std::optional<GpuOptions>(), std::optional(GpuOptions())}) {
    auto loaded = LoadedProgram::load(*module, "native", gpu);
    ASSERT_TRUE(loaded);
    alignas(64) float arena[1024] = {1};
    float h = 1, ys[2][3];
    for (int i = 0; i < 6; ++i)
      arena[17 + i] = static_cast<float>(i + 1);
    for (int d = 0; d < 3; ++d)
      for (int e = 1; e >= 0; --e)
        ys[e][d] = h = 2 * h + static_cast<float>(2 * d + e + 1);
    MeshcContext run{reinterpret_cast<char *>(arena), nullptr, 0, 0, nullptr};
    (*loaded)->trainStep(&run);
    EXPECT_EQ(arena[0], h);
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(arena[32 + i], (&ys[0][0])[i]) << i;
  }
}

/// The gather of an iteration begins in the one before, in the place that this
/// one does not use. A reduction is awaited in the next iteration. Both end
/// with the loop.
TEST(ProgramTable, RunsCollectivesAcrossIterations) {
  for (bool isBackwards : {false, true}) {
    mlir::MLIRContext context;
    context.loadDialect<nd::NdDialect, exec::ExecDialect>();
    std::string text = R"(
!h = !exec.buffer<!nd.tensor<f32, [i = 4 on {a}]>, ["i"]>
!t = !exec.buffer<!nd.tensor<f32, [i = 4]>, ["i"]>
!p = !exec.buffer<!nd.tensor<f32, [i = 4], sum {a}>, ["i"]>
module attributes {nd.mesh = #nd.mesh<a = 2>, exec.arena_bytes = 4096 : i64} {
  exec.func @initialize {
  }
  exec.func @eval_step {
  }
  exec.func @train_step {
    exec.loop "d" 3 DIRECTION {
      %w = exec.buffer at 0 strides [8] : !h
      %all = exec.buffer at 512 alternates [64] : !t
      %g = exec.buffer at 1024 : !p
      %gs = exec.buffer at 2048 strides [16] : !t
      exec.wait %next
      %next = exec.collective all_gather ahead sum over ["a"] [1, 4, 1, 1, 4, 1] "all_gather" (%w) -> (%all) : (!h) -> !t
      exec.wait %sum
      %sum = exec.collective all_reduce sum over ["a"] [1, 4, 1, 1, 4, 1] "all_reduce" (%g) -> (%gs) : (!p) -> !t
    }
  }
})";
    text.replace(text.find("DIRECTION"), 9, isBackwards ? "backwards" : "");
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    auto loaded = LoadedProgram::load(*module);
    ASSERT_TRUE(loaded);
    std::vector<char> arena(4096);
    MeshcContext run{arena.data(), nullptr, 0, 0, nullptr};
    forgetRuntimeEvents();
    (*loaded)->trainStep(&run);

    std::vector<std::string> order;
    for (const RuntimeCalls::Event &event : getRuntimeCalls().events) {
      auto at = [&](void *address) {
        return std::to_string(static_cast<char *>(address) - arena.data());
      };
      bool gathers = event.collective->kind == MESHC_ALL_GATHER;
      order.push_back(
          std::string(event.send ? "" : "wait ") +
          (gathers ? "gather" : "sum") +
          (event.send ? " " + at(event.send) + " " + at(event.recv) : ""));
    }
    std::vector<std::string> wanted = {
        "gather 0 512", // before the loop
        "wait gather",  "gather 8 576",  "wait sum",      "sum 1024 2048",
        "wait gather",  "gather 16 512", "wait sum",      "sum 1024 2064",
        "wait gather",  "wait sum",      "sum 1024 2080",
        "wait sum" // at its end
    };
    if (isBackwards)
      wanted = {"gather 16 512", "wait gather", "gather 8 576", "wait sum",
                "sum 1024 2080", "wait gather", "gather 0 512", "wait sum",
                "sum 1024 2064", "wait gather", "wait sum",     "sum 1024 2048",
                "wait sum"};
    EXPECT_EQ(order, wanted);
    // Each collective has one descriptor and one site.
    EXPECT_EQ((*loaded)->siteCount, 2u);
  }
}

TEST(ProgramTable, PassesDescriptorsToTheRuntime) {
  mlir::MLIRContext context;
  context.loadDialect<nd::NdDialect, exec::ExecDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(programText, &context);
  ASSERT_TRUE(module);
  auto loaded = LoadedProgram::load(*module);
  ASSERT_TRUE(loaded);
  std::vector<char> arena(4096);
  MeshcContext run{arena.data(), nullptr, 0, 0, nullptr};
  (*loaded)->trainStep(&run);

  const RuntimeCalls &calls = getRuntimeCalls();
  EXPECT_EQ(calls.gemm.m, 6);
  EXPECT_EQ(calls.gemm.k, 2);
  EXPECT_EQ(calls.gemm.strideA, 3);
  EXPECT_EQ(calls.gemm.strideC, 5);
  EXPECT_EQ(calls.gemm.type, MESHC_F32);
  EXPECT_EQ(calls.gemm.transA, 1);
  EXPECT_EQ(calls.gemm.transB, 0);
  EXPECT_EQ(calls.gemm.accumulate, 0);
  EXPECT_EQ(calls.gemm.scratchOffset, 512);
  EXPECT_EQ(calls.gemm.scratchBytes, 192);
  EXPECT_EQ(calls.waited.items, calls.collective.items);
  EXPECT_EQ(calls.collective.kind, MESHC_ALL_REDUCE);
  EXPECT_EQ(calls.collective.reduction, MESHC_MAX);
  EXPECT_EQ(calls.collective.type, MESHC_F32);
  EXPECT_EQ(calls.collective.axes, 2u);
  EXPECT_EQ(calls.collective.site, 0u);
  ASSERT_EQ(calls.collective.itemCount, 2u);
  EXPECT_EQ(calls.collective.items[0].sendEntries, 12);
  EXPECT_EQ(calls.collective.items[1].recvInner, 1);
  ASSERT_EQ(calls.send.size(), 2u);
  EXPECT_EQ(calls.send[0], arena.data() + 64);
  EXPECT_EQ(calls.recv[0], arena.data() + 128);
  EXPECT_EQ(calls.recv[1], arena.data() + 256);
}

TEST(ProgramTable, StructsAreLaidOutAsInC) {
  llvm::LLVMContext context;
  AbiTypes types(context);
  auto target = llvm::cantFail(HostTarget::get("native"));
  llvm::DataLayout layout = target.getMachine().createDataLayout();
  auto getSize = [&](llvm::StructType *type) {
    return layout.getTypeAllocSize(type).getFixedValue();
  };
  EXPECT_EQ(getSize(types.context), sizeof(MeshcContext));
  EXPECT_EQ(getSize(types.gemm), sizeof(MeshcGemm));
  EXPECT_EQ(getSize(types.epilogue), sizeof(MeshcEpilogue));
  EXPECT_EQ(getSize(types.collectiveItem), sizeof(MeshcCollectiveItem));
  EXPECT_EQ(getSize(types.collective), sizeof(MeshcCollective));
  EXPECT_EQ(getSize(types.axis), sizeof(MeshcAxis));
  EXPECT_EQ(getSize(types.dim), sizeof(MeshcDim));
  EXPECT_EQ(getSize(types.tensor), sizeof(MeshcTensor));
  EXPECT_EQ(getSize(types.site), sizeof(MeshcSite));
  EXPECT_EQ(getSize(types.program), sizeof(MeshcProgram));
}

/// A construct that cannot be compiled is an error at its location.
TEST(ProgramTable, Errors) {
  auto getError = [](const std::string &text, const std::string &march) {
    mlir::MLIRContext context;
    context.loadDialect<nd::NdDialect, exec::ExecDialect>();
    std::string message;
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            message += diagnostic.str();
                                            return mlir::success();
                                          });
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << message;
    ProgramOptions options;
    options.march = march;
    EXPECT_TRUE(failed(Program::generate(*module, options)));
    return message;
  };
  EXPECT_NE(getError("module {}", "pentium-of-doom")
                .find("unknown processor 'pentium-of-doom'"),
            std::string::npos);
  EXPECT_NE(getError("module {}", "native").find("no 'exec.arena_bytes'"),
            std::string::npos);
  EXPECT_NE(
      getError("module attributes {exec.arena_bytes = 0 : i64} {}", "native")
          .find("no function 'initialize'"),
      std::string::npos);
  std::string text = getError(R"(
    module attributes {nd.mesh = #nd.mesh<>, exec.arena_bytes = 0 : i64} {
      exec.kernel @k #exec.plan<parallel = ["b"], reduce = ["h"], lanes = "b", sizes = [2, 3]>
          in [["b", "h"]] out [["b"]] {
      ^bb0(%x: !nd.tensor<f32, [b = 2, h = 3]>):
        %0 = nd.reduce_sum %x {dims = ["b", "h"]} : (!nd.tensor<f32, [b = 2, h = 3]>) -> !nd.tensor<f32, []>
        %1 = nd.broadcast %0 : (!nd.tensor<f32, []>) -> !nd.tensor<f32, [b = 2]>
        exec.yield %1 : !nd.tensor<f32, [b = 2]>
      }
    })",
                              "native");
  EXPECT_NE(text.find("plan does not fit its body"), std::string::npos) << text;
}
