//===- ProgramAbi.h - the table of a program --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of RuntimeAbi.h, which includes it, about the table that
/// generated code defines, `meshc_program`. C99 and C++17.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_PROGRAMABI_H
#define MESHC_PROGRAMABI_H

#include "meshc/KernelAbi.h"
#include "meshc/TensorAbi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Increase it with every change of RuntimeAbi.h, or of a part of it, that
/// breaks existing objects. The runtime rejects programs of another version.
#define MESHC_ABI_VERSION 17u

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

#endif // MESHC_PROGRAMABI_H
