//===- Graphs.cpp - capture and replay ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeCuda.h"

#include <algorithm>

using namespace meshc;
using namespace meshc::fake;

/// A graph that can run, and the part of its last run that is in progress.
struct CUgraphExec_st {
  CUgraph_st graph;
  std::shared_ptr<Node> last;
};

/// Which entries come before `entry`, and itself.
static void gather(const CUgraph_st &graph, size_t entry,
                   std::vector<bool> &all) {
  if (all[entry])
    return;
  all[entry] = true;
  for (size_t before : graph.entries[entry].before)
    gather(graph, before, all);
}

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   cudaStreamCaptureMode mode) {
  note("cudaStreamBeginCapture(%p, mode=%d)", static_cast<void *>(stream),
       mode);
  expectAlive(stream, "a stream");
  if (mode != cudaStreamCaptureModeThreadLocal)
    violate("a capture that other ranks of the process would disturb");
  if (self().capture)
    violate("a capture begins within another");
  auto *graph = new CUgraph_st;
  noteBorn(graph);
  ++self().held;
  graph->origin = stream;
  self().capture = stream->capture = graph;
  graph->joined.push_back(stream);
  // What the first operations come behind.
  graph->entries.push_back(
      {[]() -> Work { return [] { return true; }; }, {}, {}, 0});
  stream->lastEntry = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *made) {
  note("cudaStreamEndCapture(%p)", static_cast<void *>(stream));
  expectAlive(stream, "a stream");
  CUgraph_st *graph = self().capture;
  if (!graph || graph->origin != stream)
    violate("a capture ends that does not go on in this stream");
  graph->last = stream->lastEntry;
  for (cudaStream_t joined : graph->joined)
    joined->capture = nullptr;
  self().capture = nullptr;
  std::vector<bool> all(graph->entries.size());
  gather(*graph, graph->last, all);
  if (std::find(all.begin(), all.end(), false) != all.end()) {
    noteDead(graph, "a graph");
    --self().held;
    delete graph;
    return self().lastError = cudaErrorStreamCaptureUnjoined;
  }
  *made = graph;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph,
                                 unsigned long long flags) {
  note("cudaGraphInstantiate(nodes=%zu, flags=%llu)", graph->entries.size(),
       flags);
  forbidInCapture("cudaGraphInstantiate");
  expectAlive(graph, "a graph");
  *made = new CUgraphExec_st{*graph, nullptr};
  noteBorn(*made);
  ++self().held;
  // Nodes of the copy are others.
  for (CUgraph_st::Entry &entry : (*made)->graph.entries)
    if (entry.id) {
      uint64_t original = entry.id;
      entry.id |= uint64_t(1) << 40;
      if (Observer *listener = observer; listener && !entry.parts.empty())
        listener->onNodeCloned(graph, entry.id, original);
    }
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  forbidInCapture("cudaGraphDestroy");
  noteDead(graph, "a graph");
  --self().held;
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  note("cudaGraphLaunch(%p, stream=%p)", static_cast<void *>(executable),
       static_cast<void *>(stream));
  expectAlive(executable, "a graph");
  expectAlive(stream, "a stream");
  forbidInCapture("cudaGraphLaunch");
  // One operation for the call, whose correlation all nodes have.
  enqueue(stream, []() -> Work { return [] { return true; }; }, {});
  std::shared_ptr<Node> start = stream->last;
  std::vector<std::shared_ptr<Node>> nodes;
  for (const CUgraph_st::Entry &entry : executable->graph.entries) {
    auto node = std::make_shared<Node>();
    node->work = entry.make();
    node->parts = entry.parts;
    node->before = {start};
    for (size_t other : entry.before)
      node->before.push_back(nodes[other]);
    node->graphNode = entry.id;
    node->correlation = start->correlation;
    node->stream = stream->number;
    self().pending.push_back(node);
    nodes.push_back(std::move(node));
  }
  executable->last = stream->last = nodes[executable->graph.last];
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  note("cudaGraphExecDestroy(%p)", static_cast<void *>(executable));
  forbidInCapture("cudaGraphExecDestroy");
  expectAlive(executable, "a graph");
  if (executable->last && !executable->last->done)
    violate("a graph is destroyed while it runs");
  noteDead(executable, "a graph");
  --self().held;
  delete executable;
  return cudaSuccess;
}
}
