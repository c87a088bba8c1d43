//===- StridedCopy.h - copies between blocks of tensors ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Copies a box of elements between two memories with different layouts.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_STRIDEDCOPY_H
#define MESHC_RUNTIME_CHECKPOINT_STRIDEDCOPY_H

#include <cstdint>
#include <vector>

namespace meshc::runtime {

/// A dim of the box. Strides are in elements.
struct CopyDim {
  int64_t size, sourceStride, targetStride;
};

/// Copies the box of `dims` (none: one element) of elements of `elementBytes`
/// bytes. The memories do not overlap and may have any alignment.
void copyStrided(std::vector<CopyDim> dims, int64_t elementBytes,
                 const char *source, char *target);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_STRIDEDCOPY_H
