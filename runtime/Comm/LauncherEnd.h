//===- LauncherEnd.h - a launcher that cannot end a job ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_LAUNCHEREND_H
#define MESHC_RUNTIME_COMM_LAUNCHEREND_H

namespace meshc::runtime {

/// Terminates the launcher of this process (mpirun, or its daemon on this host)
/// even if it can no longer reach other hosts, which Open MPI 4.1 would wait
/// for without a limit: a separate process kills it 10 s after this call. Call
/// it once a run has failed, before MPI_Abort. Does nothing if no launcher is
/// among this process's ancestors.
void endLauncherLater();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_LAUNCHEREND_H
