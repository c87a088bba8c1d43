//===- Plugin.cpp - libmeshc_cuda.so --------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Gpu.h"

#include <algorithm>
#include <cstring>

using namespace meshc::cuda;

const char *meshc::cuda::say(const std::string &text) {
  static thread_local std::string kept;
  kept = text;
  return kept.c_str();
}

const char *meshc::cuda::report(cudaError_t error) {
  if (error == cudaSuccess)
    return nullptr;
  cudaGetLastError(); // an error is reported once
  return say(std::string(cudaGetErrorString(error)) + " (" +
             cudaGetErrorName(error) + ")");
}

#define RETURN_IF_ERROR(call)                                                  \
  if (const char *message = report(call))                                      \
  return message

namespace {

const char *system(MeshcCudaSystem *system) {
  *system = {};
  cudaDriverGetVersion(&system->driver);
  cudaRuntimeGetVersion(&system->runtime);
  cudaError_t error = cudaGetDeviceCount(&system->gpus);
  if (error != cudaSuccess)
    system->gpus = 0;
  if (system->gpus == 0) {
    const char *reason = error == cudaSuccess
                             ? "no CUDA-capable device is there"
                             : cudaGetErrorString(error);
    if (system->driver == 0)
      reason = "the NVIDIA driver is not installed";
    std::strncpy(system->reason, reason, sizeof(system->reason) - 1);
    system->absent = system->driver == 0 || error == cudaSuccess ||
                     error == cudaErrorNoDevice;
    cudaGetLastError();
  }
  return nullptr;
}

const char *describe(int gpu, MeshcCudaGpu *description) {
  *description = {};
  cudaDeviceProp properties;
  RETURN_IF_ERROR(cudaGetDeviceProperties(&properties, gpu));
  std::strncpy(description->name, properties.name,
               sizeof(description->name) - 1);
  description->chip =
      static_cast<uint32_t>(properties.major * 10 + properties.minor);
  description->totalBytes = properties.totalGlobalMem;
  uint64_t halves[2];
  static_assert(sizeof(halves) == sizeof(properties.uuid));
  std::memcpy(halves, &properties.uuid, sizeof(halves));
  description->identity = halves[0] ^ halves[1];
  return nullptr;
}

void close(MeshcCudaRank *rank) {
  dropPlans(rank);
  if (rank->cublas)
    cublasLtDestroy(rank->cublas);
  if (rank->workspace)
    cudaFree(rank->workspace);
  for (cudaLibrary_t library : {rank->program, rank->own})
    if (library)
      cudaLibraryUnload(library);
  for (cudaStream_t stream : rank->streams)
    if (stream)
      cudaStreamDestroy(stream);
  delete rank;
}

const char *freeMemory(MeshcCudaRank *, uint64_t *bytes) {
  size_t free = 0, total = 0;
  RETURN_IF_ERROR(cudaMemGetInfo(&free, &total));
  *bytes = free;
  return nullptr;
}

const char *fill(MeshcCudaRank *rank, uint64_t workspaceBytes,
                 uint64_t *freeBytes) {
  RETURN_IF_ERROR(cudaSetDevice(rank->gpu));
  if (const char *error = freeMemory(rank, freeBytes))
    return error;
  // Communication has priority when both could start.
  int least = 0, greatest = 0;
  RETURN_IF_ERROR(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (int i = 0; i < MESHC_CUDA_STREAMS; ++i)
    RETURN_IF_ERROR(cudaStreamCreateWithPriority(
        &rank->streams[i], cudaStreamNonBlocking,
        i == MESHC_CUDA_COMMUNICATION ? greatest : least));
  RETURN_IF_ERROR(cudaLibraryLoadData(&rank->own, ownKernelCode, nullptr,
                                      nullptr, 0, nullptr, nullptr, 0));
  if (cublasLtCreate(&rank->cublas) != CUBLAS_STATUS_SUCCESS)
    return say("cublasLt does not start");
  RETURN_IF_ERROR(cudaMalloc(&rank->workspace, workspaceBytes));
  rank->workspaceBytes = workspaceBytes;
  return nullptr;
}

const char *open(int gpu, uint64_t workspaceBytes, MeshcCudaRank **made,
                 uint64_t *freeBytes) {
  auto *rank = new MeshcCudaRank;
  rank->gpu = gpu;
  if (const char *error = fill(rank, workspaceBytes, freeBytes)) {
    close(rank);
    return error;
  }
  *made = rank;
  return nullptr;
}

const char *allocate(MeshcCudaRank *, uint64_t bytes, void **memory) {
  return report(cudaMalloc(memory, bytes));
}

void release(MeshcCudaRank *, void *memory) { cudaFree(memory); }

const char *allocateHost(MeshcCudaRank *, uint64_t bytes, void **memory) {
  return report(cudaHostAlloc(memory, bytes, cudaHostAllocPortable));
}

void releaseHost(MeshcCudaRank *, void *memory) { cudaFreeHost(memory); }

const char *copy(MeshcCudaRank *rank, MeshcCudaStream stream, void *to,
                 const void *from, uint64_t bytes) {
  return report(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,
                                rank->streams[stream]));
}

const char *zero(MeshcCudaRank *rank, MeshcCudaStream stream, void *memory,
                 uint64_t bytes) {
  return report(cudaMemsetAsync(memory, 0, bytes, rank->streams[stream]));
}

const char *newEvent(MeshcCudaRank *, void **event) {
  cudaEvent_t made = nullptr;
  RETURN_IF_ERROR(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  *event = made;
  return nullptr;
}

void dropEvent(MeshcCudaRank *, void *event) {
  cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

const char *record(MeshcCudaRank *rank, void *event, MeshcCudaStream stream) {
  return report(
      cudaEventRecord(static_cast<cudaEvent_t>(event), rank->streams[stream]));
}

const char *wait(MeshcCudaRank *rank, MeshcCudaStream stream, void *event) {
  return report(cudaStreamWaitEvent(rank->streams[stream],
                                    static_cast<cudaEvent_t>(event), 0));
}

const char *query(MeshcCudaRank *, void *event, int *done) {
  cudaError_t error = cudaEventQuery(static_cast<cudaEvent_t>(event));
  *done = error == cudaSuccess;
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return nullptr;
  }
  return report(error);
}

const char *load(MeshcCudaRank *rank, const void *image, uint64_t) {
  return report(cudaLibraryLoadData(&rank->program, image, nullptr, nullptr, 0,
                                    nullptr, nullptr, 0));
}

const char *findKernel(MeshcCudaRank *rank, const char *name,
                       uint32_t sharedBytes, void **kernel) {
  cudaKernel_t found = nullptr;
  RETURN_IF_ERROR(cudaLibraryGetKernel(&found, rank->program, name));
  // Including the code's static memory this may exceed 48 KiB, which must be
  // requested.
  if (sharedBytes > 0)
    RETURN_IF_ERROR(cudaKernelSetAttributeForDevice(
        found, cudaFuncAttributeMaxDynamicSharedMemorySize,
        static_cast<int>(sharedBytes), rank->gpu));
  *kernel = found;
  return nullptr;
}

const char *launch(MeshcCudaRank *rank, MeshcCudaStream stream, void *kernel,
                   uint32_t blocks, uint32_t threads, uint32_t sharedBytes,
                   void **parameters) {
  if (blocks == 0)
    return nullptr;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks, 1, 1);
  config.blockDim = dim3(threads, 1, 1);
  config.dynamicSmemBytes = sharedBytes;
  config.stream = rank->streams[stream];
  return report(cudaLaunchKernelExC(&config, kernel, parameters));
}

const char *beginCapture(MeshcCudaRank *rank) {
  // Other threads of the process may be other ranks, which proceed
  // independently.
  return report(cudaStreamBeginCapture(rank->streams[MESHC_CUDA_COMPUTE],
                                       cudaStreamCaptureModeThreadLocal));
}

const char *endCapture(MeshcCudaRank *rank, void **graph) {
  *graph = nullptr;
  cudaGraph_t captured = nullptr;
  RETURN_IF_ERROR(
      cudaStreamEndCapture(rank->streams[MESHC_CUDA_COMPUTE], &captured));
  cudaGraphExec_t executable = nullptr;
  cudaError_t error = cudaGraphInstantiate(&executable, captured, 0);
  cudaGraphDestroy(captured);
  *graph = executable;
  return report(error);
}

const char *launchGraph(MeshcCudaRank *rank, void *graph) {
  return report(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph),
                                rank->streams[MESHC_CUDA_COMPUTE]));
}

void dropGraph(MeshcCudaRank *, void *graph) {
  cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

} // namespace

const char *meshc::cuda::launchOwn(MeshcCudaRank *rank, MeshcCudaStream stream,
                                   const std::string &name, int64_t work,
                                   void **parameters) {
  constexpr int64_t threads = 256, mostBlocks = 4096;
  cudaKernel_t &kernel = rank->ownKernels[name];
  if (!kernel)
    RETURN_IF_ERROR(cudaLibraryGetKernel(&kernel, rank->own, name.c_str()));
  int64_t blocks =
      std::clamp<int64_t>((work + threads - 1) / threads, 1, mostBlocks);
  return launch(rank, stream, kernel, static_cast<uint32_t>(blocks),
                static_cast<uint32_t>(threads), 0, parameters);
}

extern "C" const MeshcCuda *meshc_cuda_plugin(void) {
  static const MeshcCuda table = [] {
    MeshcCuda made = {};
    made.version = MESHC_CUDA_PLUGIN_VERSION;
    made.system = system;
    made.describe = describe;
    made.open = open;
    made.close = close;
    made.freeMemory = freeMemory;
    made.allocate = allocate;
    made.release = release;
    made.allocateHost = allocateHost;
    made.releaseHost = releaseHost;
    made.copy = copy;
    made.zero = zero;
    made.newEvent = newEvent;
    made.dropEvent = dropEvent;
    made.record = record;
    made.wait = wait;
    made.query = query;
    made.load = load;
    made.findKernel = findKernel;
    made.launch = launch;
    made.multiply = multiply;
    made.beginCapture = beginCapture;
    made.endCapture = endCapture;
    made.launchGraph = launchGraph;
    made.dropGraph = dropGraph;
    made.combine = combine;
    made.transpose = transpose;
    made.mark = mark;
    addNccl(made);
    addTrace(made);
    return made;
  }();
  return &table;
}
