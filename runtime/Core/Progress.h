//===- Progress.h - how far a training run is ------------------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `train` shows on the screen: one line with a bar on a terminal, plain
/// lines otherwise.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CORE_PROGRESS_H
#define MESHC_RUNTIME_CORE_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace meshc::runtime {

class Progress {
public:
  /// Steps go from `first` to `total`, each of `batch` examples. Plain lines
  /// come every `lineEvery` steps, or with 0 after the first step, the last,
  /// and every two seconds. A silent one prints nothing.
  Progress(int64_t first, int64_t total, int64_t batch, int64_t lineEvery,
           bool silent);

  /// Step number `done` (from 1) is done.
  void afterStep(int64_t done, const std::vector<std::string> &names,
                 const std::vector<float> &values);

  /// Ends the line with the bar, so that other output may follow.
  void endLine();

  /// Since the first step began, in seconds.
  double elapsed() const;

private:
  using Clock = std::chrono::steady_clock;

  bool isDue(int64_t done, Clock::time_point now) const;
  std::string bar(int64_t done) const;

  int64_t first, total, batch, lineEvery;
  bool silent, terminal;
  bool lineOpen = false;
  Clock::time_point begin, shown;
  int64_t shownSteps;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CORE_PROGRESS_H
