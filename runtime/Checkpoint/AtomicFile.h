//===- AtomicFile.h - files that appear whole or not at all -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A file that is written under a temporary name in the same folder,
/// "FILE.meshc-tmp", and renamed once it is complete and on the disk. A crash,
/// a full disk or a killed process leaves the previous file in place. The mode
/// and the owner of an existing file survive its replacement. The next process
/// reuses the temporary file that a killed process leaves, unless that file has
/// another name too.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_ATOMICFILE_H
#define MESHC_RUNTIME_CHECKPOINT_ATOMICFILE_H

#include "runtime/Base/Failure.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace meshc::runtime {

/// A kind of file that is written so.
struct FileForm {
  const char *name; ///< in messages: "checkpoint"
  ExitCode code;    ///< of failures
  /// Whether an open file begins like one of this kind, so that a temporary
  /// file was left by a killed process.
  bool (*begins)(int descriptor);
};

extern const FileForm checkpointForm, exportForm;

/// Whether an open file has `text` at byte `at`.
bool hasTextAt(int descriptor, off_t at, std::string_view text);

/// Whether the regular file at `path` has content that does not begin as
/// `begins` demands of an open file.
bool holdsOther(const std::string &path,
                const std::function<bool(int descriptor)> &begins);

/// Resolves a link to its target, which is replaced, or created, in its place.
/// Throws Failure with the code of `form` if the name belongs to something
/// other than a file (a folder, a device, a link that leads to itself); these
/// are never replaced.
std::string findTarget(const std::string &path,
                       const FileForm &form = checkpointForm);

/// The name of the file that is written first, for a path that findTarget has
/// returned.
std::string temporaryPath(const std::string &target);

/// Removes the file at `path`, if there is one, so that it stays removed also
/// if the system crashes. Resolves links as findTarget does. Throws Failure
/// with the code of `form`.
void removeFile(const std::string &path, const FileForm &form);

class AtomicFile {
public:
  /// Creates the temporary file, and holds a lock on it until commit() or
  /// destruction. Throws Failure with the code of `form`, for example if
  /// another program holds the lock for some seconds, or if the temporary name
  /// belongs to a file that no unfinished file of this form left.
  explicit AtomicFile(const std::string &path,
                      const FileForm &form = checkpointForm);
  /// Removes the temporary file unless commit() renamed it.
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  /// Appends. Throws Failure with the form's code, for example on a full disk.
  void write(const void *data, size_t bytes);

  /// Replaces the first `bytes` bytes, which were written before. Throws the
  /// same failures as write().
  void rewriteStart(const void *data, size_t bytes);

  /// Flushes the file to the disk, renames it, and flushes the folder's entry.
  /// With `generations` > 1 the previous file is kept as one of so many
  /// (Generations.h). Throws Failure with the form's code.
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

  const FileForm &form;
  std::string path, temporary;
  int descriptor = -1;
  int64_t writtenBytes = 0, flushedBytes = 0;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_ATOMICFILE_H
