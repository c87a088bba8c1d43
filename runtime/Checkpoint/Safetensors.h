//===- Safetensors.h - the safetensors format ------------------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The safetensors file format (github.com/huggingface/safetensors): 8 bytes of
/// header length, little endian; a JSON object of name -> {dtype, shape,
/// data_offsets} and "__metadata__", padded with spaces; the tensors' bytes,
/// row-major, without gaps. The files are read by every tool that knows the
/// format.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define MESHC_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Data/MappedFile.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace meshc::runtime {

/// A tensor in a file. Bytes are counted from the end of the header.
struct FileTensor {
  std::string name;
  std::string dtype; ///< "F32", "BF16", "F16", "I32", "BOOL", …
  std::vector<int64_t> shape;
  int64_t beginByte = 0, endByte = 0;

  /// "F32 [64, 32]"
  std::string describe() const;
};

using Metadata = std::map<std::string, std::string>;

/// The format's name of a type.
const char *safetensorsName(MeshcType type);

/// The header of a file with these tensors, in this order, their offsets
/// ignored and laid out one after the other; a multiple of 8 bytes.
std::string writeHeader(const std::vector<FileTensor> &tensors,
                        const Metadata &metadata);

/// A mapped file, its header checked against its length.
class SafetensorsFile {
public:
  /// Throws Failure(Checkpoint) where the file is missing, is not safetensors,
  /// or its tensors are not one after the other from the first byte of the data
  /// to the last, as the format wants.
  explicit SafetensorsFile(const std::string &path);

  const std::string &path() const { return file.path(); }
  const Metadata &metadata() const { return properties; }
  const std::map<std::string, FileTensor> &tensors() const { return byName; }
  /// The tensor of that name, or null.
  const FileTensor *find(const std::string &tensor) const;
  /// Its first byte, of no alignment.
  const char *data(const FileTensor &tensor) const {
    return content + tensor.beginByte;
  }
  /// As MappedFile::checkIntact, to be called after the tensors were read.
  void checkIntact() const { file.checkIntact(); }

private:
  void parse(const std::string &header, int64_t contentBytes);
  void checkTiling(int64_t contentBytes) const;

  MappedFile file;
  Metadata properties;
  std::map<std::string, FileTensor> byName;
  const char *content = nullptr;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_SAFETENSORS_H
