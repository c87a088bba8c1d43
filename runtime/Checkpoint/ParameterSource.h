//===- ParameterSource.h - where files hold parameters ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A name map applied to the tensors of a program: which tensors of a file hold
/// each, and at which strides.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_PARAMETERSOURCE_H
#define MESHC_RUNTIME_CHECKPOINT_PARAMETERSOURCE_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Checkpoint/NameMap.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// Where files hold a tensor of the program: for each entry of its dims that
/// are part of the names, in a tensor of `shape`, row-major.
class ParameterSource {
public:
  /// In one tensor of the same dims, and of the same name or `stored`.
  explicit ParameterSource(const MeshcTensor &parameter)
      : ParameterSource(parameter, parameter.name) {}
  ParameterSource(const MeshcTensor &parameter, std::string stored);
  /// As a line of a map says, whose expression matched the name with `groups`.
  /// Throws Failure(Checkpoint), which names the line and the column, if the
  /// line does not fit the parameter's dims.
  ParameterSource(const MeshcTensor &parameter, const NameMap &map,
                  const MapRule &rule, std::vector<std::string> groups);

  /// The same source for another tensor of the same dims.
  ParameterSource of(const MeshcTensor &other) const {
    ParameterSource source = *this;
    source.tensor = &other;
    return source;
  }

  const MeshcTensor &parameter() const { return *tensor; }
  /// The value of all elements, if no tensor of the file holds them.
  const std::optional<double> &constant() const { return value; }
  const std::vector<int64_t> &shape() const { return sizes; }
  /// Elements from one entry of the parameter's dim to the next within a
  /// tensor; 0 for dims that are part of the names.
  const std::vector<int64_t> &strides() const { return steps; }
  /// Whether the dim is part of the names.
  bool isInName(uint32_t dim) const { return isIndex[dim]; }
  /// Elements before the parameter's first one.
  int64_t offset() const { return begin; }
  /// "[vocab = 32, (0/3 heads key) = 48]"
  const std::string &describeShape() const { return shapeText; }
  /// "FILE:LINE:COLUMN" of the map; empty without one.
  const std::string &place() const { return origin; }

  /// Calls `visit` with the tensor's name for each entry of the dims that are
  /// part of names, in row-major order. `indices` are those entries, by dim of
  /// the parameter, and 0 for the other dims.
  void forEachTensor(
      const std::function<void(const std::string &name,
                               const std::vector<int64_t> &indices)> &visit)
      const;

private:
  uint32_t findDim(const std::string &dim, int column) const;
  void placeAxes();
  void placeFactor(const AxisFactor &factor, int64_t stride, int64_t &size);
  std::string nameAt(const std::vector<int64_t> &indices) const;
  [[noreturn]] void fail(int column, const std::string &what) const;

  const MeshcTensor *tensor;
  std::string stored; ///< the tensor's name without a map
  const NameMap *map = nullptr;
  const MapRule *rule = nullptr;
  std::vector<std::string> groups; ///< what the expression's groups matched
  std::optional<double> value;
  std::vector<bool> isPlaced, isIndex; ///< by dim: in the axes, in the name
  std::vector<int64_t> sizes, steps;
  int64_t begin = 0;
  std::string shapeText, origin;
};

/// The sources of the program's parameters, in its order. Without a map each is
/// in the tensor of its name. With one, exactly one line must match each name.
/// Throws Failure(Checkpoint) otherwise.
std::vector<ParameterSource> findSources(const MeshcProgram &program,
                                         const NameMap *map);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_PARAMETERSOURCE_H
