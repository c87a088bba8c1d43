//===- SafetensorsHeader.h - the header of safetensors files ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The header of the safetensors format
/// (github.com/huggingface/safetensors): 8 bytes of length, little endian, then
/// a JSON object of name -> {dtype, shape, data_offsets} and "__metadata__",
/// padded with spaces.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_SAFETENSORSHEADER_H
#define MESHC_RUNTIME_CHECKPOINT_SAFETENSORSHEADER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace meshc::runtime {

/// A tensor in a file. Offsets count from the end of the header.
struct FileTensor {
  std::string name;
  std::string dtype; ///< "F32", "BF16", "F16", "I32", "BOOL", …
  std::vector<int64_t> shape;
  int64_t beginByte = 0, endByte = 0;

  int64_t bytes() const { return endByte - beginByte; }
  /// "F32 [64, 32]"
  std::string describe() const;
};

using Metadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  Metadata metadata;
  std::map<std::string, FileTensor> tensors; ///< by name
};

/// Bytes of a tensor's name, in files and in their indices.
constexpr size_t mostTensorNameBytes = 4096;

/// What is wrong with a name of more bytes or with control characters; empty if
/// nothing is.
std::string describeBadName(const std::string &name);

/// Bytes of an element of `dtype`; 0 if this runtime does not know the type.
int64_t bytesOfDtype(const std::string &dtype);

/// Parses the JSON text of a header, in time linear in its length apart from
/// sorting names. Returns what is wrong with the file ("has a damaged header:
/// …"), or an empty string. Checks that names are unique, that dims and offsets
/// are integers within int64, that a tensor's byte count matches its shape, and
/// that only spaces follow the text.
/// Does not check where the tensors lie.
std::string parseHeader(const std::string &text, SafetensorsHeader &header);

/// The header of a file with these tensors in this order. Ignores their offsets
/// and lays the tensors out one after the other. The size is a multiple of 8
/// bytes. Throws Failure(Checkpoint) for a name that is too long.
std::string writeHeader(const std::vector<FileTensor> &tensors,
                        const Metadata &metadata);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_SAFETENSORSHEADER_H
