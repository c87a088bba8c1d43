//===- LauncherGuard.h - a launcher that cannot end a job -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_LAUNCHERGUARD_H
#define MESHC_RUNTIME_COMM_LAUNCHERGUARD_H

#include <sys/types.h>

namespace meshc::runtime {

/// Terminates the launcher of this process (mpirun, or its daemon on this host)
/// if this process fails and the launcher does not end by itself. That of Open
/// MPI 4.1 waits without a limit for hosts that it cannot reach, and at times
/// for a thread of its own that waits for it. A small process does it, so it
/// also happens if this process is killed or if MPI ends it.
///
/// Create it before MPI starts. Does nothing if no launcher is among this
/// process's ancestors, or if the system cannot create a process.
class LauncherGuard {
public:
  /// The launcher is killed if it still runs this many seconds after this
  /// process has failed.
  explicit LauncherGuard(int patienceSeconds = 10);
  /// The time begins now, or earlier if this process ends without it, unless
  /// release() was called.
  ~LauncherGuard();
  LauncherGuard(const LauncherGuard &) = delete;
  LauncherGuard &operator=(const LauncherGuard &) = delete;

  /// This process has succeeded: the launcher may run as long as it likes.
  void release();

private:
  pid_t guard = 0;
  int lifeline = -1; ///< to the guard; open as long as all is well
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_LAUNCHERGUARD_H
