//===- NamePattern.cpp - regular expressions of names ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/NamePattern.h"

#include <re2/re2.h>

using namespace meshc::runtime;

NamePattern::NamePattern(const std::string &text, std::string &problem) {
  if (text.size() > mostBytes) {
    problem = "it has " + std::to_string(text.size()) +
              " bytes; expected at most " + std::to_string(mostBytes);
    return;
  }
  constexpr int64_t mostMemory = 1 << 20;
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(mostMemory);
  expression = std::make_shared<const re2::RE2>(text, options);
  if (!expression->ok())
    problem = expression->error();
}

int NamePattern::groups() const {
  return expression->NumberOfCapturingGroups();
}

bool NamePattern::matches(const std::string &name) const {
  return re2::RE2::FullMatch(name, *expression);
}

std::optional<std::vector<std::string>>
NamePattern::match(const std::string &name) const {
  std::vector<re2::StringPiece> found(static_cast<size_t>(groups()) + 1);
  if (!expression->Match(name, 0, name.size(), re2::RE2::ANCHOR_BOTH,
                         found.data(), static_cast<int>(found.size())))
    return std::nullopt;
  std::vector<std::string> texts;
  for (const re2::StringPiece &text : found)
    texts.emplace_back(text.data() ? text.as_string() : "");
  return texts;
}
