//===- Emulation.h - GPU kernels on the host --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs the code of GPU kernels on the host, for tests: programs that were
/// compiled so (lib/Codegen/Gpu/EmulateGpu) call these functions. It is slow,
/// and says nothing of the time that a GPU takes.
///
/// Blocks run in a random order, several at a time. The threads of a block run
/// in a random order too: in a loop where they do not wait for each other, and
/// else as fibers on the calling thread. The environment's MESHC_EMULATION_SEED
/// repeats an order; without it each process has a seed of its own.
///
/// The process ends with a message, which has the seed, and the exit code of an
/// internal fault where
///
/// - threads wait for each other in ways that would hang a GPU, or leave what
///   it does undefined;
/// - an address is not aligned as the code says, on which a GPU faults;
/// - accesses race (RaceCheck.h).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_EMULATION_H
#define MESHC_RUNTIME_DEVICE_EMULATION_H

#include "meshc/RuntimeAbi.h"

extern "C" {

/// What a thread of an emulated kernel knows; fields of 8 bytes.
struct MeshcEmulatedThread {
  int64_t thread; ///< within its block, along x
  int64_t block;  ///< within the grid, along x
  char *memory;   ///< the block's workgroup memory, 64-byte aligned
  const MeshcContext *context;
  void *const *buffers;
  void *blockState; ///< the emulation's own
};

/// The code of one thread.
typedef void (*MeshcEmulatedCode)(MeshcEmulatedThread *thread);

/// Runs blocks [begin, end) of `threads` threads with `memoryBytes` of
/// workgroup memory. `waits`: whether the code calls the functions below.
void meshc_emulate(const MeshcContext *context, void *const *buffers,
                   int64_t begin, int64_t end, const char *name,
                   MeshcEmulatedCode code, int64_t threads, int64_t memoryBytes,
                   int64_t waits);

/// Waits for all threads of the block.
void meshc_emulated_barrier(MeshcEmulatedThread *thread);

/// The value of another thread of the warp of 32: of number `source`, or, if
/// `isXor`, of the own number with those bits flipped. All threads of the warp
/// call it at once.
uint32_t meshc_emulated_shuffle(MeshcEmulatedThread *thread, uint32_t value,
                                uint32_t source, uint32_t isXor);

/// The values of the warp's threads, or-ed. All of them call it at once.
uint32_t meshc_emulated_or(MeshcEmulatedThread *thread, uint32_t value);

/// Comes before an access of `bytes` bytes of workgroup or global memory at
/// `place` of the model. `kind`: 0 reads, 1 writes, 2 does both as one
/// operation.
void meshc_emulated_access(MeshcEmulatedThread *thread, const void *address,
                           int64_t bytes, int64_t alignment, int64_t kind,
                           const char *place);

/// A memory fence, for all threads of the GPU.
void meshc_emulated_fence(MeshcEmulatedThread *thread);

/// The seed of this process' orders.
uint64_t meshc_emulation_seed(void);

/// Memory that a kernel has from launch to launch, all blocks the same, each
/// run of a program its own; zero at first. `name` tells kernels apart, by its
/// address.
void *meshc_emulated_memory(MeshcEmulatedThread *thread, const char *name,
                            int64_t bytes);

} // extern "C"

#endif // MESHC_RUNTIME_DEVICE_EMULATION_H
