//===- ReductionTest.cpp - reductions of every type -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/Reduction.h"

#include "CollectiveCase.h"
#include "runtime/Comm/ReductionLoops.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace meshc::runtime;
using meshc::test::valueAt;

namespace {

struct Baseline {};

/// Runs the loops for any processor and those for AVX2, and expects the same
/// bits.
template <class From, class To>
std::vector<To> reduced(const ReductionKind &kind,
                        const std::vector<std::vector<From>> &arrays) {
  std::vector<const void *> sources;
  for (const std::vector<From> &array : arrays)
    sources.push_back(array.data());
  auto count = static_cast<int64_t>(arrays[0].size());
  std::vector<To> first(count), second(count);
  void *to[] = {first.data()};
  ReductionLoops<Baseline>::find(kind)(sources.data(), int(sources.size()), to,
                                       1, count);
  to[0] = second.data();
  reduce(kind, sources.data(), int(sources.size()), to, 1, count);
  EXPECT_EQ(std::memcmp(first.data(), second.data(), count * sizeof(To)), 0);
  return first;
}

TEST(Reduction, EveryHalfBecomesItsFloat) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i)
    halves[i] = static_cast<uint16_t>(i);
  for (MeshcType type : {MESHC_F16, MESHC_BF16}) {
    std::vector<float> floats =
        reduced<uint16_t, float>({MESHC_SUM, type, MESHC_F32}, {halves});
    for (size_t i = 0; i < halves.size(); ++i) {
      double wanted = valueAt(type, halves.data(), int64_t(i));
      if (std::isnan(wanted))
        EXPECT_TRUE(std::isnan(floats[i])) << i;
      else
        EXPECT_EQ(floats[i], wanted) << i;
    }
    std::vector<uint16_t> back =
        reduced<float, uint16_t>({MESHC_SUM, MESHC_F32, type}, {floats});
    for (size_t i = 0; i < halves.size(); ++i)
      if (!std::isnan(floats[i]))
        EXPECT_EQ(back[i], halves[i]);
      else
        EXPECT_TRUE(std::isnan(valueAt(type, back.data(), int64_t(i)))) << i;
  }
}

/// The nearest half is no farther than its neighbours; ties are even.
TEST(Reduction, RoundsToNearestEven) {
  std::mt19937 random(1);
  std::vector<float> floats(100000);
  for (float &value : floats) {
    uint32_t bits = static_cast<uint32_t>(random());
    std::memcpy(&value, &bits, 4);
    if (std::isnan(value))
      value = 0;
  }
  floats[0] = 65519.0f, floats[1] = 65520.0f, floats[2] = 0x1p-25f;
  floats[3] = 0x1.8p-24f, floats[4] = 1 + 0x1p-11f, floats[5] = 1 + 0x1.8p-10f;
  std::vector<uint16_t> halves =
      reduced<float, uint16_t>({MESHC_SUM, MESHC_F32, MESHC_F16}, {floats});
  auto value = [](uint16_t bits) { return valueAt(MESHC_F16, &bits, 0); };
  EXPECT_EQ(value(halves[0]), 65504);
  EXPECT_TRUE(std::isinf(value(halves[1])));
  EXPECT_EQ(value(halves[2]), 0);
  EXPECT_EQ(value(halves[3]), 0x1p-23);
  EXPECT_EQ(value(halves[4]), 1);
  EXPECT_EQ(value(halves[5]), 1 + 0x1p-9);
  for (size_t i = 6; i < floats.size(); ++i) {
    double got = value(halves[i]), wanted = floats[i];
    EXPECT_EQ(std::signbit(got), std::signbit(floats[i]));
    if (std::isinf(got)) {
      EXPECT_GE(std::fabs(wanted), 65520) << wanted;
      continue;
    }
    double error = std::fabs(got - wanted);
    for (int step : {-1, 1}) {
      double other = value(static_cast<uint16_t>(halves[i] + step));
      if (std::isfinite(other))
        EXPECT_LE(error, std::fabs(other - wanted)) << wanted;
    }
  }
}

TEST(Reduction, HalvesAreSummedInFloat) {
  // 256 + 1 is 256 in bf16: eight ones added one by one would be lost.
  std::vector<std::vector<uint16_t>> arrays(9, {0x3f80});
  arrays[0] = {0x4380};
  auto sum =
      reduced<uint16_t, uint16_t>({MESHC_SUM, MESHC_BF16, MESHC_BF16}, arrays);
  EXPECT_EQ(valueAt(MESHC_BF16, sum.data(), 0), 264);
}

TEST(Reduction, NanIsTheLargestAndTheSmallest) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (MeshcReduction reduction : {MESHC_MAX, MESHC_MIN}) {
    auto got = reduced<float, float>({reduction, MESHC_F32, MESHC_F32},
                                     {{nan, 1, 2}, {1, nan, 3}, {5, 6, 4}});
    EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]));
    EXPECT_EQ(got[2], reduction == MESHC_MAX ? 4 : 2);
  }
}

TEST(Reduction, IntegersWrapAround) {
  int32_t most = std::numeric_limits<int32_t>::max();
  auto got = reduced<int32_t, int32_t>({MESHC_SUM, MESHC_I32, MESHC_I32},
                                       {{most}, {1}});
  EXPECT_EQ(got[0], std::numeric_limits<int32_t>::min());
}

TEST(Reduction, InPlaceAndSeveralDestinations) {
  std::vector<float> a(5000, 1), b(5000, 2), c(5000, 3), d(5000);
  const void *sources[] = {a.data(), b.data(), c.data()};
  void *destinations[] = {b.data(), d.data(), a.data()};
  reduce({MESHC_SUM, MESHC_F32, MESHC_F32}, sources, 3, destinations, 3, 5000);
  std::vector<float> six(5000, 6);
  EXPECT_EQ(a, six);
  EXPECT_EQ(b, six);
  EXPECT_EQ(c, std::vector<float>(5000, 3));
  EXPECT_EQ(d, six);
}

TEST(Reduction, CopiesEveryLength) {
  std::vector<char> from(3000), to(3000);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<char>(i * 7);
  for (size_t n = 0; n + 8 < from.size(); n += 37) {
    std::fill(to.begin(), to.end(), 0);
    copyBytes(to.data() + 3, from.data() + 5, n);
    EXPECT_EQ(std::memcmp(to.data() + 3, from.data() + 5, n), 0);
    EXPECT_EQ(to[3 + n], 0);
  }
}

} // namespace
