//===- AttentionBench.cpp - time of attention and its gradient ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// AttentionBench BATCH HEADS SEQ KEY CAUSAL THREADS TYPE prints the best
/// milliseconds of some calls, forward and gradient, in the memory order
/// [batch, seq, heads, key] of a model, of the type f32, bf16 or f16. Then
/// those of the floor: the products alone, of the scores that are computed, at
/// the speed of one large product on as many threads.
///
//===----------------------------------------------------------------------===//
#include "meshc/AttentionScratch.h"
#include "runtime/Attention/Attention.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Blas/Element.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace meshc::runtime;

namespace {

template <typename Work> double bestSeconds(int repeats, const Work &work) {
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    auto begin = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
  }
  return best;
}

std::vector<float> draw(int64_t count) {
  static std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = normal(random);
  return values;
}

/// Random numbers of a type.
std::vector<char> draw(uint8_t type, int64_t count) {
  std::vector<float> floats = draw(count);
  std::vector<char> values(floats.size() * 4);
  for (int64_t i = 0; i < count; ++i)
    storeElement(type, values.data(), i, floats[static_cast<size_t>(i)]);
  return values;
}

/// Seconds of a multiply-add in a product of 1024 × 1024 × 1024.
double secondsPerSum() {
  constexpr int64_t n = 1024;
  std::vector<float> a = draw(n * n), b = draw(n * n), c(n * n);
  MeshcGemm gemm{};
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = n;
  gemm.batch = 1;
  gemm.type = gemm.typeC = MESHC_F32;
  auto bytes = static_cast<size_t>(meshcGemmScratchBytes(&gemm));
  std::unique_ptr<char, void (*)(void *)> scratch(
      static_cast<char *>(std::aligned_alloc(64, bytes)), std::free);
  return bestSeconds(20,
                     [&] {
                       runGemm(gemm, a.data(), b.data(), c.data(),
                               {scratch.get(), static_cast<int64_t>(bytes)});
                     }) /
         (n * n * n);
}

} // namespace

int main(int count, char **arguments) {
  const char *const types[] = {"f32", "bf16", "f16"}; // as in MeshcType
  const char *const *type =
      std::find_if(types, types + 3, [&](const char *name) {
        return count == 10 && std::string(name) == arguments[7];
      });
  if (type == types + 3) {
    std::fprintf(stderr, "usage: AttentionBench BATCH HEADS SEQ KEY CAUSAL "
                         "THREADS TYPE BIAS DOCUMENTS\n");
    return 2;
  }
  auto number = [&](int i) { return std::atoll(arguments[i]); };
  int64_t batch = number(1), heads = number(2), seq = number(3),
          key = number(4), elements = batch * heads * seq * key;
  bool causal = number(5) != 0, hasBias = number(8) != 0;
  int64_t documents = std::max<int64_t>(number(9), 1); // of each text
  setThreads(static_cast<int>(number(6)));

  MeshcAttention call{};
  call.type = static_cast<uint8_t>(type - types);
  call.outerCount = call.sharedCount = 2;
  call.outerSizes[0] = batch, call.outerSizes[1] = heads;
  call.rows = call.memory = seq;
  call.keys = call.values = key;
  call.lowest = INT64_MIN;
  call.highest = causal ? 0 : INT64_MAX;
  call.scale = 1 / std::sqrt(static_cast<float>(key));
  MeshcAttentionStrides rows{{seq * heads * key, key}, heads * key, 0};
  call.query = call.output = rows;
  std::swap(rows.row, rows.memory);
  call.key = call.value = rows;
  call.logSums = {{heads * seq, seq}, 1, 0};
  int64_t distances = 2 * seq - 1; // of a learned bias, by head
  call.hasBias = call.biasByDistance = call.hasBiasGradient = hasBias;
  call.lastRow = seq - 1;
  call.bias = {{0, distances}, -1, 1};
  call.biasGradient = {{heads * distances, distances}, -1, 1};
  call.labels = documents > 1 ? MESHC_LABELS_EQUAL : MESHC_NO_LABELS;
  call.rowLabels = {{0, 0}, 1, 0};
  call.memoryLabels = {{0, 0}, 0, 1};

  std::vector<char> query = draw(call.type, elements),
                    keys = draw(call.type, elements),
                    values = draw(call.type, elements),
                    gradient = draw(call.type, elements), output(query),
                    ofQuery(query), ofKey(query), ofValue(query),
                    bias = draw(call.type, heads * distances);
  std::vector<float> logSums(static_cast<size_t>(elements / key)),
      ofBias(static_cast<size_t>(batch * heads * distances));
  std::vector<int32_t> labels(static_cast<size_t>(seq));
  for (int64_t i = 0; i < seq; ++i)
    labels[static_cast<size_t>(i)] = static_cast<int32_t>(i * documents / seq);
  const int64_t coordinates[1] = {0};
  auto bytes = static_cast<size_t>(meshcAttentionScratchBytes(&call, 1));
  std::unique_ptr<char, void (*)(void *)> scratch(
      static_cast<char *>(std::aligned_alloc(64, bytes)), std::free);
  GemmScratch memory{scratch.get(), static_cast<int64_t>(bytes)};
  AttentionTensors tensors{query.data(),
                           keys.data(),
                           values.data(),
                           nullptr,
                           hasBias ? bias.data() : nullptr,
                           call.labels ? labels.data() : nullptr,
                           call.labels ? labels.data() : nullptr};
  double forward = bestSeconds(20, [&] {
    runAttention(call, coordinates, tensors, output.data(), logSums.data(),
                 memory);
  });
  double backward = bestSeconds(20, [&] {
    runAttentionGradient(
        call, coordinates, tensors,
        {output.data(), logSums.data(), gradient.data()},
        {ofQuery.data(), ofKey.data(), ofValue.data(), ofBias.data()}, memory);
  });
  // Half of the scores of a causal attention are needed, and only those within
  // a document.
  double sums = 2.0 * static_cast<double>(elements) * static_cast<double>(seq) *
                (causal ? 0.5 : 1) / static_cast<double>(documents);
  double floor = sums * secondsPerSum();
  std::printf("%.3f %.3f %.3f %.3f\n", forward * 1e3, backward * 1e3,
              floor * 1e3, 2.5 * floor * 1e3);
  return 0;
}
