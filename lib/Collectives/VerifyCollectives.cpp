//===- VerifyCollectives.cpp - what the collectives phase promises --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/InvariantOps.h"
#include "lib/Collectives/Passes.h"

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_VERIFYCOLLECTIVES
#include "lib/Collectives/Passes.h.inc"

namespace {
struct VerifyCollectives : impl::VerifyCollectivesBase<VerifyCollectives> {
  void runOnOperation() override {
    bool ok = true;
    getOperation().walk([&](spmd::ReshardOp op) {
      op.emitError("a reshard remains after the collectives phase");
      ok = false;
    });
    getOperation().walk([&](spmd::WindowOp op) {
      op.emitError("a window of a cut dim remains after the collectives phase");
      ok = false;
    });
    getOperation().walk([&](nd::ScanOp loop) {
      for (Operation *op : findInvariantOps(loop))
        if (isa<spmd::CollectiveOpInterface>(op)) {
          op->emitError("moves the same data in every iteration of the loop "
                        "over '")
                  .append(loop.getDim(), "' after the collectives phase")
                  .attachNote(loop.getLoc())
              << "the loop is here";
          ok = false;
        }
    });
    if (!ok)
      signalPassFailure();
  }
};
} // namespace

} // namespace meshc::collectives
