//===- BeamSearch.h - the most probable text, approximately -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_BEAMSEARCH_H
#define MESHC_RUNTIME_COMMANDS_BEAMSEARCH_H

#include <cstdint>
#include <functional>
#include <vector>

namespace meshc::runtime {

/// How texts are searched.
struct Beams {
  int64_t count = 0; ///< texts that are kept at each position; 0: no search
  double lengthPenalty = 0.6; ///< ≥ 0
};

/// Keeps the most probable texts of one length, the *beams*, and of all texts
/// that ended the best ones. A text of n new tokens, its ending one included,
/// is as good as log P / ((5 + n) / 6) ** lengthPenalty (Wu et al., arXiv
/// 1609.08144, equation 14, without the term of coverage).
class BeamSearch {
public:
  /// `prompt`: at least one token. `most`: new tokens of a text, at most.
  BeamSearch(const Beams &options, std::vector<int32_t> prompt, int64_t most);

  /// Whether no text can become better than the best `count` that ended.
  bool isDone() const;
  /// The beams, the most probable first; at first the prompt alone.
  const std::vector<std::vector<int32_t>> &texts() const { return live; }
  /// For each beam, which one it was before the last call of extend().
  const std::vector<int64_t> &parents() const { return origins; }

  /// Extends each beam by a token. `logit(beam, token)`: the scores of the
  /// tokens 0 … tokens - 1 that follow; `ends(token)`: whether it ends a text.
  /// Of equal texts the first beam's, and then the first token's, counts as
  /// better. False if a logit is not a number or the largest is infinite.
  bool extend(const std::function<double(int64_t beam, int64_t token)> &logit,
              int64_t tokens, const std::function<bool(int32_t)> &ends);

  /// The best text, without the token that ended it. While the search is not
  /// done, of the beams and those that ended.
  std::vector<int32_t> best() const;
  /// How good it is.
  double bestScore() const;

private:
  struct Ended {
    std::vector<int32_t> text;
    double score;
  };

  int64_t added() const {
    return static_cast<int64_t>(live.front().size() - promptSize);
  }
  double scoreOf(double logProbability, int64_t length) const;
  void end(std::vector<int32_t> text, double score);
  Ended findBest() const;

  Beams options;
  size_t promptSize;
  int64_t most;
  std::vector<std::vector<int32_t>> live;
  std::vector<double> logProbabilities; ///< of the live ones
  std::vector<int64_t> origins = {0};
  std::vector<Ended> ended; ///< the best first, at most `count`
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_BEAMSEARCH_H
