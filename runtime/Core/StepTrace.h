//===- StepTrace.h - where the time of training steps goes ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `train --trace FILE`: some steps are recorded by the devices of all ranks;
/// rank 0 writes one file of it, and a table of its own steps.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CORE_STEPTRACE_H
#define MESHC_RUNTIME_CORE_STEPTRACE_H

#include "runtime/Core/Options.h"
#include "runtime/Core/Session.h"
#include "runtime/Core/TraceTable.h"
#include "runtime/Device/Recorder.h"

#include <cstdio>

namespace meshc::runtime {

class StepTrace {
public:
  /// For a run of `total` steps of which `done` are done. All ranks make
  /// theirs; rank 0 opens the file, which is emptied. Throws Failure (Usage)
  /// where it cannot.
  StepTrace(Session &session, const Options &options, int64_t done,
            int64_t total);
  /// Where a failure ends the run, rank 0 writes what it has itself.
  ~StepTrace();
  StepTrace(const StepTrace &) = delete;
  StepTrace &operator=(const StepTrace &) = delete;

  /// Whether to call start() when `done` steps are done, and pause() then.
  bool startsAfter(int64_t done) const;
  bool endsAfter(int64_t done) const { return recording && done >= last; }
  /// Records the steps until pause(). No step is open.
  void start();
  /// Stops where it records: what comes before the next step is none of a
  /// step's. Writes the file after the last step to trace. No step is open; all
  /// ranks call it.
  void pause(int64_t done);
  /// Writes the file, if it was not: a run may end early. All ranks call it.
  void finish(int64_t done);

  /// Of rank 0, once it is finished.
  const std::string &table() const { return text; }

private:
  int64_t agreeOnBegin();
  void write(const std::string &part);
  void close();

  Session &session;
  Recorder &recorder;
  CallCosts costs;
  std::string path, text;
  int64_t first, last; ///< steps that are done before and after the trace
  bool recording = false, finished = false;
  std::FILE *file = nullptr;
  bool complained = false, empty = true;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CORE_STEPTRACE_H
