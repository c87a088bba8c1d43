//===- PaddingTest.cpp - attention in blocks with padding -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In some blocks not all entries exist; the others hold NaN. A call must give
/// the bits of a call on tensors that have the existing entries alone.
///
//===----------------------------------------------------------------------===//
#include "meshc/AttentionScratch.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Blas/Element.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

using namespace meshc::runtime;

namespace {

/// Entries of the queries' dims. Keys and values have batch and heads.
struct Extent {
  int64_t batch, heads, groups, rows;
};

struct Sizes {
  Extent full, existing;
  int64_t memory = 9, keys = 5, values = 3;
  int64_t highest = INT64_MAX;
  uint8_t type = MESHC_F32;
  bool ownKeys = false;   ///< keys also have the groups
  bool ownValues = false; ///< values also have the groups
  bool hasMask = false, hasBias = false;
};

/// The numbers of entries in tensors of full blocks, and of what exists.
using Places = std::vector<std::pair<int64_t, int64_t>>;

Places placesOfRows(const Extent &full, const Extent &part) {
  Places places;
  auto at = [](const Extent &e, int64_t b, int64_t r, int64_t h, int64_t g) {
    return ((b * e.rows + r) * e.heads + h) * e.groups + g;
  };
  for (int64_t b = 0; b < part.batch; ++b)
    for (int64_t r = 0; r < part.rows; ++r)
      for (int64_t h = 0; h < part.heads; ++h)
        for (int64_t g = 0; g < part.groups; ++g)
          places.emplace_back(at(full, b, r, h, g), at(part, b, r, h, g));
  return places;
}

Places placesOfMemory(Extent full, Extent part, int64_t memory,
                      bool hasGroups) {
  if (!hasGroups)
    full.groups = part.groups = 1;
  full.rows = part.rows = memory;
  return placesOfRows(full, part);
}

/// [head, row, memory].
Places placesOfBias(const Extent &full, const Extent &part, int64_t memory) {
  Places places;
  for (int64_t h = 0; h < part.heads; ++h)
    for (int64_t r = 0; r < part.rows; ++r)
      for (int64_t m = 0; m < memory; ++m)
        places.emplace_back((h * full.rows + r) * memory + m,
                            (h * part.rows + r) * memory + m);
  return places;
}

/// Elements of the call's type, `width` for each entry.
struct Tensor {
  uint8_t type = MESHC_F32;
  int64_t width = 1;
  std::vector<char> bytes;

  Tensor() = default;
  Tensor(uint8_t type, int64_t entries, int64_t width)
      : type(type), width(width),
        bytes(static_cast<size_t>(entries * width * elementBytes())) {
    for (int64_t i = 0; i < entries * width; ++i)
      storeElement(type, bytes.data(), i, NAN);
  }
  int64_t elementBytes() const { return type == MESHC_F32 ? 4 : 2; }
  char *entry(int64_t number) {
    return bytes.data() + number * width * elementBytes();
  }
};

/// Both calls on [batch, position, head, group, element].
struct Call {
  Call(const Sizes &sizes, const Extent &extent);
  void run(bool isGradient, const int64_t *counts);

  MeshcAttention attention{};
  Tensor query, key, value, bias, output, logSums, gradient, ofQuery, ofKey,
      ofValue;
  std::vector<uint8_t> mask;
};

} // namespace

Call::Call(const Sizes &s, const Extent &e) {
  attention.outerCount = 3;
  attention.outerSizes[0] = e.batch;
  attention.outerSizes[1] = e.heads;
  attention.outerSizes[2] = e.groups;
  attention.sharedCount = 2;
  attention.rows = e.rows, attention.memory = s.memory;
  attention.keys = s.keys, attention.values = s.values;
  attention.lowest = INT64_MIN, attention.highest = s.highest;
  attention.scale = 0.5f;
  attention.type = s.type;
  attention.hasMask = s.hasMask, attention.hasBias = s.hasBias;
  int64_t rows = e.batch * e.rows * e.heads * e.groups;
  auto ofRows = [&](int64_t width) {
    int64_t perRow = e.heads * e.groups * width;
    return MeshcAttentionStrides{
        {e.rows * perRow, e.groups * width, width}, perRow, 0};
  };
  auto ofMemory = [&](int64_t width, bool hasGroups) {
    int64_t groups = hasGroups ? e.groups : 1;
    int64_t perEntry = e.heads * groups * width;
    return MeshcAttentionStrides{
        {s.memory * perEntry, groups * width, hasGroups ? width : 0},
        0,
        perEntry};
  };
  attention.query = ofRows(s.keys);
  attention.output = ofRows(s.values);
  attention.logSums = ofRows(1);
  attention.key = ofMemory(s.keys, s.ownKeys);
  attention.value = ofMemory(s.values, s.ownValues);
  attention.mask = {{s.memory, 0, 0}, 0, 1};
  attention.bias = {{0, e.rows * s.memory, 0}, s.memory, 1};
  query = ofQuery = Tensor(s.type, rows, s.keys);
  output = gradient = Tensor(s.type, rows, s.values);
  logSums = Tensor(MESHC_F32, rows, 1);
  int64_t memory = e.batch * s.memory * e.heads;
  key = ofKey = Tensor(s.type, memory * (s.ownKeys ? e.groups : 1), s.keys);
  value = ofValue =
      Tensor(s.type, memory * (s.ownValues ? e.groups : 1), s.values);
  bias = Tensor(s.type, e.heads * e.rows * s.memory, 1);
  mask.assign(static_cast<size_t>(e.batch * s.memory), 255);
}

void Call::run(bool isGradient, const int64_t *counts) {
  attention.scratchBytes = meshcAttentionScratchBytes(&attention, isGradient);
  std::unique_ptr<char, void (*)(void *)> scratch(
      static_cast<char *>(
          std::aligned_alloc(64, static_cast<size_t>(attention.scratchBytes))),
      std::free);
  const int64_t coordinates[1] = {0};
  MeshcContext ctx = {};
  ctx.coords = coordinates;
  std::vector<void *> buffers = {query.entry(0), key.entry(0), value.entry(0)};
  if (attention.hasMask)
    buffers.push_back(mask.data());
  if (attention.hasBias)
    buffers.push_back(bias.entry(0));
  buffers.insert(buffers.end(), {output.entry(0), logSums.entry(0)});
  if (isGradient)
    buffers.insert(buffers.end(), {gradient.entry(0), ofQuery.entry(0),
                                   ofKey.entry(0), ofValue.entry(0)});
  buffers.push_back(scratch.get());
  (isGradient ? meshc_attention_gradient
              : meshc_attention)(&ctx, &attention, counts, buffers.data());
}

namespace {

/// Draws what exists, for both calls.
class Drawing {
public:
  void draw(Tensor &full, Tensor &part, const Places &places) {
    for (auto [to, same] : places)
      for (int64_t i = 0; i < full.width; ++i) {
        float number = normal(random);
        storeElement(full.type, full.bytes.data(), to * full.width + i, number);
        storeElement(part.type, part.bytes.data(), same * part.width + i,
                     number);
      }
  }
  bool flip() { return random() % 3 != 0; }

private:
  std::mt19937 random{7};
  std::normal_distribution<float> normal;
};

void expectEqual(Tensor &full, Tensor &part, const Places &places,
                 const char *name) {
  auto bytes = static_cast<size_t>(full.width * full.elementBytes());
  for (auto [at, same] : places)
    ASSERT_EQ(std::memcmp(full.entry(at), part.entry(same), bytes), 0)
        << name << ", entry " << at;
}

void expectZero(Tensor &full, const Places &places, const char *name) {
  for (auto [at, same] : places)
    for (int64_t i = 0; i < full.width; ++i)
      ASSERT_EQ(loadElement(full.type, full.bytes.data(), at * full.width + i),
                0)
          << name << ", entry " << at;
}

void check(const Sizes &s) {
  SCOPED_TRACE("type " + std::to_string(s.type));
  const Extent &full = s.full, &part = s.existing;
  Call padded(s, full), whole(s, part);
  Places rows = placesOfRows(full, part),
         ofKeys = placesOfMemory(full, part, s.memory, s.ownKeys),
         ofValues = placesOfMemory(full, part, s.memory, s.ownValues);
  Drawing drawing;
  drawing.draw(padded.query, whole.query, rows);
  drawing.draw(padded.gradient, whole.gradient, rows);
  drawing.draw(padded.key, whole.key, ofKeys);
  drawing.draw(padded.value, whole.value, ofValues);
  drawing.draw(padded.bias, whole.bias, placesOfBias(full, part, s.memory));
  for (size_t i = 0; i < whole.mask.size(); ++i)
    padded.mask[i] = whole.mask[i] = drawing.flip();
  const int64_t counts[] = {part.rows, part.batch, part.heads, part.groups};
  for (bool isGradient : {false, true})
    padded.run(isGradient, counts);
  if (rows.empty()) {
    expectZero(padded.ofKey, ofKeys, "gradient of the keys");
    expectZero(padded.ofValue, ofValues, "gradient of the values");
    return;
  }
  for (bool isGradient : {false, true})
    whole.run(isGradient, nullptr);
  expectEqual(padded.output, whole.output, rows, "output");
  expectEqual(padded.logSums, whole.logSums, rows, "sums");
  expectEqual(padded.ofQuery, whole.ofQuery, rows, "gradient of the query");
  expectEqual(padded.ofKey, whole.ofKey, ofKeys, "gradient of the keys");
  expectEqual(padded.ofValue, whole.ofValue, ofValues,
              "gradient of the values");
}

class Padding : public testing::TestWithParam<int> {
protected:
  Padding() { setThreads(GetParam()); }
  ~Padding() override { setThreads(1); }

  static void checkTypes(Sizes sizes) {
    for (uint8_t type : {MESHC_F32, MESHC_BF16, MESHC_F16}) {
      sizes.type = type;
      check(sizes);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Threads, Padding, testing::Values(1, 3));

/// Rows that all keys and values have in common: their gradients must not sum
/// what is padding.
TEST_P(Padding, rows) {
  for (int64_t rows : {1, 2, 3})
    checkTypes({.full = {2, 2, 2, 4}, .existing = {2, 2, 2, rows}});
  checkTypes(
      {.full = {1, 1, 2, 400}, .existing = {1, 1, 2, 300}, .memory = 150});
  checkTypes({.full = {1, 1, 1, 40},
              .existing = {1, 1, 1, 30},
              .memory = 70,
              .highest = 0,
              .hasMask = true,
              .hasBias = true});
}

/// Dims that keys and values lack, that one of them lacks, and that both have.
TEST_P(Padding, outerDims) {
  checkTypes({.full = {2, 2, 3, 4}, .existing = {2, 2, 2, 4}});
  checkTypes({.full = {2, 2, 3, 4}, .existing = {2, 2, 2, 3}, .ownKeys = true});
  checkTypes(
      {.full = {2, 2, 3, 4}, .existing = {2, 2, 2, 3}, .ownValues = true});
  checkTypes({.full = {3, 2, 2, 4},
              .existing = {2, 1, 2, 4},
              .hasMask = true,
              .hasBias = true});
}

/// Without rows, the gradients of keys and values are 0.
TEST_P(Padding, nothing) {
  checkTypes({.full = {2, 2, 2, 4}, .existing = {2, 2, 2, 0}});
  checkTypes({.full = {2, 2, 2, 4}, .existing = {2, 2, 0, 4}, .memory = 150});
  checkTypes({.full = {2, 2, 2, 4}, .existing = {0, 2, 2, 4}});
  checkTypes({.full = {2, 2, 2, 4}, .existing = {2, 0, 2, 0}});
}

} // namespace
