//===- KernelAbi.h - kernels and loops --------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of RuntimeAbi.h, which includes it, about the context of a rank,
/// the launches of kernels, and loops. C99 and C++17.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_KERNELABI_H
#define MESHC_KERNELABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One rank's run of a program. Generated code reads these fields (in this
/// order, at their natural offsets); the runtime keeps the rest of its state
/// behind `runtime`.
typedef struct MeshcContext {
  char *arena;           ///< base of this rank's arena, 64-byte aligned
  const int64_t *coords; ///< this rank's coordinate on each mesh axis
  uint64_t seed;         ///< seed of all random numbers of the run
  int64_t step;          ///< number of the current training step, from 0
  /// Three numbers v, 1 - v and -ln v for each of the program's settings, in
  /// their order: v is the setting's value in this run. Each is rounded once,
  /// from f64. Not used outside of trainStep.
  const float *settings;
  void *runtime; ///< private to the runtime
} MeshcContext;

/// A kernel's host code. It computes units [begin, end) of the kernel's work.
/// `buffers` are pointers into the arena, in the order of meshc_launch.
/// Reentrant; never allocates.
typedef void (*MeshcHostKernel)(const MeshcContext *ctx, void *const *buffers,
                                int64_t begin, int64_t end);

/// A generated kernel, for the target of its program.
///
/// - Host: `function` over [0, extent), split over the rank's threads into
///   pieces of at least `grain` units; the grid's fields are 0.
/// - CUDA: the entry `name` of the program's images, launched with a grid of
///   `blocks` × 1 × 1 blocks of `threads` × 1 × 1 threads; `function` is null.
///   Its parameters are the address of a MeshcContext in device memory, then
///   `bufferCount` buffer addresses. That context's `arena` and `coords` are
///   device pointers, and its `runtime` is null.
typedef struct MeshcKernel {
  const char *name;
  MeshcHostKernel function;
  int64_t extent, grain; ///< ≥ 1 on the host
  uint32_t bufferCount;  ///< inputs and outputs
  uint32_t blocks, threads;
  uint32_t sharedBytes; ///< dynamic shared memory per block
} MeshcKernel;

/// Runs a kernel of MeshcProgram::kernels on `buffers`. On the host the kernel
/// has finished when the call returns; on a device it runs after all earlier
/// calls.
void meshc_launch(MeshcContext *ctx, const MeshcKernel *kernel,
                  void *const *buffers);

/// The calls of one iteration of a loop, those of loops in it as often as they
/// run at most.
typedef struct MeshcLoop {
  int64_t launches;
  int64_t products;  ///< meshc_gemm and meshc_gemm_epilogue
  int64_t epilogues; ///< meshc_gemm_epilogue alone
  int64_t collectives;
} MeshcLoop;

/// Whether a loop that may end early goes on: 1 if the I1 at `condition` is
/// true after all earlier calls, else 0. `left`: how many more iterations the
/// loop has at most; with 0 it does not go on, and nothing is read. The
/// condition is the same on all ranks. On a device, the call waits until the
/// condition is computed.
int32_t meshc_goes_on(MeshcContext *ctx, const MeshcLoop *loop,
                      const void *condition, int64_t left);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MESHC_KERNELABI_H
