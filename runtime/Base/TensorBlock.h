//===- TensorBlock.h - a rank's block of a tensor ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Locates a rank's block in a tensor whose dims are cut over mesh axes.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_TENSORBLOCK_H
#define MESHC_RUNTIME_BASE_TENSORBLOCK_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Base/Failure.h"

#include <cstdint>
#include <string>

namespace meshc::runtime {

/// The index of this rank's block among those of `dim`: the row-major
/// coordinate over its axes, the first axis outermost.
inline int64_t blockIndex(const MeshcProgram &program, const MeshcDim &dim,
                          const int64_t *coords) {
  int64_t index = 0;
  for (uint32_t i = 0; i < dim.axisCount; ++i)
    index = index * program.axes[dim.axes[i]].size + coords[dim.axes[i]];
  return index;
}

/// Bytes of one element as stored. A type that the runtime does not know is a
/// Failure (Internal): a different version of meshc compiled the program.
inline int64_t sizeOf(MeshcType type) {
  switch (type) {
  case MESHC_F32:
  case MESHC_I32:
    return 4;
  case MESHC_BF16:
  case MESHC_F16:
    return 2;
  case MESHC_I1:
    return 1;
  }
  throw Failure(ExitCode::Internal,
                "the program has element type " + std::to_string(type) +
                    ", which the runtime does not know; compile it again");
}

/// "f32", as spelled in the language.
inline const char *nameOf(MeshcType type) {
  switch (type) {
  case MESHC_F32:
    return "f32";
  case MESHC_BF16:
    return "bf16";
  case MESHC_F16:
    return "f16";
  case MESHC_I32:
    return "i32";
  case MESHC_I1:
    return "i1";
  }
  return "?";
}

inline MeshcType typeOf(const MeshcTensor &tensor) {
  return static_cast<MeshcType>(tensor.type);
}

/// Whether a training step updates the tensor in place, and a checkpoint holds
/// it: parameters, their averages and optimizer state.
inline bool isState(const MeshcTensor &tensor) {
  return tensor.role == MESHC_PARAMETER || tensor.role == MESHC_OPTIMIZER ||
         tensor.role == MESHC_AVERAGE;
}

/// Whether the tensor is a scalar that a step leaves for the host to read.
inline bool isStepResult(const MeshcTensor &tensor) {
  return tensor.role == MESHC_METRIC || tensor.role == MESHC_TRAINING_METRIC ||
         tensor.role == MESHC_SKIPPED;
}

/// Elements of the whole tensor, over all ranks.
inline int64_t globalElements(const MeshcTensor &tensor) {
  int64_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    count *= tensor.dims[i].size;
  return count;
}

/// Elements of this rank's block.
inline int64_t localElements(const MeshcTensor &tensor) {
  int64_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    count *= tensor.dims[i].localSize;
  return count;
}

/// "[batch = 64, model = 32]"
inline std::string describeDims(const MeshcTensor &tensor) {
  std::string text = "[";
  for (uint32_t i = 0; i < tensor.rank; ++i)
    text += std::string(i ? ", " : "") + tensor.dims[i].name + " = " +
            std::to_string(tensor.dims[i].size);
  return text + "]";
}

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_TENSORBLOCK_H
