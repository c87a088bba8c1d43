//===- RuntimeAbi.h - interface of compiled programs and the runtime ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The binary interface between a compiled program and the runtime. The
/// compiler (lib/Codegen) emits an object that defines one symbol,
/// `meshc_program`, and calls the `meshc_*` functions declared here; the
/// runtime (runtime/) implements them and supplies `main`. C99 and C++17.
///
/// Sizes are in elements unless a name ends in `Bytes`. A *dim* belongs to a
/// tensor and an *axis* to the mesh; a *rank* is one process (or thread) of the
/// mesh. Ranks are numbered row-major over the mesh axes, the last axis
/// fastest.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIMEABI_H
#define MESHC_RUNTIMEABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Increase it with every change of this file that breaks existing objects. The
/// runtime rejects programs of another version.
#define MESHC_ABI_VERSION 17u

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

/// How the values of several ranks are combined: MESHC_SUM, MESHC_MAX,
/// MESHC_MIN, MESHC_PROD (Reductions.def).
typedef enum MeshcReduction {
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  MESHC_##CONSTANT = number,
#include "meshc/Reductions.def"
} MeshcReduction;

//===----------------------------------------------------------------------===//
// What the runtime provides to generated code
//===----------------------------------------------------------------------===//

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

/// C[m,n] = A[m,k] · B[k,n] (row-major; `transA`: A is stored [k,m], `transB`:
/// B is stored [n,k]), repeated `batch` times at the given strides. The
/// products are summed in f32 or better. `accumulate` adds the result to C. On
/// the host the call may overwrite the `scratchBytes` bytes of the arena at
/// `scratchOffset`, which contain nothing else while it runs; GemmScratch.h
/// says how many suffice. With fewer, or none, the call is slower.
///
/// `cut` is null, or the outermost of the dims along which k runs, if its
/// blocks may have padding (MeshcDim): k / cut->localSize elements along k
/// belong to each of its entries. Only those of entries that exist on the rank
/// count, the first ones. Without any, the product is 0.
typedef struct MeshcGemm {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;             ///< elements between rows as stored
  int64_t batch;                     ///< ≥ 1
  int64_t strideA, strideB, strideC; ///< elements between batch entries
  uint8_t type;                      ///< MeshcType of A and B: F32, BF16, F16
  uint8_t typeC;                     ///< MeshcType of C
  uint8_t transA, transB;
  uint8_t accumulate;
  int64_t scratchOffset, scratchBytes; ///< in the arena; multiples of 64
  const struct MeshcDim *cut;
} MeshcGemm;

/// The runtime chooses the implementation by shape from an ordered list
/// (runtime/Blas) that ends with the reference loop.
void meshc_gemm(MeshcContext *ctx, const MeshcGemm *gemm, const void *a,
                const void *b, void *c);

/// What a call may compute in addition to a product C = A·B of one batch:
/// MESHC_BIAS, MESHC_RELU_GRADIENT … (Epilogues.def, which also says what each
/// kind reads and computes, and the buffers of its kernel).
typedef enum MeshcEpilogueKind {
#define MESHC_EPILOGUE(CONSTANT, Kind, name, number, Operand, Function,        \
                       Result, Mask, Kept, text)                               \
  MESHC_##CONSTANT = number,
#include "meshc/Epilogues.def"
} MeshcEpilogueKind;

/// A bias has n elements. C and all tensors of its shape are dense. All tensors
/// have the type of A and B. C is scratch space: it shares its buffer with D
/// or, if the kernel stores the argument of a function, with that. With sums of
/// a factor C is a result of its own.
typedef struct MeshcEpilogue {
  uint32_t kind; ///< MeshcEpilogueKind
  uint32_t reserved;
  const MeshcKernel *kernel; ///< computes the same from a finished C
} MeshcEpilogue;

/// Runs meshc_gemm and the epilogue: in one library call if the runtime has
/// one, otherwise with the epilogue's kernel. `buffers` are those of the
/// kernel. `mask` is null or m rows of ⌈n / 128⌉·16 bytes. Kinds that write a
/// mask may record there where D is positive; those that read one get the mask
/// of the call that computed X. Only these two calls access the mask.
void meshc_gemm_epilogue(MeshcContext *ctx, const MeshcGemm *gemm,
                         const MeshcEpilogue *epilogue, const void *a,
                         const void *b, void *c, void *const *buffers,
                         void *mask);

typedef enum MeshcCollectiveKind {
  MESHC_ALL_REDUCE = 0,
  MESHC_REDUCE_SCATTER = 1,
  MESHC_ALL_GATHER = 2,
  MESHC_ALL_TO_ALL = 3,
  MESHC_PERMUTE = 4
} MeshcCollectiveKind;

/// One tensor of a collective; several are combined into one call.
///
/// A *blocked* buffer (outer, entries, inner) has outer × entries × inner
/// elements. The group's axes cut the entries into a block for each of its
/// ranks, axis by axis in the mesh's order, as they cut a dim (MeshcDim). Block
/// p has s = ⌈entries / ranks of the group⌉ entries, and begins at start_p. Its
/// first count_p entries exist. For each o < outer, it has the `inner` elements
/// of each of its entries. If the ranks divide the entries, start_p = p · s,
/// count_p = s. A *plain* buffer has one block, padding included: outer × s ×
/// inner elements. CollectiveBlocks.h has the arithmetic.
///
/// Only entries that exist are defined in what is received; padding of a plain
/// buffer may be changed.
///
/// - ALL_REDUCE: send and recv are outer · entries · inner elements. Nothing
///   is cut.
/// - REDUCE_SCATTER: send is blocked (sendOuter, sendEntries, sendInner); recv
///   is the block of this rank, plain.
/// - ALL_GATHER: send is plain; recv is blocked (recvOuter, recvEntries,
///   recvInner), block p from rank p of the group.
/// - ALL_TO_ALL: send is blocked (sendOuter, sendEntries, sendInner), recv
///   blocked (recvOuter, recvEntries, recvInner). Block p of send goes to rank
///   p, block p of recv comes from rank p. Both are the same sequence of
///   elements, padding included; those that exist in both are moved. If some do
///   not exist, s · inner of one side divides `inner` of the other.
/// - PERMUTE: send and recv are outer · entries · inner elements, padding
///   included. Nothing is cut: each rank sends all of them to one rank and
///   receives as many from one rank, perhaps itself (MeshcPermutation). In a
///   round (MeshcRound) some ranks send to nobody, and some receive from
///   nobody: their recv then holds anything.
///
/// In the other kinds, send and recv have equal numbers.
/// send == recv is allowed for ALL_REDUCE only; otherwise they do not overlap.
typedef struct MeshcCollectiveItem {
  int64_t sendOuter, sendEntries, sendInner;
  int64_t recvOuter, recvEntries, recvInner;
} MeshcCollectiveItem;

/// One round of an exchange between blocks of two sizes. A dim is cut into
/// blocks of sendBlock entries, block p on the rank with number p. The rank
/// with number q needs recvBlock of the entries, from q · recvBlock + offset
/// on. Several rounds move them. In each, a rank sends to at most one rank and
/// receives from at most one. If sendBlock ≥ recvBlock, sender p sends to
/// receiver ⌊(p · sendBlock - offset) / recvBlock⌋ + number; otherwise receiver
/// q receives from sender ⌊(q · recvBlock + offset) / sendBlock⌋ + number. A
/// rank whose counterpart would not be one of 0 … n - 1 does not take part.
typedef struct MeshcRound {
  int64_t sendBlock, recvBlock; ///< both 0 if a permute is not a round
  int64_t offset, number;
} MeshcRound;

/// Who sends to whom in a PERMUTE. The ranks of the group are numbered twice,
/// row-major over the group's axes: as senders with the axes in one order, as
/// receivers with the axes in another. Sender p sends to receiver
/// (p + shift) mod n, of n ranks, or as the round says. An order is the first k
/// bytes of its array, for a group over k axes: the places of axes among the
/// group's axes in the mesh's order, each of 0 … k - 1 once. The size does not
/// depend on the number of ranks.
typedef struct MeshcPermutation {
  uint8_t senders[MESHC_MAX_AXES], receivers[MESHC_MAX_AXES];
  int64_t shift; ///< 0 ≤ shift < n; 0 in a round
  MeshcRound round;
} MeshcPermutation;

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
  const MeshcPermutation *permutation; ///< of a PERMUTE; otherwise null
} MeshcCollective;

/// Begins a collective. It may run until meshc_wait; until then, generated code
/// does not write `send` and does not touch `recv`. All ranks of a group call
/// the same collectives in the same order, and the collectives run in that
/// order. Every rank gets the same bits. BF16 and F16 sums are accumulated in
/// f32; between GPUs, in groups of more than 64 ranks, the sum is rounded after
/// the first 64 ranks and after every 63 more. On the host the collective has
/// finished when the call returns.
void meshc_collective(MeshcContext *ctx, const MeshcCollective *collective,
                      void *const *send, void *const *recv);

/// Makes all later calls wait for this collective and all earlier ones. If it
/// runs several times at once, the first one counts; if it does not run,
/// nothing happens: in a loop the first iteration has no collective of the
/// previous one to wait for.
void meshc_wait(MeshcContext *ctx, const MeshcCollective *collective);

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

//===----------------------------------------------------------------------===//
// What generated code provides to the runtime
//===----------------------------------------------------------------------===//

typedef struct MeshcAxis {
  const char *name;
  int64_t size;
} MeshcAxis;

/// One dim of a tensor and its local block. The first of `axes` cuts the dim
/// into blocks of ⌈size / axis⌉ entries, and each further axis cuts every such
/// block again in the same way. The block of the last axis has localSize =
/// ⌈size / product of the axis sizes⌉ entries on every rank. A rank's block
/// begins at the sum over the axes of coordinate × entries of that axis's
/// block. Where it passes the end of the dim or of the block of an earlier
/// axis, its last entries are padding, which may hold anything.
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
  MESHC_OPTIMIZER = 1, ///< the optimizer's state; named "PARAMETER.SLOT",
                       ///< or "@NAME" where it belongs to no parameter
  MESHC_INPUT = 2,     ///< filled by the runtime before each step
  MESHC_METRIC = 3,    ///< rank-0 F32, whole on every rank; the loss is first
  // Of generateStep and prefillStep. All but the caches are whole on every
  // rank.
  MESHC_CACHE = 4, ///< kept from step to step; 0 before the first
  MESHC_TOKEN =
      5, ///< I32: for generateStep [texts], the tokens at the
         ///< position; for prefillStep [texts, block], those from it on
  MESHC_POSITION = 6, ///< rank-0 I32: the position, from 0
  MESHC_LOGITS = 7,   ///< F32, [texts, vocabulary]: of the next position
  // Of trainStep alone: rank-0 F32, whole on every rank.
  MESHC_TRAINING_METRIC = 8, ///< printed with the metrics of a training step
  MESHC_SKIPPED = 9, ///< 1 if the step left parameters and optimizer state as
                     ///< they were, since its gradients were not finite; else 0
  // F32, of the same shape as a parameter.
  MESHC_AVERAGE = 10, ///< the moving average of a parameter over the steps;
                      ///< named "PARAMETER.average"
  // Of evalStep and evalAverageStep.
  MESHC_STATISTIC = 11, ///< a total over the batches so far; 0 before the first
  MESHC_BATCHES = 12, ///< rank-0 I32: how many complete batches follow. A step
                      ///< counts it down; without any, its batch is incomplete
  MESHC_REST = 13 ///< rank-0 I32: the examples of the incomplete batch, which
                  ///< are its first; what lies behind them is not used
} MeshcRole;

/// A tensor that the runtime sees. `dims` are in declaration order, which is
/// also the order in checkpoints; the strides give the memory order. The first
/// dim of an input counts the examples.
typedef struct MeshcTensor {
  const char *name;
  uint8_t role; ///< MeshcRole
  uint8_t type; ///< MeshcType
  uint16_t reserved;
  uint32_t rank;
  const MeshcDim *dims;
  int64_t offsetBytes; ///< in the arena
} MeshcTensor;

typedef enum MeshcSettingKind {
  MESHC_ADJUSTABLE = 0, ///< a run may have another value
  MESHC_FIXED = 1,      ///< a default that the model's text does not give
  MESHC_COMPUTED = 2    ///< each training step computes it; `value` is NaN
} MeshcSettingKind;

/// A number of the training: a setting of the optimizer, the bound of the
/// gradients' norm ("clip") or the decay of averages ("average").
typedef struct MeshcSetting {
  const char *name;  ///< "lr"; "*.bias.lr" for the parameters of a pattern
  const char *place; ///< "gpt.mesh:14:13": where the model's text gives it
  double value;      ///< unless the run has another one
  double limit;      ///< a value is below it, finite, and not negative
  uint32_t kind;     ///< MeshcSettingKind
  uint32_t positive; ///< 1: a value is not 0
} MeshcSetting;

/// The source location of a collective.
typedef struct MeshcSite {
  const char *location;    ///< "gpt.mesh:14:13"
  const char *description; ///< "all_reduce of 'h' over tensor"
} MeshcSite;

/// Where the kernels and library calls of a program run. The step functions
/// themselves run on the host and call the runtime from there.
typedef enum MeshcTarget {
  MESHC_HOST = 0, ///< addresses are the host's
  MESHC_CUDA = 1  ///< the arena is in a GPU's memory
} MeshcTarget;

typedef enum MeshcImageKind {
  MESHC_CUBIN = 0, ///< machine code of one chip
  MESHC_PTX = 1    ///< for chips newer than any cubin; ends with a zero byte
} MeshcImageKind;

/// The code of all kernels for one kind of chip. Kernels may have global
/// variables in it: each rank loads its own copy and never runs two launches of
/// one kernel at the same time.
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
  const char *name; ///< of the model
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
  /// Writes all parameters, averages and optimizer state from the seed.
  void (*initialize)(MeshcContext *ctx);
  /// One training step on the inputs: updates parameters, averages and
  /// optimizer state in place and writes the metrics, those of training
  /// included. Null if the model has no `train`.
  void (*trainStep)(MeshcContext *ctx);
  /// Adds the statistics of the inputs to their totals, and computes the
  /// metrics of all examples so far; changes nothing else.
  void (*evalStep)(MeshcContext *ctx);
  const char *manifest; ///< JSON: what `meshc --report=json` printed
  /// Processor features that the host's code may use, by LLVM's names, with
  /// commas between: "avx2,fma". Null or empty: none beyond the architecture's.
  const char *features;
  /// Computes the logits after the tokens at a position, for each text: from
  /// the caches that the steps of all earlier positions wrote, in order.
  /// Null if the model has no `generate`.
  void (*generateStep)(MeshcContext *ctx);
  int64_t positions; ///< of a text, at most; 0 without generateStep
  /// As evalStep, of a model with the averages as its parameters. Null if there
  /// are no averages.
  void (*evalAverageStep)(MeshcContext *ctx);
  /// Writes the caches of a block of positions, from the caches of all earlier
  /// ones, as the generateSteps of these positions would, up to rounding.
  /// Positions that a text does not have are written too, until their steps
  /// write them anew; those from `positions` on are not. Null if the model has
  /// no `generate`, or one that needs its positions one after the other.
  void (*prefillStep)(MeshcContext *ctx);
  /// Why evaluations need complete batches, a clause for messages, as "an
  /// operation combines entries of different examples (gpt.mesh:14:13:
  /// 'slice')". Null or empty if they do not; otherwise the program has no
  /// MESHC_BATCHES and no MESHC_REST.
  const char *wholeBatches;
  const MeshcSetting *settings; ///< of trainStep
  uint32_t settingCount;
  uint32_t reserved2;
} MeshcProgram;

/// Defined by generated code.
extern const MeshcProgram meshc_program;

#ifdef __cplusplus
} // extern "C"
#endif

#include "meshc/AttentionAbi.h"

#endif // MESHC_RUNTIMEABI_H
