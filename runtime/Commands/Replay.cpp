//===- Replay.cpp - steps of a run again, with checks ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Replay.h"

#include "runtime/Base/StandardStreams.h"
#include "runtime/Commands/Stop.h"

#include <chrono>

using namespace meshc::runtime;

static constexpr std::chrono::minutes mostTime(10);

Replay meshc::runtime::replaySteps(Session &session, const RepeatableRun &run,
                                   int64_t last, bool quiet) {
  Replay replay;
  replay.step = run.restore();
  replay.first = replay.step + 1;
  if (session.speaks() && !quiet)
    printOut(
        (replay.first == last
             ? "replaying step "
             : "replaying steps " + std::to_string(replay.first) + " to ") +
        std::to_string(last) + " to find the op whose result is not finite\n");
  FaultSearch search(session, StepFunction::Train);
  StopAgreement stop(session.rank());
  auto begin = std::chrono::steady_clock::now();
  while (replay.step < last) {
    ++replay.step;
    if (search.run(run.runStep)) {
      replay.fault = search.explain();
      if (!replay.fault.text.empty())
        replay.end = Replay::End::Fault;
      return replay;
    }
    bool isLate = std::chrono::steady_clock::now() - begin > mostTime;
    if (stop.afterStep() || largestOfRanks(session.communicator(), isLate))
      return replay;
  }
  replay.end = Replay::End::Finite;
  return replay;
}
