//===- AttentionTest.cpp - blocks of scores against whole ones ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Attention/Attention.h"

#include "meshc/AttentionScratch.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Blas/Element.h"

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
  uint8_t type = MESHC_F32;
  bool ownKeys = false;    ///< keys also have the groups
  bool ownValues = false;  ///< values also have the groups
  bool isSpread = false;   ///< mask and bias lie along the rows
  bool byDistance = false; ///< the bias
  uint8_t labels = MESHC_NO_LABELS;
};

/// Numbers of a type, as a call reads and writes them.
class Stored {
public:
  Stored(uint8_t type, const std::vector<float> &values)
      : type(type), bytes(values.size() * 4) {
    for (size_t i = 0; i < values.size(); ++i)
      storeElement(type, bytes.data(), int64_t(i), values[i]);
  }
  void readBack(std::vector<float> &values) const {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = loadElement(type, bytes.data(), int64_t(i));
  }
  void *data() { return bytes.data(); }

private:
  uint8_t type;
  std::vector<char> bytes;
};

/// A case with all its tensors, in [batch, position, head, group, element].
class Case {
public:
  explicit Case(const Sizes &sizes);

  /// Runs both calls with the scratch memory that is planned, or with that of
  /// one thread.
  void run(bool hasLittleMemory = false);
  /// Compares all results with doubles that are computed from whole scores.
  void check();
  /// The bits of all results.
  std::vector<float> results() const;

  MeshcAttention attention{};
  std::vector<float> query, key, value, bias, output, logSums, gradient,
      ofQuery, ofKey, ofValue, ofBias;
  std::vector<uint8_t> mask;
  std::vector<int32_t> rowLabels, memoryLabels;

private:
  void describe();
  void draw();
  /// Compares with a number that is computed from what the call reads: the
  /// sums of f32 differ by up to `tolerance`, then the result is rounded.
  void expectNear(double got, double wanted, double tolerance,
                  const char *name) const;
  void checkRow(int64_t entry, int64_t row);
  std::vector<double> scoresOf(int64_t row, const int64_t *at) const;
  int64_t offset(const MeshcAttentionStrides &strides, const int64_t *at) const;

  Sizes sizes;
  std::vector<double> wantedKey, wantedValue, wantedBias;
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
  attention.type = s.type;
  attention.hasMask = s.hasMask, attention.hasBias = s.hasBias;
  auto ofRows = [&](int64_t width) {
    int64_t perRow = s.heads * s.groups * width;
    return MeshcAttentionStrides{
        {s.rows * perRow, s.groups * width, width}, perRow, 0};
  };
  auto ofMemory = [&](int64_t width, bool hasGroups) {
    int64_t groups = hasGroups ? s.groups : 1;
    return MeshcAttentionStrides{{s.memory * s.heads * groups * width,
                                  groups * width, hasGroups ? width : 0},
                                 0,
                                 s.heads * groups * width};
  };
  attention.query = ofRows(s.keys);
  attention.output = ofRows(s.values);
  attention.logSums = ofRows(1);
  attention.key = ofMemory(s.keys, s.ownKeys);
  attention.value = ofMemory(s.values, s.ownValues);
  // The mask by batch and memory, the bias by head, row and memory.
  attention.mask = {{s.memory, 0, 0}, 0, 1};
  attention.bias = {{0, s.rows * s.memory, 0}, s.memory, 1};
  if (s.byDistance) { // by head and distance, of rows of other ranks, too
    attention.biasByDistance = 1;
    attention.lastRow = s.firstRow + s.rows + 3;
    int64_t distances = attention.lastRow + s.memory;
    attention.bias = {{0, distances, 0}, -1, 1};
    attention.hasBiasGradient = 1; // for each entry of the outer dims
    attention.biasGradient = {
        {s.heads * s.groups * distances, s.groups * distances, distances},
        -1,
        1};
  }
  // The labels by batch, and those of the memory also by head.
  attention.labels = s.labels;
  attention.rowLabels = {{s.rows, 0, 0}, 1, 0};
  attention.memoryLabels = {{s.heads * s.memory, s.memory, 0}, 0, 1};
  if (s.isSpread) { // the mask by row and memory
    attention.memoryLabels = {{1, s.batch, 0}, 0, s.batch * s.heads};
    attention.mask = {{0, 0, 0}, 1, s.rows};
    attention.bias = {{0, s.rows * s.memory, 0}, 1, s.rows};
  }
}

void Case::draw() {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const Sizes &s = sizes;
  int64_t rows = s.batch * s.rows * s.heads * s.groups,
          memory = s.batch * s.memory * s.heads,
          ownKeys = s.ownKeys ? s.groups : 1,
          ownValues = s.ownValues ? s.groups : 1;
  auto fill = [&](std::vector<float> &values, int64_t count) {
    values.resize(count);
    for (float &x : values)
      x = normal(random);
    Stored(s.type, values).readBack(values);
  };
  fill(query, rows * s.keys);
  fill(key, memory * s.keys * ownKeys);
  fill(value, memory * s.values * ownValues);
  fill(bias, s.heads * (s.byDistance ? attention.lastRow + s.memory
                                     : s.rows * s.memory));
  fill(gradient, rows * s.values);
  // What the calls write must not depend on what was there.
  output.assign(rows * s.values, NAN);
  logSums.assign(rows, NAN);
  ofQuery.assign(rows * s.keys, NAN);
  ofKey.assign(key.size(), NAN);
  ofValue.assign(value.size(), NAN);
  if (s.byDistance)
    ofBias.assign(s.batch * s.heads * s.groups * (attention.lastRow + s.memory),
                  NAN);
  for (int64_t i = 0; i < (s.isSpread ? s.rows : s.batch) * s.memory; ++i)
    mask.push_back(random() % 3 != 0);
  for (int64_t i = 0; i < s.batch * s.rows; ++i)
    rowLabels.push_back(static_cast<int32_t>(random() % 4));
  for (int64_t i = 0; i < s.batch * s.heads * s.memory; ++i)
    memoryLabels.push_back(static_cast<int32_t>(random() % 4));
}

void Case::run(bool hasLittleMemory) {
  const int64_t coordinates[2] = {5, sizes.firstRow};
  auto scratch = [&](int isGradient) {
    int64_t bytes = meshcAttentionScratchBytes(&attention, isGradient);
    if (hasLittleMemory)
      bytes = meshcAttentionThreadBytes(&attention, isGradient) +
              (isGradient ? meshcAttentionSlots(&attention) *
                                meshcAttentionSlotBytes(&attention)
                          : 0);
    return std::pair(
        std::shared_ptr<char>(static_cast<char *>(std::aligned_alloc(
                                  64, static_cast<size_t>(bytes))),
                              std::free),
        bytes);
  };
  uint8_t type = sizes.type;
  Stored q(type, query), k(type, key), v(type, value), b(type, bias),
      y(type, output), g(type, gradient), dq(type, ofQuery), dk(type, ofKey),
      dv(type, ofValue);
  AttentionTensors tensors{q.data(),
                           k.data(),
                           v.data(),
                           sizes.hasMask ? mask.data() : nullptr,
                           sizes.hasBias ? b.data() : nullptr,
                           sizes.labels ? rowLabels.data() : nullptr,
                           sizes.labels ? memoryLabels.data() : nullptr};
  auto [forward, forwardBytes] = scratch(0);
  runAttention(attention, coordinates, tensors, y.data(), logSums.data(),
               {forward.get(), forwardBytes});
  auto [backward, backwardBytes] = scratch(1);
  runAttentionGradient(attention, coordinates, tensors,
                       {y.data(), logSums.data(), g.data()},
                       {dq.data(), dk.data(), dv.data(), ofBias.data()},
                       {backward.get(), backwardBytes});
  y.readBack(output);
  dq.readBack(ofQuery);
  dk.readBack(ofKey);
  dv.readBack(ofValue);
}

std::vector<float> Case::results() const {
  std::vector<float> all;
  for (const std::vector<float> *part :
       {&output, &logSums, &ofQuery, &ofKey, &ofValue, &ofBias})
    all.insert(all.end(), part->begin(), part->end());
  return all;
}

/// Rounding moves a number by half of its last place: 8 bits of bf16 and 11 of
/// f16 are significant, and f16 has no number between 0 and 2^-24.
void Case::expectNear(double got, double wanted, double tolerance,
                      const char *name) const {
  double place = sizes.type == MESHC_F32    ? 0
                 : sizes.type == MESHC_BF16 ? 0x1p-8
                                            : 0x1p-11;
  ASSERT_NEAR(got, wanted,
              tolerance + place * 1.01 * std::abs(wanted) +
                  (sizes.type == MESHC_F16 ? 0x1p-25 : 0))
      << name;
}

int64_t Case::offset(const MeshcAttentionStrides &strides,
                     const int64_t *at) const {
  int64_t offset = 0;
  for (int dim = 0; dim < 3; ++dim)
    offset += at[dim] * strides.outer[dim];
  return offset;
}

std::vector<double> Case::scoresOf(int64_t row, const int64_t *at) const {
  auto labelsAllow = [&](int64_t m) {
    int32_t ofRow = rowLabels[offset(attention.rowLabels, at) +
                              row * attention.rowLabels.row];
    int32_t ofMemory = memoryLabels[offset(attention.memoryLabels, at) +
                                    m * attention.memoryLabels.memory];
    switch (sizes.labels) {
    case MESHC_LABELS_EQUAL:
      return ofMemory == ofRow;
    case MESHC_LABELS_DIFFER:
      return ofMemory != ofRow;
    case MESHC_LABELS_LESS:
      return ofMemory < ofRow;
    case MESHC_LABELS_AT_MOST:
      return ofMemory <= ofRow;
    case MESHC_LABELS_GREATER:
      return ofMemory > ofRow;
    case MESHC_LABELS_AT_LEAST:
      return ofMemory >= ofRow;
    default:
      return true;
    }
  };
  std::vector<double> scores;
  for (int64_t m = 0; m < sizes.memory; ++m) {
    int64_t distance = m - (sizes.firstRow + row);
    bool allowed = distance >= sizes.lowest && distance <= sizes.highest &&
                   (!sizes.hasMask ||
                    mask[offset(attention.mask, at) + row * attention.mask.row +
                         m * attention.mask.memory]) &&
                   labelsAllow(m);
    double sum = 0;
    for (int64_t k = 0; k < sizes.keys; ++k)
      sum += double(query[offset(attention.query, at) +
                          row * attention.query.row + k]) *
             key[offset(attention.key, at) + m * attention.key.memory + k];
    sum *= attention.scale;
    if (sizes.hasBias && sizes.byDistance)
      sum += bias[offset(attention.bias, at) + distance + attention.lastRow];
    else if (sizes.hasBias)
      sum += bias[offset(attention.bias, at) + row * attention.bias.row +
                  m * attention.bias.memory];
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
    expectNear(y[e], wanted, 1e-5, "output");
    inner += double(y[e]) * g[e]; // the gradient reads the rounded output
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
    double step = share * (slope - inner);
    if (sizes.byDistance)
      wantedBias[offset(attention.biasGradient, at) + m -
                 (sizes.firstRow + row) + attention.lastRow] += step;
    step *= attention.scale;
    for (int64_t k = 0; k < sizes.keys; ++k) {
      ofRow[k] += step * key[keys + k];
      wantedKey[keys + k] += step * query[atRow(attention.query) + k];
    }
  }
  for (int64_t k = 0; k < sizes.keys; ++k)
    expectNear(ofQuery[atRow(attention.query) + k], ofRow[k], 2e-5,
               "gradient of the query");
}

void Case::check() {
  wantedKey.assign(key.size(), 0);
  wantedValue.assign(value.size(), 0);
  wantedBias.assign(ofBias.size(), 0);
  for (int64_t entry = 0; entry < sizes.batch * sizes.heads * sizes.groups;
       ++entry)
    for (int64_t row = 0; row < sizes.rows; ++row)
      checkRow(entry, row);
  for (size_t i = 0; i < key.size(); ++i)
    expectNear(ofKey[i], wantedKey[i], 1e-4, "gradient of the keys");
  for (size_t i = 0; i < value.size(); ++i)
    expectNear(ofValue[i], wantedValue[i], 1e-4, "gradient of the values");
  for (size_t i = 0; i < ofBias.size(); ++i)
    ASSERT_NEAR(ofBias[i], wantedBias[i], 1e-4) << "gradient of the bias";
}

static void check(Sizes sizes, bool hasLittleMemory = false) {
  for (uint8_t type : {MESHC_F32, MESHC_BF16, MESHC_F16}) {
    sizes.type = type;
    SCOPED_TRACE("type " + std::to_string(type));
    Case one(sizes);
    one.run(hasLittleMemory);
    one.check();
  }
}

namespace {

class Attention : public testing::TestWithParam<int> {
protected:
  Attention() { setThreads(GetParam()); }
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

TEST_P(Attention, biasesByDistance) {
  check({.rows = 20, .memory = 40, .hasBias = true, .byDistance = true});
  check({.rows = 66,
         .memory = 600,
         .highest = 0,
         .hasMask = true,
         .hasBias = true,
         .firstRow = 130,
         .byDistance = true});
  check({.rows = 400,
         .memory = 150,
         .lowest = -100,
         .highest = 20,
         .hasBias = true,
         .byDistance = true});
}

/// Products of few rows, and of more elements than a kernel adds up at once.
TEST_P(Attention, fewRowsAndManyElements) {
  for (int64_t rows : {1, 2, 3, 86})
    check({.batch = 1, .rows = rows, .memory = 300, .highest = 200});
  check({.batch = 1, .rows = 2, .memory = 9, .keys = 64, .values = 41});
  check({.batch = 1,
         .heads = 1,
         .rows = 90,
         .memory = 140,
         .keys = 600,
         .values = 290});
}

/// Keys, or values, that the queries of a group do not share.
TEST_P(Attention, keysOrValuesOfAGroup) {
  for (bool ownKeys : {false, true})
    for (bool byDistance : {false, true})
      check({.groups = 3,
             .rows = 100,
             .memory = 260,
             .hasBias = byDistance,
             .ownKeys = ownKeys,
             .ownValues = !ownKeys,
             .byDistance = byDistance});
}

TEST_P(Attention, masksAndBiasesAlongTheRows) {
  check({.rows = 90,
         .memory = 140,
         .highest = 30,
         .hasMask = true,
         .hasBias = true,
         .isSpread = true});
}

TEST_P(Attention, labels) {
  for (uint8_t labels = MESHC_LABELS_EQUAL; labels <= MESHC_LABELS_AT_LEAST;
       ++labels)
    check({.rows = 20, .memory = 40, .labels = labels});
  for (bool isSpread : {false, true})
    check({.rows = 200,
           .memory = 300,
           .highest = 250,
           .hasMask = true,
           .hasBias = true,
           .isSpread = isSpread,
           .labels = MESHC_LABELS_EQUAL});
}

/// What the labels forbid to all rows of a block, at both ends of the memory,
/// is not read: here, that of other documents.
TEST_P(Attention, entriesBeyondTheLabelsOfABlock) {
  constexpr int64_t length = 2 * MESHC_ATTENTION_ROWS, count = 3;
  for (uint8_t labels :
       {MESHC_LABELS_EQUAL, MESHC_LABELS_LESS, MESHC_LABELS_AT_MOST,
        MESHC_LABELS_GREATER, MESHC_LABELS_AT_LEAST}) {
    Case one({.batch = 1,
              .heads = 1,
              .groups = 1,
              .rows = count * length,
              .memory = count * length,
              .labels = labels});
    for (int64_t i = 0; i < count * length; ++i)
      one.rowLabels[i] = one.memoryLabels[i] = static_cast<int32_t>(i / length);
    one.run();
    one.check();
    // An entry of the second document.
    std::fill_n(one.value.begin() + (length + 7) * 3, 3, NAN);
    one.run();
    for (int64_t row = 0; row < count * length; ++row) {
      int64_t document = row / length;
      bool isSeen = labels == MESHC_LABELS_EQUAL     ? document == 1
                    : labels == MESHC_LABELS_LESS    ? document == 2
                    : labels == MESHC_LABELS_AT_MOST ? document >= 1
                    : labels == MESHC_LABELS_GREATER ? document == 0
                                                     : document <= 1;
      ASSERT_EQ(std::isnan(one.output[row * 3]), isSeen) << row;
    }
  }
}

TEST_P(Attention, littleScratchMemory) {
  check({.rows = 70, .memory = 530, .highest = 0}, true);
}

/// One head of a long sequence, too: then threads share its memory.
TEST(AttentionThreads, sameBitsForAnyNumber) {
  for (Sizes sizes :
       {Sizes{.batch = 1, .heads = 1, .groups = 1, .rows = 600, .memory = 700},
        Sizes{.batch = 1,
              .heads = 1,
              .rows = 300,
              .memory = 900,
              .lowest = -200,
              .highest = 0},
        Sizes{.heads = 3, .rows = 90, .memory = 300, .hasMask = true},
        Sizes{.batch = 1,
              .heads = 1,
              .rows = 300,
              .memory = 700,
              .hasBias = true,
              .byDistance = true}})
    for (uint8_t type : {MESHC_F32, MESHC_BF16}) {
      sizes.type = type;
      setThreads(1);
      Case one(sizes);
      one.run();
      one.check();
      for (int threads : {2, 3, 7, 20}) {
        setThreads(threads);
        Case other(sizes);
        other.run();
        EXPECT_EQ(one.results(), other.results()) << threads << " threads";
      }
    }
  setThreads(1);
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

/// Nor does a block of rows read what its rows do not see, but others do: of
/// windows that a mask describes, or of documents.
TEST_P(Attention, entriesBeyondTheMaskOfABlock) {
  for (bool isSpread : {false, true}) {
    Sizes s{.batch = 1,
            .heads = 1,
            .groups = 1,
            .rows = 400,
            .memory = 700,
            .hasMask = true,
            .isSpread = isSpread};
    Case one(s);
    one.attention.mask = {
        {0, 0, 0}, isSpread ? 1 : s.memory, isSpread ? s.rows : 1};
    one.mask.assign(s.rows * s.memory, 0);
    for (int64_t row = 0; row < s.rows; ++row)
      for (int64_t m = row; m < row + 100; ++m)
        one.mask[row * one.attention.mask.row + m * one.attention.mask.memory] =
            1;
    one.run();
    one.check();
    std::fill_n(one.value.begin() + 450 * s.values, s.values, NAN);
    one.run();
    // Whole blocks of rows before the first that sees the entry.
    for (int64_t row = 0; row < 2 * MESHC_ATTENTION_ROWS; ++row)
      EXPECT_TRUE(std::isfinite(one.output[row * s.values])) << row;
    EXPECT_TRUE(std::isnan(one.output[360 * s.values]));
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

} // namespace
