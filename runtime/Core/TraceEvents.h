//===- TraceEvents.h - recordings in the Trace Event format ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The file of `--trace`: JSON as Chrome's about:tracing and Perfetto read it.
/// Each rank is a process, each of its streams a thread; times are in µs.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CORE_TRACEEVENTS_H
#define MESHC_RUNTIME_CORE_TRACEEVENTS_H

#include "runtime/Core/TraceTable.h"
#include "runtime/Device/Recorder.h"

#include <string>

namespace meshc::runtime {

/// What comes before and after the events, of which those of several ranks are
/// separated by ",\n".
std::string traceHeader();
std::string traceFooter();

/// A rank's events: one for each activity and each step, and the names of rank
/// and streams. Never empty. Times count from `begin`.
std::string describeEvents(const Recording &recording, const CallCosts &costs,
                           int rank, int64_t begin);

/// When the first activity began; of a recording that has some.
int64_t firstTime(const Recording &recording);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CORE_TRACEEVENTS_H
