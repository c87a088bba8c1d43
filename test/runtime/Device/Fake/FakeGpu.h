//===- FakeGpu.h - a GPU that checks how it is used -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of the CUDA plugin without CUDA, so that what the runtime
/// makes of them is tested where there is no GPU. The fake is as strict, and as
/// slow to act, as CUDA may be:
///
/// - Addresses of its memory cannot be followed by the host: they have a bit
///   set that no address has. Copies take them, and pinned memory, alone.
/// - Work is put off until an event is asked for, and then done in an order
///   that chance chooses among those that streams and events leave
///   (FAKE_CUDA_SEED). A use that no event covers sees wrong data.
/// - Capture follows CUDA's rules: streams join by events, and are joined again
///   before its end.
/// - NCCL's operations wait until all ranks of the group have come to the same
///   one; its calls return before they are done.
/// - Memory of a GPU is not allocated, nor a group of ranks made, while a rank
///   of the process has an NCCL operation under way: CUDA may have it wait for
///   all GPUs that can reach each other.
/// - The process does not end by exit while a rank is open.
/// - Products take epilogues as cublasLt does, gelu's argument in rows of a
///   multiple of 8, sums of factors as they lie for it; of f16, none.
///
/// What breaks the rules ends the process with "fake CUDA: …" and SIGABRT.
/// FAKE_CUDA_GPUS is the number of GPUs (1), FAKE_CUDA_MEMORY their bytes,
/// FAKE_CUDA_CHIP their chip (90). FAKE_CUDA_REFUSES=1: there are some that
/// cannot be used. FAKE_CUDA_ENDLESS: the name of a kernel that never ends.
/// FAKE_CUDA_NO_NCCL=1: there is no NCCL; FAKE_CUDA_NCCL_FAILS=1 and
/// FAKE_CUDA_NCCL_HANGS=1: it fails after some operations, or they are never
/// done.
/// FAKE_CUDA_NO_CUPTI=1: there is no CUPTI; FAKE_CUDA_NO_CALLS=1: it does not
/// tell which call an activity belongs to. Times are made up, from the order of
/// work alone: the same in every run (FakeTrace.cpp).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_FAKE_FAKEGPU_H
#define MESHC_TEST_RUNTIME_DEVICE_FAKE_FAKEGPU_H

#include "FakeImage.h"
#include "runtime/Device/CudaPlugin.h"

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace meshc::fake {

[[noreturn]] void violate(const std::string &rule);
/// Keeps a text for the thread and returns it: an error of the plugin.
const char *say(const std::string &text);
/// A number from the environment.
long long setting(const char *name, long long otherwise);

// Memory.

/// Null where the GPU has less left.
void *allocateOn(int gpu, uint64_t bytes);
void *allocatePinned(uint64_t bytes);
void releaseMemory(void *address, bool pinned);
uint64_t freeBytesOf(int gpu);
/// What CUDA and NCCL take of a GPU for `what`, once, until the rank is closed.
void takeFor(MeshcCudaRank *rank, const void *what, uint64_t bytes);
void releaseTaken(MeshcCudaRank *rank);
/// Where `bytes` bytes really are, which GPU `gpu` is to reach, and the host by
/// pinned memory only.
void *resolve(const void *address, uint64_t bytes, int gpu);
template <class T> T *resolve(const T *address, uint64_t bytes, int gpu) {
  return static_cast<T *>(
      resolve(static_cast<const void *>(address), bytes, gpu));
}

// Work.

/// Does something, or returns false while it waits for other ranks.
using Work = std::function<bool()>;
/// Makes the work of one run of an operation.
using Maker = std::function<Work()>;

/// What a trace tells of an operation: activities, one after the other.
struct Part {
  MeshcCudaActivityKind kind;
  const char *name;  ///< lives on
  uint64_t duration; ///< ns
};
using Parts = std::vector<Part>;

/// What a trace tells of a piece of work.
struct Traced {
  Parts parts;
  uint32_t call = 0, run = 0;
  uint8_t stream = MESHC_CUDA_STREAMS;
};

struct Node {
  Work work;
  Traced traced;
  uint64_t end = 0; ///< when it was done, in ns
  std::vector<std::shared_ptr<Node>> before;
  bool done = false;
};

struct Graph {
  struct Entry {
    Maker make;
    std::vector<size_t> before;
    Traced traced;
  };
  std::vector<Entry> entries;
  size_t last = 0; ///< which all others come before
};

struct Event {
  std::shared_ptr<Node> node;
  Graph *capture = nullptr; ///< in which it was recorded
  size_t entry = 0;
};

/// Adds an operation to a stream, or to the graph that is being captured.
void enqueue(MeshcCudaRank *rank, MeshcCudaStream stream, Maker make,
             Parts parts);
/// The same for what is done at once.
void enqueueCall(MeshcCudaRank *rank, MeshcCudaStream stream,
                 const std::function<void()> &call, Parts parts);
/// NCCL's operations that are ordered and not done.
extern std::atomic<int> operationsUnderWay;
/// A piece of work is done: makes up its times, after what it waited for.
void recordTimes(MeshcCudaRank *rank, Node &node);
/// Does some of what may be done now.
void progress(MeshcCudaRank *rank);

// Elements of a MeshcType.

int64_t bytesOf(uint8_t type);
double widen(uint8_t type, const void *place);
void narrow(uint8_t type, double value, void *place);

/// The functions of the table, by file.
void addStreams(MeshcCuda &table);
void addKernels(MeshcCuda &table);
void addProducts(MeshcCuda &table);
void addNccl(MeshcCuda &table);
void addTrace(MeshcCuda &table);

} // namespace meshc::fake

struct MeshcCudaRank {
  int gpu = 0;
  std::mt19937 random;
  std::list<std::shared_ptr<meshc::fake::Node>> pending;
  std::shared_ptr<meshc::fake::Node> last[MESHC_CUDA_STREAMS];
  /// While a capture goes on: its graph, and each stream's last entry.
  std::unique_ptr<meshc::fake::Graph> capture;
  bool joined[MESHC_CUDA_STREAMS] = {};
  size_t lastEntry[MESHC_CUDA_STREAMS] = {};
  const meshc::fake::Image *image = nullptr;
  int held = 0;                           ///< memories, events and graphs
  std::map<const void *, uint64_t> taken; ///< bytes, by what they are for
  // Of a trace.
  bool traced = false, keeps = false, captured = false;
  uint32_t call = 0, run = 0;
  uint64_t firstTime = 0;
  std::vector<MeshcCudaActivity> activities;
};

#endif // MESHC_TEST_RUNTIME_DEVICE_FAKE_FAKEGPU_H
