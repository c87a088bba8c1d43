//===- AttentionTest.cpp - blocks of scores against whole ones ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Attention/Attention.h"

#include "meshc/AttentionScratch.h"
#include "runtime/Attention/RowLoops.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Base/ProcessorFeatures.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

using namespace meshc::runtime;

namespace {

/// Sizes of a case: heads share keys and values among `groups` queries each.
struct Sizes {
  int64_t batch = 2, heads = 2, groups = 2, rows = 3, memory = 4, keys = 5,
          values = 3;
  int64_t lowest = INT64_MIN, highest = INT64_MAX;
  bool hasMask = false, hasBias = false;
  int64_t firstRow = 0;
};

/// A case with all its tensors, in [batch, position, head, group, element].
class Case {
public:
  explicit Case(const Sizes &sizes);

  /// Runs both calls with so many bytes of scratch memory.
  void run(double share = 1);
  /// Compares all results with doubles that are computed from whole scores.
  void check();

  MeshcAttention attention{};
  std::vector<float> query, key, value, bias, output, logSums, gradient,
      ofQuery, ofKey, ofValue;
  std::vector<uint8_t> mask;

private:
  void describe();
  void draw();
  void checkRow(int64_t entry, int64_t row);
  std::vector<double> scoresOf(int64_t row, const int64_t *at) const;
  int64_t offset(const MeshcAttentionStrides &strides, const int64_t *at) const;

  Sizes sizes;
  std::vector<double> wantedKey, wantedValue;
};

} // namespace

Case::Case(const Sizes &sizes) : sizes(sizes) {
  describe();
  draw();
}

void Case::describe() {
  const Sizes &s = sizes;
  attention.outerCount = 3;
  attention.outerSizes[0] = s.batch;
  attention.outerSizes[1] = s.heads;
  attention.outerSizes[2] = s.groups;
  attention.sharedCount = 2;
  attention.rows = s.rows, attention.memory = s.memory;
  attention.keys = s.keys, attention.values = s.values;
  attention.rowOffsets[1] = 1; // of axis 1
  attention.lowest = s.lowest, attention.highest = s.highest;
  attention.scale = 1 / std::sqrt(static_cast<float>(s.keys));
  auto ofRows = [&](int64_t width) {
    int64_t perRow = s.heads * s.groups * width;
    return MeshcAttentionStrides{
        {s.rows * perRow, s.groups * width, width}, perRow, 0};
  };
  auto ofMemory = [&](int64_t width) {
    return MeshcAttentionStrides{
        {s.memory * s.heads * width, width, 0}, 0, s.heads * width};
  };
  attention.query = ofRows(s.keys);
  attention.output = ofRows(s.values);
  attention.logSums = ofRows(1);
  attention.key = ofMemory(s.keys);
  attention.value = ofMemory(s.values);
  // The mask by batch and memory, the bias by head, row and memory.
  attention.mask = {{s.memory, 0, 0}, 0, 1};
  attention.bias = {{0, s.rows * s.memory, 0}, s.memory, 1};
}

void Case::draw() {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const Sizes &s = sizes;
  int64_t rows = s.batch * s.rows * s.heads * s.groups,
          memory = s.batch * s.memory * s.heads;
  auto fill = [&](std::vector<float> &values, int64_t count) {
    values.resize(count);
    for (float &x : values)
      x = normal(random);
  };
  fill(query, rows * s.keys);
  fill(key, memory * s.keys);
  fill(value, memory * s.values);
  fill(bias, s.heads * s.rows * s.memory);
  fill(gradient, rows * s.values);
  // What the calls write must not depend on what was there.
  output.assign(rows * s.values, NAN);
  logSums.assign(rows, NAN);
  ofQuery.assign(rows * s.keys, NAN);
  ofKey.assign(memory * s.keys, NAN);
  ofValue.assign(memory * s.values, NAN);
  for (int64_t i = 0; i < s.batch * s.memory; ++i)
    mask.push_back(random() % 3 != 0);
}

void Case::run(double share) {
  const int64_t coordinates[2] = {5, sizes.firstRow};
  auto scratch = [&](int isGradient) {
    auto bytes = static_cast<int64_t>(
        share * static_cast<double>(
                    meshcAttentionScratchBytes(&attention, isGradient)));
    bytes = (bytes + 63) / 64 * 64;
    return std::pair(
        std::shared_ptr<char>(static_cast<char *>(std::aligned_alloc(
                                  64, static_cast<size_t>(bytes))),
                              std::free),
        bytes);
  };
  AttentionTensors tensors{query.data(), key.data(), value.data(),
                           sizes.hasMask ? mask.data() : nullptr,
                           sizes.hasBias ? bias.data() : nullptr};
  auto [forward, forwardBytes] = scratch(0);
  runAttention(attention, coordinates, tensors, output.data(), logSums.data(),
               {forward.get(), forwardBytes});
  auto [backward, backwardBytes] = scratch(1);
  runAttentionGradient(attention, coordinates, tensors,
                       {output.data(), logSums.data(), gradient.data()},
                       ofQuery.data(), ofKey.data(), ofValue.data(),
                       {backward.get(), backwardBytes});
}

int64_t Case::offset(const MeshcAttentionStrides &strides,
                     const int64_t *at) const {
  int64_t offset = 0;
  for (int dim = 0; dim < 3; ++dim)
    offset += at[dim] * strides.outer[dim];
  return offset;
}

std::vector<double> Case::scoresOf(int64_t row, const int64_t *at) const {
  std::vector<double> scores;
  for (int64_t m = 0; m < sizes.memory; ++m) {
    int64_t distance = m - (sizes.firstRow + row);
    bool allowed = distance >= sizes.lowest && distance <= sizes.highest &&
                   (!sizes.hasMask || mask[offset(attention.mask, at) + m]);
    double sum = 0;
    for (int64_t k = 0; k < sizes.keys; ++k)
      sum += double(query[offset(attention.query, at) +
                          row * attention.query.row + k]) *
             key[offset(attention.key, at) + m * attention.key.memory + k];
    sum *= attention.scale;
    if (sizes.hasBias)
      sum += bias[offset(attention.bias, at) + row * attention.bias.row + m];
    scores.push_back(allowed ? sum : -INFINITY);
  }
  return scores;
}

void Case::checkRow(int64_t entry, int64_t row) {
  int64_t at[3] = {entry / (sizes.groups * sizes.heads),
                   entry / sizes.groups % sizes.heads, entry % sizes.groups};
  std::vector<double> shares = scoresOf(row, at);
  double sum = 0;
  for (double &share : shares)
    sum += share = std::exp(share);
  auto atRow = [&](const MeshcAttentionStrides &strides) {
    return offset(strides, at) + row * strides.row;
  };
  double logSum = logSums[atRow(attention.logSums)];
  if (sum == 0)
    EXPECT_EQ(logSum, INFINITY);
  else
    EXPECT_NEAR(logSum, std::log(sum), 1e-5);
  const float *y = &output[atRow(attention.output)],
              *g = &gradient[atRow(attention.output)];
  double inner = 0;
  for (int64_t e = 0; e < sizes.values; ++e) {
    double wanted = 0;
    for (int64_t m = 0; m < sizes.memory; ++m)
      wanted += sum == 0 ? 0
                         : shares[m] / sum *
                               value[offset(attention.value, at) +
                                     m * attention.value.memory + e];
    ASSERT_NEAR(y[e], wanted, 1e-5) << "row " << row << " of entry " << entry;
    inner += wanted * g[e];
  }
  std::vector<double> ofRow(sizes.keys, 0);
  for (int64_t m = 0; m < sizes.memory; ++m) {
    double share = sum == 0 ? 0 : shares[m] / sum, slope = 0;
    int64_t values = offset(attention.value, at) + m * attention.value.memory,
            keys = offset(attention.key, at) + m * attention.key.memory;
    for (int64_t e = 0; e < sizes.values; ++e) {
      slope += double(g[e]) * value[values + e];
      wantedValue[values + e] += share * g[e];
    }
    double step = share * (slope - inner) * attention.scale;
    for (int64_t k = 0; k < sizes.keys; ++k) {
      ofRow[k] += step * key[keys + k];
      wantedKey[keys + k] += step * query[atRow(attention.query) + k];
    }
  }
  for (int64_t k = 0; k < sizes.keys; ++k)
    ASSERT_NEAR(ofQuery[atRow(attention.query) + k], ofRow[k], 2e-5)
        << "row " << row << " of entry " << entry;
}

void Case::check() {
  wantedKey.assign(key.size(), 0);
  wantedValue.assign(value.size(), 0);
  for (int64_t entry = 0; entry < sizes.batch * sizes.heads * sizes.groups;
       ++entry)
    for (int64_t row = 0; row < sizes.rows; ++row)
      checkRow(entry, row);
  for (size_t i = 0; i < key.size(); ++i)
    ASSERT_NEAR(ofKey[i], wantedKey[i], 1e-4);
  for (size_t i = 0; i < value.size(); ++i)
    ASSERT_NEAR(ofValue[i], wantedValue[i], 1e-4);
}

static void check(const Sizes &sizes, double share = 1) {
  Case one(sizes);
  one.run(share);
  one.check();
}

namespace {

class Attention : public testing::TestWithParam<int> {
protected:
  Attention() {
    openThreads();
    setThreads(GetParam());
  }
  ~Attention() override { setThreads(1); }
};

INSTANTIATE_TEST_SUITE_P(Threads, Attention, testing::Values(1, 3));

TEST_P(Attention, smallAndLarge) {
  check({});
  check({.rows = 1, .memory = 1, .keys = 1, .values = 1});
  check({.rows = 70, .memory = 530, .keys = 16, .values = 20});
  check({.batch = 1, .heads = 1, .groups = 1, .rows = 200, .memory = 1100});
}

TEST_P(Attention, bands) {
  for (int64_t rows : {5, 70, 600}) {
    Sizes s{.batch = 1, .groups = 1, .rows = rows, .memory = rows};
    s.highest = 0;
    check(s);
    s.lowest = -3;
    check(s);
    s.lowest = 2, s.highest = 4; // the last rows see nothing
    check(s);
    s.lowest = s.highest = rows; // no row sees anything
    check(s);
  }
  // The rows of a rank: from 64 on.
  check({.rows = 64, .memory = 128, .highest = 0, .firstRow = 64});
}

TEST_P(Attention, masksAndBiases) {
  check({.rows = 20, .memory = 40, .hasMask = true});
  check({.rows = 20, .memory = 40, .hasBias = true});
  check({.rows = 66,
         .memory = 600,
         .highest = 500,
         .hasMask = true,
         .hasBias = true});
}

/// Smaller blocks, and fewer threads.
TEST_P(Attention, littleScratchMemory) {
  for (double share : {0.5, 0.2, 0.13})
    check({.rows = 70, .memory = 530, .highest = 0}, share);
}

TEST_P(Attention, rowsWithoutAnAllowedEntry) {
  Sizes s{.rows = 10, .memory = 10, .hasMask = true};
  Case one(s);
  std::fill(one.mask.begin(), one.mask.end(), 0);
  one.run();
  one.check();
  for (float y : one.output)
    EXPECT_EQ(y, 0);
}

/// What the mask forbids to all rows, at both ends of the memory, is not read.
TEST_P(Attention, entriesBeyondTheMask) {
  for (int64_t memory : {40, 700}) {
    Sizes s{.rows = 3, .memory = memory, .hasMask = true};
    Case one(s);
    int64_t row = s.heads * s.keys, valueRow = s.heads * s.values;
    for (int64_t entry = 0; entry < s.batch * memory; ++entry) {
      int64_t m = entry % memory, begin = entry < memory ? 5 : 0;
      one.mask[entry] = m >= begin && m < memory / 2;
      if (one.mask[entry])
        continue;
      std::fill_n(one.key.begin() + entry * row, row, NAN);
      std::fill_n(one.value.begin() + entry * valueRow, valueRow, NAN);
    }
    one.run();
    for (float y : one.output)
      EXPECT_TRUE(std::isfinite(y));
    for (float y : one.ofQuery)
      EXPECT_TRUE(std::isfinite(y));
  }
}

/// NaN stays NaN, in its rows alone.
TEST_P(Attention, NaN) {
  Sizes s{.batch = 1, .heads = 1, .groups = 1, .rows = 3, .memory = 600};
  Case one(s);
  one.query[s.keys] = NAN; // of the second row
  one.run();
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t e = 0; e < s.values; ++e)
      EXPECT_EQ(std::isnan(one.output[row * s.values + e]), row == 1);
  // And if all that a row may see is NaN.
  Case all(s);
  std::fill(all.key.begin(), all.key.end(), NAN);
  all.run();
  for (float y : all.output)
    EXPECT_TRUE(std::isnan(y));
}

TEST_P(Attention, scoresFarApart) {
  Sizes s{.batch = 1, .heads = 1, .groups = 1, .rows = 4, .memory = 700};
  Case one(s);
  for (float &x : one.key)
    x *= 100;
  one.run();
  for (float y : one.output)
    EXPECT_TRUE(std::isfinite(y));
}

/// Each set of loops that this processor can run, against doubles.
TEST(RowLoops, exponentials) {
  std::vector<const RowLoops *> all = {&plainRowLoops()};
  if (hasProcessorFeature("avx2") && hasProcessorFeature("fma"))
    all.push_back(&avx2RowLoops());
  if (hasProcessorFeature("avx512f"))
    all.push_back(&avx512RowLoops());
  for (const RowLoops *loops : all) {
    std::vector<float> x;
    for (float at = -86.9F; at < 0; at += 0.00137F)
      x.push_back(at);
    std::vector<float> y = x;
    float sum = loops->exponentiate(y.data(), int64_t(y.size()), 0);
    double wantedSum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double wanted = std::exp(double(x[i]));
      wantedSum += wanted;
      ASSERT_NEAR(y[i] / wanted, 1, 2.5e-7) << x[i];
    }
    EXPECT_NEAR(sum / wantedSum, 1, 1e-5);
    float special[] = {-INFINITY, -100, 0, NAN, INFINITY};
    loops->exponentiate(special, 5, 0);
    EXPECT_EQ(special[0], 0);
    EXPECT_EQ(special[1], 0);
    EXPECT_EQ(special[2], 1);
    EXPECT_TRUE(std::isnan(special[3]));
    EXPECT_EQ(special[4], INFINITY);
    EXPECT_EQ(loops->exponentiate(special, 0, 0), 0);
  }
}

} // namespace
