//===- Epilogue.cpp - epilogues in cublasLt's terms -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Epilogue.h"

#include "meshc/Epilogues.h"

#include <algorithm>
#include <iterator>

using namespace meshc;
using namespace meshc::cuda;

namespace {
/// cublasLt's modes of a kind, without and with the auxiliary array.
struct Modes {
  MeshcEpilogueKind kind;
  cublasLtEpilogue_t plain, auxiliary;
};
} // namespace

/// Our A is cublasLt's B, and the other way round.
static const Modes allModes[] = {
    {MESHC_BIAS, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS},
    {MESHC_RELU, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_AUX},
    {MESHC_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
     CUBLASLT_EPILOGUE_RELU_AUX_BIAS},
    {MESHC_GELU, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_AUX},
    {MESHC_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS,
     CUBLASLT_EPILOGUE_GELU_AUX_BIAS},
    {MESHC_RELU_GRADIENT, CUBLASLT_EPILOGUE_DRELU, CUBLASLT_EPILOGUE_DRELU},
    {MESHC_GELU_GRADIENT, CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU},
    {MESHC_BIAS_GRADIENT_A, CUBLASLT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_BGRADB},
    {MESHC_BIAS_GRADIENT_B, CUBLASLT_EPILOGUE_BGRADA,
     CUBLASLT_EPILOGUE_BGRADA}};
static_assert(std::size(allModes) == std::size(epilogueTable));

/// Whether cublasLt supports it at all, according to its manual and to its
/// replies to invalid calls. Sums of factors need the factors as they lie,
/// gelu's argument needs rows of a multiple of 8, and there is no gradient of
/// an activation for a product with an empty sum. Sums never use rounded
/// factors.
static bool isPossible(const EpilogueTraits &traits, const Epilogue &epilogue,
                       const MeshcGemm &gemm, MeshcCudaRounding rounding) {
  if (traits.sumsFactor() && rounding != MESHC_CUDA_EXACT &&
      gemm.type == MESHC_F32)
    return false;
  if (traits.sumsFactor())
    return traits.operand == EpilogueOperand::A ? gemm.transA : !gemm.transB;
  if (traits.isGradient() && gemm.k < 2)
    return false;
  return epilogue.auxiliaryStride % 8 == 0;
}

Epilogue meshc::cuda::translate(const MeshcCudaEpilogue *known,
                                const MeshcGemm &gemm,
                                MeshcCudaRounding rounding) {
  Epilogue epilogue;
  if (!known)
    return epilogue;
  const EpilogueTraits *traits = findEpilogue(known->kind);
  if (!traits) {
    epilogue.isPossible = false;
    return epilogue;
  }
  epilogue.keepsProduct = traits->keepsProduct();
  const bool readsArgument = traits->readsLikeC() && !traits->readsMask();
  const void *auxiliary = readsArgument ? known->other
                          : known->kept ? known->kept
                                        : known->mask;
  const Modes &modes =
      *std::find_if(std::begin(allModes), std::end(allModes),
                    [&](const Modes &row) { return row.kind == traits->kind; });
  epilogue.mode = auxiliary ? modes.auxiliary : modes.plain;
  epilogue.auxiliary = const_cast<void *>(auxiliary);
  if (auxiliary)
    epilogue.auxiliaryStride =
        auxiliary == known->mask ? (gemm.n + 127) / 128 * 128 : gemm.n;
  // cublasLt refuses the pointer in any other mode.
  if (traits->sumsFactor())
    epilogue.bias = known->result;
  else if (traits->hasBias())
    epilogue.bias = known->other;
  epilogue.isPossible = isPossible(*traits, epilogue, gemm, rounding);
  return epilogue;
}
