//===- MpiLibrary.cpp - finding the MPI plugin ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/MpiLibrary.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Plugin.h"
#include "runtime/Comm/Communicator.h"
#include "runtime/Comm/World.h"

#include <dlfcn.h>

using namespace meshc::runtime;

namespace {

constexpr const char *pluginName = "libmeshc_mpi.so";

/// Open MPI crashes, or ends the program with pages of its own, where limits of
/// the process leave too little address space. Version 4.1 takes 50 MB at the
/// start, and maps a segment of each rank of the host.
void checkRoomForMpi() {
  constexpr int64_t mebi = int64_t(1) << 20;
  const int64_t segments = int64_t(4) * findMpiLaunch().localSize;
  const int64_t need = (64 + segments) * mebi;
  if (availableToProcess().bytes < need)
    throw tooLittleMemory("start MPI, which takes up to " +
                          describeBytes(need));
}

} // namespace

const MeshcMpi &meshc::runtime::openMpi() {
  static const MeshcMpi *opened = nullptr;
  if (opened)
    return *opened;
  // Makes the plugin's own libraries global: Open MPI opens components that
  // take libmpi's symbols from there.
  OpenedPlugin plugin = openPlugin(pluginName, RTLD_NOW | RTLD_GLOBAL);
  if (!plugin.error.empty())
    throw CommunicationError(-1, "cannot open the MPI plugin: " + plugin.error);
  if (!plugin.library)
    throw CommunicationError(
        -1, std::string("the MPI plugin '") + pluginName +
                "' is needed and was not found in " + plugin.tried +
                "; set MESHC_PLUGIN_PATH to its directory (meshc builds it "
                "where Open MPI's headers are), or start ranks as threads "
                "with '--ranks N' and without mpirun");
  auto function = reinterpret_cast<MeshcMpiPluginFunction>(
      dlsym(plugin.library, "meshc_mpi_plugin"));
  const MeshcMpi *mpi = function ? function() : nullptr;
  if (!mpi || mpi->version != MESHC_MPI_PLUGIN_VERSION)
    throw CommunicationError(
        -1, std::string("the MPI plugin '") + pluginName + "' has version " +
                (mpi ? std::to_string(mpi->version) : "none") +
                ", and this program needs version " +
                std::to_string(MESHC_MPI_PLUGIN_VERSION) +
                "; build both from one meshc");
  checkRoomForMpi();
  if (int error = mpi->start())
    throw CommunicationError(-1, std::string("MPI does not start: ") +
                                     mpi->describe(error));
  opened = mpi;
  return *opened;
}
