//===- FakeTrace.cpp - when the fake GPU did what -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeGpu.h"

#include <algorithm>
#include <chrono>

using namespace meshc;
using namespace meshc::fake;

/// ns between two activities of which one waits for the other.
static constexpr uint64_t gap = 2000;

void fake::recordTimes(MeshcCudaRank *rank, Node &node) {
  if (!rank->traced)
    return;
  node.end = rank->firstTime;
  for (const std::shared_ptr<Node> &before : node.before)
    if (before)
      node.end = std::max(node.end, before->end);
  bool tells = setting("FAKE_CUDA_NO_CALLS", 0) == 0;
  for (const Part &part : node.traced.parts) {
    uint64_t begin = node.end + gap;
    node.end = begin + part.duration;
    if (rank->keeps)
      rank->activities.push_back(
          {static_cast<uint8_t>(part.kind), node.traced.stream, 0,
           tells ? node.traced.call : 0, tells ? node.traced.run : 0, 0, begin,
           node.end, part.name});
  }
}

namespace {

const char *load() {
  return setting("FAKE_CUDA_NO_CUPTI", 0)
             ? say("libcupti.so.13: cannot open shared object file")
             : nullptr;
}

const char *openTrace(MeshcCudaRank *rank) {
  if (rank->traced)
    violate("a trace is opened twice");
  if (rank->captured)
    violate("a trace is opened after a capture");
  rank->traced = true;
  rank->firstTime = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
  return nullptr;
}

void expectOpen(const MeshcCudaRank *rank) {
  if (!rank->traced)
    violate("a trace is used that is not open");
}

void setCall(MeshcCudaRank *rank, uint32_t call, uint32_t run) {
  expectOpen(rank);
  rank->call = call;
  rank->run = run;
}

/// The host has waited.
void expectDone(const MeshcCudaRank *rank) {
  expectOpen(rank);
  for (const std::shared_ptr<Node> &node : rank->pending)
    if (!node->traced.parts.empty())
      violate("a trace begins or ends while there is work");
}

const char *start(MeshcCudaRank *rank) {
  expectDone(rank);
  rank->activities.clear();
  rank->keeps = true;
  return nullptr;
}

const char *stop(MeshcCudaRank *rank, const MeshcCudaActivity **activities,
                 uint64_t *count, uint64_t *lost) {
  expectDone(rank);
  if (!rank->keeps)
    violate("a trace ends that did not begin");
  rank->keeps = false;
  std::shuffle(rank->activities.begin(), rank->activities.end(), rank->random);
  *activities = rank->activities.data();
  *count = rank->activities.size();
  *lost = 0;
  return nullptr;
}

void closeTrace(MeshcCudaRank *rank) {
  expectOpen(rank);
  rank->traced = false;
}

} // namespace

void fake::addTrace(MeshcCuda &table) {
  table.traceLoad = load;
  table.traceOpen = openTrace;
  table.traceCall = setCall;
  table.traceStart = start;
  table.traceStop = stop;
  table.traceClose = closeTrace;
}
