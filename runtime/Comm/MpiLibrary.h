//===- MpiLibrary.h - finding the MPI plugin ---------------------*- C++
//-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_MPILIBRARY_H
#define MESHC_RUNTIME_COMM_MPILIBRARY_H

#include "runtime/Comm/MpiPlugin.h"

#include <string>
#include <vector>

namespace meshc::runtime {

/// Where libmeshc_mpi.so is looked for, in this order: the directories of
/// MESHC_PLUGIN_PATH (separated by colons), the executable's, and the one where
/// the build that made the runtime put it.
std::vector<std::string> pluginDirectories();

/// Opens the plugin, once per process, and starts MPI. Throws
/// CommunicationError where it is not there or cannot be used.
const MeshcMpi &openMpi();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_MPILIBRARY_H
