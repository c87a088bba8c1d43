//===- RowLoopsTest.cpp - loops over rows of scores -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Attention/RowLoops.h"

#include "runtime/Base/ProcessorFeatures.h"
#include "runtime/Blas/Element.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace meshc::runtime;

namespace {

/// Each set of loops that this processor can run.
class Loops : public testing::Test {
protected:
  Loops() {
    if (hasProcessorFeature("avx2") && hasProcessorFeature("fma"))
      all.push_back(&avx2RowLoops());
    if (hasProcessorFeature("avx512f") && hasProcessorFeature("avx512dq"))
      all.push_back(&avx512RowLoops());
  }
  std::vector<const RowLoops *> all = {&plainRowLoops()};
};

TEST_F(Loops, exponentials) {
  for (const RowLoops *loops : all) {
    std::vector<float> x;
    for (float at = -87.336F; at < 0; at += 0.00137F)
      x.push_back(at);
    std::vector<float> y = x;
    float sum = loops->exponentiate(y.data(), int64_t(y.size()), 1, 0);
    double wantedSum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double wanted = std::exp(double(x[i]));
      wantedSum += wanted;
      ASSERT_NEAR(y[i] / wanted, 1, 2.5e-7) << x[i];
    }
    EXPECT_NEAR(sum / wantedSum, 1, 1e-5);
    float special[] = {-INFINITY, -87.34F, 0, NAN, INFINITY};
    loops->exponentiate(special, 5, 1, 0);
    EXPECT_EQ(special[0], 0);
    EXPECT_EQ(special[1], 0);
    EXPECT_EQ(special[2], 1);
    EXPECT_TRUE(std::isnan(special[3]));
    EXPECT_EQ(special[4], INFINITY);
    EXPECT_EQ(loops->exponentiate(special, 0, 1, 0), 0);
  }
}

/// As one number after the other: all numbers of 16 bits, and floats with any
/// exponent.
TEST_F(Loops, sixteenBits) {
  std::mt19937 random(3);
  for (const RowLoops *loops : all)
    for (uint8_t type : {MESHC_BF16, MESHC_F16}) {
      std::vector<uint16_t> halves(65536);
      for (size_t i = 0; i < halves.size(); ++i)
        halves[i] = static_cast<uint16_t>(i);
      std::vector<float> floats(halves.size());
      loops->widen(type, reinterpret_cast<const char *>(halves.data()), 0, 1,
                   65536, floats.data(), 0);
      for (int64_t i = 0; i < 65536; ++i)
        ASSERT_EQ(bitsFromFloat(floats[i]),
                  bitsFromFloat(loadElement(type, halves.data(), i)))
            << i;
      for (float &x : floats)
        x = floatFromBits(static_cast<uint32_t>(random()));
      // Also those that lie in the middle of two.
      for (size_t i = 0; i < floats.size(); i += 3)
        floats[i] =
            floatFromBits(bitsFromFloat(floats[i]) &
                          (type == MESHC_BF16 ? 0xffff8000 : 0xfffff000));
      loops->narrow(type, {floats.data(), 0, 1, 65536}, nullptr,
                    reinterpret_cast<char *>(halves.data()), 0);
      uint16_t wanted;
      for (int64_t i = 0; i < 65536; ++i) {
        storeElement(type, &wanted, 0, floats[i]);
        ASSERT_EQ(halves[i], wanted) << floats[i];
      }
    }
}

/// Of rows of all lengths, with their ends.
TEST_F(Loops, rows) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (const RowLoops *loops : all)
    for (int64_t n = 1; n < 70; ++n) {
      const int64_t most = 37, count = n * 5 % (most + 1), stride = n + 3;
      std::vector<float> data(most * stride), x(n), weights(most),
          sums(most, 3), sum(n, 2);
      for (std::vector<float> *values : {&data, &x, &weights})
        for (float &value : *values)
          value = normal(random);
      FloatRows rows{data.data(), stride, count, n};
      loops->sumRowProducts(x.data(), rows, sums.data());
      for (int64_t i = 0; i < count; ++i) {
        double wanted = 0;
        for (int64_t j = 0; j < n; ++j)
          wanted += double(x[j]) * data[i * stride + j];
        EXPECT_NEAR(sums[i], wanted, 1e-5);
      }
      for (int64_t i = count; i < most; ++i)
        EXPECT_EQ(sums[i], 3);
      std::vector<float> copy(most * (n + 1), 5);
      loops->widen(MESHC_F32, reinterpret_cast<const char *>(data.data()),
                   stride * 4, count, n, copy.data(), n + 1);
      for (int64_t i = 0; i < most; ++i)
        for (int64_t j = 0; j <= n; ++j)
          EXPECT_EQ(copy[i * (n + 1) + j],
                    i < count && j < n ? data[i * stride + j] : 5);
      loops->sumProducts(rows, {copy.data(), n + 1, count, n}, sums.data());
      for (int64_t i = 0; i < count; ++i) {
        double wanted = 0;
        for (int64_t j = 0; j < n; ++j)
          wanted += std::pow(double(data[i * stride + j]), 2);
        EXPECT_NEAR(sums[i], wanted, 1e-4);
      }
      bool adds = n % 2 == 0;
      loops->addRows(weights.data(), rows, adds, sum.data());
      std::vector<uint8_t> mask(n);
      for (int64_t j = 0; j < n; ++j) {
        double wanted = adds ? 2 : 0;
        for (int64_t i = 0; i < count; ++i)
          wanted += double(weights[i]) * data[i * stride + j];
        EXPECT_NEAR(sum[j], wanted, 1e-5);
        mask[j] = j % 3 == 0;
      }
      std::vector<float> s = x;
      loops->addBias(s.data(), n, 0.5F, data.data());
      loops->applyMask(s.data(), n, mask.data());
      for (int64_t j = 0; j < n; ++j)
        if (mask[j])
          EXPECT_NEAR(s[j], x[j] * 0.5F + data[j], 1e-6);
        else
          EXPECT_EQ(s[j], -INFINITY);
    }
}

/// Rows with factors, as attention writes its results, and what lies between
/// them.
TEST_F(Loops, rowsOfResults) {
  for (const RowLoops *loops : all)
    for (uint8_t type : {MESHC_F32, MESHC_BF16, MESHC_F16})
      for (int64_t n = 0; n < 70; ++n) {
        const int64_t count = 3, stride = n + 2,
                      bytes = type == MESHC_F32 ? 4 : 2;
        std::vector<float> from(count * stride);
        for (size_t i = 0; i < from.size(); ++i)
          from[i] = 0.1F * float(i) - 7;
        const float factors[count] = {0.3F, 1, -2};
        for (bool hasFactors : {true, false}) {
          std::vector<char> to(count * stride * bytes, 1), before = to;
          loops->narrow(type, {from.data(), stride, count, n},
                        hasFactors ? factors : nullptr, to.data(),
                        stride * bytes);
          for (int64_t i = 0; i < count; ++i)
            for (int64_t j = 0; j < n; ++j)
              storeElement(type, before.data(), i * stride + j,
                           from[i * stride + j] *
                               (hasFactors ? factors[i] : 1));
          EXPECT_EQ(to, before);
        }
      }
}

TEST_F(Loops, slopes) {
  const float scale = 0.5F, shift = 1.5F, inner = 0.25F, factor = 3;
  for (const RowLoops *loops : all)
    for (int64_t n = 0; n < 70; ++n) {
      std::vector<float> s(n + 1), d(n + 1);
      for (int64_t i = 0; i <= n; ++i)
        s[i] = 0.05F * float(i), d[i] = 1 - 0.1F * float(i);
      std::vector<float> p = s, slopes = d;
      loops->findSlopes(slopes.data(), p.data(), n, scale, shift, inner,
                        factor);
      for (int64_t i = 0; i < n; ++i) {
        double share = std::exp(s[i] * scale - shift);
        EXPECT_NEAR(p[i] / share, 1, 5e-7);
        EXPECT_NEAR(slopes[i], share * (d[i] - inner) * factor, 1e-5);
      }
      EXPECT_EQ(p[n], s[n]);
      EXPECT_EQ(slopes[n], d[n]);
    }
}

TEST_F(Loops, labels) {
  const std::pair<MeshcLabels, bool (*)(int32_t, int32_t)> meanings[] = {
      {MESHC_LABELS_EQUAL, [](int32_t m, int32_t r) { return m == r; }},
      {MESHC_LABELS_DIFFER, [](int32_t m, int32_t r) { return m != r; }},
      {MESHC_LABELS_LESS, [](int32_t m, int32_t r) { return m < r; }},
      {MESHC_LABELS_AT_MOST, [](int32_t m, int32_t r) { return m <= r; }},
      {MESHC_LABELS_GREATER, [](int32_t m, int32_t r) { return m > r; }},
      {MESHC_LABELS_AT_LEAST, [](int32_t m, int32_t r) { return m >= r; }}};
  for (const RowLoops *loops : all)
    for (int64_t n : {0, 1, 7, 16, 33})
      for (auto [labels, isAllowed] : meanings)
        for (int32_t ofRow : {INT32_MIN, -1, 0, 3, INT32_MAX}) {
          std::vector<int32_t> ofMemory(n);
          std::vector<float> s(n + 1, 2);
          for (int64_t i = 0; i < n; ++i)
            ofMemory[i] = i % 6 == 5   ? INT32_MAX
                          : i % 6 == 4 ? INT32_MIN
                                       : int32_t(i % 6) - 1;
          loops->applyLabels(s.data(), n, labels, ofMemory.data(), ofRow);
          for (int64_t i = 0; i < n; ++i)
            EXPECT_EQ(s[i], isAllowed(ofMemory[i], ofRow) ? 2 : -INFINITY);
          EXPECT_EQ(s[n], 2);
        }
}

} // namespace
