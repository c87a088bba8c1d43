//===- NamePattern.h - regular expressions of names -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_NAMEPATTERN_H
#define MESHC_RUNTIME_CHECKPOINT_NAMEPATTERN_H

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace re2 {
class RE2;
} // namespace re2

namespace meshc::runtime {

/// A regular expression of whole names, in the syntax of RE2
/// (github.com/google/re2/wiki/Syntax): Perl's without references to groups and
/// without looking ahead or behind. It is matched in time linear in the name.
class NamePattern {
public:
  /// Bytes of an expression.
  static constexpr size_t mostBytes = 4096;

  NamePattern() = default;
  /// Compiles `text`. Sets `problem` to what is wrong with it ("missing ): a(")
  /// or leaves it empty.
  NamePattern(const std::string &text, std::string &problem);

  /// The groups of the expression, which count from 1.
  int groups() const;
  bool matches(const std::string &name) const;
  /// What the whole expression and its groups matched; empty for groups that
  /// matched nothing. Null if the expression does not match the whole name.
  std::optional<std::vector<std::string>> match(const std::string &name) const;

private:
  std::shared_ptr<const re2::RE2> expression;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_NAMEPATTERN_H
