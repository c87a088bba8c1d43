//===- AtomicFile.h - files that appear whole or not at all ----*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A file written under a temporary name in the same folder, "FILE.meshc-tmp",
/// and renamed when it is whole and on the disk, so that a crash, a full disk
/// or a killed process leaves the file of before. The mode and the owner of an
/// existing file survive its replacement. What a killed process leaves under
/// the temporary name is reused by the next one, unless it has another name
/// too.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_ATOMICFILE_H
#define MESHC_RUNTIME_CHECKPOINT_ATOMICFILE_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace meshc::runtime {

/// Where a file of that name is: a link's target, which is replaced in its
/// place. Throws Failure(Checkpoint) where something is there that is no file
/// (a folder, a device), which is never replaced.
std::string findTarget(const std::string &path);

class AtomicFile {
public:
  /// Creates the temporary file, and holds a lock on it until commit() or the
  /// end. Throws Failure(Checkpoint), as where another program holds it for
  /// some seconds, or where the temporary name has a file that was not left by
  /// an unfinished checkpoint.
  explicit AtomicFile(const std::string &path);
  /// Removes the temporary file where commit() did not rename it.
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  /// Appends. Throws Failure(Checkpoint), as on a full disk.
  void write(const void *data, size_t bytes);

  /// Replaces the first `bytes` bytes, which were written before. Throws as
  /// write().
  void rewriteStart(const void *data, size_t bytes);

  /// Brings the file to the disk, renames it, and brings the folder's entry to
  /// the disk. With `generations` > 1 the file of before stays as one of so
  /// many (Generations.h). Throws Failure(Checkpoint).
  void commit(int generations = 1);

private:
  [[noreturn]] void fail(const char *action, int error);
  [[noreturn]] void refuse(const std::string &why);
  void takeLock();
  void open();
  void flush(int64_t newBytes);
  bool isOurs() const;
  bool isUnfinished() const;
  bool isLinkedElsewhere() const;
  void inheritMode(bool final) const;

  std::string path, temporary;
  int descriptor = -1;
  int64_t writtenBytes = 0, flushedBytes = 0;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_ATOMICFILE_H
