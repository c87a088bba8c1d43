//===- Sampler.h - the next token, from logits ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_SAMPLER_H
#define MESHC_RUNTIME_COMMANDS_SAMPLER_H

#include <cstdint>
#include <vector>

namespace meshc::runtime {

/// How a token is chosen.
struct Sampling {
  bool greedy = false;    ///< the most probable one
  double temperature = 1; ///< divides the logits; above 0
  int64_t topK = 0;       ///< among the k most probable; 0: among all
  double topP = 1;        ///< among the fewest whose probability reaches this
  uint64_t seed = 0;
};

/// A random number in [0, 1): a function of the three numbers alone.
double randomAt(uint64_t seed, int64_t text, int64_t position);

/// Chooses tokens.
class Sampler {
public:
  explicit Sampler(const Sampling &sampling) : sampling(sampling) {}

  /// The token at a position of a text, from the `count` ≥ 1 logits that the
  /// earlier tokens gave: by softmax(logits / temperature), restricted to the
  /// top k, and among these to the top p (Holtzman et al., arXiv 1904.09751).
  /// Of equal logits the first counts as more probable. -1 if the largest is
  /// infinite, or one is not a number.
  int32_t choose(const float *logits, int64_t count, int64_t text,
                 int64_t position);

private:
  int64_t keepMostProbable(double total);

  Sampling sampling;
  /// Weights relative to the largest, and their tokens.
  struct Candidate {
    double weight;
    int32_t token;
  };
  std::vector<Candidate> candidates;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_SAMPLER_H
