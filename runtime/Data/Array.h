//===- Array.h - n-D arrays in files: IDX and NPY ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The array files that a program reads: IDX (as MNIST is distributed; the
/// format is described at the end of yann.lecun.com/exdb/mnist) and NumPy's NPY
/// versions 1 to 3 (numpy.lib.format), each possibly gzipped.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_ARRAY_H
#define MESHC_RUNTIME_DATA_ARRAY_H

#include "runtime/Data/Bytes.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace meshc::runtime {

/// Element types of array files.
enum class FileType : uint8_t {
  Bool,
  U8,
  I8,
  U16,
  I16,
  I32,
  I64,
  F16,
  F32,
  F64
};

/// Bytes of one element.
int64_t sizeOf(FileType type);
/// The name in messages: "u8", "f32".
const char *nameOf(FileType type);

/// An array in a file, row-major.
struct Array {
  std::shared_ptr<const Bytes> bytes;
  size_t offset = 0; ///< of the first element, in bytes
  FileType type = FileType::U8;
  bool bigEndian = false;
  std::vector<int64_t> dims; ///< at least one; the first counts examples

  /// "60000x28x28 u8"
  std::string describe() const;
};

/// Whether the file begins like an IDX or NPY file.
bool looksLikeArray(const Bytes &bytes);

/// Reads the header of an IDX or NPY file. Throws Failure(Data) if it is
/// neither, its header is damaged, the type is not one of FileType, it is in
/// Fortran order, or the file is shorter than its header says.
Array readArray(std::shared_ptr<const Bytes> bytes);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_ARRAY_H
