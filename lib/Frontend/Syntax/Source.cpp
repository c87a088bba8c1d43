//===- Source.cpp - text with places in it --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Source.h"

#include <algorithm>

using namespace meshc::syntax;

Source::Source(std::string name, std::string text)
    : label(std::move(name)), bytes(std::move(text)), lineStarts{0} {
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] == '\n')
      lineStarts.push_back(static_cast<uint32_t>(i + 1));
}

LineColumn Source::lineColumn(uint32_t offset) const {
  auto after = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  uint32_t start = *(after - 1);
  return {static_cast<uint32_t>(after - lineStarts.begin()),
          offset - start + 1};
}

uint32_t SourceSet::add(std::string name, std::string text) {
  sources.emplace_back(std::move(name), std::move(text));
  return static_cast<uint32_t>(sources.size() - 1);
}
