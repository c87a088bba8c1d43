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
                           const std::vector<std::string_view> &candidates,
                           size_t lettersPerEdit) {
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
    size_t limit = (longer + lettersPerEdit - 1) / lettersPerEdit;
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

/// Whether two names that differ in these letters alone are told apart on
/// purpose, as qseq and kseq are.
static bool areIndices(char a, char b) {
  for (std::string_view group :
       {"qkv", "xyz", "ijkl", "abcd", "uvw", "hw", "rc"})
    if (group.find(a) != std::string_view::npos &&
        group.find(b) != std::string_view::npos)
      return true;
  return false;
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Whether the name without its letter number `at` may be the name misspelled.
static bool mayLackLetter(std::string_view name, size_t at) {
  constexpr size_t leastInside = 4, leastAtEnd = 5;
  bool isInside = at > 0 && at + 1 < name.size();
  if (name.size() < (isInside ? leastInside : leastAtEnd) || isDigit(name[at]))
    return false;
  // qheads and heads, seq_k and seq_
  return isInside || (name[at] != '_' && !areIndices(name[at], name[at]));
}

/// Whether another letter at this place makes it the name misspelled.
static bool mayReplaceLetter(std::string_view a, std::string_view b,
                             size_t at) {
  constexpr size_t least = 4;
  size_t last = a.size() - 1;
  bool isPart = (at == 0 || a[at - 1] == '_') &&
                (at == last || a[at + 1] == '_'); // a_q_w and a_k_w
  bool isInside = at > 0 && at < last;
  return a.size() >= least && !isPart && !isDigit(a[at]) && !isDigit(b[at]) &&
         a[at] != '_' && b[at] != '_' &&
         (isInside || !areIndices(a[at], b[at]));
}

static std::string toLower(std::string_view name) {
  std::string text(name);
  for (char &c : text)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool meshc::syntax::looksAlike(std::string_view first,
                               std::string_view second) {
  constexpr size_t leastSwapped = 3, leastInCase = 2;
  std::string a = toLower(first), b = toLower(second);
  if (a == b)
    return first != second && a.size() >= leastInCase;
  if (a.size() < b.size())
    std::swap(a, b);
  if (a.size() > b.size() + 1)
    return false;
  size_t before =
      std::mismatch(b.begin(), b.end(), a.begin()).first - b.begin();
  size_t behind =
      std::mismatch(b.rbegin(), b.rend(), a.rbegin()).first - b.rbegin();
  if (a.size() == b.size() + 1)
    return before + behind >= b.size() && mayLackLetter(a, before);
  size_t differing = a.size() - before - behind;
  if (differing == 2)
    return a.size() >= leastSwapped && a[before] == b[before + 1] &&
           a[before + 1] == b[before];
  return differing == 1 && mayReplaceLetter(a, b, before);
}
