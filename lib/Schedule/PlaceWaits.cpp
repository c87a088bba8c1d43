//===- PlaceWaits.cpp - how long a collective may run ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "lib/Schedule/Passes.h"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_PLACEWAITS
#include "lib/Schedule/Passes.h.inc"

namespace {
struct PlaceWaits : impl::PlaceWaitsBase<PlaceWaits> {
  void runOnOperation() override {
    if (failed(placeWaits(getOperation().getBody().front())))
      signalPassFailure();
  }

  /// In a function or the body of a loop, and in the loops in it.
  static LogicalResult placeWaits(Block &block) {
    nd::MeshAttr mesh = nd::MeshAttr::of(block.getParentOp());
    /// Begun and not awaited.
    SmallVector<std::pair<exec::StepOpInterface, exec::Accesses>> running;
    for (exec::StepOpInterface step : exec::getSteps(block)) {
      exec::Accesses accesses = step.getAccesses();
      if (accesses.awaited)
        return step->emitOpError("is there before waits are placed");
      if (auto loop = dyn_cast<exec::LoopOp>(step.getOperation());
          loop && failed(placeWaits(loop.getBody().front())))
        return failure();
      // Collectives run in order: who waits for one has waited for those
      // before.
      auto last = llvm::find_if(llvm::reverse(running), [&](const auto &begun) {
        return begun.second.conflictsWith(accesses, mesh);
      });
      auto end = last.base();
      OpBuilder builder(step);
      for (auto begun = running.begin(); begun != end; ++begun)
        placeWait(builder, begun->first, begun->second);
      running.erase(running.begin(), end);
      if (accesses.begun)
        running.push_back({step, std::move(accesses)});
    }
    auto builder = OpBuilder::atBlockEnd(&block);
    for (const auto &[step, accesses] : running)
      placeWait(builder, step, accesses);
    return success();
  }

  static void placeWait(OpBuilder &builder, exec::StepOpInterface begun,
                        const exec::Accesses &accesses) {
    exec::WaitOp::create(builder, begun->getLoc(), accesses.begun);
  }
};
} // namespace

} // namespace meshc::schedule
