//===- MappedFile.h - a file as memory --------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A file mapped to memory, for data and checkpoints. If a mapped file became
/// shorter or its disk failed, reading it raises a signal (SIGBUS); here it is
/// an error instead, found by checkIntact().
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_MAPPEDFILE_H
#define MESHC_RUNTIME_DATA_MAPPEDFILE_H

#include "runtime/Base/Failure.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace meshc::runtime {

/// What the signal handler knows about a mapping.
struct MappedRegion;

class MappedFile {
public:
  /// Maps the file at `path`, read-only. Failures have `code` and call it
  /// `kind` ("data file"). Throws Failure if it cannot be opened, or is not a
  /// regular file; does not wait for the other end of a pipe.
  MappedFile(std::string path, ExitCode code, const char *kind);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const uint8_t *data() const { return begin; }
  size_t size() const { return length; }
  const std::string &path() const { return name; }

  /// Call it after reading and before using the data. Throws Failure if the
  /// file became shorter, or a part of it could not be read: the data may then
  /// be zeros. Costs one system call.
  void checkIntact() const;

private:
  Failure failure(const std::string &what) const;

  std::string name;
  ExitCode code;
  const char *kind;
  int descriptor = -1;
  const uint8_t *begin = nullptr;
  size_t length = 0;
  MappedRegion *region = nullptr;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_MAPPEDFILE_H
