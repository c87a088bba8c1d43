//===- EpilogueTest.cpp - what cublasLt is told of epilogues --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rules are those that cublasLt's calls check (its log names them).
///
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Epilogue.h"
#include "meshc/Epilogues.h"

#include <gtest/gtest.h>

using meshc::cuda::Epilogue;
using meshc::cuda::translate;

namespace {

char arrays[4];

/// All arrays that the kind may have.
MeshcCudaEpilogue makeEpilogue(uint32_t kind, bool hasAuxiliary) {
  MeshcCudaEpilogue epilogue = {};
  epilogue.kind = kind;
  epilogue.result = &arrays[0];
  const meshc::EpilogueTraits *traits = meshc::findEpilogue(kind);
  if (!traits)
    return epilogue;
  if (traits->getInputCount() > 1)
    epilogue.other = &arrays[1];
  if (hasAuxiliary && traits->mayKeepArgument())
    epilogue.kept = &arrays[2];
  if (traits->readsMask() || (hasAuxiliary && traits->writesMask()))
    epilogue.mask = &arrays[3];
  return epilogue;
}

MeshcGemm makeGemm(int64_t n, int64_t k) {
  MeshcGemm gemm = {};
  gemm.m = 12, gemm.n = gemm.ldc = gemm.ldb = n, gemm.k = gemm.lda = k;
  gemm.batch = 1, gemm.type = gemm.typeC = MESHC_F32;
  return gemm;
}

TEST(Epilogue, pointersAreThoseOfTheMode) {
  for (const meshc::EpilogueTraits &traits : meshc::epilogueTable)
    for (bool hasAuxiliary : {false, true}) {
      const uint32_t kind = traits.kind;
      MeshcCudaEpilogue known = makeEpilogue(kind, hasAuxiliary);
      Epilogue told = translate(&known, makeGemm(64, 32), MESHC_CUDA_EXACT);
      constexpr uint32_t bias = CUBLASLT_EPILOGUE_BIAS, auxiliary = 128,
                         sums = 16 | CUBLASLT_EPILOGUE_BGRADA |
                                CUBLASLT_EPILOGUE_BGRADB;
      const auto mode = static_cast<uint32_t>(told.mode);
      EXPECT_EQ(told.bias != nullptr, (mode & (bias | sums)) != 0) << kind;
      EXPECT_EQ(told.auxiliary != nullptr, (mode & auxiliary) != 0) << kind;
      EXPECT_EQ(told.auxiliaryStride > 0, told.auxiliary != nullptr) << kind;
      if (known.mask)
        EXPECT_EQ(told.auxiliaryStride % 128, 0) << kind;
    }
}

TEST(Epilogue, modesAreThoseOfTheKinds) {
  auto mode = [](uint32_t kind, bool hasAuxiliary) {
    MeshcCudaEpilogue known = makeEpilogue(kind, hasAuxiliary);
    return translate(&known, makeGemm(64, 32), MESHC_CUDA_EXACT).mode;
  };
  EXPECT_EQ(mode(MESHC_RELU_BIAS, true), CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
  EXPECT_EQ(mode(MESHC_GELU, false), CUBLASLT_EPILOGUE_GELU);
  EXPECT_EQ(mode(MESHC_GELU_BIAS, true), CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  EXPECT_EQ(mode(MESHC_RELU_GRADIENT, false), CUBLASLT_EPILOGUE_DRELU);
  EXPECT_EQ(mode(MESHC_GELU_GRADIENT, false), CUBLASLT_EPILOGUE_DGELU);
  // Our A is cublasLt's B.
  EXPECT_EQ(mode(MESHC_BIAS_GRADIENT_A, false), CUBLASLT_EPILOGUE_BGRADB);
  EXPECT_EQ(translate(nullptr, makeGemm(64, 32), MESHC_CUDA_EXACT).mode,
            CUBLASLT_EPILOGUE_DEFAULT);
}

TEST(Epilogue, whatCublasLtHasNotIsNotAskedFor) {
  auto isPossible = [](uint32_t kind, const MeshcGemm &gemm, bool tf32) {
    MeshcCudaEpilogue known = makeEpilogue(kind, true);
    return translate(&known, gemm, tf32 ? MESHC_CUDA_TO_TF32 : MESHC_CUDA_EXACT)
        .isPossible;
  };
  EXPECT_TRUE(isPossible(MESHC_GELU, makeGemm(72, 32), false));
  EXPECT_FALSE(isPossible(MESHC_GELU, makeGemm(70, 32), false));
  EXPECT_FALSE(isPossible(MESHC_GELU_GRADIENT, makeGemm(70, 32), false));
  EXPECT_TRUE(isPossible(MESHC_RELU_BIAS, makeGemm(70, 32), false));
  EXPECT_TRUE(isPossible(MESHC_RELU_GRADIENT, makeGemm(70, 2), false));
  EXPECT_FALSE(isPossible(MESHC_RELU_GRADIENT, makeGemm(70, 1), false));
  MeshcGemm gemm = makeGemm(64, 32);
  EXPECT_FALSE(isPossible(MESHC_BIAS_GRADIENT_A, gemm, false));
  EXPECT_TRUE(isPossible(MESHC_BIAS_GRADIENT_B, gemm, false));
  gemm.transA = gemm.transB = 1;
  EXPECT_TRUE(isPossible(MESHC_BIAS_GRADIENT_A, gemm, false));
  EXPECT_FALSE(isPossible(MESHC_BIAS_GRADIENT_B, gemm, false));
  // A sum is of numbers as they are.
  EXPECT_FALSE(isPossible(MESHC_BIAS_GRADIENT_A, gemm, true));
  gemm.type = gemm.typeC = MESHC_BF16;
  EXPECT_TRUE(isPossible(MESHC_BIAS_GRADIENT_A, gemm, true));
  EXPECT_FALSE(isPossible(77, gemm, false));
}

} // namespace
