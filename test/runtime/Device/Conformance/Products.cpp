//===- Products.cpp - matrix products of a device -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Suite.h"
#include "runtime/Base/Float16.h"
#include "runtime/Device/CudaDevice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

using namespace meshc;
using namespace meshc::test;
using namespace meshc::runtime;

int64_t test::bytesOf(uint8_t type) { return type == MESHC_F32 ? 4 : 2; }

double test::load(uint8_t type, const std::vector<char> &data, int64_t index) {
  const char *place = data.data() + index * bytesOf(type);
  float real = 0;
  uint16_t half = 0;
  if (type == MESHC_F32) {
    std::memcpy(&real, place, 4);
    return static_cast<double>(real);
  }
  std::memcpy(&half, place, 2);
  return static_cast<double>(type == MESHC_BF16 ? floatFromBf16(half)
                                                : floatFromF16(half));
}

std::vector<char> test::numbers(uint8_t type, int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<char> data(static_cast<size_t>(count * bytesOf(type)));
  for (int64_t i = 0; i < count; ++i) {
    float real = distribution(random);
    uint16_t half =
        type == MESHC_BF16 ? bf16FromFloat(real) : f16FromFloat(real);
    std::memcpy(data.data() + i * bytesOf(type),
                type == MESHC_F32 ? static_cast<const void *>(&real) : &half,
                static_cast<size_t>(bytesOf(type)));
  }
  return data;
}

namespace {

/// How far a result may be from the exact one: each of k + 1 sums and products
/// may round, the factors by tf32 or bf16, the result to its type.
double tolerance(const MeshcGemm &gemm, MatmulPrecision precision,
                 double sumOfSizes, double exact) {
  double sums = static_cast<double>(gemm.k + 2) * 0x1p-24;
  double factors = gemm.type != MESHC_F32               ? 0
                   : precision == MatmulPrecision::TF32 ? 0x1p-9
                   : precision == MatmulPrecision::BF16 ? 0x1p-7
                                                        : 0;
  double result = gemm.typeC == MESHC_BF16  ? 0x1p-8
                  : gemm.typeC == MESHC_F16 ? 0x1p-11
                                            : 0x1p-24;
  return (sums + factors) * sumOfSizes + result * std::fabs(exact) + 1e-7;
}

std::string textOf(const MeshcGemm &gemm) {
  auto text = [](int64_t number) { return std::to_string(number); };
  return text(gemm.m) + " x " + text(gemm.n) + " x " + text(gemm.k) +
         " batch " + text(gemm.batch) + " type " + text(gemm.type) + " to " +
         text(gemm.typeC) + (gemm.transA ? " transA" : "") +
         (gemm.transB ? " transB" : "") + (gemm.accumulate ? " added" : "");
}

std::string compare(const MeshcGemm &gemm, MatmulPrecision precision,
                    const std::vector<char> &a, const std::vector<char> &b,
                    const std::vector<char> &before,
                    const std::vector<char> &after) {
  for (int64_t e = 0; e < gemm.batch; ++e)
    for (int64_t i = 0; i < gemm.m; ++i)
      for (int64_t j = 0; j < gemm.n; ++j) {
        int64_t at = e * gemm.strideC + i * gemm.ldc + j;
        double exact = gemm.accumulate ? load(gemm.typeC, before, at) : 0.0;
        double sizes = std::fabs(exact);
        for (int64_t k = 0; k < gemm.k; ++k) {
          double product =
              load(gemm.type, a,
                   e * gemm.strideA +
                       (gemm.transA ? k * gemm.lda + i : i * gemm.lda + k)) *
              load(gemm.type, b,
                   e * gemm.strideB +
                       (gemm.transB ? j * gemm.ldb + k : k * gemm.ldb + j));
          exact += product;
          sizes += std::fabs(product);
        }
        double got = load(gemm.typeC, after, at);
        if (!(std::fabs(got - exact) <=
              tolerance(gemm, precision, sizes, exact)))
          return textOf(gemm) + ": element " + std::to_string(i) + ", " +
                 std::to_string(j) + " is " + std::to_string(got) +
                 ", wanted " + std::to_string(exact);
      }
  // Between the rows nothing is written.
  for (int64_t i = 0; i < gemm.m; ++i)
    for (int64_t j = gemm.n; j < gemm.ldc; ++j)
      if (load(gemm.typeC, before, i * gemm.ldc + j) !=
          load(gemm.typeC, after, i * gemm.ldc + j))
        return textOf(gemm) + ": something was written beside it";
  return "";
}

std::string check(Subject &subject, const MeshcGemm &gemm,
                  MatmulPrecision precision) {
  int64_t rowsA = gemm.transA ? gemm.k : gemm.m;
  int64_t rowsB = gemm.transB ? gemm.n : gemm.k;
  auto elements = [&](int64_t rows, int64_t stride, int64_t batch) {
    return std::max<int64_t>(1, std::max(rows * stride, batch) * gemm.batch);
  };
  std::vector<char> a =
      numbers(gemm.type, elements(rowsA, gemm.lda, gemm.strideA), 1);
  std::vector<char> b =
      numbers(gemm.type, elements(rowsB, gemm.ldb, gemm.strideB), 2);
  std::vector<char> before =
      numbers(gemm.typeC, elements(gemm.m, gemm.ldc, gemm.strideC), 3);
  auto aligned = [](size_t bytes) {
    return static_cast<int64_t>((bytes + 255) / 256 * 256);
  };
  int64_t atB = aligned(a.size()), atC = atB + aligned(b.size());
  subject.put(0, a);
  subject.put(atB, b);
  subject.put(atC, before);
  subject.run([&](MeshcContext *ctx) {
    meshc_gemm(ctx, &gemm, ctx->arena, ctx->arena + atB, ctx->arena + atC);
  });
  std::vector<char> after(before.size());
  subject.get(atC, after);
  return compare(gemm, precision, a, b, before, after);
}

} // namespace

void test::addProducts(std::vector<Case> &cases, MatmulPrecision precision) {
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 10, 64},   {5, 7, 3},
                              {64, 64, 64}, {33, 65, 129}, {128, 96, 256},
                              {8, 512, 1}};
  const bool isRounded = precision != MatmulPrecision::F32;
  const char *topic = precision == MatmulPrecision::TF32   ? "products, tf32"
                      : precision == MatmulPrecision::BF16 ? "products, bf16"
                                                           : "products";
  for (auto &[m, n, k] : sizes)
    for (uint8_t type : {MESHC_F32, MESHC_BF16, MESHC_F16})
      for (int form = 0; form < 32; ++form) {
        MeshcGemm gemm = {};
        gemm.m = m, gemm.n = n, gemm.k = k;
        gemm.transA = form & 1, gemm.transB = form >> 1 & 1;
        gemm.accumulate = form >> 2 & 1;
        gemm.batch = form & 8 ? 3 : 1;
        gemm.type = type;
        gemm.typeC = form & 16 ? type : MESHC_F32;
        if (isRounded && (type != MESHC_F32 || form & 16))
          continue;
        // Rows are longer than they must be, in some forms.
        int64_t more = form % 3;
        gemm.lda = (gemm.transA ? m : k) + more;
        gemm.ldb = (gemm.transB ? k : n) + more;
        gemm.ldc = n + more;
        gemm.strideA = (gemm.transA ? k : m) * gemm.lda;
        gemm.strideB = form & 1 ? 0 : (gemm.transB ? n : k) * gemm.ldb;
        gemm.strideC = m * gemm.ldc;
        cases.push_back({topic, [=](Subject &subject) {
                           return check(subject, gemm, precision);
                         }});
      }
  // Correct numbers are not enough: products that cuBLAS does not support are
  // some 100 times slower.
  cases.push_back(
      {topic, [](Subject &subject) {
         const auto &counts =
             dynamic_cast<CudaDevice &>(subject.device).productCounts();
         if (counts.ownKernel)
           std::printf(
               "  cuBLAS does not do %lld of %lld products\n",
               static_cast<long long>(counts.ownKernel),
               static_cast<long long>(counts.ownKernel + counts.cublas));
         return counts.ownKernel > counts.cublas / 10
                    ? "cuBLAS does few of the products"
                    : "";
       }});
}
