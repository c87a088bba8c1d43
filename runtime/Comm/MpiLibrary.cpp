//===- MpiLibrary.cpp - finding the MPI plugin ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/MpiLibrary.h"

#include "runtime/Base/Plugin.h"
#include "runtime/Comm/Communicator.h"

#include <dlfcn.h>

using namespace meshc::runtime;

namespace {

constexpr const char *pluginName = "libmeshc_mpi.so";

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
  if (int error = mpi->start())
    throw CommunicationError(-1, std::string("MPI does not start: ") +
                                     mpi->describe(error));
  opened = mpi;
  return *opened;
}
