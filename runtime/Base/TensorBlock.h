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

#include <algorithm>
#include <cstdint>
#include <string>

namespace meshc::runtime {

/// The entries of a dim that the rank at `coords` has in its block.
struct BlockRange {
  int64_t first = 0; ///< global index; behind the dim's end if there are none
  int64_t count = 0; ///< that exist, at most localSize; the rest is padding
};

/// The rank's block of `dim`, cut axis by axis (see MeshcDim).
inline BlockRange blockRange(const MeshcProgram &program, const MeshcDim &dim,
                             const int64_t *coords) {
  BlockRange range{0, dim.size};
  int64_t step = dim.size;
  for (uint32_t i = 0; i < dim.axisCount; ++i) {
    int64_t parts = program.axes[dim.axes[i]].size;
    step = (step + parts - 1) / parts;
    int64_t first = coords[dim.axes[i]] * step;
    range.first += first;
    range.count = std::min(std::max<int64_t>(range.count - first, 0), step);
  }
  return range;
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

/// Elements of this rank's block, padding included.
inline int64_t localElements(const MeshcTensor &tensor) {
  int64_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    count *= tensor.dims[i].localSize;
  return count;
}

/// The entries of a rank's block of `dim`, padding included: localSize follows
/// from the size and the axes.
inline int64_t blockSize(const MeshcProgram &program, const MeshcDim &dim) {
  int64_t size = dim.size;
  for (uint32_t i = 0; i < dim.axisCount; ++i) {
    int64_t parts = program.axes[dim.axes[i]].size;
    size = (size + parts - 1) / parts;
  }
  return size;
}

/// Whether the block that the rank at `coords` has of `tensor` has padding.
inline bool hasPadding(const MeshcProgram &program, const MeshcTensor &tensor,
                       const int64_t *coords) {
  for (uint32_t i = 0; i < tensor.rank; ++i)
    if (blockRange(program, tensor.dims[i], coords).count !=
        tensor.dims[i].localSize)
      return true;
  return false;
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
