//===- Epilogue.cpp - epilogues in cublasLt's terms -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Epilogue.h"

#include <iterator>

using namespace meshc::cuda;

/// The mode of each kind, without and with the auxiliary array. Our A is
/// cublasLt's B, and the other way round.
static const cublasLtEpilogue_t modes[][2] = {
    {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT},
    {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS},
    {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_AUX},
    {CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_AUX_BIAS},
    {CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_AUX},
    {CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS},
    {CUBLASLT_EPILOGUE_DRELU, CUBLASLT_EPILOGUE_DRELU},
    {CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU},
    {CUBLASLT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_BGRADB},
    {CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADA}};

bool meshc::cuda::isBiasGradient(uint32_t kind) {
  return kind == MESHC_BIAS_GRADIENT_A || kind == MESHC_BIAS_GRADIENT_B;
}

/// Whether cublasLt supports it at all, according to its manual and to its
/// replies to invalid calls. Sums of factors need the factors as they lie,
/// gelu's argument needs rows of a multiple of 8, and there is no gradient of
/// an activation for a product with an empty sum. A bias' gradient never uses
/// rounded factors.
static bool isPossible(uint32_t kind, const Epilogue &epilogue,
                       const MeshcGemm &gemm, MeshcCudaRounding rounding) {
  if (isBiasGradient(kind) && rounding != MESHC_CUDA_EXACT &&
      gemm.type == MESHC_F32)
    return false;
  if (kind == MESHC_BIAS_GRADIENT_A)
    return gemm.transA;
  if (kind == MESHC_BIAS_GRADIENT_B)
    return !gemm.transB;
  if ((kind == MESHC_RELU_GRADIENT || kind == MESHC_GELU_GRADIENT) &&
      gemm.k < 2)
    return false;
  return epilogue.auxiliaryStride % 8 == 0;
}

Epilogue meshc::cuda::translate(const MeshcCudaEpilogue *known,
                                const MeshcGemm &gemm,
                                MeshcCudaRounding rounding) {
  Epilogue epilogue;
  if (!known)
    return epilogue;
  if (known->kind >= std::size(modes)) {
    epilogue.isPossible = false;
    return epilogue;
  }
  const bool isGeluGradient = known->kind == MESHC_GELU_GRADIENT;
  const void *auxiliary = isGeluGradient ? known->other
                          : known->kept  ? known->kept
                                         : known->mask;
  epilogue.mode = modes[known->kind][auxiliary ? 1 : 0];
  epilogue.auxiliary = const_cast<void *>(auxiliary);
  if (auxiliary)
    epilogue.auxiliaryStride =
        auxiliary == known->mask ? (gemm.n + 127) / 128 * 128 : gemm.n;
  // cublasLt refuses the pointer in any other mode.
  if (isBiasGradient(known->kind))
    epilogue.bias = known->result;
  else if (known->kind == MESHC_BIAS || known->kind == MESHC_RELU_BIAS ||
           known->kind == MESHC_GELU_BIAS)
    epilogue.bias = known->other;
  epilogue.isPossible = isPossible(known->kind, epilogue, gemm, rounding);
  return epilogue;
}
