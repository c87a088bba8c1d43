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

std::optional<ReplayedFault>
meshc::runtime::replaySteps(Session &session, const RepeatableRun &run,
                            int64_t last, bool quiet) {
  int64_t done = run.restore();
  if (session.speaks() && !quiet)
    printOut((done + 1 == last
                  ? "replaying step "
                  : "replaying steps " + std::to_string(done + 1) + " to ") +
             std::to_string(last) +
             " to find the op whose result is not finite\n");
  FaultSearch search(session, StepFunction::Train);
  StopAgreement stop(session.rank());
  auto begin = std::chrono::steady_clock::now();
  while (done < last) {
    ++done;
    if (search.run(run.runStep)) {
      Fault fault = search.explain();
      if (fault.text.empty())
        return std::nullopt;
      return ReplayedFault{fault, done};
    }
    bool isLate = std::chrono::steady_clock::now() - begin > mostTime;
    if (stop.afterStep() || largestOfRanks(session.communicator(), isLate))
      return std::nullopt;
  }
  return std::nullopt;
}
