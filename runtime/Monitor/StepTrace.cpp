//===- StepTrace.cpp - where the time of training steps goes --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/StepTrace.h"

#include "runtime/Base/StandardStreams.h"
#include "runtime/Monitor/OutputFile.h"
#include "runtime/Monitor/TraceEvents.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

using namespace meshc::runtime;

/// Steps before the traced ones, if there are enough: a GPU's first three steps
/// are ordered and captured, and caches and clocks settle.
static constexpr int64_t warmUpSteps = 10;

StepTrace::StepTrace(Session &session, const std::string &path, int64_t steps,
                     int64_t done, int64_t total)
    : session(session), recorder(*session.device().recorder()),
      costs(session.program(),
            codeOf(session.program(), StepFunction::Train).name),
      path(path),
      first(done + std::clamp<int64_t>(total - done - steps, 0, warmUpSteps)),
      last(std::min(total, first + steps)) {
  if (session.speaks())
    file = openOutputFile(path, "trace file");
}

StepTrace::~StepTrace() {
  if (finished || !file)
    return;
  const Recording &own = recorder.recording();
  int64_t begin = own.activities.empty() ? 0 : firstTime(own);
  write(describeEvents(own, costs, session.rank().mesh.rank(), begin));
  close();
  if (failed())
    printError("warning: " + describeFailure() + '\n');
}

std::string StepTrace::describeFailure() const {
  return "trace file '" + path + "' cannot be written: " + std::strerror(error);
}

bool StepTrace::startsAfter(int64_t done) const {
  return !recording && !finished && first <= done && done < last;
}

void StepTrace::start() {
  recorder.start();
  recording = true;
}

void StepTrace::pause(int64_t done) {
  if (!recording)
    return;
  recorder.stop();
  recording = false;
  if (done >= last)
    finish(done);
}

/// The earliest time that any rank recorded.
int64_t StepTrace::agreeOnBegin() {
  const Recording &own = recorder.recording();
  int64_t begin = own.activities.empty() ? INT64_MAX : firstTime(own);
  int64_t least = INT64_MAX;
  Communicator &communicator = session.communicator();
  communicator.gather(&begin, sizeof(begin), 0,
                      [&](int, const void *data, size_t) {
                        int64_t other = 0;
                        std::memcpy(&other, data, sizeof(other));
                        least = std::min(least, other);
                      });
  communicator.broadcast(&least, sizeof(least), 0);
  return least;
}

void StepTrace::finish(int64_t done) {
  if (finished)
    return;
  pause(done);
  if (finished) // by pause
    return;
  finished = true;
  recorder.finish();
  const Recording &own = recorder.recording();
  int64_t begin = agreeOnBegin();
  std::string events =
      describeEvents(own, costs, session.rank().mesh.rank(), begin);
  session.communicator().gather(
      events.data(), events.size(), 0, [&](int, const void *data, size_t size) {
        write(std::string(static_cast<const char *>(data), size));
      });
  if (file)
    close();
  session.communicator().broadcast(&error, sizeof(error), 0);
  if (session.speaks())
    text = describeTable(own, costs, first,
                         failed() ? describeFailure()
                                  : "all events in '" + path + "'");
}

/// Adds events, separated by commas.
void StepTrace::write(const std::string &part) {
  if (part.empty())
    return;
  writeText((empty ? traceHeader() : ",\n") + part);
  empty = false;
}

void StepTrace::writeText(const std::string &whole) {
  if (std::fwrite(whole.data(), 1, whole.size(), file) != whole.size() &&
      !error)
    error = errno;
}

void StepTrace::close() {
  writeText((empty ? traceHeader() : "") + traceFooter());
  if (std::fclose(file) != 0 && !error)
    error = errno;
  file = nullptr;
}
