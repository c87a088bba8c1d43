//===- KernelBench.cpp - each launch of a step against its floor ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads a program after the schedule phase (meshc --stop-after=schedule),
/// compiles it in this process and times every launch and product of a step on
/// one thread. Beside each kernel: its buffers' bytes, and the time in which
/// memcpy moves as many between buffers of that size.
///
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "lib/Codegen/Program.h"
#include "meshc/RuntimeAbi.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Blas/Gemm.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>
#include <cstring>

using namespace meshc;
using Clock = std::chrono::steady_clock;

namespace {
/// The best times of the calls of a step, in order, in seconds.
struct Times {
  std::vector<double> best;
  size_t next = 0;

  template <typename Call> void time(const Call &call) {
    auto start = Clock::now();
    call();
    double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    if (next == best.size())
      best.push_back(seconds);
    best[next] = std::min(best[next], seconds);
    ++next;
  }
};
} // namespace

static Times times;

static void launch(MeshcContext *context, const MeshcKernel *kernel,
                   void *const *buffers) {
  times.time([&] { kernel->function(context, buffers, 0, kernel->extent); });
}

static void multiply(MeshcContext *context, const MeshcGemm *gemm,
                     const void *a, const void *b, void *c) {
  times.time([&] {
    meshc::runtime::runGemm(
        *gemm, a, b, c,
        {context->arena + gemm->scratchOffset, gemm->scratchBytes});
  });
}

static void communicate(MeshcContext *, const MeshcCollective *, void *const *,
                        void *const *) {
  times.time([] {});
}

static void wait(MeshcContext *, const MeshcCollective *) {}

static const MeshcProgram *load(llvm::orc::LLJIT &jit,
                                llvm::ArrayRef<char> object) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](llvm::StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported};
  };
  add("meshc_launch", launch);
  add("meshc_gemm", multiply);
  add("meshc_collective", communicate);
  add("meshc_wait", wait);
  auto &library = jit.getMainJITDylib();
  llvm::cantFail(library.define(llvm::orc::absoluteSymbols(symbols)));
  library.addGenerator(llvm::cantFail(
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit.getDataLayout().getGlobalPrefix())));
  llvm::cantFail(jit.addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(object.data(), object.size()))));
  return llvm::cantFail(jit.lookup("meshc_program"))
      .toPtr<const MeshcProgram *>();
}

/// Seconds in which memcpy moves `bytes` (read and written together), the best
/// of several.
static double getCopyTime(int64_t bytes) {
  std::vector<char> from(bytes / 2 + 64, 1), to(bytes / 2 + 64, 2);
  double best = 1e9;
  for (int run = 0; run < 20; ++run) {
    auto start = Clock::now();
    std::memcpy(to.data(), from.data(), bytes / 2);
    best = std::min(
        best, std::chrono::duration<double>(Clock::now() - start).count());
    asm volatile("" : : "r"(to.data()) : "memory");
  }
  return best;
}

static int64_t getBytes(mlir::ValueRange buffers) {
  int64_t bytes = 0;
  for (mlir::Value buffer : buffers) {
    auto op = buffer.getDefiningOp();
    bytes += mlir::cast<exec::BufferType>(buffer.getType())
                 .getTensor()
                 .getLocalBytes(nd::MeshAttr::of(op));
  }
  return bytes;
}

/// The steps as they run, those of loops once per iteration.
static void listCalls(llvm::ArrayRef<exec::StepOpInterface> steps,
                      std::vector<exec::StepOpInterface> &calls) {
  for (exec::StepOpInterface step : steps) {
    auto loop = mlir::dyn_cast<exec::LoopOp>(step.getOperation());
    if (!loop)
      calls.push_back(step);
    for (uint64_t i = 0; loop && i < loop.getSize(); ++i)
      listCalls(loop.getSteps(), calls);
  }
}

static void printTable(exec::FuncOp step) {
  size_t call = 0;
  double kernels = 0, floors = 0, products = 0;
  std::vector<exec::StepOpInterface> calls;
  listCalls(step.getSteps(), calls);
  for (exec::StepOpInterface op : calls) {
    if (call == times.best.size())
      break;
    double seconds = times.best[call++];
    exec::CallDescription description = op.describe();
    if (const auto &product = description.product) {
      double flops =
          2.0 * product->m * product->n * product->k * product->batch;
      products += seconds;
      llvm::outs() << llvm::format("product %lldx%lldx%lld",
                                   (long long)product->m, (long long)product->n,
                                   (long long)product->k)
                   << llvm::format(" %10.1f us %7.1f GFLOP/s\n", seconds * 1e6,
                                   flops / seconds / 1e9);
    } else if (op.getKernelUse().kernel) {
      int64_t bytes = getBytes(op->getOperands());
      double floor = getCopyTime(bytes);
      kernels += seconds;
      floors += floor;
      llvm::outs() << llvm::format(
          "%-14s %10.1f us %10.1f kB %7.1f GB/s   floor %8.1f us, %5.2f of "
          "it\n",
          description.name.c_str(), seconds * 1e6, bytes / 1e3,
          bytes / seconds / 1e9, floor * 1e6, seconds / floor);
    }
  }
  llvm::outs() << llvm::format("kernels %.1f us (floor %.1f us), products "
                               "%.1f us\n",
                               kernels * 1e6, floors * 1e6, products * 1e6);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    llvm::errs() << "usage: kernel_bench PROGRAM.mlir [FUNCTION [STEPS]]\n";
    return 2;
  }
  llvm::StringRef function = argc > 2 ? argv[2] : "train_step";
  int steps = argc > 3 ? std::atoi(argv[3]) : 20;
  mlir::MLIRContext context;
  context.loadDialect<nd::NdDialect, exec::ExecDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 3;
  auto start = Clock::now();
  auto generated = codegen::Program::generate(*module, {});
  if (failed(generated))
    return 1;
  llvm::SmallVector<char> object;
  llvm::cantFail((*generated)->emit(llvm::CodeGenFileType::ObjectFile, object));
  llvm::outs() << llvm::format(
      "code generated in %.0f ms\n",
      1e3 * std::chrono::duration<double>(Clock::now() - start).count());
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  const MeshcProgram *program = load(*jit, object);

  std::vector<char> memory(program->arenaBytes + 64);
  auto address = reinterpret_cast<uintptr_t>(memory.data());
  std::vector<int64_t> coordinates(program->axisCount + 1);
  MeshcContext run{memory.data() + (64 - address % 64) % 64, coordinates.data(),
                   1, 0, nullptr};
  program->initialize(&run);
  times = {};
  auto step = function == "eval_step"    ? program->evalStep
              : function == "initialize" ? program->initialize
                                         : program->trainStep;
  for (int i = 0; i < steps; ++i, ++run.step) {
    times.next = 0;
    step(&run);
  }
  for (exec::FuncOp op : module->getOps<exec::FuncOp>())
    if (op.getSymName() == function)
      printTable(op);
  return 0;
}
