//===- FakeCuda.h - CUDA's runtime without a GPU ----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fakes of libcudart.so.13, libcublasLt.so.13, libnccl.so.2 and
/// libcupti.so.13, with the functions that the CUDA plugin calls, so that the
/// plugin itself runs without a GPU. The loader finds them by LD_LIBRARY_PATH.
/// They are as strict as the real libraries may be, and delay work as long:
///
/// - The host cannot follow addresses of a GPU: they have a bit set that no
///   address of the host has. Only kernels and copies accept them and pinned
///   memory.
/// - Work waits until an event is queried. It then runs in a random order
///   (FAKE_CUDA_SEED) among those that streams and events allow, so a use that
///   no event protects sees wrong data.
/// - A thread that captures may only order work. It may not create or release
///   memory, events, streams, graphs, libraries or descriptors, query an event,
///   or use a kernel, an algorithm or an NCCL group for the first time, which
///   loads code (CUDA C++ Programming Guide, "Prohibited and Unhandled
///   Operations"; the fakes are stricter where it leaves a case open).
/// - Handles that were destroyed or belong to another thread may not be used.
/// - Kernels, including the plugin's own (Kernels.cu, compiled for the host),
///   get the values that their parameters have at the launch.
/// - Kernels of a program are those of its image: functions of the host
///   (FakeImage.h), or PTX, which is interpreted (test/gpu/ptx).
/// - While a rank of the process has an NCCL operation in flight, no GPU memory
///   may be allocated and no group of ranks created.
/// - A thread that destroys its last stream may hold no other handle. The
///   process may not exit while a thread has streams.
///
/// A violation of the rules ends the process with "fake CUDA: …" and SIGABRT.
///
/// Environment variables:
///
/// - FAKE_CUDA_GPUS, FAKE_CUDA_MEMORY, FAKE_CUDA_CHIP: the number of GPUs (1),
///   their bytes (1 GiB), their chip (90). With a chip for which a program has
///   no machine code, such as 120, the runtime loads its PTX.
/// - FAKE_CUDA_REFUSES=1: the driver is too old.
/// - FAKE_CUDA_ENDLESS=KERNEL: that kernel never ends.
/// - FAKE_CUDA_LOG=FILE: logs every call with its arguments, one per line.
/// - FAKE_CUBLAS_REFUSES=heuristic, value or call: what rejects products
///   without an epilogue.
/// - FAKE_CUDA_NCCL_FAILS=1, FAKE_CUDA_NCCL_HANGS=1: NCCL fails or hangs after
///   some operations.
/// - FAKE_NCCL_HALF_SUMS=1: NCCL sums bf16 and f16, as the user asked for.
/// - FAKE_NCCL_REGISTERED=1: NCCL operates on registered memory alone, as the
///   user asked for.
/// - FAKE_NCCL_NO_END=1: no group is ever finalized.
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
/// The allocation that has an address which `gpu` may access: where it begins,
/// its bytes, and where they really are. Returns false if there is none.
bool findBlock(uint64_t address, int gpu, uint64_t &begin, uint64_t &bytes,
               void *&host);
enum class Memory { Plain, Nccl, Pinned };
/// Null if the GPU has less memory left.
void *allocateOn(int gpu, uint64_t bytes, Memory memory = Memory::Plain);
void *allocatePinned(uint64_t bytes);
/// Of cudaMalloc or ncclMemAlloc; notes the handle.
cudaError_t allocateHere(void **address, uint64_t bytes, Memory memory);
void releaseMemory(void *address, Memory memory);
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

/// Ends the process if the calling thread captures; `call` is forbidden then.
void forbidInCapture(const char *call);
/// Accounts for the GPU memory that the first use of a kernel, an algorithm or
/// a group allocates. The first use may not be in a capture.
void useFirst(const void *what, int64_t bytes, const std::string &name);
/// Adds an operation to a stream, or to the graph that is being captured.
void enqueue(cudaStream_t stream, Maker make, Parts parts);
/// The same for an operation that runs at once.
void enqueueCall(cudaStream_t stream, std::function<void()> call, Parts parts);
/// Runs some of the operations that can run now.
void progress();
/// The number of NCCL operations that are enqueued and not finished.
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
