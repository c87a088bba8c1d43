//===- CublasLtTest.cpp - errors that the fake cublasLt finds -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Calls that a correct plugin never makes.
///
//===----------------------------------------------------------------------===//
#include <cublasLt.h>
#include <gtest/gtest.h>

namespace {

/// A 4 x 4 product in f32 that is correct except for a test's changes.
class Product {
public:
  Product() {
    cudaSetDevice(0);
    cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0);
    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    for (cublasLtMatrixLayout_t *layout : {&a, &b, &d})
      cublasLtMatrixLayoutCreate(layout, CUDA_R_32F, 4, 4, 4);
    cublasLtMatmulPreferenceCreate(&preference);
    const uint64_t bytes = 4096;
    cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
        sizeof(bytes));
    cudaMalloc(reinterpret_cast<void **>(&memory), 8192);
  }

  cublasStatus_t choose() {
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation, a, b, d, d, preference, 1, &result, &found);
    algorithm = result.algo;
    return status;
  }
  cublasStatus_t run(const float *pointerA, const float *pointerB,
                     float *pointerD) {
    const float one = 1, zero = 0;
    return cublasLtMatmul(handle, operation, &one, pointerA, a, pointerB, b,
                          &zero, pointerD, d, pointerD, d, &algorithm,
                          memory + 1024, 4096, stream);
  }
  void setEpilogue(cublasLtEpilogue_t mode) {
    cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                   &mode, sizeof(mode));
  }
  void setAuxiliary(void *pointer, int64_t stride) {
    cublasLtMatmulDescSetAttribute(operation,
                                   CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                                   &pointer, sizeof(pointer));
    cublasLtMatmulDescSetAttribute(operation,
                                   CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
                                   &stride, sizeof(stride));
  }

  cudaStream_t stream = nullptr;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
  float *memory = nullptr; ///< 2048 numbers; the last ones are workspace
};

#define EXPECT_VIOLATION(action, rule)                                         \
  EXPECT_DEATH(                                                                \
      {                                                                        \
        Product product;                                                       \
        float *memory = product.memory;                                        \
        static_cast<void>(memory);                                             \
        action;                                                                \
      },                                                                       \
      rule)

} // namespace

TEST(CublasLtDeathTest, whatIsRightIsRun) {
  EXPECT_EXIT(
      {
        Product product;
        float *memory = product.memory;
        bool isGood = product.choose() == CUBLAS_STATUS_SUCCESS &&
                      product.run(memory, memory + 64, memory + 128) ==
                          CUBLAS_STATUS_SUCCESS;
        std::_Exit(isGood ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(CublasLtDeathTest, algorithmsAreForOneProduct) {
  EXPECT_VIOLATION(product.run(memory, memory + 64, memory + 128),
                   "an algorithm that was chosen for another one");
  EXPECT_VIOLATION(
      {
        product.choose();
        product.setEpilogue(CUBLASLT_EPILOGUE_RELU);
        product.run(memory, memory + 64, memory + 128);
      },
      "an algorithm that was chosen for another one");
}

/// The heuristic was told 256 bytes, its default.
TEST(CublasLtDeathTest, pointersAreAlignedAsTheHeuristicWasTold) {
  EXPECT_VIOLATION(
      {
        product.choose();
        product.run(memory + 4, memory + 64, memory + 128);
      },
      "less aligned than the heuristic was told");
}

TEST(CublasLtDeathTest, matricesFit) {
  EXPECT_VIOLATION(
      {
        cublasLtMatrixLayoutCreate(&product.b, CUDA_R_32F, 5, 4, 8);
        product.choose();
      },
      "the sizes of a product's matrices do not fit");
  EXPECT_VIOLATION(
      {
        cublasLtMatrixLayoutCreate(&product.b, CUDA_R_16BF, 4, 4, 4);
        product.choose();
      },
      "the types of a product's matrices do not fit");
  EXPECT_VIOLATION(
      {
        product.choose();
        product.run(memory, memory + 64, memory);
      },
      "a product over its own factor");
  EXPECT_VIOLATION(
      {
        product.choose();
        product.run(memory, memory + 64, memory + 2048);
      },
      "in no memory|neither of a GPU");
  cublasLtMatrixLayout_t layout = nullptr;
  EXPECT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 4, 4, 3),
            CUBLAS_STATUS_INVALID_VALUE);
}

/// A mask has columns of multiples of 128 bits, gelu's argument of 8 numbers.
TEST(CublasLtDeathTest, auxiliaryArraysHaveTheirStrides) {
  auto answer = [](cublasLtEpilogue_t mode, int64_t stride, int shift) {
    EXPECT_EXIT(
        {
          Product product;
          product.setEpilogue(mode);
          product.setAuxiliary(product.memory + 256 + shift, stride);
          std::_Exit(product.choose() == CUBLAS_STATUS_SUCCESS ? 0 : 1);
        },
        testing::ExitedWithCode(
            stride % (mode == CUBLASLT_EPILOGUE_GELU_AUX ? 8 : 128) || shift
                ? 1
                : 0),
        "");
  };
  answer(CUBLASLT_EPILOGUE_RELU_AUX, 128, 0);
  answer(CUBLASLT_EPILOGUE_RELU_AUX, 64, 0);
  answer(CUBLASLT_EPILOGUE_RELU_AUX, 128, 1);
  answer(CUBLASLT_EPILOGUE_GELU_AUX, 8, 0);
  answer(CUBLASLT_EPILOGUE_GELU_AUX, 4, 0);
  EXPECT_VIOLATION(
      {
        product.setAuxiliary(memory + 256, 128);
        product.choose();
      },
      "an auxiliary array without its mode");
}
