//===- BeamSearch.cpp - the most probable text, approximately -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/BeamSearch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

using namespace meshc::runtime;

namespace {
/// A beam with one more token.
struct Extension {
  double logProbability;
  int64_t beam;
  int32_t token;

  /// Whether it is better; an order of all extensions.
  bool operator<(const Extension &other) const {
    return std::tie(other.logProbability, beam, token) <
           std::tie(logProbability, other.beam, other.token);
  }
};
} // namespace

BeamSearch::BeamSearch(const Beams &options, std::vector<int32_t> prompt,
                       int64_t most)
    : options(options), promptSize(prompt.size()), most(most),
      live{std::move(prompt)}, logProbabilities{0} {}

double BeamSearch::scoreOf(double logProbability, int64_t length) const {
  return logProbability /
         std::pow((5 + static_cast<double>(length)) / 6, options.lengthPenalty);
}

/// A text can only become less probable, and its penalty is largest in the end:
/// so no beam can become better than at `most` tokens.
bool BeamSearch::isDone() const {
  if (live.empty() || added() >= most)
    return true;
  return static_cast<int64_t>(ended.size()) == options.count &&
         scoreOf(logProbabilities.front(), most) <= ended.back().score;
}

void BeamSearch::end(std::vector<int32_t> text, double score) {
  auto place =
      std::upper_bound(ended.begin(), ended.end(), score,
                       [](double a, const Ended &b) { return a > b.score; });
  ended.insert(place, {std::move(text), score});
  if (static_cast<int64_t>(ended.size()) > options.count)
    ended.pop_back();
}

/// The logarithm of the sum of exp(logit); nothing if that is not a number.
static std::optional<double>
sumLogits(const std::function<double(int64_t, int64_t)> &logit, int64_t beam,
          int64_t tokens) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t token = 0; token < tokens; ++token) {
    double value = logit(beam, token);
    if (std::isnan(value))
      return std::nullopt;
    largest = std::max(largest, value);
  }
  if (std::isinf(largest))
    return std::nullopt;
  for (int64_t token = 0; token < tokens; ++token)
    sum += std::exp(logit(beam, token) - largest);
  return largest + std::log(sum);
}

bool BeamSearch::extend(const std::function<double(int64_t, int64_t)> &logit,
                        int64_t tokens,
                        const std::function<bool(int32_t)> &ends) {
  std::vector<Extension> extensions;
  for (size_t beam = 0; beam < live.size(); ++beam) {
    auto number = static_cast<int64_t>(beam);
    std::optional<double> total = sumLogits(logit, number, tokens);
    if (!total)
      return false;
    for (int64_t token = 0; token < tokens; ++token)
      extensions.push_back(
          {logProbabilities[beam] + logit(number, token) - *total, number,
           static_cast<int32_t>(token)});
  }
  std::sort(extensions.begin(), extensions.end());
  auto before = std::move(live);
  live.clear(), logProbabilities.clear(), origins.clear();
  int64_t length = static_cast<int64_t>(before.front().size() - promptSize) + 1;
  for (size_t rank = 0; rank < extensions.size() &&
                        static_cast<int64_t>(live.size()) < options.count;
       ++rank) {
    const Extension &extension = extensions[rank];
    std::vector<int32_t> text = before[static_cast<size_t>(extension.beam)];
    if (ends(extension.token)) {
      // One that is not among the best `count` extensions is no candidate.
      if (static_cast<int64_t>(rank) < options.count)
        end(std::move(text), scoreOf(extension.logProbability, length));
      continue;
    }
    text.push_back(extension.token);
    live.push_back(std::move(text));
    logProbabilities.push_back(extension.logProbability);
    origins.push_back(extension.beam);
  }
  return true;
}

BeamSearch::Ended BeamSearch::findBest() const {
  Ended best{{}, -std::numeric_limits<double>::infinity()};
  if (!ended.empty())
    best = ended.front();
  if (!live.empty() && added() > 0)
    if (double score = scoreOf(logProbabilities.front(), added());
        score > best.score)
      best = {live.front(), score};
  if (best.text.empty() && !live.empty())
    best = {live.front(), 0};
  return best;
}

std::vector<int32_t> BeamSearch::best() const { return findBest().text; }

double BeamSearch::bestScore() const { return findBest().score; }
