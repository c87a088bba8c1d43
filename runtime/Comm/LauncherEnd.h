//===- LauncherEnd.h - a launcher that cannot end a job ----------*- C++-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_LAUNCHEREND_H
#define MESHC_RUNTIME_COMM_LAUNCHEREND_H

namespace meshc::runtime {

/// Makes the launcher of this process (mpirun, or its daemon on this host) end
/// although it cannot reach other hosts any more, for which Open MPI 4.1 waits
/// without a limit: a process of its own kills it 10 s after this call. To be
/// called once a run has failed, before MPI_Abort. Does nothing where no
/// launcher is among this process's ancestors.
void endLauncherLater();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_LAUNCHEREND_H
