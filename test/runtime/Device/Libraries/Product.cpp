//===- Product.cpp - the computation of a cublasLt call -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Product.h"

#include "FakeCuda.h"
#include "Numbers.h"
#include "meshc/RuntimeAbi.h"
#include "runtime/Blas/Gemm.h"

#include <algorithm>
#include <cmath>

using namespace meshc;
using namespace meshc::fake;

namespace {

uint8_t typeOf(cudaDataType_t type) {
  switch (type) {
  case CUDA_R_32F:
    return MESHC_F32;
  case CUDA_R_16BF:
    return MESHC_BF16;
  case CUDA_R_16F:
    return MESHC_F16;
  default:
    violate("a product of a type that the fake does not know");
  }
}

bool has(const Product &product,
         std::initializer_list<cublasLtEpilogue_t> modes) {
  return std::find(modes.begin(), modes.end(), product.operation.epilogue) !=
         modes.end();
}

bool addsBias(const Product &product) {
  return has(product,
             {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
              CUBLASLT_EPILOGUE_RELU_AUX_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS,
              CUBLASLT_EPILOGUE_GELU_AUX_BIAS});
}
bool sumsFactor(const Product &product) {
  return has(product, {CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB});
}
bool hasMask(const Product &product) {
  return has(product,
             {CUBLASLT_EPILOGUE_RELU_AUX, CUBLASLT_EPILOGUE_RELU_AUX_BIAS,
              CUBLASLT_EPILOGUE_DRELU});
}
bool hasArgument(const Product &product) {
  return has(product,
             {CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
              CUBLASLT_EPILOGUE_DGELU});
}

uint64_t depthOf(const Product &product) {
  return product.operation.transA == CUBLAS_OP_N ? product.a.columns
                                                 : product.a.rows;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

constexpr double scale = 1.5957691216057308, cubic = 0.044715;

double gelu(double x) { return x * sigmoid(scale * (x + cubic * x * x * x)); }

double geluSlope(double x) {
  double s = sigmoid(scale * (x + cubic * x * x * x));
  return s + x * s * (1 - s) * scale * (1 + 3 * cubic * x * x);
}

/// Row by row it is the product of the transposed matrices, in the other order.
MeshcGemm asGemm(const Product &product, bool accumulate) {
  MeshcGemm gemm = {};
  gemm.m = static_cast<int64_t>(product.d.columns);
  gemm.n = static_cast<int64_t>(product.d.rows);
  gemm.k = static_cast<int64_t>(depthOf(product));
  gemm.lda = product.b.stride;
  gemm.ldb = product.a.stride;
  gemm.ldc = product.d.stride;
  gemm.batch = product.d.batch;
  gemm.strideA = product.b.batchStride;
  gemm.strideB = product.a.batchStride;
  gemm.strideC = product.d.batchStride;
  gemm.type = typeOf(product.a.type);
  gemm.typeC = typeOf(product.d.type);
  gemm.transA = product.operation.transB == CUBLAS_OP_T;
  gemm.transB = product.operation.transA == CUBLAS_OP_T;
  gemm.accumulate = accumulate;
  return gemm;
}

/// One product, with host addresses.
struct Epilogue {
  const Product &product;
  char *d, *bias, *auxiliary;
  uint8_t type;
  int64_t bytes;

  void finish(int64_t row, int64_t column, double value) const;
  void sumFactor(const char *a, const char *b) const;
};

void Epilogue::finish(int64_t row, int64_t column, double value) const {
  const Operation &operation = product.operation;
  if (addsBias(product))
    value += widen(type, bias + row * bytes);
  const int64_t at = column * operation.auxiliaryStride + row;
  if (hasArgument(product)) {
    if (has(product, {CUBLASLT_EPILOGUE_DGELU}))
      value *= geluSlope(widen(type, auxiliary + at * bytes));
    else
      narrow(type, value, auxiliary + at * bytes);
  }
  char *bits = hasMask(product) ? auxiliary + at / 8 : nullptr;
  const int bit = 1 << (at % 8);
  if (has(product, {CUBLASLT_EPILOGUE_DRELU})) {
    value = *bits & bit ? value : 0;
  } else if (has(product,
                 {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS}) ||
             bits) {
    if (bits)
      *bits = static_cast<char>(value > 0 ? *bits | bit : *bits & ~bit);
    value = value < 0 ? 0 : value;
  } else if (has(product, {CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS,
                           CUBLASLT_EPILOGUE_GELU_AUX,
                           CUBLASLT_EPILOGUE_GELU_AUX_BIAS})) {
    value = gelu(value);
  }
  narrow(type, value, d + (column * product.d.stride + row) * bytes);
}

/// A bias' gradient: sums over the rows of op(A), or the columns of op(B).
void Epilogue::sumFactor(const char *a, const char *b) const {
  const bool isA = product.operation.epilogue == CUBLASLT_EPILOGUE_BGRADA;
  const Layout &factor = isA ? product.a : product.b;
  const bool isTransposed = (isA ? product.operation.transA
                                 : product.operation.transB) == CUBLAS_OP_T;
  // Whether k runs along the columns as stored.
  const bool isAlong = isA == isTransposed;
  const auto count =
      static_cast<int64_t>(isA ? product.d.rows : product.d.columns);
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < static_cast<int64_t>(depthOf(product)); ++k) {
      int64_t row = isAlong ? k : i, column = isAlong ? i : k;
      sum +=
          widen(type, (isA ? a : b) + (column * factor.stride + row) * bytes);
    }
    narrow(type, sum, bias + i * bytes);
  }
}

} // namespace

void fake::checkShapes(const Product &product) {
  auto [rowsA, depthA] = product.operation.transA == CUBLAS_OP_N
                             ? std::pair(product.a.rows, product.a.columns)
                             : std::pair(product.a.columns, product.a.rows);
  auto [depthB, columnsB] = product.operation.transB == CUBLAS_OP_N
                                ? std::pair(product.b.rows, product.b.columns)
                                : std::pair(product.b.columns, product.b.rows);
  if (rowsA != product.d.rows || columnsB != product.d.columns ||
      depthA != depthB || product.c.rows != product.d.rows ||
      product.c.columns != product.d.columns)
    violate("the sizes of a product's matrices do not fit");
  if (product.a.type != product.b.type || product.c.type != product.d.type)
    violate("the types of a product's matrices do not fit");
  for (const Layout &layout : {product.a, product.b, product.c})
    if (layout.batch != product.d.batch || layout.batch < 1)
      violate("the batches of a product's matrices do not fit");
  const Operation &operation = product.operation;
  if (operation.scale != CUDA_R_32F)
    violate("a product whose factors are not f32");
  if ((addsBias(product) || sumsFactor(product)) != (operation.bias != nullptr))
    violate("a bias without its mode, or a mode without its bias");
  if ((hasMask(product) || hasArgument(product)) !=
      (operation.auxiliary != nullptr))
    violate("an auxiliary array without its mode, or the other way round");
}

/// The manual's rules for epilogues, and those in f16, which the fake does not
/// support so that refusals are tested.
cublasStatus_t fake::refuse(const Product &product) {
  const Operation &operation = product.operation;
  if (operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT)
    return CUBLAS_STATUS_SUCCESS;
  if (product.d.batch != 1)
    violate("an epilogue of a product of several entries");
  if (product.a.type == CUDA_R_16F || product.a.type != product.d.type)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const int64_t unit = hasMask(product) ? 128 : 8;
  if (operation.auxiliary &&
      (operation.auxiliaryStride % unit != 0 ||
       operation.auxiliaryStride < static_cast<int64_t>(product.d.rows) ||
       reinterpret_cast<uintptr_t>(operation.auxiliary) % 16 != 0))
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

uint64_t fake::biasBytes(const Product &product) {
  uint64_t count = product.operation.epilogue == CUBLASLT_EPILOGUE_BGRADB
                       ? product.d.columns
                       : product.d.rows;
  return count * static_cast<uint64_t>(bytesOf(typeOf(product.d.type)));
}

uint64_t fake::auxiliaryBytes(const Product &product) {
  auto stride = static_cast<uint64_t>(product.operation.auxiliaryStride);
  if (hasMask(product))
    return product.d.columns * stride / 8;
  return ((product.d.columns - 1) * stride + product.d.rows) *
         static_cast<uint64_t>(bytesOf(typeOf(product.d.type)));
}

void fake::runProduct(const Product &product, const Addresses &at,
                      bool accumulate, int gpu) {
  MeshcGemm gemm = asGemm(product, accumulate);
  const auto *a = static_cast<char *>(resolveDevice(at.a, 0, gpu));
  const auto *b = static_cast<char *>(resolveDevice(at.b, 0, gpu));
  auto *d = static_cast<char *>(resolveDevice(at.d, 0, gpu));
  const Operation &operation = product.operation;
  auto place = [gpu](void *array) {
    return array ? static_cast<char *>(resolveDevice(array, 0, gpu)) : nullptr;
  };
  const Epilogue epilogue = {product,
                             d,
                             place(operation.bias),
                             place(operation.auxiliary),
                             gemm.typeC,
                             bytesOf(gemm.typeC)};
  if (operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT || sumsFactor(product)) {
    runtime::runGemm(gemm, b, a, d);
    if (sumsFactor(product))
      epilogue.sumFactor(a, b);
    return;
  }
  gemm.typeC = MESHC_F32;
  gemm.ldc = gemm.n;
  std::vector<float> sums(static_cast<size_t>(gemm.m * gemm.n));
  runtime::runGemm(gemm, b, a, sums.data());
  for (int64_t column = 0; column < gemm.m; ++column)
    for (int64_t row = 0; row < gemm.n; ++row)
      epilogue.finish(row, column,
                      static_cast<double>(
                          sums[static_cast<size_t>(column * gemm.n + row)]));
}
