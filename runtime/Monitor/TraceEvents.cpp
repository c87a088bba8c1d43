//===- TraceEvents.cpp - recordings in the Trace Event format -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/TraceEvents.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace meshc::runtime;

std::string meshc::runtime::traceHeader() {
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
}

std::string meshc::runtime::traceFooter() { return "\n]}\n"; }

/// Escapes a text for JSON. Names of library kernels may contain any byte.
static std::string quote(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', true,
                                   nlohmann::json::error_handler_t::replace);
}

/// "rank 0" is the name of process 0, "compute" that of its thread 1.
static std::string nameEvent(const char *what, int rank, size_t thread,
                             const std::string &name) {
  return std::string("{\"ph\":\"M\",\"name\":\"") + what +
         "\",\"pid\":" + std::to_string(rank) +
         ",\"tid\":" + std::to_string(thread) +
         ",\"args\":{\"name\":" + quote(name) + "}}";
}

static std::string spanEvent(const std::string &name, const char *category,
                             int rank, size_t thread, const TracedSpan &span,
                             int64_t begin) {
  char times[100];
  std::snprintf(times, sizeof(times), ",\"ts\":%.3f,\"dur\":%.3f",
                static_cast<double>(span.begin - begin) / 1000,
                static_cast<double>(span.end - span.begin) / 1000);
  return "{\"ph\":\"X\",\"name\":" + quote(name) + ",\"cat\":\"" + category +
         "\",\"pid\":" + std::to_string(rank) +
         ",\"tid\":" + std::to_string(thread) + times;
}

int64_t meshc::runtime::firstTime(const Recording &recording) {
  int64_t first = INT64_MAX;
  for (const TracedActivity &activity : recording.activities)
    first = std::min(first, activity.span.begin);
  for (const TracedSpan &step : recording.steps)
    first = std::min(first, step.begin);
  return first;
}

/// The end of a call's events: the remaining information about it.
static std::string describeArguments(const TracedCall &call,
                                     const CallCosts &costs,
                                     const std::string &detail) {
  const CallCost cost = costs.of(call);
  std::string text;
  auto add = [&](const char *name, const std::string &value) {
    text += std::string(text.empty() ? "" : ",") + '"' + name + "\":" + value;
  };
  if (!cost.location.empty())
    add("location", quote(cost.location));
  if (!cost.iteration.empty())
    add("iteration", quote(cost.iteration));
  if (!cost.tensor.empty())
    add("writes", quote(cost.tensor));
  if (!detail.empty())
    add("kernel", quote(detail));
  if (cost.bytes > 0)
    add("bytes", std::to_string(static_cast<int64_t>(cost.bytes)));
  if (cost.flops > 0)
    add("flops", std::to_string(static_cast<int64_t>(cost.flops)));
  return (text.empty() ? "" : ",\"args\":{" + text + "}") + "}";
}

std::string meshc::runtime::describeEvents(const Recording &recording,
                                           const CallCosts &costs, int rank,
                                           int64_t begin) {
  static const char *const categories[] = {"kernel", "product", "collective",
                                           "other"};
  const size_t stepThread = recording.streams.size();
  std::string text =
      nameEvent("process_name", rank, 0, "rank " + std::to_string(rank));
  for (size_t i = 0; i < recording.streams.size(); ++i)
    text += ",\n" + nameEvent("thread_name", rank, i, recording.streams[i]);
  text += ",\n" + nameEvent("thread_name", rank, stepThread, "steps");
  std::vector<std::string> ends; // by call
  for (const TracedCall &call : recording.calls)
    ends.push_back(describeArguments(call, costs, ""));
  for (const TracedActivity &activity : recording.activities) {
    const TracedCall &call = recording.calls[activity.call];
    text += ",\n" +
            spanEvent(costs.nameOf(call),
                      categories[static_cast<size_t>(call.kind)], rank,
                      activity.stream, activity.span, begin) +
            (activity.detail.empty()
                 ? ends[activity.call]
                 : describeArguments(call, costs, activity.detail));
  }
  for (const TracedSpan &step : recording.steps)
    text +=
        ",\n" + spanEvent("step", "step", rank, stepThread, step, begin) + "}";
  return text;
}
