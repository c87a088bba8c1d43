//===- RuntimeAbi.h - the contact of compiled programs and the runtime ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Everything that a compiled program and the runtime know of each other. The
/// compiler (lib/Codegen) emits an object that defines one symbol,
/// `meshc_program`, and calls the `meshc_*` functions declared here; the
/// runtime (runtime/) implements them and supplies `main`. C99 and C++17.
///
/// Sizes are in elements unless a name ends in `Bytes`. A *dim* is a tensor's,
/// an *axis* the mesh's, a *rank* one process (or thread) of the mesh. Ranks
/// are numbered row-major over the mesh axes, the last axis fastest.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIMEABI_H
#define MESHC_RUNTIMEABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Increased by any change of this file that an old object would not survive.
/// The runtime refuses a program of another version.
#define MESHC_ABI_VERSION 3u

/// At most this many mesh axes (an axis set is a 32-bit mask: bit i = axis i).
#define MESHC_MAX_AXES 32u

/// Element types. Storage: F32 4 bytes, BF16 and F16 2, I32 4, I1 one byte
/// (0 or 1).
typedef enum MeshcType {
  MESHC_F32 = 0,
  MESHC_BF16 = 1,
  MESHC_F16 = 2,
  MESHC_I32 = 3,
  MESHC_I1 = 4
} MeshcType;

/// How the values of several ranks become one.
typedef enum MeshcReduction {
  MESHC_SUM = 0,
  MESHC_MAX = 1,
  MESHC_MIN = 2,
  MESHC_PROD = 3
} MeshcReduction;

//===----------------------------------------------------------------------===//
// What the runtime gives to generated code
//===----------------------------------------------------------------------===//

/// One rank's run of a program. Generated code reads these fields (in this
/// order, at their natural offsets); the runtime keeps the rest of its state
/// behind `runtime`.
typedef struct MeshcContext {
  char *arena;           ///< base of this rank's arena, 64-byte aligned
  const int64_t *coords; ///< this rank's coordinate on each mesh axis
  uint64_t seed;         ///< seed of all random numbers of the run
  int64_t step;          ///< number of the current training step, from 0
  void *runtime;         ///< the runtime's own
} MeshcContext;

/// A kernel's code for the host: does units [begin, end) of its work. `buffers`
/// are pointers into the arena, in the order that the compiler gave to
/// meshc_launch. Reentrant; never allocates.
typedef void (*MeshcHostKernel)(const MeshcContext *ctx, void *const *buffers,
                                int64_t begin, int64_t end);

/// A generated kernel, for the target of its program.
///
/// - Host: `function` over [0, extent), split over the rank's threads into
///   pieces of at least `grain` units; the grid's fields are 0.
/// - CUDA: the entry `name` of the program's images, launched with a grid of
///   `blocks` × 1 × 1 blocks of `threads` × 1 × 1 threads; `function` is null.
///   Its parameters are the address of a MeshcContext in the device's memory
///   (whose `arena` and `coords` are the device's too, and whose `runtime` is
///   null), then the buffers' addresses, `bufferCount` of them.
typedef struct MeshcKernel {
  const char *name;
  MeshcHostKernel function;
  int64_t extent, grain; ///< ≥ 1 on the host
  uint32_t bufferCount;  ///< inputs and outputs
  uint32_t blocks, threads;
  uint32_t sharedBytes; ///< per block, dynamic; beyond what the code declares
} MeshcKernel;

/// Runs a kernel of MeshcProgram::kernels on `buffers`. On the host it is done
/// when the call returns; on a device it is ordered after all calls before it.
void meshc_launch(MeshcContext *ctx, const MeshcKernel *kernel,
                  void *const *buffers);

/// C[m,n] = A[m,k] · B[k,n] (row-major; `transA`: A is stored [k,m], `transB`:
/// B is stored [n,k]), repeated `batch` times at the given strides. The
/// products are summed in f32 or better. `accumulate`: adds to C.
typedef struct MeshcGemm {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;             ///< elements between rows as stored
  int64_t batch;                     ///< ≥ 1
  int64_t strideA, strideB, strideC; ///< elements between batch entries
  uint8_t type;                      ///< MeshcType of A and B: F32, BF16, F16
  uint8_t typeC;                     ///< MeshcType of C
  uint8_t transA, transB;
  uint8_t accumulate;
} MeshcGemm;

/// The runtime chooses the implementation by shape from an ordered list
/// (runtime/Blas), the reference loop last.
void meshc_gemm(MeshcContext *ctx, const MeshcGemm *gemm, const void *a,
                const void *b, void *c);

/// What a call may do beside a product C = A·B of one batch. Each is also a
/// kernel, whose buffers are, in this order:
typedef enum MeshcEpilogueKind {
  MESHC_BIAS = 1,            ///< C, bias → D = C + bias
  MESHC_RELU = 2,            ///< C → D = max(C, 0)
  MESHC_RELU_BIAS = 3,       ///< C, bias → D = max(C + bias, 0)
  MESHC_GELU = 4,            ///< C → D = gelu(C) [, C]
  MESHC_GELU_BIAS = 5,       ///< C, bias → D = gelu(C + bias) [, C + bias]
  MESHC_RELU_GRADIENT = 6,   ///< C, H → D = C where H > 0, else 0
  MESHC_GELU_GRADIENT = 7,   ///< C, X → D = C · gelu'(X)
  MESHC_BIAS_GRADIENT_A = 8, ///< A → its sums over k: m elements
  MESHC_BIAS_GRADIENT_B = 9  ///< B → its sums over k: n elements
} MeshcEpilogueKind;

/// A bias has n elements, C and all of its shape are dense, and all have C's
/// type, which is that of A and B. gelu is the tanh form (arXiv 1606.08415).
/// C is only a place: that of D or, where the kernel has it as a result, of
/// what is in brackets above. Of the bias' gradients it is a result.
typedef struct MeshcEpilogue {
  uint32_t kind; ///< MeshcEpilogueKind
  uint32_t reserved;
  const MeshcKernel *kernel; ///< does the same once C is there
} MeshcEpilogue;

/// meshc_gemm and what the epilogue says, in one call where the runtime has
/// such a one, else by its kernel. `buffers`: the kernel's. `mask`: null, or of
/// RELU and RELU_BIAS m rows of ⌈n / 128⌉·16 bytes in which the call may keep
/// where D is positive, and of RELU_GRADIENT those that the call for H got:
/// nobody else writes or reads them.
void meshc_gemm_epilogue(MeshcContext *ctx, const MeshcGemm *gemm,
                         const MeshcEpilogue *epilogue, const void *a,
                         const void *b, void *c, void *const *buffers,
                         void *mask);

typedef enum MeshcCollectiveKind {
  MESHC_ALL_REDUCE = 0,
  MESHC_REDUCE_SCATTER = 1,
  MESHC_ALL_GATHER = 2,
  MESHC_ALL_TO_ALL = 3
} MeshcCollectiveKind;

/// One tensor of a collective; several are combined into one call. With G ranks
/// in the group, *blocked* (outer, inner) means a buffer of outer × G × inner
/// elements whose block p is, for each o < outer, the `inner` elements at
/// (o·G + p)·inner. A block's elements are enumerated in that order.
///
/// - ALL_REDUCE: send and recv are sendOuter·sendInner elements, plain.
/// - REDUCE_SCATTER: send is blocked (sendOuter, sendInner); recv is the block
///   of this rank, plain.
/// - ALL_GATHER: send is plain, recvOuter·recvInner elements; recv is blocked
///   (recvOuter, recvInner), block p from rank p of the group.
/// - ALL_TO_ALL: send is blocked (sendOuter, sendInner), recv blocked
///   (recvOuter, recvInner), sendOuter·sendInner = recvOuter·recvInner; block p
///   of send goes to rank p, block p of recv comes from rank p.
///
/// send == recv is allowed for ALL_REDUCE only; otherwise they do not overlap.
typedef struct MeshcCollectiveItem {
  int64_t sendOuter, sendInner;
  int64_t recvOuter, recvInner;
} MeshcCollectiveItem;

typedef struct MeshcCollective {
  uint8_t kind;      ///< MeshcCollectiveKind
  uint8_t reduction; ///< MeshcReduction; used by the two that reduce
  uint8_t type;      ///< MeshcType of every item
  uint8_t reserved;
  uint32_t axes; ///< the group: ranks that differ on these axes only; within it
                 ///< they are numbered row-major, the last axis fastest
  uint32_t site; ///< index into MeshcProgram::sites
  uint32_t itemCount;
  const MeshcCollectiveItem *items;
} MeshcCollective;

/// Begins a collective. It may run until meshc_wait: before that, `send` is
/// read only and `recv` is left alone. All ranks of a group reach the same
/// collectives in the same order, and they run in it. Every rank gets the same
/// bits. BF16 and F16 sums are accumulated in f32; between GPUs, in groups of
/// more than 64 ranks, the sum is rounded after the first 64 ranks and after
/// every 63 more. On the host it is done when the call returns.
void meshc_collective(MeshcContext *ctx, const MeshcCollective *collective,
                      void *const *send, void *const *recv);

/// Orders all calls after it behind the collective, and those begun before it.
void meshc_wait(MeshcContext *ctx, const MeshcCollective *collective);

//===----------------------------------------------------------------------===//
// What generated code gives to the runtime
//===----------------------------------------------------------------------===//

typedef struct MeshcAxis {
  const char *name;
  int64_t size;
} MeshcAxis;

/// One dim of a tensor and where its local block lies. The dim is cut into
/// equal blocks over `axes` (the first axis outermost): block index =
/// row-major coordinate over them; localSize = size / product of their sizes.
typedef struct MeshcDim {
  const char *name;
  int64_t size;         ///< global
  int64_t localSize;    ///< on each rank
  int64_t localStride;  ///< elements, in this rank's buffer
  uint32_t axisCount;   ///< 0: whole on every rank
  const uint32_t *axes; ///< mesh axis numbers
} MeshcDim;

typedef enum MeshcRole {
  MESHC_PARAMETER = 0, ///< trained; written by initialize, read by eval
  MESHC_OPTIMIZER = 1, ///< the optimizer's state; named "PARAMETER.SLOT"
  MESHC_INPUT = 2,     ///< filled by the runtime before each step
  MESHC_METRIC = 3     ///< rank-0 F32, whole on every rank; the loss is first
} MeshcRole;

/// A tensor that the runtime sees. `dims` are in the order of its declaration,
/// which is also the order in checkpoints; memory order is in the strides. The
/// first dim of an input counts the examples.
typedef struct MeshcTensor {
  const char *name;
  uint8_t role; ///< MeshcRole
  uint8_t type; ///< MeshcType
  uint16_t reserved;
  uint32_t rank;
  const MeshcDim *dims;
  int64_t offsetBytes; ///< in the arena
} MeshcTensor;

/// Where in the source a collective comes from.
typedef struct MeshcSite {
  const char *location;    ///< "gpt.mesh:14:13"
  const char *description; ///< "all_reduce of 'h' over tensor"
} MeshcSite;

/// Where a program's step functions do their work. The functions themselves
/// run on the host, and there give the runtime its orders.
typedef enum MeshcTarget {
  MESHC_HOST = 0, ///< addresses are the host's
  MESHC_CUDA = 1  ///< the arena is in a GPU's memory
} MeshcTarget;

typedef enum MeshcImageKind {
  MESHC_CUBIN = 0, ///< machine code of one chip
  MESHC_PTX = 1    ///< for chips newer than any cubin; ends with a zero byte
} MeshcImageKind;

/// Code of all kernels for one kind of chip. Kernels may keep memory of their
/// own in it: each rank loads it for itself, and runs no kernel twice at once.
typedef struct MeshcImage {
  uint32_t kind; ///< MeshcImageKind
  uint32_t chip; ///< compute capability × 10: 90 is sm_90
  uint64_t sizeBytes;
  const void *data;
} MeshcImage;

typedef struct MeshcProgram {
  uint32_t abiVersion; ///< MESHC_ABI_VERSION
  uint32_t axisCount;
  const MeshcAxis *axes;
  const char *name; ///< the model's
  uint32_t tensorCount;
  uint32_t siteCount;
  const MeshcTensor *tensors;
  const MeshcSite *sites;
  uint32_t target; ///< MeshcTarget
  uint32_t kernelCount;
  const MeshcKernel *kernels;
  uint32_t imageCount; ///< 0 on the host
  uint32_t reserved;
  const MeshcImage *images;
  int64_t arenaBytes; ///< per rank
  /// Writes all parameters and optimizer state from the seed.
  void (*initialize)(MeshcContext *ctx);
  /// One training step on the inputs: updates parameters and optimizer state in
  /// place and writes the metrics. Null where the model has no `train`.
  void (*trainStep)(MeshcContext *ctx);
  /// Writes the metrics of the inputs; changes nothing else.
  void (*evalStep)(MeshcContext *ctx);
  const char *manifest; ///< JSON: what `meshc --report=json` printed
} MeshcProgram;

/// Defined by generated code.
extern const MeshcProgram meshc_program;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MESHC_RUNTIMEABI_H
