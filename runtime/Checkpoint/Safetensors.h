//===- Safetensors.h - the safetensors format -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Files of the safetensors format (github.com/huggingface/safetensors): a
/// header (SafetensorsHeader.h), then the tensors' bytes, row-major, without
/// gaps. The files are read by every tool that knows the format.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define MESHC_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Checkpoint/SafetensorsHeader.h"
#include "runtime/Data/MappedFile.h"

#include <cstdint>
#include <map>
#include <string>

namespace meshc::runtime {

/// The format's name for a type.
const char *safetensorsName(MeshcType type);

/// The value of `dtype` (F32, F16 or BF16) at the address `at`.
float floatOfDtype(const std::string &dtype, const char *at);

/// A mapped file, its header checked against its length.
class SafetensorsFile {
public:
  /// Throws Failure(Checkpoint) if the file is missing, is not safetensors, or
  /// its tensors do not follow one another from the first byte of the data to
  /// the last, as the format requires.
  explicit SafetensorsFile(const std::string &path);

  const std::string &path() const { return file.path(); }
  const Metadata &metadata() const { return header.metadata; }
  const std::map<std::string, FileTensor> &tensors() const {
    return header.tensors;
  }
  /// The tensor of that name, or null.
  const FileTensor *find(const std::string &tensor) const;
  /// Its first byte, at any alignment.
  const char *data(const FileTensor &tensor) const {
    return content + tensor.beginByte;
  }
  /// The offset of its first byte in the file.
  int64_t fileOffset(const FileTensor &tensor) const {
    return data(tensor) - reinterpret_cast<const char *>(file.data());
  }
  /// Like MappedFile::checkIntact; call it after reading tensors.
  void checkIntact() const { file.checkIntact(); }

private:
  void checkTiling(int64_t contentBytes) const;

  MappedFile file;
  SafetensorsHeader header;
  const char *content = nullptr;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_SAFETENSORS_H
