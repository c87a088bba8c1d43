//===- Product.cpp - the computation of a cublasLt call -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Product.h"

#include "FakeCuda.h"
#include "Numbers.h"
#include "meshc/Epilogues.h"
#include "runtime/Blas/Gemm.h"

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

enum class Bias { None, Added, Sums };
enum class Auxiliary { None, Mask, Argument };

/// What the manual says of a mode.
struct Mode {
  cublasLtEpilogue_t mode;
  Bias bias;
  Activation function;
  bool isGradient;
  Auxiliary auxiliary;
};

constexpr Activation identity = Activation::Identity, relu = Activation::Relu,
                     gelu = Activation::Gelu;

const Mode modes[] = {
    {CUBLASLT_EPILOGUE_DEFAULT, Bias::None, identity, false, Auxiliary::None},
    {CUBLASLT_EPILOGUE_BIAS, Bias::Added, identity, false, Auxiliary::None},
    {CUBLASLT_EPILOGUE_RELU, Bias::None, relu, false, Auxiliary::None},
    {CUBLASLT_EPILOGUE_RELU_AUX, Bias::None, relu, false, Auxiliary::Mask},
    {CUBLASLT_EPILOGUE_RELU_BIAS, Bias::Added, relu, false, Auxiliary::None},
    {CUBLASLT_EPILOGUE_RELU_AUX_BIAS, Bias::Added, relu, false,
     Auxiliary::Mask},
    {CUBLASLT_EPILOGUE_GELU, Bias::None, gelu, false, Auxiliary::None},
    {CUBLASLT_EPILOGUE_GELU_AUX, Bias::None, gelu, false, Auxiliary::Argument},
    {CUBLASLT_EPILOGUE_GELU_BIAS, Bias::Added, gelu, false, Auxiliary::None},
    {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, Bias::Added, gelu, false,
     Auxiliary::Argument},
    {CUBLASLT_EPILOGUE_DRELU, Bias::None, relu, true, Auxiliary::Mask},
    {CUBLASLT_EPILOGUE_DGELU, Bias::None, gelu, true, Auxiliary::Argument},
    {CUBLASLT_EPILOGUE_BGRADA, Bias::Sums, identity, false, Auxiliary::None},
    {CUBLASLT_EPILOGUE_BGRADB, Bias::Sums, identity, false, Auxiliary::None}};

const Mode &modeOf(const Product &product) {
  for (const Mode &row : modes)
    if (row.mode == product.operation.epilogue)
      return row;
  violate("an epilogue that the fake does not know");
}

bool sumsFactor(const Product &product) {
  return modeOf(product).bias == Bias::Sums;
}
bool hasMask(const Product &product) {
  return modeOf(product).auxiliary == Auxiliary::Mask;
}

uint64_t depthOf(const Product &product) {
  return product.operation.transA == CUBLAS_OP_N ? product.a.columns
                                                 : product.a.rows;
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
  const Mode &mode = modeOf(product);
  if (mode.bias == Bias::Added)
    value += widen(type, bias + row * bytes);
  const int64_t at = column * product.operation.auxiliaryStride + row;
  char *argument =
      mode.auxiliary == Auxiliary::Argument ? auxiliary + at * bytes : nullptr;
  char *bits = mode.auxiliary == Auxiliary::Mask ? auxiliary + at / 8 : nullptr;
  const int bit = 1 << (at % 8);
  if (mode.isGradient) {
    double x = argument ? widen(type, argument) : *bits & bit ? 1 : 0;
    value = applyGradient(mode.function, x, value);
  } else {
    if (argument)
      narrow(type, value, argument);
    if (bits)
      *bits = static_cast<char>(value > 0 ? *bits | bit : *bits & ~bit);
    value = applyActivation(mode.function, value);
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
  const Mode &mode = modeOf(product);
  if ((mode.bias != Bias::None) != (operation.bias != nullptr))
    violate("a bias without its mode, or a mode without its bias");
  if ((mode.auxiliary != Auxiliary::None) != (operation.auxiliary != nullptr))
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
