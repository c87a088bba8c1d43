//===- TraceEvents.h - recordings in the Trace Event format ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The file of `--trace`: JSON in the format of Chrome's about:tracing and
/// Perfetto. Each rank is a process, each of its streams a thread; times are in
/// µs.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_TRACEEVENTS_H
#define MESHC_RUNTIME_MONITOR_TRACEEVENTS_H

#include "runtime/Device/Recorder.h"
#include "runtime/Monitor/TraceTable.h"

#include <string>

namespace meshc::runtime {

/// The text before and after the events. Events of several ranks are separated
/// by ",\n".
std::string traceHeader();
std::string traceFooter();

/// A rank's events: one for each activity and each step, and the names of rank
/// and streams. Never empty. Times count from `begin`.
std::string describeEvents(const Recording &recording, const CallCosts &costs,
                           int rank, int64_t begin);

/// The start of the first activity, for a recording that has activities.
int64_t firstTime(const Recording &recording);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_TRACEEVENTS_H
