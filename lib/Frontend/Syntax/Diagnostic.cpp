//===- Diagnostic.cpp - errors with places and notes ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Diagnostic.h"

#include <algorithm>

using namespace meshc::syntax;

void Diagnostics::enter(Span at, std::string message) {
  path.push_back({at, std::move(message)});
}

Diagnostic &Diagnostics::error(Span at, std::string message) {
  if (isFull() || !errorPlaces.insert({at.source, at.begin}).second) {
    dropped = {};
    return dropped;
  }
  if (++errorCount > maxErrors)
    message = "too many errors; the rest is not shown";
  diagnostics.push_back({Severity::Error, at, std::move(message), {}});
  if (isFull()) {
    dropped = {};
    return dropped;
  }
  constexpr size_t maxShown = 6;
  size_t shown = std::min(path.size(), maxShown);
  diagnostics.back().notes.assign(path.rbegin(), path.rbegin() + shown);
  return diagnostics.back();
}

Diagnostic &Diagnostics::warning(Span at, std::string message) {
  if (isFull()) {
    dropped = {};
    return dropped;
  }
  diagnostics.push_back({Severity::Warning, at, std::move(message), {}});
  return diagnostics.back();
}

std::string meshc::syntax::quote(std::string_view text, size_t maxShown) {
  constexpr char hex[] = "0123456789abcdef";
  std::string result = "'";
  for (char c : text.substr(0, maxShown)) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      result += c;
      continue;
    }
    result += "\\x";
    result += hex[byte >> 4];
    result += hex[byte & 15];
  }
  if (text.size() > maxShown)
    result += "...";
  return result + "'";
}
