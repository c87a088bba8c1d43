//===- TensorAbi.h - tensors of a program -----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of RuntimeAbi.h, which includes it, about meshes, tensors and
/// their elements. C99 and C++17.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TENSORABI_H
#define MESHC_TENSORABI_H

#include <stdint.h>

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

#endif // MESHC_TENSORABI_H
