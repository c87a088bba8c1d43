//===- Source.h - text with places in it ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The texts that one run of the front end reads (the model's file and the
/// command line's overrides) and places in them. Nothing here needs MLIR: the
/// syntax library is plain C++20, so that it compiles fast and can be fuzzed.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_SOURCE_H
#define MESHC_FRONTEND_SYNTAX_SOURCE_H

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace meshc::syntax {

/// A stretch of bytes [begin, end) of text number `source` of a SourceSet.
struct Span {
  uint32_t source = 0;
  uint32_t begin = 0;
  uint32_t end = 0;

  /// The stretch from the start of `first` to the end of `last`; both lie in
  /// the same text.
  static Span join(Span first, Span last) {
    return {first.source, first.begin, last.end};
  }
};

/// A line and a column, both from 1; columns count bytes.
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// One text and its name as messages show it (a path, or `<--mesh>`).
class Source {
public:
  /// The largest text accepted, in bytes: offsets are 32 bits, and no model
  /// written by people comes near. [L1.1]
  static constexpr size_t maxBytes = size_t(16) << 20;

  Source(std::string name, std::string text);

  std::string_view name() const { return label; }
  std::string_view text() const { return bytes; }
  LineColumn lineColumn(uint32_t offset) const;

private:
  std::string label;
  std::string bytes;
  std::vector<uint32_t> lineStarts;
};

/// The texts of one run. Views of their bytes stay valid as texts are added.
class SourceSet {
public:
  /// Adds a text; its number is what Span::source holds.
  uint32_t add(std::string name, std::string text);

  const Source &operator[](uint32_t number) const { return sources[number]; }
  std::string_view text(Span span) const {
    return sources[span.source].text().substr(span.begin,
                                              span.end - span.begin);
  }
  LineColumn lineColumn(Span span) const {
    return sources[span.source].lineColumn(span.begin);
  }

private:
  std::deque<Source> sources;
};

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_SOURCE_H
