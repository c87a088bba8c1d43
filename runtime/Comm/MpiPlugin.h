//===- MpiPlugin.h - what the MPI plugin gives -------------------*- C++
//-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The contact of the runtime and libmeshc_mpi.so, which alone is linked to an
/// MPI library and is opened when a run needs it. C types only, so that the two
/// need not come from one compiler. Functions return 0, or an error of MPI.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_MPIPLUGIN_H
#define MESHC_RUNTIME_COMM_MPIPLUGIN_H

#include <stddef.h>
#include <stdint.h>

extern "C" {

#define MESHC_MPI_PLUGIN_VERSION 1u

struct MeshcMpi {
  uint32_t version; ///< MESHC_MPI_PLUGIN_VERSION

  /// Once, before all others but `describe`, by the thread that calls them.
  int (*start)(void);
  int (*rank)(void);
  int (*size)(void);
  /// `bytes` bytes of every rank, in their order, into `all`.
  int (*allGather)(const void *own, size_t bytes, void *all);

  /// Begin to send, to receive at most `bytes` bytes. Messages between two
  /// ranks keep their order. `request` stands for the operation.
  int (*send)(const void *data, size_t bytes, int to, uint64_t *request);
  int (*receive)(void *data, size_t bytes, int from, uint64_t *request);
  /// Sets `done` to whether the operation is complete, after which its request
  /// is void, and `bytes` (may be null) to what a receive got. Also moves all
  /// other operations on.
  int (*test)(uint64_t *request, int *done, size_t *bytes);

  /// The orderly end, on all ranks.
  int (*finish)(void);
  /// Ends all ranks' processes.
  void (*abort)(int exitCode);
  /// The text of an error; valid until the next call.
  const char *(*describe)(int error);
};

/// The plugin's one symbol.
__attribute__((visibility("default"))) const MeshcMpi *meshc_mpi_plugin(void);
using MeshcMpiPluginFunction = const MeshcMpi *(*)(void);
}

#endif // MESHC_RUNTIME_COMM_MPIPLUGIN_H
