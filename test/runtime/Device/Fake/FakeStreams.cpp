//===- FakeStreams.cpp - streams, events, graphs --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeGpu.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

using namespace meshc;
using namespace meshc::fake;

/// Adds work behind `before`.
static std::shared_ptr<Node> addNode(MeshcCudaRank *rank, const Maker &make,
                                     std::vector<std::shared_ptr<Node>> before,
                                     Traced traced = {}) {
  auto node = std::make_shared<Node>();
  node->work = make();
  node->traced = std::move(traced);
  node->before = std::move(before);
  rank->pending.push_back(node);
  return node;
}

/// Adds to a stream of the capture, behind `before` too.
static void addEntry(MeshcCudaRank *rank, MeshcCudaStream stream, Maker make,
                     std::vector<size_t> before, Traced traced = {}) {
  if (rank->joined[stream])
    before.push_back(rank->lastEntry[stream]);
  rank->joined[stream] = true;
  rank->lastEntry[stream] = rank->capture->entries.size();
  rank->capture->entries.push_back(
      {std::move(make), std::move(before), std::move(traced)});
}

void fake::enqueue(MeshcCudaRank *rank, MeshcCudaStream stream, Maker make,
                   Parts parts) {
  if (rank->capture) {
    if (!rank->joined[stream])
      violate(
          "during a capture, a stream gets work that does not belong to it");
    // A graph does not tell on which stream it does something.
    return addEntry(rank, stream, std::move(make), {},
                    {std::move(parts), rank->call, 0, MESHC_CUDA_STREAMS});
  }
  rank->last[stream] = addNode(
      rank, make, {rank->last[stream]},
      {std::move(parts), rank->call, rank->run, static_cast<uint8_t>(stream)});
}

void fake::enqueueCall(MeshcCudaRank *rank, MeshcCudaStream stream,
                       const std::function<void()> &call, Parts parts) {
  enqueue(
      rank, stream,
      [call]() -> Work {
        return [call] {
          call();
          return true;
        };
      },
      std::move(parts));
}

static bool isReady(const Node &node) {
  return std::all_of(
      node.before.begin(), node.before.end(),
      [](const std::shared_ptr<Node> &other) { return !other || other->done; });
}

/// Nothing, one piece of work, or many, in any order that is allowed.
void fake::progress(MeshcCudaRank *rank) {
  for (unsigned turns = rank->random() % 8; turns > 0; --turns) {
    std::vector<std::shared_ptr<Node>> ready;
    for (const std::shared_ptr<Node> &node : rank->pending)
      if (isReady(*node))
        ready.push_back(node);
    std::shuffle(ready.begin(), ready.end(), rank->random);
    auto did = std::find_if(ready.begin(), ready.end(),
                            [](const auto &node) { return node->work(); });
    if (did == ready.end()) {
      std::this_thread::yield(); // other ranks' turn
      return;
    }
    recordTimes(rank, **did);
    (*did)->done = true;
    (*did)->before.clear();
    rank->pending.remove(*did);
  }
}

namespace {

Work nothing() {
  return [] { return true; };
}

const char *copy(MeshcCudaRank *rank, MeshcCudaStream stream, void *to,
                 const void *from, uint64_t bytes) {
  // Addresses are looked at now, and again when the copy is done.
  resolve(to, bytes, rank->gpu);
  resolve(from, bytes, rank->gpu);
  enqueueCall(rank, stream,
              [=, gpu = rank->gpu] {
                std::memcpy(resolve(to, bytes, gpu), resolve(from, bytes, gpu),
                            bytes);
              },
              {{MESHC_CUDA_COPY_MEMORY, nullptr, 5000}});
  return nullptr;
}

const char *zero(MeshcCudaRank *rank, MeshcCudaStream stream, void *memory,
                 uint64_t bytes) {
  enqueueCall(rank, stream,
              [=, gpu = rank->gpu] {
                std::memset(resolve(memory, bytes, gpu), 0, bytes);
              },
              {{MESHC_CUDA_SET_MEMORY, nullptr, 3000}});
  return nullptr;
}

const char *newEvent(MeshcCudaRank *rank, void **event) {
  ++rank->held;
  *event = new Event;
  return nullptr;
}

void dropEvent(MeshcCudaRank *rank, void *event) {
  --rank->held;
  delete static_cast<Event *>(event);
}

const char *record(MeshcCudaRank *rank, void *known, MeshcCudaStream stream) {
  auto *event = static_cast<Event *>(known);
  *event = {};
  if (rank->capture && rank->joined[stream]) {
    event->capture = rank->capture.get();
    event->entry = rank->lastEntry[stream];
  } else {
    event->node = rank->last[stream];
  }
  return nullptr;
}

const char *wait(MeshcCudaRank *rank, MeshcCudaStream stream, void *known) {
  auto *event = static_cast<Event *>(known);
  if (event->capture) {
    if (event->capture != rank->capture.get())
      violate("a stream waits for an event of a capture that has ended");
    addEntry(rank, stream, nothing, {event->entry});
    return nullptr;
  }
  if (rank->capture && rank->joined[stream])
    violate("a captured stream waits for an event from outside of the capture");
  rank->last[stream] =
      addNode(rank, nothing, {rank->last[stream], event->node});
  return nullptr;
}

const char *query(MeshcCudaRank *rank, void *known, int *done) {
  auto *event = static_cast<Event *>(known);
  if (event->capture)
    violate("an event of a capture is asked for");
  progress(rank);
  *done = !event->node || event->node->done;
  return nullptr;
}

const char *beginCapture(MeshcCudaRank *rank) {
  if (rank->capture)
    violate("a capture begins within another");
  rank->captured = true;
  rank->capture = std::make_unique<Graph>();
  std::fill(std::begin(rank->joined), std::end(rank->joined), false);
  addEntry(rank, MESHC_CUDA_COMPUTE, nothing, {});
  return nullptr;
}

/// All entries that come before `entry`, and itself.
void gather(const Graph &graph, size_t entry, std::set<size_t> &all) {
  if (!all.insert(entry).second)
    return;
  for (size_t before : graph.entries[entry].before)
    gather(graph, before, all);
}

const char *endCapture(MeshcCudaRank *rank, void **graph) {
  std::unique_ptr<Graph> made = std::move(rank->capture);
  made->last = rank->lastEntry[MESHC_CUDA_COMPUTE];
  std::set<size_t> joined;
  gather(*made, made->last, joined);
  if (joined.size() != made->entries.size())
    return say("a stream was not joined again at the capture's end");
  ++rank->held;
  *graph = made.release();
  return nullptr;
}

const char *launchGraph(MeshcCudaRank *rank, void *known) {
  if (rank->capture)
    violate("a graph is launched during a capture");
  const auto *graph = static_cast<const Graph *>(known);
  std::vector<std::shared_ptr<Node>> nodes;
  for (const Graph::Entry &entry : graph->entries) {
    std::vector<std::shared_ptr<Node>> before = {
        rank->last[MESHC_CUDA_COMPUTE]};
    for (size_t other : entry.before)
      before.push_back(nodes[other]);
    Traced traced = entry.traced;
    traced.run = rank->run;
    nodes.push_back(
        addNode(rank, entry.make, std::move(before), std::move(traced)));
  }
  rank->last[MESHC_CUDA_COMPUTE] = nodes[graph->last];
  return nullptr;
}

void dropGraph(MeshcCudaRank *rank, void *graph) {
  --rank->held;
  delete static_cast<Graph *>(graph);
}

} // namespace

void fake::addStreams(MeshcCuda &table) {
  table.copy = copy;
  table.zero = zero;
  table.newEvent = newEvent;
  table.dropEvent = dropEvent;
  table.record = record;
  table.wait = wait;
  table.query = query;
  table.beginCapture = beginCapture;
  table.endCapture = endCapture;
  table.launchGraph = launchGraph;
  table.dropGraph = dropGraph;
}
