//===- MpiPlugin.h - what the MPI plugin gives ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interface between the runtime and libmeshc_mpi.so. Only that library is
/// linked to MPI, and it is opened when a run needs it. The interface has C
/// types only, so that both sides may come from different compilers. Functions
/// return 0, or an MPI error. Between `start` and `finish`, several threads may
/// call them.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_MPIPLUGIN_H
#define MESHC_RUNTIME_COMM_MPIPLUGIN_H

#include <stddef.h>
#include <stdint.h>

extern "C" {

#define MESHC_MPI_PLUGIN_VERSION 2u

struct MeshcMpi {
  uint32_t version; ///< MESHC_MPI_PLUGIN_VERSION

  /// Called once, before all others but `describe`, by the thread that calls
  /// `finish`.
  int (*start)(void);
  int (*rank)(void);
  int (*size)(void);
  /// Gathers `bytes` bytes of every rank, in rank order, into `all`.
  int (*allGather)(const void *own, size_t bytes, void *all);

  /// Start to send, or to receive at most `bytes` bytes. Messages between two
  /// ranks on one `channel` (0 or 1) keep their order. `request` identifies the
  /// operation.
  int (*send)(const void *data, size_t bytes, int to, int channel,
              uint64_t *request);
  int (*receive)(void *data, size_t bytes, int from, int channel,
                 uint64_t *request);
  /// Sets `from` to a rank whose message on `channel` can be received, or to
  /// -1.
  int (*probe)(int channel, int *from);
  /// Sets `done` to whether the operation is complete, after which its request
  /// is void, and `bytes` (may be null) to the size that a receive got. Also
  /// progresses all other operations.
  int (*test)(uint64_t *request, int *done, size_t *bytes);

  /// The orderly shutdown, on all ranks.
  int (*finish)(void);
  /// Terminates all ranks' processes.
  void (*abort)(int exitCode);
  /// The text of an error; valid until the next call.
  const char *(*describe)(int error);
};

/// The plugin's one symbol.
__attribute__((visibility("default"))) const MeshcMpi *meshc_mpi_plugin(void);
using MeshcMpiPluginFunction = const MeshcMpi *(*)(void);
}

#endif // MESHC_RUNTIME_COMM_MPIPLUGIN_H
