//===- CudaLibrary.cpp - finding the CUDA plugin and a GPU ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/CudaLibrary.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/Plugin.h"
#include "runtime/Comm/Bootstrap.h"

#include <dlfcn.h>
#include <functional>
#include <set>
#include <unistd.h>
#include <vector>

using namespace meshc::runtime;

static constexpr const char *pluginName = "libmeshc_cuda.so";

static Failure noDevice(const std::string &message) {
  return Failure(ExitCode::Device, message);
}

static const MeshcCuda &loadPlugin() {
  OpenedPlugin plugin = openPlugin(pluginName, RTLD_NOW | RTLD_LOCAL);
  if (!plugin.error.empty())
    throw noDevice("cannot open the CUDA plugin: " + plugin.error);
  if (!plugin.library)
    throw noDevice(std::string("the program was compiled for GPUs, and the "
                               "CUDA plugin '") +
                   pluginName + "' was not found in " + plugin.tried +
                   "; set MESHC_PLUGIN_PATH to its directory (meshc builds it "
                   "where the CUDA toolkit is), or compile with "
                   "--target=host");
  auto function = reinterpret_cast<MeshcCudaPluginFunction>(
      dlsym(plugin.library, "meshc_cuda_plugin"));
  const MeshcCuda *cuda = function ? function() : nullptr;
  if (!cuda || cuda->version != MESHC_CUDA_PLUGIN_VERSION)
    throw noDevice(std::string("the CUDA plugin '") + pluginName +
                   "' has version " +
                   (cuda ? std::to_string(cuda->version) : "none") +
                   ", and this program needs version " +
                   std::to_string(MESHC_CUDA_PLUGIN_VERSION) +
                   "; build both from one meshc");
  return *cuda;
}

const MeshcCuda &meshc::runtime::openCuda() {
  static const MeshcCuda &opened = loadPlugin();
  return opened;
}

void meshc::runtime::checkCuda(const char *error, const std::string &doing) {
  if (error)
    throw Failure(ExitCode::Internal, "cannot " + doing + ": " + error);
}

/// "13.0", or "none".
static std::string versionText(int version) {
  if (version == 0)
    return "none";
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

int meshc::runtime::countGpus() {
  MeshcCudaSystem system = {};
  checkCuda(openCuda().system(&system), "ask for GPUs");
  if (system.gpus > 0)
    return system.gpus;
  throw noDevice(std::string("no usable GPU: ") + system.reason +
                 " (driver for CUDA: " + versionText(system.driver) +
                 ", CUDA runtime: " + versionText(system.runtime) +
                 "); run where there is an NVIDIA GPU with its driver, or "
                 "compile with '--target=host'");
}

void meshc::runtime::checkCudaTrace() {
  if (const char *error = openCuda().traceLoad())
    throw noDevice(std::string("'--trace' on a GPU needs NVIDIA's CUPTI: ") +
                   error +
                   "; install it (package cuda-cupti of the CUDA toolkit) and "
                   "add its directory to LD_LIBRARY_PATH, or leave '--trace' "
                   "out");
}

/// "sm_90"
static std::string chipName(uint32_t chip) {
  return "sm_" + std::to_string(chip);
}

std::string meshc::runtime::describeImages(const MeshcProgram &program) {
  std::string text;
  for (uint32_t i = 0; i < program.imageCount; ++i) {
    const MeshcImage &image = program.images[i];
    text += (i ? ", " : "") + chipName(image.chip) +
            (image.kind == MESHC_CUBIN ? "" : " (PTX)");
  }
  return text.empty() ? "none" : text;
}

const MeshcImage &meshc::runtime::chooseImage(const MeshcProgram &program,
                                              uint32_t chip) {
  const MeshcImage *best = nullptr;
  for (uint32_t i = 0; i < program.imageCount; ++i) {
    const MeshcImage &image = program.images[i];
    bool code = image.kind == MESHC_CUBIN;
    bool runs = image.chip <= chip && (!code || image.chip / 10 == chip / 10);
    bool wins =
        !best || (best->kind == image.kind ? image.chip > best->chip : code);
    if (runs && wins)
      best = &image;
  }
  if (!best)
    throw noDevice("the GPU is of chip " + chipName(chip) +
                   ", and the program holds code for " +
                   describeImages(program) +
                   "; compile it with '--chip=" + chipName(chip) + "'");
  return *best;
}

namespace {
/// What ranks exchange to find out who shares a host.
struct Neighbour {
  uint64_t host, firstGpu;
  int64_t process, gpus;
};
} // namespace

static std::vector<Neighbour> meetNeighbours(const Rank &rank, int gpus) {
  MeshcCudaGpu first = {};
  checkCuda(openCuda().describe(0, &first), "describe a GPU");
  Neighbour own = {std::hash<std::string>()(hostIdentity()), first.identity,
                   getpid(), gpus};
  std::vector<Neighbour> all(static_cast<size_t>(rank.mesh.size()));
  uint32_t axes = 0;
  for (uint32_t i = 0; i < rank.program->axisCount; ++i)
    axes |= uint32_t(1) << i;
  rank.communicator->exchange(axes, rank.mesh.group(axes), SetupSite, &own,
                              sizeof(own), all.data());
  return all;
}

GpuPlace meshc::runtime::placeRank(const Rank &rank, int gpus) {
  if (rank.mesh.size() == 1)
    return {};
  std::vector<Neighbour> all = meetNeighbours(rank, gpus);
  const Neighbour &own = all[static_cast<size_t>(rank.mesh.rank())];
  int onHost = 0, number = 0;
  bool threads = true, single = true;
  std::set<uint64_t> firstGpus;
  for (size_t i = 0; i < all.size(); ++i) {
    threads &= all[i].process == own.process;
    if (all[i].host != own.host)
      continue;
    number += static_cast<int>(i) < rank.mesh.rank();
    single &= all[i].gpus == 1;
    firstGpus.insert(all[i].firstGpu);
    ++onHost;
  }
  if (onHost <= gpus)
    return {number, false};
  // A launcher may give each process a different visible GPU.
  if (single && firstGpus.size() == static_cast<size_t>(onHost))
    return {0, false};
  if (threads && onHost == rank.mesh.size())
    return {0, true};
  throw noDevice(std::to_string(onHost) +
                 " processes were started on a host "
                 "with " +
                 std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs") +
                 ", and each needs its own; start fewer on it, or let ranks "
                 "share a GPU as threads of one process: without mpirun, "
                 "--ranks " +
                 std::to_string(rank.mesh.size()));
}
