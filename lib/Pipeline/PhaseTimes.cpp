//===- PhaseTimes.cpp - how long each phase takes -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/PhaseTimes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace meshc {

void PhaseTimes::begin(llvm::StringRef phase) {
  end();
  auto known = llvm::find_if(
      seconds, [&](const auto &entry) { return entry.first == phase; });
  current = known - seconds.begin();
  if (known == seconds.end())
    seconds.emplace_back(phase.str(), 0);
  started = Clock::now();
  isRunning = true;
}

void PhaseTimes::end() {
  if (isRunning)
    seconds[current].second +=
        std::chrono::duration<double>(Clock::now() - started).count();
  isRunning = false;
}

void PhaseTimes::print(llvm::raw_ostream &out) const {
  double total = 0;
  for (const auto &[phase, time] : seconds)
    total += time;
  for (const auto &[phase, time] : seconds)
    out << llvm::format("%-12s %8.3f s %5.1f %%\n", phase.c_str(), time,
                        total > 0 ? 100 * time / total : 0.0);
  out << llvm::format("%-12s %8.3f s\n", "total", total);
}

} // namespace meshc
