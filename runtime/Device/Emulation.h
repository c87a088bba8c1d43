//===- Emulation.h - GPU kernels on the host --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs the code of GPU kernels on the host, for tests. Programs compiled for
/// emulation (lib/Codegen/Gpu/EmulateGpu) call these functions. Emulation is
/// slow, and its times say nothing about a GPU.
///
/// Blocks run in a random order, several at a time. The threads of a block run
/// in a random order too: in a loop if they do not wait for each other, and
/// otherwise as fibers on the calling thread. The environment variable
/// MESHC_EMULATION_SEED repeats an order; without it each process has its own
/// seed.
///
/// The process ends with a message that contains the seed, and with the exit
/// code of an internal fault, if
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
  void *blockState; ///< private to the emulation
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

/// The value of another thread of the warp of 32: thread number `source`, or,
/// if `isXor`, the own number with those bits flipped. All threads of the warp
/// call it together.
uint32_t meshc_emulated_shuffle(MeshcEmulatedThread *thread, uint32_t value,
                                uint32_t source, uint32_t isXor);

/// The bitwise or of the warp's values. All threads of the warp call it
/// together.
uint32_t meshc_emulated_or(MeshcEmulatedThread *thread, uint32_t value);

/// Announces an access of `bytes` bytes of workgroup or global memory at
/// `place` in the model. `kind`: 0 reads, 1 writes, 2 does both atomically.
void meshc_emulated_access(MeshcEmulatedThread *thread, const void *address,
                           int64_t bytes, int64_t alignment, int64_t kind,
                           const char *place);

/// A memory fence, for all threads of the GPU.
void meshc_emulated_fence(MeshcEmulatedThread *thread);

/// The seed of this process' orders.
uint64_t meshc_emulation_seed(void);

/// Memory that persists between launches of a kernel, shared by all blocks,
/// separate for each run of a program; initially zero. The address of `name`
/// identifies the kernel.
void *meshc_emulated_memory(MeshcEmulatedThread *thread, const char *name,
                            int64_t bytes);

} // extern "C"

#endif // MESHC_RUNTIME_DEVICE_EMULATION_H
