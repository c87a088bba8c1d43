//===- PlaceWaits.cpp - how long a collective may run ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "lib/Schedule/LoopDistances.h"
#include "lib/Schedule/Passes.h"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_PLACEWAITS
#include "lib/Schedule/Passes.h.inc"

namespace {
/// A collective that was begun and not awaited.
struct Running {
  exec::CollectiveOp collective;
  exec::Accesses accesses;
};

/// Places the waits of one block.
class WaitPlacer {
public:
  explicit WaitPlacer(Block &block)
      : block(block), loop(dyn_cast<exec::LoopOp>(block.getParentOp())),
        level(exec::getLoopsAround(block.getParentOp()).size()),
        mesh(nd::MeshAttr::of(block.getParentOp())) {}

  LogicalResult run();

private:
  LogicalResult enter(exec::StepOpInterface step);
  void pass(exec::StepOpInterface step);
  bool conflicts(Running &begun, exec::StepOpInterface step);
  void placeWaits(Operation *before, size_t count);

  Block &block;
  exec::LoopOp loop; ///< or null: the block is that of a function
  size_t level;      ///< of the loop
  nd::MeshAttr mesh;
  /// In the order in which they run: who waits for one has waited for those
  /// before.
  SmallVector<Running, 0> running;
  /// Whether those of `running` were begun in the previous iteration.
  bool isNextIteration = false;
};
} // namespace

bool WaitPlacer::conflicts(Running &begun, exec::StepOpInterface step) {
  // By how many iterations the op's own is behind the collective's own.
  int64_t behind = isNextIteration ? 1 : 0;
  if (begun.collective.getAhead())
    --behind;
  auto collective = dyn_cast<exec::CollectiveOp>(step.getOperation());
  if (collective && collective.getAhead())
    ++behind;
  int64_t distance = loop ? behind * loop.getDirection() : 0;
  return begun.accesses.conflictsWith(
      step.getAccesses(), [&](Value a, Value b) {
        return loop ? mayMeet(a, b, level, distance, mesh)
                    : exec::ArenaPiece::of(a, mesh).overlaps(
                          exec::ArenaPiece::of(b, mesh));
      });
}

/// Waits for the first `count` of those that run. What was begun ahead has its
/// wait in its own iteration.
void WaitPlacer::placeWaits(Operation *before, size_t count) {
  auto builder = before ? OpBuilder(before) : OpBuilder::atBlockEnd(&block);
  SmallVector<Running, 0> left;
  for (auto [number, begun] : llvm::enumerate(running)) {
    bool isTooEarly = begun.collective.getAhead() && !isNextIteration;
    if (number < count && !isTooEarly)
      exec::WaitOp::create(builder, begun.collective.getLoc(),
                           begun.collective.getToken());
    else
      left.push_back(std::move(begun));
  }
  running = std::move(left);
}

/// In the iteration that begins the collectives.
LogicalResult WaitPlacer::enter(exec::StepOpInterface step) {
  exec::Accesses accesses = step.getAccesses();
  if (accesses.awaited)
    return step->emitOpError("is there before waits are placed");
  if (auto inner = dyn_cast<exec::LoopOp>(step.getOperation());
      inner && failed(WaitPlacer(inner.getBody().front()).run()))
    return failure();
  size_t count = 0;
  for (auto [number, begun] : llvm::enumerate(running)) {
    if (!conflicts(begun, step))
      continue;
    if (begun.collective.getAhead())
      return begun.collective
                 ->emitOpError("is begun ahead, but the iteration before uses "
                               "its buffers later")
                 .attachNote(step->getLoc())
             << "in this op";
    count = number + 1;
  }
  placeWaits(step, count);
  if (auto collective = dyn_cast<exec::CollectiveOp>(step.getOperation()))
    running.push_back({collective, std::move(accesses)});
  return success();
}

/// In the next iteration.
void WaitPlacer::pass(exec::StepOpInterface step) {
  exec::Accesses accesses = step.getAccesses();
  size_t count = running.size();
  // What waits for a later one waits for all; a collective begins again when
  // it has ended.
  if (!accesses.awaited)
    while (count > 0 && running[count - 1].collective != step &&
           !conflicts(running[count - 1], step))
      --count;
  placeWaits(step, count);
}

LogicalResult WaitPlacer::run() {
  for (exec::StepOpInterface step : exec::getSteps(block))
    if (failed(enter(step)))
      return failure();
  if (!loop || loop.getSize() == 1) {
    placeWaits(nullptr, running.size());
    return success();
  }
  isNextIteration = true;
  for (exec::StepOpInterface step : exec::getSteps(block))
    pass(step);
  return success();
}

namespace {
struct PlaceWaits : impl::PlaceWaitsBase<PlaceWaits> {
  void runOnOperation() override {
    if (failed(WaitPlacer(getOperation().getBody().front()).run()))
      signalPassFailure();
  }
};
} // namespace

} // namespace meshc::schedule
