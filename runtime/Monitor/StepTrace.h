//===- StepTrace.h - where the time of training steps goes ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `train --trace FILE`: the devices of all ranks record some steps; rank 0
/// writes one file of the records, and a table of its own steps.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_STEPTRACE_H
#define MESHC_RUNTIME_MONITOR_STEPTRACE_H

#include "runtime/Device/Recorder.h"
#include "runtime/Device/Session.h"
#include "runtime/Monitor/TraceTable.h"

#include <cstdio>

namespace meshc::runtime {

class StepTrace {
public:
  /// Traces `steps` steps into the file at `path`. The run has `total` steps;
  /// the first `done` were run before. All ranks construct one; rank 0 opens
  /// the file and empties it. Throws Failure (Usage) if it cannot.
  StepTrace(Session &session, const std::string &path, int64_t steps,
            int64_t done, int64_t total);
  /// If a failure ends the run, rank 0 writes its own records.
  ~StepTrace();
  StepTrace(const StepTrace &) = delete;
  StepTrace &operator=(const StepTrace &) = delete;

  /// Whether to call start() when `done` steps are done, and pause() then.
  bool startsAfter(int64_t done) const;
  bool endsAfter(int64_t done) const { return recording && done >= last; }
  /// Records the steps until pause(). No step is open.
  void start();
  /// Stops recording: what happens before the next step belongs to no step.
  /// Writes the file after the last step to trace. No step is open; all ranks
  /// call it.
  void pause(int64_t done);
  /// Writes the file, if it was not written yet: a run may end early. All ranks
  /// call it.
  void finish(int64_t done);

  /// On rank 0, once it is finished.
  const std::string &table() const { return text; }

  /// Whether the file could not be written; on all ranks, once it is finished.
  bool failed() const { return error != 0; }
  /// The path of the file and the system's reason, if it failed.
  std::string describeFailure() const;

private:
  int64_t agreeOnBegin();
  void write(const std::string &part);
  void writeText(const std::string &text);
  void close();

  Session &session;
  Recorder &recorder;
  CallCosts costs;
  std::string path, text;
  int64_t first, last; ///< steps that are done before and after the trace
  bool recording = false, finished = false;
  std::FILE *file = nullptr;
  int error = 0; ///< errno of the first write that failed
  bool empty = true;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_STEPTRACE_H
