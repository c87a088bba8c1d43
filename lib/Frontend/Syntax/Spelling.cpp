//===- Spelling.cpp - did you mean ----------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Spelling.h"

#include <algorithm>

using namespace meshc::syntax;

/// Optimal string alignment distance of `a` and `b`, by three rolling rows.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1),
      row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view
meshc::syntax::nearestName(std::string_view name,
                           const std::vector<std::string_view> &candidates) {
  // Names longer than this are not misspelled by hand; the table is quadratic.
  constexpr size_t maxLength = 64;
  if (name.size() > maxLength)
    return {};
  std::string_view best;
  size_t bestDistance = SIZE_MAX;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > maxLength || candidate == name)
      continue;
    size_t longer = std::max(name.size(), candidate.size());
    size_t shorter = std::min(name.size(), candidate.size());
    size_t limit = (longer + 2) / 3;
    if (longer - shorter > limit || (shorter <= 1 && longer <= 2))
      continue;
    size_t distance = editDistance(name, candidate);
    if (distance <= limit && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

std::string
meshc::syntax::didYouMean(std::string_view name,
                          const std::vector<std::string_view> &candidates) {
  std::string_view near = nearestName(name, candidates);
  return near.empty() ? std::string()
                      : "; did you mean '" + std::string(near) + "'?";
}

bool meshc::syntax::looksAlike(std::string_view a, std::string_view b) {
  constexpr size_t leastSwapped = 3, leastReplaced = 6;
  if (a.size() < b.size())
    std::swap(a, b);
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  size_t before =
      std::mismatch(b.begin(), b.end(), a.begin()).first - b.begin();
  size_t behind =
      std::mismatch(b.rbegin(), b.rend(), a.rbegin()).first - b.rbegin();
  if (a.size() == b.size() + 1)
    return b.size() >= leastSwapped && before > 0 && before < b.size() &&
           behind > 0 && behind < b.size() && before + behind >= b.size() &&
           !isDigit(a[before]);
  if (a.size() != b.size() || before + behind >= a.size())
    return false;
  size_t differing = a.size() - before - behind;
  if (differing == 2)
    return a.size() >= leastSwapped && a[before] == b[before + 1] &&
           a[before + 1] == b[before];
  bool isInside = before > 0 && behind > 0;
  return differing == 1 && a.size() >= leastReplaced && isInside &&
         !isDigit(a[before]) && !isDigit(b[before]) &&
         (a[before - 1] != '_' || a[before + 1] != '_');
}
