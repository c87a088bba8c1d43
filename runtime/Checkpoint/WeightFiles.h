//===- WeightFiles.h - the files that hold a model's weights ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Named tensors from one of
///
/// - a safetensors file,
/// - several, listed by an index (model.safetensors.index.json): a JSON object
///   whose "weight_map" maps each tensor's name to a file in the same folder,
/// - a file of llama2.c (Llama2c.h).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_WEIGHTFILES_H
#define MESHC_RUNTIME_CHECKPOINT_WEIGHTFILES_H

#include "runtime/Checkpoint/Safetensors.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace meshc::runtime {

/// A tensor in a mapped file.
struct WeightTensor {
  const FileTensor *tensor;
  const char *data;            ///< its first byte, at any alignment
  const SafetensorsFile *file; ///< that has it; null: a file of llama2.c
};

class WeightFiles {
public:
  /// Opens the file or files at `path`. Throws Failure(Checkpoint) if they are
  /// missing or damaged, or if an index and its files differ.
  explicit WeightFiles(const std::string &path);
  /// The tensors of a file, which outlives this.
  WeightFiles(const SafetensorsFile &file);

  const std::string &path() const { return name; }
  /// The files that were opened, an index included.
  const std::vector<std::string> &paths() const { return opened; }
  const std::map<std::string, WeightTensor> &tensors() const { return byName; }
  /// The tensor of that name, or null.
  const WeightTensor *find(const std::string &tensor) const;
  /// The file, if it is one safetensors file; else null.
  const SafetensorsFile *single() const { return only; }

  /// Compares the metadata of all files with their checksums, if they have
  /// some. Throws Failure(Checkpoint).
  void verifyMetadata() const;
  /// The same for a tensor's bytes.
  void verify(const WeightTensor &tensor) const;
  /// Like MappedFile::checkIntact; call it after reading tensors.
  void checkIntact() const;

private:
  void openIndex();
  bool openLlama2c();
  void add(const SafetensorsFile &file);

  std::string name;
  std::vector<std::string> opened;
  std::vector<std::unique_ptr<SafetensorsFile>> owned;
  std::vector<const SafetensorsFile *> files;
  std::unique_ptr<MappedFile> plain; ///< of llama2.c
  std::vector<FileTensor> plainTensors;
  const SafetensorsFile *only = nullptr;
  std::map<std::string, WeightTensor> byName;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_WEIGHTFILES_H
