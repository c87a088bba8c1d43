//===- Libraries.cpp - loaded code and its kernels ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeCuda.h"
#include "OwnKernels.h"
#include "PtxCode.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace meshc;
using namespace meshc::fake;

/// Code of a rank: a program's, as functions of the host or as PTX, or the
/// plugin's own kernels if it has neither.
struct CUlib_st {
  const Image *image;
  std::unique_ptr<PtxCode> ptx;
  std::map<std::string, std::unique_ptr<CUkern_st>> kernels;
  /// A rank's context as host kernels receive it, always at one address, by
  /// which the emulation identifies ranks.
  MeshcContext context;
};

struct CUkern_st {
  CUlib_st *library;
  std::string name;
  const Kernel *kernel; ///< of a program, on the host; else null
  std::function<Bound(void **, unsigned, unsigned)> own;
  int sharedBytes = 0; ///< that a launch may ask for beyond 48 KiB
};

namespace {

/// Images from nvcc begin like this.
constexpr uint32_t fatbinMagic = 0xba55ed50;
constexpr unsigned mostThreads = 1024;
constexpr int plainSharedBytes = 48 << 10, mostSharedBytes = 227 << 10;

void runKernel(CUkern_st &kernel, const std::vector<void *> &parameters,
               int gpu) {
  MeshcContext &context = kernel.library->context;
  context = *static_cast<MeshcContext *>(
      resolveDevice(parameters[0], sizeof(MeshcContext), gpu));
  if (context.runtime)
    violate("the GPU's context has a pointer of the host's");
  context.arena = static_cast<char *>(resolveDevice(context.arena, 0, gpu));
  context.coords =
      static_cast<const int64_t *>(resolveDevice(context.coords, 0, gpu));
  context.settings =
      static_cast<const float *>(resolveDevice(context.settings, 0, gpu));
  std::vector<void *> buffers;
  for (uint32_t i = 0; i < kernel.kernel->bufferCount; ++i)
    buffers.push_back(resolveDevice(parameters[i + 1], 0, gpu));
  kernel.kernel->function(&context, buffers.data(), 0, kernel.kernel->extent);
}

void launchOfProgram(CUkern_st &kernel, const cudaLaunchConfig_t &config,
                     void **parameters) {
  const Kernel &known = *kernel.kernel;
  if (known.threads &&
      (known.threads != config.blockDim.x || known.extent != config.gridDim.x))
    violate("kernel '" + kernel.name +
            "' is launched with another grid than "
            "it was compiled for");
  std::vector<void *> values;
  for (uint32_t i = 0; i <= known.bufferCount; ++i)
    values.push_back(*static_cast<void **>(parameters[i]));
  const int gpu = self().gpu;
  for (void *value : values)
    resolveDevice(value, 0, gpu);
  bool ends = !isSet("FAKE_CUDA_ENDLESS", kernel.name);
  enqueue(config.stream,
          [=, &kernel]() -> Work {
            return [=, &kernel] {
              if (ends)
                runKernel(kernel, values, gpu);
              return ends;
            };
          },
          {{Activity::Kernel, kernel.name.c_str(), 20000}});
}

void launchOfPtx(CUkern_st &kernel, const cudaLaunchConfig_t &config,
                 void **parameters) {
  auto bound = kernel.library->ptx->bind(
      kernel.name,
      {config.gridDim.x, config.blockDim.x, config.dynamicSmemBytes},
      parameters);
  enqueueCall(config.stream, [bound, gpu = self().gpu] { bound(gpu); },
              {{Activity::Kernel, kernel.name.c_str(), 20000}});
}

/// Whether the library has the kernel; makes it what the library has.
bool findKernel(CUlib_st &library, CUkern_st &kernel) {
  if (library.ptx)
    return library.ptx->hasEntry(kernel.name);
  if (!library.image) {
    kernel.own = findOwnKernel(kernel.name);
    return static_cast<bool>(kernel.own);
  }
  for (uint64_t i = 0; i < library.image->kernelCount; ++i)
    if (library.image->kernels[i].name == kernel.name)
      kernel.kernel = &library.image->kernels[i];
  return kernel.kernel;
}

} // namespace

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t *made, const void *code,
                                cudaJitOption *, void **, unsigned options,
                                cudaLibraryOption *, void **,
                                unsigned libraryOptions) {
  note("cudaLibraryLoadData(%p)", code);
  forbidInCapture("cudaLibraryLoadData");
  if (options || libraryOptions)
    violate("options that the fake does not know");
  uint64_t magic = 0;
  std::memcpy(&magic, code, sizeof(magic));
  const bool isProgram = magic == Image::expectedMagic;
  const bool isPtx = PtxCode::isText(code);
  if (!isProgram && !isPtx && static_cast<uint32_t>(magic) != fatbinMagic)
    return self().lastError = cudaErrorNoKernelImageForDevice;
  *made = new CUlib_st{
      isProgram ? static_cast<const Image *>(code) : nullptr, {}, {}, {}};
  if (isPtx)
    (*made)->ptx = std::make_unique<PtxCode>(static_cast<const char *>(code));
  noteBorn(*made);
  ++self().held;
  return cudaSuccess;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  note("cudaLibraryUnload(%p)", static_cast<void *>(library));
  forbidInCapture("cudaLibraryUnload");
  noteDead(library, "a library");
  for (const auto &entry : library->kernels)
    noteDead(entry.second.get(), "a kernel");
  --self().held;
  delete library;
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *found, cudaLibrary_t library,
                                 const char *name) {
  note("cudaLibraryGetKernel(%s)", name);
  expectAlive(library, "a library");
  forbidInCapture("cudaLibraryGetKernel");
  std::unique_ptr<CUkern_st> &kernel = library->kernels[name];
  if (!kernel) {
    CUkern_st made = {library, name, nullptr, {}, 0};
    if (!findKernel(*library, made)) {
      library->kernels.erase(name);
      return self().lastError = cudaErrorSymbolNotFound;
    }
    kernel = std::make_unique<CUkern_st>(std::move(made));
    noteBorn(kernel.get());
  }
  *found = kernel.get();
  return cudaSuccess;
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                            cudaFuncAttribute attribute,
                                            int value, int gpu) {
  note("cudaKernelSetAttributeForDevice(%s, %d, %d, gpu=%d)",
       kernel->name.c_str(), attribute, value, gpu);
  expectAlive(kernel, "a kernel");
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
    violate("an attribute that the fake does not know");
  if (value > mostSharedBytes)
    violate("more shared memory than a block can have");
  kernel->sharedBytes = value;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                const void *function, void **parameters) {
  auto *kernel = static_cast<CUkern_st *>(const_cast<void *>(function));
  expectAlive(kernel, "a kernel");
  note("cudaLaunchKernelExC(%s, grid=%u, block=%u, shared=%zu, stream=%p)",
       kernel->name.c_str(), config->gridDim.x, config->blockDim.x,
       config->dynamicSmemBytes, static_cast<void *>(config->stream));
  if (config->gridDim.x == 0 || config->blockDim.x == 0 ||
      config->gridDim.y * config->gridDim.z != 1 ||
      config->blockDim.y * config->blockDim.z != 1 ||
      config->blockDim.x > mostThreads)
    violate("a grid of no threads, of several dims, or of too large blocks");
  if (config->dynamicSmemBytes >
      static_cast<size_t>(std::max(kernel->sharedBytes, plainSharedBytes)))
    violate("more shared memory than was asked for before");
  useFirst(kernel, kernel->own ? 0 : kernelBytes,
           "kernel '" + kernel->name + "'");
  if (kernel->kernel || kernel->library->ptx) {
    auto launch = kernel->kernel ? launchOfProgram : launchOfPtx;
    launch(*kernel, *config, parameters);
    return cudaSuccess;
  }
  Bound bound = kernel->own(parameters, config->gridDim.x, config->blockDim.x);
  const uint64_t duration = kernel->name == "mark" ? 1000 : 6000;
  enqueueCall(config->stream, [bound, gpu = self().gpu] { bound(gpu); },
              {{Activity::Kernel, kernel->name.c_str(), duration}});
  return cudaSuccess;
}
}
