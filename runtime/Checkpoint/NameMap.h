//===- NameMap.h - names and shapes of other tools' tensors -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Name maps: text that says which tensors of a file hold a program's
/// parameters, and how. A line is one of
///
///   PARAMETERS = TENSOR [AXES]     such as
///   layers\.attention\.wq = h.{layers}.attn.weight [model, (0/3 heads key)]
///   PARAMETERS = NUMBER            all elements have this value
///   ignore TENSORS                 of the file, if no line takes all of them
///   optional prefix TEXT           which tensors of the file may begin with,
///                                  whatever line names them
///
/// PARAMETERS and TENSORS are regular expressions of whole names (NamePattern).
/// In TENSOR, `{layers}` is the index along the parameter's dim `layers`, and
/// `{$1}` the text that the expression's first group matched; with a factor or
/// a summand, as `{2*layers+1}` and `{$1-1}`, also a group is a number, and 1
/// if it matched nothing. AXES are those of the tensor: each is one factor, or
/// several in parentheses, the last one fastest. A factor is a dim, `0/3`
/// (entry 0 of 3), or `4+kv/12` (entries from 4 on, of 12). Without AXES the
/// tensor has the parameter's dims that are not in its name. `#` begins a
/// comment.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_NAMEMAP_H
#define MESHC_RUNTIME_CHECKPOINT_NAMEMAP_H

#include "runtime/Checkpoint/NamePattern.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// A factor of an axis. Without a dim it is the one entry `first`.
struct AxisFactor {
  std::string dim;
  int64_t first = 0;
  int64_t size = 0; ///< 0: the dim's
  int column = 0;
};

/// A part of a tensor's name: text; the index along `dim`; or what a group
/// matched. If `isNumber`, it is factor × number + summand.
struct NamePart {
  std::string text;
  std::string dim;
  int group = 0;
  bool isNumber = false;
  int64_t factor = 1, summand = 0;
  int column = 0;
};

/// A line about parameters.
struct MapRule {
  int line = 0;
  std::string text; ///< of the expression
  NamePattern parameters;
  std::optional<double> constant;
  std::vector<NamePart> tensor;
  bool hasAxes = false;
  std::vector<std::vector<AxisFactor>> axes;
  int tensorColumn = 0;
};

class NameMap {
public:
  /// Reads a map. Throws Failure(Checkpoint), with "FILE:LINE:COLUMN: " in
  /// front of what is wrong with the text.
  explicit NameMap(const std::string &path);

  const std::string &path() const { return name; }
  const std::vector<MapRule> &rules() const { return parameterRules; }
  /// Whether a line allows that nothing reads the file's tensor `tensor`, or
  /// parts of it: the line matches the name, or what follows an optional
  /// prefix.
  bool isIgnored(const std::string &tensor) const;
  const std::vector<std::string> &prefixes() const { return optionalPrefixes; }
  /// "FILE:LINE:COLUMN"
  std::string place(int line, int column) const;

private:
  friend class MapParser;

  bool matchesIgnored(const std::string &tensor) const;

  std::string name;
  std::vector<MapRule> parameterRules;
  std::vector<NamePattern> ignored;
  std::vector<std::string> optionalPrefixes;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_NAMEMAP_H
