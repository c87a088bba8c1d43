//===- Bytes.h - the bytes of a data file -----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads files: plain files are mapped, gzip files are decompressed.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_BYTES_H
#define MESHC_RUNTIME_DATA_BYTES_H

#include "runtime/Data/MappedFile.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace meshc::runtime {

/// The contents of a file, read-only, shared by all ranks of a process.
class Bytes {
public:
  /// Opens `path`. A plain file is mapped, so that a rank pages in only what it
  /// reads; a gzip file (any number of members) is decompressed into memory.
  /// Throws Failure(Data) if the file is missing, unreadable, not a regular
  /// file, or a gzip stream that is corrupt or ends early.
  static std::shared_ptr<const Bytes> open(const std::string &path);

  Bytes(const Bytes &) = delete;
  Bytes &operator=(const Bytes &) = delete;

  const uint8_t *data() const { return begin; }
  size_t size() const { return length; }
  const std::string &path() const { return name; }
  /// Whether the file was gzipped.
  bool isUnpacked() const { return !file; }
  /// The memory that the contents take now: of a plain file what was read.
  int64_t residentBytes() const;

  /// Asks the system to read `count` bytes at `first`, which are contents, from
  /// the disk in the background. Does nothing for decompressed contents.
  void willRead(const uint8_t *first, size_t count) const;

  /// Like MappedFile::checkIntact; decompressed contents always are.
  void checkIntact() const {
    if (file)
      file->checkIntact();
  }

private:
  explicit Bytes(const std::string &path);
  void unpack();

  std::string name;
  const uint8_t *begin = nullptr;
  size_t length = 0;
  std::unique_ptr<MappedFile> file; ///< null if it was decompressed
  std::vector<uint8_t> unpacked;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_BYTES_H
