//===- LoadTensors.h - tensors of a file to their devices -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reading files into the ranks' devices: each rank takes its blocks.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_LOADTENSORS_H
#define MESHC_RUNTIME_CHECKPOINT_LOADTENSORS_H

#include "runtime/Checkpoint/NameMap.h"
#include "runtime/Checkpoint/StoredParameters.h"
#include "runtime/Checkpoint/WeightFiles.h"
#include "runtime/Device/Rank.h"

namespace meshc::runtime {

/// Verifies the checksums, then copies this rank's blocks of the parameters, of
/// their averages and of the optimizer state from a checkpoint to its device.
/// Checkpoints of earlier versions lack the number of updates, which is then
/// the number of steps that were not skipped, and the f32 values of 16-bit
/// parameters, which then are those of the parameters. Throws
/// Failure(Checkpoint) for other tensors that are missing, damaged, or of
/// another shape or type.
void loadState(const SafetensorsFile &file, const Rank &rank);

/// Copies this rank's blocks of the parameters alone, also from files of other
/// tools: of tensors with the same names, or those that `map` says; without a
/// map, `values` chooses between parameters and averages. The averages that the
/// program keeps, and the f32 values of 16-bit parameters, begin at these
/// parameters, as the files have them. Reads nothing but these blocks (and all
/// of a tensor that has a checksum). F32, F16 and BF16 are converted to the
/// parameter's type, rounded to nearest even. Throws Failure(Checkpoint), which
/// names the tensors, if the files lack some, have other shapes or types, hold
/// tensors that are not read (and are neither a checkpoint's optimizer state
/// nor ignored by the map) or that the map reads only in part (and does not
/// ignore), have finite values that become infinite in the parameter's type, or
/// values of `refused`, a set of Finiteness.
void loadParameters(const WeightFiles &files, const Rank &rank,
                    const NameMap *map = nullptr,
                    ParameterValues values = ParameterValues::AveragesIfAny,
                    uint8_t refused = 0);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_LOADTENSORS_H
