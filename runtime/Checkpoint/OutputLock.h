//===- OutputLock.h - one run writes a file ---------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A run keeps other runs from the files that it writes, as long as it lives.
/// For the file FILE it holds a lock on FILE.meshc-lock, which says who the
/// holder is. The lock is the kernel's (an open file description lock,
/// fcntl(2)): it ends with the process, however that ends, and hosts that share
/// a file system see it where that system has locks, as NFS does. Reading FILE
/// needs no lock.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_OUTPUTLOCK_H
#define MESHC_RUNTIME_CHECKPOINT_OUTPUTLOCK_H

#include <string>

namespace meshc::runtime {

/// The files of one name that a run writes.
struct OutputFiles {
  std::string path;
  /// How many generations of it are kept, itself included (Generations.h).
  int generations = 1;
  bool best = false; ///< whether FILE.best is written, too
};

class OutputLock {
public:
  /// Locks the files. Nothing if `path` exists and is not a regular file:
  /// devices and pipes may have any number of writers. Waits a few seconds for
  /// a run that is ending. Throws Failure(Usage), which names the holder, if
  /// another run, or another lock of this one, has one of the files. A folder
  /// or file system in which nothing can be locked is a warning.
  explicit OutputLock(const OutputFiles &files);
  /// Removes the lock, and its file.
  ~OutputLock();
  OutputLock(OutputLock &&other) noexcept;
  OutputLock(const OutputLock &) = delete;
  OutputLock &operator=(const OutputLock &) = delete;
  OutputLock &operator=(OutputLock &&) = delete;

private:
  void forget();
  void release();
  void goWithout(const std::string &path, int error);

  std::string name;    ///< of the lock's file
  int descriptor = -1; ///< negative: nothing is locked
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_OUTPUTLOCK_H
