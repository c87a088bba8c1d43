//===- Padding.h - what each rank has and does for nothing ------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REPORT_PADDING_H
#define MESHC_LIB_REPORT_PADDING_H

#include <cstdint>
#include <map>
#include <vector>

namespace meshc::report {

/// A dim that axes of the mesh cut, by their numbers, the major one first.
struct CutDim {
  int64_t size;
  std::vector<size_t> axes;
  auto operator<=>(const CutDim &) const = default;
};

/// Adds up how much of each rank's memory or work is padding: entries behind
/// the end of a tensor, in the last blocks of a dim that its axes do not
/// divide.
class Padding {
public:
  /// `meshSizes` are the sizes of the axes, the first one the major one of the
  /// ranks.
  explicit Padding(std::vector<int64_t> meshSizes)
      : meshSizes(std::move(meshSizes)) {}

  /// Each rank has the amount for a block of entries with these dims. Dims that
  /// are not cut need not be among them.
  void add(double amount, const std::vector<CutDim> &dims);
  /// The padding of each rank; empty if no rank has any. In time linear in the
  /// ranks and in the different lists of dims.
  std::vector<double> getOfRanks() const;

private:
  std::vector<int64_t> meshSizes;
  std::map<std::vector<CutDim>, double> amounts; ///< with padding
};

} // namespace meshc::report

#endif // MESHC_LIB_REPORT_PADDING_H
