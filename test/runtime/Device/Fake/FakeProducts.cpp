//===- FakeProducts.cpp - matrix products and their epilogues -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeGpu.h"

#include "runtime/Blas/Gemm.h"

#include <cmath>

using namespace meshc;
using namespace meshc::fake;
using namespace meshc::runtime;

namespace {

/// Bytes of the factors and the result.
struct Spans {
  uint64_t a, b, c;

  static Spans of(const MeshcGemm &gemm) {
    auto span = [&](int64_t rows, int64_t columns, int64_t stride,
                    int64_t batch, uint8_t type) -> uint64_t {
      return static_cast<uint64_t>(
          ((rows - 1) * stride + columns + (gemm.batch - 1) * batch) *
          bytesOf(type));
    };
    const uint8_t type = gemm.type;
    if (gemm.k == 0)
      return {0, 0, span(gemm.m, gemm.n, gemm.ldc, gemm.strideC, gemm.typeC)};
    return {gemm.transA ? span(gemm.k, gemm.m, gemm.lda, gemm.strideA, type)
                        : span(gemm.m, gemm.k, gemm.lda, gemm.strideA, type),
            gemm.transB ? span(gemm.n, gemm.k, gemm.ldb, gemm.strideB, type)
                        : span(gemm.k, gemm.n, gemm.ldb, gemm.strideB, type),
            span(gemm.m, gemm.n, gemm.ldc, gemm.strideC, gemm.typeC)};
  }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

constexpr double scale = 1.5957691216057308, cubic = 0.044715;

double gelu(double x) { return x * sigmoid(scale * (x + cubic * x * x * x)); }

double geluSlope(double x) {
  double s = sigmoid(scale * (x + cubic * x * x * x));
  return s + x * s * (1 - s) * scale * (1 + 3 * cubic * x * x);
}

/// One call, with addresses as the host has them.
struct Call {
  MeshcGemm gemm;
  MeshcCudaEpilogue epilogue;
  const char *a, *b, *other;
  char *c, *result, *kept, *mask;

  int64_t maskStride() const { return (gemm.n + 127) / 128 * 16; }
  void run() const;
  void finish(int64_t row, int64_t column, double value) const;
  void sumFactor() const;
};

void Call::finish(int64_t row, int64_t column, double value) const {
  const int64_t bytes = bytesOf(gemm.type), at = row * gemm.n + column;
  const uint32_t kind = epilogue.kind;
  if (kind == MESHC_BIAS || kind == MESHC_RELU_BIAS || kind == MESHC_GELU_BIAS)
    value += widen(gemm.type, other + column * bytes);
  if (kept)
    narrow(gemm.type, value, kept + at * bytes);
  char *bits = mask ? mask + row * maskStride() + column / 8 : nullptr;
  const int bit = 1 << (column % 8);
  if (kind == MESHC_RELU || kind == MESHC_RELU_BIAS) {
    if (bits)
      *bits = static_cast<char>(value > 0 ? *bits | bit : *bits & ~bit);
    value = value < 0 ? 0 : value;
  } else if (kind == MESHC_GELU || kind == MESHC_GELU_BIAS) {
    value = gelu(value);
  } else if (kind == MESHC_RELU_GRADIENT) {
    value = *bits & bit ? value : 0;
  } else if (kind == MESHC_GELU_GRADIENT) {
    value *= geluSlope(widen(gemm.type, other + at * bytes));
  }
  narrow(gemm.type, value, result + at * bytes);
}

/// A bias' gradient.
void Call::sumFactor() const {
  const bool isA = epilogue.kind == MESHC_BIAS_GRADIENT_A;
  const int64_t count = isA ? gemm.m : gemm.n, bytes = bytesOf(gemm.type);
  // Whether k runs along the rows as stored.
  const bool isAlong = isA ? !gemm.transA : gemm.transB;
  const int64_t stride = isA ? gemm.lda : gemm.ldb;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < gemm.k; ++k)
      sum += widen(gemm.type,
                   (isA ? a : b) +
                       (isAlong ? i * stride + k : k * stride + i) * bytes);
    narrow(gemm.type, sum, result + i * bytes);
  }
}

void Call::run() const {
  if (epilogue.kind == MESHC_BIAS_GRADIENT_A ||
      epilogue.kind == MESHC_BIAS_GRADIENT_B) {
    runGemm(gemm, a, b, c);
    return sumFactor();
  }
  MeshcGemm exact = gemm;
  exact.typeC = MESHC_F32;
  std::vector<float> product(static_cast<size_t>(gemm.m * gemm.n));
  runGemm(exact, a, b, product.data());
  for (int64_t row = 0; row < gemm.m; ++row)
    for (int64_t column = 0; column < gemm.n; ++column)
      finish(row, column,
             static_cast<double>(
                 product[static_cast<size_t>(row * gemm.n + column)]));
}

const char *multiplyWith(MeshcCudaRank *rank, const MeshcGemm &gemm,
                         const MeshcCudaEpilogue &epilogue, const void *a,
                         const void *b, void *c, MeshcCudaWay *way) {
  const uint32_t kind = epilogue.kind;
  bool isBiasGradient =
      kind == MESHC_BIAS_GRADIENT_A || kind == MESHC_BIAS_GRADIENT_B;
  if (gemm.batch != 1 || gemm.accumulate || gemm.ldc != gemm.n ||
      gemm.type != gemm.typeC)
    violate("an epilogue of a product that may have none");
  if (!epilogue.result || (kind == MESHC_RELU_GRADIENT && !epilogue.mask))
    violate("an epilogue without its arrays");
  if (gemm.type == MESHC_F16 ||
      (kind == MESHC_BIAS_GRADIENT_A && !gemm.transA) ||
      (kind == MESHC_BIAS_GRADIENT_B && gemm.transB) ||
      ((epilogue.kept || kind == MESHC_GELU_GRADIENT) && gemm.n % 8 != 0))
    return nullptr;
  *way = MESHC_CUDA_CUBLAS;
  Spans spans = Spans::of(gemm);
  auto work = [=, gpu = rank->gpu] {
    const auto bytes = static_cast<uint64_t>(bytesOf(gemm.type));
    auto at = [&](const void *array, uint64_t size) {
      return array ? static_cast<char *>(
                         const_cast<void *>(resolve(array, size, gpu)))
                   : nullptr;
    };
    uint64_t vector =
        static_cast<uint64_t>(kind == MESHC_BIAS_GRADIENT_A ? gemm.m : gemm.n) *
        bytes;
    Call call = {
        gemm,
        epilogue,
        at(a, spans.a),
        at(b, spans.b),
        at(epilogue.other, kind == MESHC_GELU_GRADIENT ? spans.c : vector),
        isBiasGradient ? at(c, spans.c) : nullptr,
        at(epilogue.result, isBiasGradient ? vector : spans.c),
        at(epilogue.kept, spans.c),
        nullptr};
    if (kind == MESHC_RELU_GRADIENT)
      call.other = nullptr;
    call.mask =
        at(epilogue.mask, static_cast<uint64_t>(gemm.m * call.maskStride()));
    call.run();
  };
  enqueueCall(rank, MESHC_CUDA_COMPUTE, work,
              {{MESHC_CUDA_KERNEL, "fake_gemm_with_epilogue", 45000}});
  return nullptr;
}

const char *multiply(MeshcCudaRank *rank, const MeshcGemm *known,
                     const MeshcCudaEpilogue *epilogue, MeshcCudaRounding,
                     const void *a, const void *b, void *c, MeshcCudaWay *way) {
  *way = MESHC_CUDA_NOBODY;
  if (epilogue)
    return multiplyWith(rank, *known, *epilogue, a, b, c, way);
  *way = MESHC_CUDA_CUBLAS;
  const MeshcGemm gemm = *known;
  Spans spans = Spans::of(gemm);
  auto work = [=, gpu = rank->gpu] {
    runGemm(gemm, resolve(a, spans.a, gpu), resolve(b, spans.b, gpu),
            resolve(c, spans.c, gpu));
  };
  enqueueCall(rank, MESHC_CUDA_COMPUTE, work,
              {{MESHC_CUDA_KERNEL, "fake_gemm_128x64", 30000},
               {MESHC_CUDA_KERNEL, "fake_gemm_sum_parts", 10000}});
  return nullptr;
}

} // namespace

void fake::addProducts(MeshcCuda &table) { table.multiply = multiply; }
