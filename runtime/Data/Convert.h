//===- Convert.h - elements of files to elements of tensors -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Converts a run of elements from a file's type to a tensor's.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_CONVERT_H
#define MESHC_RUNTIME_DATA_CONVERT_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Data/Array.h"

#include <cstdint>

namespace meshc::runtime {

/// Converts `count` contiguous elements of a file at `source` (at any
/// alignment) to elements at `target`, `stride` elements apart. Integers keep
/// their value, rounded to nearest even if the tensor's type is a float that
/// cannot hold it. Returns false if a value does not fit: an integer outside of
/// i32, or other than 0 and 1 for i1; the contents of `target` are then
/// unspecified.
using Convert = bool (*)(void *target, int64_t stride, const uint8_t *source,
                         int64_t count);

/// The conversion from `from` to the tensor type `to`; null if it does not
/// exist (floats to i32 or i1).
Convert findConvert(FileType from, bool bigEndian, MeshcType to);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_CONVERT_H
