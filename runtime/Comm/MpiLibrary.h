//===- MpiLibrary.h - finding the MPI plugin --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_MPILIBRARY_H
#define MESHC_RUNTIME_COMM_MPILIBRARY_H

#include "runtime/Comm/MpiPlugin.h"

namespace meshc::runtime {

/// Opens libmeshc_mpi.so (Plugin.h says where it is searched), once per
/// process, and starts MPI. Throws CommunicationError if the library is missing
/// or unusable.
const MeshcMpi &openMpi();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_MPILIBRARY_H
