//===- CudaPlugin.h - the contact with libmeshc_cuda.so -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interface between the runtime and libmeshc_cuda.so. Only that library is
/// linked to CUDA's libraries, and it is opened when a program with target CUDA
/// runs. The interface has C types only, so that both sides may come from
/// different compilers. The plugin carries out single operations; the runtime
/// decides their order (CudaDevice.h).
///
/// Functions return null, or the text of an error, valid until the thread's
/// next call. One thread calls the functions of a rank.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_CUDAPLUGIN_H
#define MESHC_RUNTIME_DEVICE_CUDAPLUGIN_H

#include "meshc/RuntimeAbi.h"

#include <stddef.h>
#include <stdint.h>

extern "C" {

#define MESHC_CUDA_PLUGIN_VERSION 6u

/// Maximum number of arrays in one reduction or copy; larger groups on one GPU
/// are refused.
#define MESHC_CUDA_MAX_ARRAYS 64

/// Bytes that the ranks of a new NCCL group must share.
#define MESHC_CUDA_NCCL_ID_BYTES 128

/// A rank on its GPU: streams, handles, loaded code.
typedef struct MeshcCudaRank MeshcCudaRank;

typedef enum MeshcCudaStream {
  MESHC_CUDA_COMPUTE = 0,
  MESHC_CUDA_COMMUNICATION = 1,
  MESHC_CUDA_COPY = 2, ///< of inputs, during a running step
  MESHC_CUDA_STREAMS = 3
} MeshcCudaStream;

/// Versions are 1000 × major + 10 × minor; 0: none.
typedef struct MeshcCudaSystem {
  int driver, runtime;
  int gpus;         ///< that this process may use
  char reason[256]; ///< why there is none
  int absent;       ///< no driver or no card, and no other fault
} MeshcCudaSystem;

typedef struct MeshcCudaGpu {
  char name[256];
  uint32_t chip; ///< compute capability × 10
  uint64_t totalBytes;
  uint64_t identity; ///< of this card, the same in every process
} MeshcCudaGpu;

/// Elements that lie in memory as runs of equal length: element e is at
/// (e / runLength) · stride + e mod runLength.
typedef struct MeshcCudaRuns {
  void *base;
  int64_t runLength, stride; ///< elements
} MeshcCudaRuns;

/// Where a reduction has partial results, which are F32.
typedef enum MeshcCudaPartials {
  MESHC_CUDA_NO_PARTIALS = 0,
  MESHC_CUDA_WRITES_PARTIALS = 1, ///< in its destinations
  MESHC_CUDA_READS_PARTIALS = 2   ///< in its sources
} MeshcCudaPartials;

/// Reduces `count` elements of the sources, in their order, into every
/// destination. A single source is copied. BF16 and F16 are accumulated in f32.
/// MAX and MIN return NaN if any operand is NaN. For I1, SUM and MAX are the
/// logical or, PROD and MIN the logical and. A destination may be one of the
/// sources, element by element. Sources or destinations that are partial
/// results are F32; the others are then BF16 or F16.
typedef struct MeshcCudaCombine {
  uint8_t type, reduction;                ///< MeshcType, MeshcReduction
  uint8_t partials;                       ///< MeshcCudaPartials
  uint32_t sourceCount, destinationCount; ///< 1 … MESHC_CUDA_MAX_ARRAYS
  int64_t count;
  MeshcCudaRuns sources[MESHC_CUDA_MAX_ARRAYS];
  MeshcCudaRuns destinations[MESHC_CUDA_MAX_ARRAYS];
} MeshcCudaCombine;

/// What a product's call computes beside the product, and its arrays, which
/// meshc/Epilogues.def describes.
typedef struct MeshcCudaEpilogue {
  uint32_t kind;
  const void *other; ///< the bias or X, if the kind reads one; else null
  void *result;      ///< D
  void *kept;        ///< gelu's argument, if the kind may keep it; may be null
  void *mask;        ///< read, or written if it is not null, by some kinds
} MeshcCudaEpilogue;

/// The precision to which f32 factors of a product are rounded.
typedef enum MeshcCudaRounding {
  MESHC_CUDA_EXACT = 0,
  MESHC_CUDA_TO_TF32 = 1,
  MESHC_CUDA_TO_BF16 = 2
} MeshcCudaRounding;

/// Who computed a product.
typedef enum MeshcCudaWay {
  MESHC_CUDA_NOBODY = 0,
  MESHC_CUDA_CUBLAS = 1,
  MESHC_CUDA_OWN_KERNEL =
      2 ///< what cuBLAS does not support, some 100 times slower
} MeshcCudaWay;

typedef enum MeshcCudaActivityKind {
  MESHC_CUDA_KERNEL = 0,
  MESHC_CUDA_COPY_MEMORY = 1,
  MESHC_CUDA_SET_MEMORY = 2
} MeshcCudaActivityKind;

/// An activity of the GPU for a rank.
typedef struct MeshcCudaActivity {
  uint8_t kind; ///< MeshcCudaActivityKind
  /// MeshcCudaStream; MESHC_CUDA_STREAMS if unknown, as in graphs.
  uint8_t stream;
  uint16_t reserved;
  uint32_t
      call; ///< as given to traceCall when it was ordered or captured; 0: none
  uint32_t run; ///< as given to traceCall when it, or its graph, was launched
  uint32_t reserved2;
  uint64_t begin, end; ///< ns since 1970
  const char *name;    ///< a kernel's linker name; else null
} MeshcCudaActivity;

struct MeshcCuda {
  uint32_t version; ///< MESHC_CUDA_PLUGIN_VERSION

  /// Describes this machine. Succeeds without a driver too.
  const char *(*system)(MeshcCudaSystem *system);
  /// Allocates no GPU memory.
  const char *(*describe)(int gpu, MeshcCudaGpu *description);

  /// Makes the calling thread a rank on `gpu`, with a workspace of
  /// `workspaceBytes` for matrix products. `freeBytes`: memory of the GPU that
  /// was free before.
  const char *(*open)(int gpu, uint64_t workspaceBytes, MeshcCudaRank **rank,
                      uint64_t *freeBytes);
  /// Does not wait; the caller already has.
  void (*close)(MeshcCudaRank *rank);
  /// GPU memory that is free at present.
  const char *(*freeMemory)(MeshcCudaRank *rank, uint64_t *bytes);

  const char *(*allocate)(MeshcCudaRank *rank, uint64_t bytes, void **memory);
  void (*release)(MeshcCudaRank *rank, void *memory);
  /// Host memory that the GPU reads and writes at full speed.
  const char *(*allocateHost)(MeshcCudaRank *rank, uint64_t bytes,
                              void **memory);
  void (*releaseHost)(MeshcCudaRank *rank, void *memory);
  /// Between any two memories; host memory must come from allocateHost.
  const char *(*copy)(MeshcCudaRank *rank, MeshcCudaStream stream, void *to,
                      const void *from, uint64_t bytes);
  const char *(*zero)(MeshcCudaRank *rank, MeshcCudaStream stream, void *memory,
                      uint64_t bytes);

  const char *(*newEvent)(MeshcCudaRank *rank, void **event);
  void (*dropEvent)(MeshcCudaRank *rank, void *event);
  const char *(*record)(MeshcCudaRank *rank, void *event,
                        MeshcCudaStream stream);
  const char *(*wait)(MeshcCudaRank *rank, MeshcCudaStream stream, void *event);
  /// Whether the work before the event's last record is done. Also reports
  /// errors of earlier work.
  const char *(*query)(MeshcCudaRank *rank, void *event, int *done);

  /// Loads a program's code for this GPU; called once.
  const char *(*load)(MeshcCudaRank *rank, const void *image, uint64_t bytes);
  const char *(*findKernel)(MeshcCudaRank *rank, const char *name,
                            uint32_t sharedBytes, void **kernel);
  const char *(*launch)(MeshcCudaRank *rank, MeshcCudaStream stream,
                        void *kernel, uint32_t blocks, uint32_t threads,
                        uint32_t sharedBytes, void **parameters);
  /// On the compute stream. With an epilogue (or null) if cuBLAS supports it
  /// for the product, otherwise nothing is done. `c` is written if there is no
  /// epilogue or it sums a factor. `rounding` applies to f32 factors. The
  /// first call for a product must not be inside a capture.
  const char *(*multiply)(MeshcCudaRank *rank, const MeshcGemm *gemm,
                          const MeshcCudaEpilogue *epilogue,
                          MeshcCudaRounding rounding, const void *a,
                          const void *b, void *c, MeshcCudaWay *way);

  /// The work given to the compute stream between the two, and to the other
  /// streams behind it by events, becomes a graph and is not run. The compute
  /// stream must wait for the other streams before the end. endCapture always
  /// ends the capture.
  const char *(*beginCapture)(MeshcCudaRank *rank);
  const char *(*endCapture)(MeshcCudaRank *rank, void **graph);
  const char *(*launchGraph)(MeshcCudaRank *rank, void *graph);
  void (*dropGraph)(MeshcCudaRank *rank, void *graph);

  const char *(*combine)(MeshcCudaRank *rank, MeshcCudaStream stream,
                         const MeshcCudaCombine *combine);
  /// to[column][row] = from[row][column], for blocks of `blockBytes`.
  const char *(*transpose)(MeshcCudaRank *rank, MeshcCudaStream stream,
                           void *to, const void *from, int64_t rows,
                           int64_t columns, int64_t blockBytes);
  /// Writes a number to host memory.
  const char *(*mark)(MeshcCudaRank *rank, MeshcCudaStream stream,
                      uint32_t *place, uint32_t value);

  // Traces of the GPU's activities, through CUPTI, a library that traceLoad
  // opens and that may be absent.

  const char *(*traceLoad)(void);
  /// Starts to trace the rank's work; call it before the rank's first capture.
  const char *(*traceOpen)(MeshcCudaRank *rank);
  /// Attributes work ordered from now on to `call`, and launches to `run`; 0:
  /// to none.
  void (*traceCall)(MeshcCudaRank *rank, uint32_t call, uint32_t run);
  /// Discards the activities so far. The work of all ranks of the process must
  /// be done.
  const char *(*traceStart)(MeshcCudaRank *rank);
  /// The activities since then, in any order, valid until the next call, and
  /// how many were lost. The work of all ranks of the process must be done.
  const char *(*traceStop)(MeshcCudaRank *rank,
                           const MeshcCudaActivity **activities,
                           uint64_t *count, uint64_t *lost);
  /// Called once for each traceOpen.
  void (*traceClose)(MeshcCudaRank *rank);

  // NCCL, a library that ncclLoad opens and that may be absent. Calls on groups
  // return before they are done: poll until not busy before the next call for
  // the group. All of them work on the communication stream.

  const char *(*ncclLoad)(int *version);
  const char *(*ncclId)(void *id);
  const char *(*ncclOpen)(MeshcCudaRank *rank, const void *id, int size,
                          int index, void **group);
  /// Ranks of one `color` become a group, in the order of `key`. Poll `group`
  /// first, which reports errors of the creation of `part`, then `part`.
  const char *(*ncclSplit)(MeshcCudaRank *rank, void *group, int color, int key,
                           void **part);
  /// Whether a call is still in progress; also reports errors from any time.
  const char *(*ncclPoll)(void *group, int *busy);
  /// Call it after releasing the graphs that use the group. Waits for the other
  /// ranks' ncclClose, but not forever: if they do not arrive, the group is
  /// left as it is, and so are all groups that are closed afterwards.
  const char *(*ncclClose)(void *group);
  /// Calls between the two form one operation. ncclEnd reports the results of
  /// the calls since `ncclBegin`.
  const char *(*ncclBegin)(void);
  const char *(*ncclEnd)(void);
  const char *(*ncclAllReduce)(MeshcCudaRank *rank, void *group,
                               const void *send, void *recv, int64_t count,
                               MeshcType type, MeshcReduction reduction);
  const char *(*ncclReduceScatter)(MeshcCudaRank *rank, void *group,
                                   const void *send, void *recv, int64_t count,
                                   MeshcType type, MeshcReduction reduction);
  const char *(*ncclAllGather)(MeshcCudaRank *rank, void *group,
                               const void *send, void *recv, int64_t bytes);
  const char *(*ncclSend)(MeshcCudaRank *rank, void *group, const void *data,
                          int64_t bytes, int to);
  const char *(*ncclReceive)(MeshcCudaRank *rank, void *group, void *data,
                             int64_t bytes, int from);
  /// GPU memory that NCCL can map into other ranks and switches (NVIDIA's NCCL
  /// manual, "User Buffer Registration").
  const char *(*ncclAllocate)(MeshcCudaRank *rank, uint64_t bytes,
                              void **memory);
  /// Call it after ncclUnregister.
  const char *(*ncclRelease)(MeshcCudaRank *rank, void *memory);
  /// Lets the group's operations access this memory directly. All ranks of the
  /// group register theirs, and operations use the same offsets in it on each.
  const char *(*ncclRegister)(void *group, void *memory, uint64_t bytes,
                              void **registration);
  /// Call it after releasing the graphs that use the group, and before
  /// ncclClose.
  const char *(*ncclUnregister)(void *group, void *registration);
};

/// The plugin's one symbol.
__attribute__((visibility("default"))) const MeshcCuda *meshc_cuda_plugin(void);
using MeshcCudaPluginFunction = const MeshcCuda *(*)(void);
}

#endif // MESHC_RUNTIME_DEVICE_CUDAPLUGIN_H
