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
    exec::FuncOp function = getOperation();
    nd::MeshAttr mesh = nd::MeshAttr::of(function);
    Block &block = function.getBody().front();
    /// Begun and not awaited.
    SmallVector<std::pair<exec::StepOpInterface, exec::Accesses>> running;
    for (exec::StepOpInterface step : function.getSteps()) {
      exec::Accesses accesses = step.getAccesses();
      if (accesses.awaited) {
        step->emitOpError("is there before waits are placed");
        return signalPassFailure();
      }
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
  }

  static void placeWait(OpBuilder &builder, exec::StepOpInterface begun,
                        const exec::Accesses &accesses) {
    exec::WaitOp::create(builder, begun->getLoc(), accesses.begun);
  }
};
} // namespace

} // namespace meshc::schedule
