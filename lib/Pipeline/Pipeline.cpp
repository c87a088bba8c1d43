//===- Pipeline.cpp - the table of contents -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Pipeline.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Autodiff/Passes.h"
#include "lib/Collectives/Passes.h"
#include "lib/Kernels/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Schedule/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

namespace meshc {

static constexpr llvm::StringLiteral kModelJudges[] = {"meshc-build-steps"};
static constexpr llvm::StringLiteral kLayoutJudges[] = {
    "meshc-verify-rules", "meshc-assign-shardings"};
// Text in MLIR may have ops that cannot be cut.
static constexpr llvm::StringLiteral kPartitionJudges[] = {
    "meshc-partition-program"};

static constexpr Phase kPhases[] = {
    // Text has become nd ops on whole tensors (lib/Frontend). From one model,
    // the functions that a run consists of.
    {"autodiff", "one step function: (state, batch) -> (state', loss, metrics)",
     autodiff::addAutodiffPasses, kModelJudges},
    // Where everything shall be, by name; nothing is cut yet.
    {"layout", "every tensor has a sharding; every rule was used",
     layout::addLayoutPasses, kLayoutJudges},
    // What one rank computes.
    {"partition",
     "every op is local; every disagreement is an explicit reshard",
     partition::addPartitionPasses, kPartitionJudges},
    // How ranks exchange what they need.
    {"collectives", "reshards are the cheapest collectives; these are combined",
     collectives::addCollectivesPasses},
    // What runs as one loop nest, what as a library call.
    {"kernels", "fusions are formed; every op has an implementation",
     kernels::addKernelsPasses},
    // When and in which memory. Code generation (lib/Codegen) and linking
    // (lib/Link) follow; see Compile.cpp.
    {"schedule", "every buffer has an offset in one arena of known size",
     schedule::addSchedulePasses},
};

llvm::ArrayRef<Phase> getPhases() { return kPhases; }

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<nd::NdDialect, spmd::SpmdDialect, exec::ExecDialect,
                  mlir::func::FuncDialect>();
}

void registerPasses() {
  autodiff::registerAutodiffPasses();
  layout::registerLayoutPasses();
  partition::registerPartitionPasses();
  collectives::registerCollectivesPasses();
  kernels::registerKernelsPasses();
  schedule::registerSchedulePasses();
  mlir::registerTransformsPasses();
}

} // namespace meshc
