//===- FakeCuda.h - CUDA's runtime without a GPU ----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// libcudart.so.13, libcublasLt.so.13, libnccl.so.2 and libcupti.so.13 as far
/// as the CUDA plugin calls them, so that the plugin itself runs without a GPU:
/// the loader finds these by LD_LIBRARY_PATH. They are as strict, and as slow
/// to act, as the real ones may be:
///
/// - Addresses of a GPU cannot be followed by the host: they have a bit set
/// that
///   no address has. Kernels and copies take them, and pinned memory, alone.
/// - Work is put off until an event is asked for, and then done in an order
///   that chance chooses among those that streams and events leave
///   (FAKE_CUDA_SEED). A use that no event covers sees wrong data.
/// - While a thread captures, it may only order work: no memory, event, stream,
///   graph, library or descriptor is made or released, no event is queried, and
///   no kernel, algorithm or NCCL group is used for the first time, which loads
///   code (CUDA C++ Programming Guide, "Prohibited and Unhandled Operations",
///   and stricter where it says nothing).
/// - Handles that were destroyed, or belong to another thread, are not used.
/// - Kernels, those of the plugin too (Kernels.cu, compiled for the host), get
///   the values of their parameters at the launch.
/// - Memory of a GPU is not allocated, nor a group of ranks made, while a rank
///   of the process has an NCCL operation under way.
/// - A thread that destroys its last stream holds nothing else any more. The
///   process does not end by exit while a thread has streams.
///
/// A violation of the rules ends the process with "fake CUDA: …" and SIGABRT.
///
/// | variable of the environment | meaning |
/// |---|---|
/// | FAKE_CUDA_GPUS, FAKE_CUDA_MEMORY, FAKE_CUDA_CHIP | how many (1), their
/// bytes (1 GiB), their chip (90) | | FAKE_CUDA_REFUSES=1 | the driver is too
/// old | | FAKE_CUDA_ENDLESS=KERNEL | that kernel never ends | |
/// FAKE_CUDA_LOG=FILE | every call with its arguments, a line each | |
/// FAKE_CUBLAS_REFUSES=heuristic, call | plain products: by which call | |
/// FAKE_CUDA_NCCL_FAILS=1, FAKE_CUDA_NCCL_HANGS=1 | after some operations | |
/// FAKE_NCCL_NO_END=1 | no group is ever finalized |
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_FAKECUDA_H
#define MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_FAKECUDA_H

#include "test/runtime/Device/Libraries/FakeImage.h"

#include <atomic>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <functional>
#include <list>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace meshc::fake {

[[noreturn]] void violate(const std::string &rule);
/// A number from the environment.
long long setting(const char *name, long long otherwise);
/// Whether the environment's variable has that value.
bool isSet(const char *name, const std::string &value);
/// A line of FAKE_CUDA_LOG, as printf.
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Where `bytes` bytes really are, which GPU `gpu` is to reach, and the host by
/// pinned memory only.
void *resolve(const void *address, uint64_t bytes, int gpu);
/// The same for memory of a GPU.
void *resolveDevice(const void *address, uint64_t bytes, int gpu);
/// Null if the GPU has less memory left.
void *allocateOn(int gpu, uint64_t bytes);
void *allocatePinned(uint64_t bytes);
void releaseMemory(void *address, bool pinned);
uint64_t freeBytesOf(int gpu);
uint64_t totalBytesOf(int gpu);
void changeUsedBytes(int gpu, int64_t by);

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Does something, or returns false while it waits for other ranks.
using Work = std::function<bool()>;
/// Makes the work of one run of an operation.
using Maker = std::function<Work()>;

enum class Activity { Kernel, Copy, Set };

/// What a trace records for an operation: activities, one after the other.
struct Part {
  Activity activity;
  const char *name;  ///< lives on
  uint64_t duration; ///< ns
};
using Parts = std::vector<Part>;

struct Node {
  Work work;
  Parts parts;
  std::vector<std::shared_ptr<Node>> before;
  bool done = false;
  uint64_t end = 0;         ///< when it was done, in ns
  uint64_t graphNode = 0;   ///< its id; 0: not of a graph
  uint32_t correlation = 0; ///< of the call that ordered it
  uint32_t stream = 0;
};

/// A thread of the host with its GPU, and what it holds.
struct Thread {
  int gpu = 0;
  std::mt19937 random;
  std::list<std::shared_ptr<Node>> pending;
  CUgraph_st *capture = nullptr; ///< that goes on
  cudaError_t lastError = cudaSuccess;
  int streams = 0, held = 0; ///< held: all other handles and memories
  std::set<const void *> used;
  int64_t taken = 0; ///< bytes that first uses took of the GPU
};
Thread &self();

/// A call that a thread may not make while it captures.
void forbidInCapture(const char *call);
/// The first use of a kernel, an algorithm or a group takes memory of the GPU,
/// and is not in a capture.
void useFirst(const void *what, int64_t bytes, const std::string &name);
/// Adds an operation to a stream, or to the graph that is being captured.
void enqueue(cudaStream_t stream, Maker make, Parts parts);
/// The same for what is done at once.
void enqueueCall(cudaStream_t stream, std::function<void()> call, Parts parts);
/// Does some of what may be done now.
void progress();
/// NCCL's operations that are ordered and not done.
extern std::atomic<int> operationsUnderWay;

/// A handle that lives, or the end of the process. `what` as in "an event".
void expectAlive(const void *handle, const char *what);
void noteBorn(const void *handle);
void noteDead(const void *handle, const char *what);

/// The receiver of notifications from libcupti.so.13; null while nobody
/// listens.
struct Observer {
  virtual ~Observer() = default;
  /// A call begins; its correlation id. `asks`: it only queries an event.
  virtual void onCall(uint32_t correlation, bool asks) = 0;
  virtual void onNodeMade(cudaGraph_t graph, uint64_t node) = 0;
  virtual void onNodeCloned(cudaGraph_t graph, uint64_t node,
                            uint64_t original) = 0;
  virtual void onDone(int gpu, Node &node) = 0;
};
extern std::atomic<Observer *> observer;
/// Calls the observer if there is one; on another thread if `isOtherThread`, as
/// NCCL does some time after a call.
void tellObserver(const std::function<void(Observer &)> &call);
extern thread_local bool isOtherThread;
/// Begins a call that orders work, or (asks) one that does not.
void beginCall(bool asks = false);

} // namespace meshc::fake

struct CUstream_st {
  meshc::fake::Thread *owner;
  uint32_t number; ///< within the process, from 1
  std::shared_ptr<meshc::fake::Node> last;
  CUgraph_st *capture = nullptr; ///< that it belongs to
  size_t lastEntry = 0;
};

struct CUgraph_st {
  struct Entry {
    meshc::fake::Maker make;
    std::vector<size_t> before;
    meshc::fake::Parts parts;
    uint64_t id;
  };
  std::vector<Entry> entries;
  size_t last = 0; ///< which all others come before
  cudaStream_t origin = nullptr;
  std::vector<cudaStream_t> joined;
};

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_FAKECUDA_H
