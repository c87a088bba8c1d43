//===- PlaceWaits.cpp - how long a collective may run ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Passes.h"
#include "lib/Schedule/Residence.h"

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
    SmallVector<exec::CollectiveOp> running;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<exec::WaitOp>(op)) {
        op.emitOpError("is there before waits are placed");
        return signalPassFailure();
      }
      // Collectives run in order: who waits for one has waited for those
      // before.
      auto last = llvm::find_if(llvm::reverse(running), [&](auto collective) {
        return disturbs(&op, collective, mesh);
      });
      auto end = last.base();
      OpBuilder builder(&op);
      for (auto begun = running.begin(); begun != end; ++begun)
        exec::WaitOp::create(builder, begun->getLoc(), begun->getToken());
      running.erase(running.begin(), end);
      if (auto collective = dyn_cast<exec::CollectiveOp>(op))
        running.push_back(collective);
    }
    auto builder = OpBuilder::atBlockEnd(&block);
    for (exec::CollectiveOp collective : running)
      exec::WaitOp::create(builder, collective.getLoc(), collective.getToken());
  }
};
} // namespace

} // namespace meshc::schedule
