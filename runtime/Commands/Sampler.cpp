//===- Sampler.cpp - the next token, from logits --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Sampler.h"

#include <algorithm>
#include <cmath>

using namespace meshc::runtime;

/// The finalizer of SplitMix64 (Steele et al., "Fast splittable pseudorandom
/// number generators", 2014).
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

double meshc::runtime::randomAt(uint64_t seed, int64_t text, int64_t position) {
  uint64_t bits = mix(mix(mix(seed) ^ static_cast<uint64_t>(text)) ^
                      static_cast<uint64_t>(position));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// Sorts the candidates, the most probable first; returns how many the top p
/// leaves.
int64_t Sampler::keepMostProbable(double total) {
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return a.weight != b.weight ? a.weight > b.weight
                                          : a.token < b.token;
            });
  double reached = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    reached += candidates[i].weight;
    if (reached >= sampling.topP * total)
      return static_cast<int64_t>(i) + 1;
  }
  return static_cast<int64_t>(candidates.size());
}

int32_t Sampler::choose(const float *logits, int64_t count, int64_t text,
                        int64_t position) {
  const float *largest = std::max_element(logits, logits + count);
  bool hasNan = std::any_of(logits, logits + count,
                            [](float logit) { return std::isnan(logit); });
  if (hasNan || !std::isfinite(*largest))
    return -1;
  if (sampling.greedy)
    return static_cast<int32_t>(largest - logits);
  candidates.clear();
  for (int64_t i = 0; i < count; ++i)
    candidates.push_back({std::exp((static_cast<double>(logits[i]) - *largest) /
                                   sampling.temperature),
                          static_cast<int32_t>(i)});
  if (sampling.topK > 0 && sampling.topK < count) {
    // By logits: weights of tokens far below may all be 0.
    std::partial_sort(candidates.begin(), candidates.begin() + sampling.topK,
                      candidates.end(),
                      [logits](const Candidate &a, const Candidate &b) {
                        float x = logits[a.token], y = logits[b.token];
                        return x != y ? x > y : a.token < b.token;
                      });
    candidates.resize(static_cast<size_t>(sampling.topK));
  }
  double total = 0;
  for (const Candidate &candidate : candidates)
    total += candidate.weight;
  if (sampling.topP < 1) {
    candidates.resize(static_cast<size_t>(keepMostProbable(total)));
    total = 0;
    for (const Candidate &candidate : candidates)
      total += candidate.weight;
  }
  double rest = randomAt(sampling.seed, text, position) * total;
  for (const Candidate &candidate : candidates) {
    rest -= candidate.weight;
    if (rest < 0)
      return candidate.token;
  }
  return candidates.front().token; // the sum was rounded
}
