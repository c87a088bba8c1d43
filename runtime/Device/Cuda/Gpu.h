//===- Gpu.h - a rank on its GPU, within the plugin -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_CUDA_GPU_H
#define MESHC_RUNTIME_DEVICE_CUDA_GPU_H

#include "runtime/Device/CudaPlugin.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <map>
#include <string>
#include <vector>

/// A matrix product with the algorithm chosen for it.
struct MatmulPlan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm;
  bool known = false; ///< to cuBLAS
};

namespace meshc::cuda {
struct Trace;
} // namespace meshc::cuda

struct MeshcCudaRank {
  int gpu = 0;
  cudaStream_t streams[MESHC_CUDA_STREAMS] = {};
  cudaLibrary_t program = nullptr, own = nullptr;
  std::map<std::string, cudaKernel_t> ownKernels;
  cublasLtHandle_t cublas = nullptr;
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
  std::map<std::vector<int64_t>, MatmulPlan> plans;
  meshc::cuda::Trace *trace = nullptr; ///< between traceOpen and traceClose
};

namespace meshc::cuda {

/// Keeps an error text of the plugin for the thread and returns it.
const char *say(const std::string &text);
/// Null, or the error's name and text.
const char *report(cudaError_t error);

/// Launches a kernel of the plugin's own (Kernels.cu) on blocks of 256 threads
/// for `work` threads, which it strides over.
const char *launchOwn(MeshcCudaRank *rank, MeshcCudaStream stream,
                      const std::string &name, int64_t work, void **parameters);

/// The table's functions that are defined in other files.
const char *multiply(MeshcCudaRank *rank, const MeshcGemm *gemm,
                     const MeshcCudaEpilogue *epilogue,
                     MeshcCudaRounding rounding, const void *a, const void *b,
                     void *c, MeshcCudaWay *way);
void dropPlans(MeshcCudaRank *rank);
const char *combine(MeshcCudaRank *rank, MeshcCudaStream stream,
                    const MeshcCudaCombine *combine);
const char *transpose(MeshcCudaRank *rank, MeshcCudaStream stream, void *to,
                      const void *from, int64_t rows, int64_t columns,
                      int64_t blockBytes);
const char *mark(MeshcCudaRank *rank, MeshcCudaStream stream, uint32_t *place,
                 uint32_t value);
/// Fills in the functions whose names begin with nccl.
void addNccl(MeshcCuda &table);
/// Fills in the functions whose names begin with trace.
void addTrace(MeshcCuda &table);

/// The plugin's own kernels for all chips, as compiled by nvcc.
extern const unsigned char *const ownKernelCode;

} // namespace meshc::cuda

#endif // MESHC_RUNTIME_DEVICE_CUDA_GPU_H
