//===- MpiLibrary.cpp - finding the MPI plugin ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/MpiLibrary.h"

#include "runtime/Comm/Communicator.h"

#include <cstdlib>
#include <dlfcn.h>
#include <sstream>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

constexpr const char *pluginName = "libmeshc_mpi.so";

std::string executableDirectory() {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0)
    return ".";
  std::string text(path, length);
  return text.substr(0, text.rfind('/'));
}

/// The first plugin that is there. Its own libraries become global: Open MPI
/// opens components that take libmpi's symbols from there.
void *openFirst(std::string &tried) {
  for (const std::string &directory : pluginDirectories()) {
    std::string path = directory + "/" + pluginName;
    if (access(path.c_str(), F_OK) != 0) {
      tried += (tried.empty() ? "" : ", ") + ("'" + directory + "'");
      continue;
    }
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library)
      throw CommunicationError(-1, std::string("cannot open the MPI plugin: ") +
                                       dlerror());
    return library;
  }
  return nullptr;
}

} // namespace

std::vector<std::string> meshc::runtime::pluginDirectories() {
  std::vector<std::string> directories;
  if (const char *path = std::getenv("MESHC_PLUGIN_PATH")) {
    std::istringstream entries(path);
    for (std::string entry; std::getline(entries, entry, ':');)
      if (!entry.empty())
        directories.push_back(entry);
  }
  directories.push_back(executableDirectory());
  directories.push_back(MESHC_PLUGIN_DIRECTORY);
  return directories;
}

const MeshcMpi &meshc::runtime::openMpi() {
  static const MeshcMpi *opened = nullptr;
  if (opened)
    return *opened;
  std::string tried;
  void *library = openFirst(tried);
  if (!library)
    throw CommunicationError(
        -1, std::string("the MPI plugin '") + pluginName +
                "' is needed and was not found in " + tried +
                "; set MESHC_PLUGIN_PATH to its directory (meshc builds it "
                "where Open MPI's headers are), or start ranks as threads "
                "with '--ranks N' and without mpirun");
  auto function = reinterpret_cast<MeshcMpiPluginFunction>(
      dlsym(library, "meshc_mpi_plugin"));
  const MeshcMpi *mpi = function ? function() : nullptr;
  if (!mpi || mpi->version != MESHC_MPI_PLUGIN_VERSION)
    throw CommunicationError(
        -1, std::string("the MPI plugin '") + pluginName + "' has version " +
                (mpi ? std::to_string(mpi->version) : "none") +
                ", and this program wants version " +
                std::to_string(MESHC_MPI_PLUGIN_VERSION) +
                "; build both from one meshc");
  if (int error = mpi->start())
    throw CommunicationError(-1, std::string("MPI does not start: ") +
                                     mpi->describe(error));
  opened = mpi;
  return *opened;
}
