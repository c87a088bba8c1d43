//===- NearestName.cpp - what a misspelt option may mean ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/NearestName.h"

#include <algorithm>
#include <numeric>

using namespace meshc::runtime;

/// Levenshtein's distance, by rows of the table of prefixes.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string meshc::runtime::nearestName(const std::string &name,
                                        const std::vector<std::string> &names) {
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  std::string nearest;
  for (const std::string &candidate : names)
    if (size_t distance = editDistance(name, candidate); distance < least) {
      least = distance;
      nearest = candidate;
    }
  return nearest;
}
