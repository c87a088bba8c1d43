//===- Streams.cpp - streams and events -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeCuda.h"

#include <algorithm>
#include <thread>

using namespace meshc;
using namespace meshc::fake;

struct CUevent_st {
  Thread *owner;
  std::shared_ptr<Node> node;
  CUgraph_st *capture = nullptr; ///< in which it was recorded
  size_t entry = 0;
};

std::atomic<int> fake::operationsUnderWay{0};

thread_local bool fake::isOtherThread = false;

void fake::tellObserver(const std::function<void(Observer &)> &call) {
  Observer *listener = observer;
  if (!listener)
    return;
  if (isOtherThread)
    std::thread([&] { call(*listener); }).join();
  else
    call(*listener);
}

static bool isReady(const Node &node) {
  return std::all_of(
      node.before.begin(), node.before.end(),
      [](const std::shared_ptr<Node> &other) { return !other || other->done; });
}

/// Nothing, one piece of work, or many, in any order that is allowed.
void fake::progress() {
  Thread &thread = self();
  for (unsigned turns = thread.random() % 8; turns > 0; --turns) {
    std::vector<std::shared_ptr<Node>> ready;
    for (const std::shared_ptr<Node> &node : thread.pending)
      if (isReady(*node))
        ready.push_back(node);
    std::shuffle(ready.begin(), ready.end(), thread.random);
    auto did = std::find_if(ready.begin(), ready.end(),
                            [](const auto &node) { return node->work(); });
    if (did == ready.end()) {
      std::this_thread::yield(); // other ranks' turn
      return;
    }
    if (Observer *listener = observer)
      listener->onDone(thread.gpu, **did);
    (*did)->done = true;
    (*did)->before.clear();
    thread.pending.remove(*did);
  }
}

namespace {

std::atomic<uint64_t> nodesMade{0};
thread_local uint32_t correlation = 0;

Work nothing() {
  return [] { return true; };
}

CUstream_st *known(cudaStream_t stream) {
  if (!stream)
    violate("the default stream, which waits for all others");
  expectAlive(stream, "a stream");
  if (stream->owner != &self())
    violate("a stream of another thread");
  return stream;
}

CUevent_st *known(cudaEvent_t event) {
  expectAlive(event, "an event");
  if (event->owner != &self())
    violate("an event of another thread");
  return event;
}

/// Adds work to the stream, behind `before` too.
void addNode(CUstream_st *stream, const Maker &make,
             std::vector<std::shared_ptr<Node>> before, Parts parts) {
  auto node = std::make_shared<Node>();
  node->work = make();
  node->parts = std::move(parts);
  node->before = std::move(before);
  node->before.push_back(stream->last);
  node->correlation = correlation;
  node->stream = stream->number;
  stream->owner->pending.push_back(node);
  stream->last = node;
}

/// Adds to a stream of a capture, behind `before` too.
void addEntry(CUstream_st *stream, CUgraph_st *capture, Maker make,
              std::vector<size_t> before, Parts parts) {
  if (stream->capture)
    before.push_back(stream->lastEntry);
  else
    capture->joined.push_back(stream);
  stream->capture = capture;
  stream->lastEntry = capture->entries.size();
  uint64_t id = ++nodesMade;
  bool tells = !parts.empty();
  capture->entries.push_back(
      {std::move(make), std::move(before), std::move(parts), id});
  if (tells)
    tellObserver([&](Observer &listener) { listener.onNodeMade(capture, id); });
}

} // namespace

void fake::beginCall(bool asks) {
  static std::atomic<uint32_t> calls{0};
  correlation = ++calls;
  tellObserver([id = correlation, asks](Observer &listener) {
    listener.onCall(id, asks);
  });
}

void fake::enqueue(cudaStream_t handle, Maker make, Parts parts) {
  CUstream_st *stream = known(handle);
  beginCall();
  if (stream->capture)
    return addEntry(stream, stream->capture, std::move(make), {},
                    std::move(parts));
  if (self().capture)
    violate("during a capture, a stream gets work that does not belong to it");
  addNode(stream, make, {}, std::move(parts));
}

void fake::enqueueCall(cudaStream_t stream, std::function<void()> call,
                       Parts parts) {
  enqueue(
      stream,
      [call]() -> Work {
        return [call] {
          call();
          return true;
        };
      },
      std::move(parts));
}

//===----------------------------------------------------------------------===//
// CUDA's functions
//===----------------------------------------------------------------------===//

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *made, unsigned flags,
                                         int priority) {
  static std::atomic<uint32_t> streams{0};
  note("cudaStreamCreateWithPriority(flags=%u, priority=%d)", flags, priority);
  forbidInCapture("cudaStreamCreateWithPriority");
  if (flags != cudaStreamNonBlocking)
    violate("a stream that waits for the default stream");
  if (priority > 0 || priority < -5)
    violate("a priority beyond those of the GPU");
  ++self().streams;
  *made = new CUstream_st{&self(), ++streams, nullptr, nullptr, 0};
  noteBorn(*made);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  note("cudaStreamDestroy(%p)", static_cast<void *>(stream));
  forbidInCapture("cudaStreamDestroy");
  known(stream);
  noteDead(stream, "a stream");
  delete stream;
  Thread &thread = self();
  if (--thread.streams > 0)
    return cudaSuccess;
  if (thread.held != 0)
    violate(std::to_string(thread.held) +
            " memories, events, graphs or other handles are held at the end");
  changeUsedBytes(thread.gpu, -thread.taken);
  thread.taken = 0;
  thread.used.clear();
  thread.pending.clear();
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  note("cudaStreamSynchronize(%p)", static_cast<void *>(stream));
  forbidInCapture("cudaStreamSynchronize");
  for (known(stream); stream->last && !stream->last->done;)
    progress();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  note("cudaEventCreateWithFlags(flags=%u)", flags);
  if (flags != cudaEventDisableTiming)
    violate("an event that takes times, which is slow");
  ++self().held;
  *event = new CUevent_st{&self(), nullptr, nullptr, 0};
  noteBorn(*event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  note("cudaEventDestroy(%p)", static_cast<void *>(event));
  forbidInCapture("cudaEventDestroy");
  known(event);
  noteDead(event, "an event");
  --self().held;
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t from) {
  note("cudaEventRecord(%p, stream=%p)", static_cast<void *>(handle),
       static_cast<void *>(from));
  CUevent_st *event = known(handle);
  CUstream_st *stream = known(from);
  beginCall();
  if (self().capture && !stream->capture)
    violate("during a capture, an event is recorded outside of it");
  event->node = stream->capture ? nullptr : stream->last;
  event->capture = stream->capture;
  event->entry = stream->lastEntry;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t waiting, cudaEvent_t handle,
                                unsigned flags) {
  note("cudaStreamWaitEvent(stream=%p, %p, flags=%u)",
       static_cast<void *>(waiting), static_cast<void *>(handle), flags);
  CUstream_st *stream = known(waiting);
  CUevent_st *event = known(handle);
  beginCall();
  if (event->capture) {
    if (event->capture != self().capture)
      violate("a stream waits for an event of a capture that has ended");
    addEntry(stream, event->capture, nothing, {event->entry}, {});
    return cudaSuccess;
  }
  if (stream->capture)
    violate("a captured stream waits for an event from outside of the capture");
  addNode(stream, nothing, {event->node}, {});
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  CUevent_st *event = known(handle);
  forbidInCapture("cudaEventQuery");
  beginCall(/*asks=*/true);
  if (event->capture)
    violate("an event of a capture is asked for");
  progress();
  if (!event->node || event->node->done)
    return cudaSuccess;
  return self().lastError = cudaErrorNotReady;
}
}
