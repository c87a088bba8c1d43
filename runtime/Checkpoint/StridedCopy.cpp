//===- StridedCopy.cpp - copies between blocks of tensors -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/StridedCopy.h"

#include <algorithm>
#include <cstring>

using namespace meshc::runtime;

/// Drops dims of one element and merges neighbours that are contiguous in both
/// memories. The innermost dim is last.
static std::vector<CopyDim> mergeDims(const std::vector<CopyDim> &dims) {
  std::vector<CopyDim> merged;
  for (const CopyDim &dim : dims) {
    if (dim.size == 1)
      continue;
    if (!merged.empty() &&
        merged.back().sourceStride == dim.sourceStride * dim.size &&
        merged.back().targetStride == dim.targetStride * dim.size)
      merged.back() = {merged.back().size * dim.size, dim.sourceStride,
                       dim.targetStride};
    else
      merged.push_back(dim);
  }
  return merged;
}

static void copyDim(const CopyDim *dim, const CopyDim *end,
                    int64_t elementBytes, const char *source, char *target) {
  if (dim == end) {
    std::memcpy(target, source, static_cast<size_t>(elementBytes));
    return;
  }
  if (dim + 1 == end && dim->sourceStride == 1 && dim->targetStride == 1) {
    std::memcpy(target, source, static_cast<size_t>(dim->size * elementBytes));
    return;
  }
  for (int64_t i = 0; i < dim->size; ++i)
    copyDim(dim + 1, end, elementBytes,
            source + i * dim->sourceStride * elementBytes,
            target + i * dim->targetStride * elementBytes);
}

void meshc::runtime::copyStrided(std::vector<CopyDim> dims,
                                 int64_t elementBytes, const char *source,
                                 char *target) {
  for (const CopyDim &dim : dims)
    if (dim.size <= 0)
      return;
  dims = mergeDims(dims);
  copyDim(dims.data(), dims.data() + dims.size(), elementBytes, source, target);
}
