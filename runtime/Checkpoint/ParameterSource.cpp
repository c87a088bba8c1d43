//===- ParameterSource.cpp - where files hold parameters ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/ParameterSource.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/TensorBlock.h"

#include <algorithm>
#include <utility>

using namespace meshc::runtime;

ParameterSource::ParameterSource(const MeshcTensor &parameter,
                                 std::string stored)
    : tensor(&parameter), stored(std::move(stored)),
      isPlaced(parameter.rank, true), isIndex(parameter.rank),
      sizes(parameter.rank), steps(parameter.rank),
      shapeText(describeDims(parameter)) {
  int64_t stride = 1;
  for (uint32_t i = parameter.rank; i-- > 0;) {
    sizes[i] = parameter.dims[i].size;
    steps[i] = stride;
    stride *= sizes[i];
  }
}

ParameterSource::ParameterSource(const MeshcTensor &parameter,
                                 const NameMap &map, const MapRule &rule,
                                 std::vector<std::string> matched)
    : tensor(&parameter), map(&map), rule(&rule), groups(std::move(matched)),
      value(rule.constant), isPlaced(parameter.rank), isIndex(parameter.rank),
      steps(parameter.rank), origin(map.place(rule.line, rule.tensorColumn)) {
  if (value)
    return;
  for (const NamePart &part : rule.tensor)
    if (!part.dim.empty())
      isIndex[findDim(part.dim, part.column)] = true;
    else if (part.isNumber && (groups[part.group].size() > 6 ||
                               groups[part.group].find_first_not_of(
                                   "0123456789") != std::string::npos))
      fail(part.column, "group " + std::to_string(part.group) + " matched '" +
                            groups[part.group] + "' in '" + parameter.name +
                            "'; expected a number of at most 6 digits");
  placeAxes();
}

void ParameterSource::fail(int column, const std::string &what) const {
  throw Failure(ExitCode::Checkpoint,
                map->place(rule->line, column) + ": " + what);
}

uint32_t ParameterSource::findDim(const std::string &dim, int column) const {
  for (uint32_t i = 0; i < tensor->rank; ++i)
    if (tensor->dims[i].name == dim)
      return i;
  fail(column, "parameter '" + std::string(tensor->name) + "' has no dim '" +
                   dim + "'; it is " + describeDims(*tensor));
}

/// Places a factor whose entries are `stride` elements apart, and gives the
/// number of its entries.
void ParameterSource::placeFactor(const AxisFactor &factor, int64_t stride,
                                  int64_t &size) {
  begin += factor.first * stride;
  size = factor.size;
  if (factor.dim.empty())
    return;
  const uint32_t dim = findDim(factor.dim, factor.column);
  if (isPlaced[dim] || isIndex[dim])
    fail(factor.column, "dim '" + factor.dim + "' has a place already");
  isPlaced[dim] = true;
  steps[dim] = stride;
  const int64_t entries = tensor->dims[dim].size;
  if (!factor.size)
    size = entries;
  else if (factor.first + entries > factor.size)
    fail(factor.column, "entries " + std::to_string(factor.first) + " to " +
                            std::to_string(factor.first + entries) + " of '" +
                            factor.dim + "' are not within " +
                            std::to_string(factor.size));
}

static std::string describe(const AxisFactor &factor) {
  std::string text;
  if (factor.dim.empty() || factor.first)
    text += std::to_string(factor.first);
  if (!factor.dim.empty())
    text += (text.empty() ? "" : "+") + factor.dim;
  return text + (factor.size ? "/" + std::to_string(factor.size) : "");
}

void ParameterSource::placeAxes() {
  std::vector<std::vector<AxisFactor>> axes = rule->axes;
  if (!rule->hasAxes)
    for (uint32_t i = 0; i < tensor->rank; ++i)
      if (!isIndex[i])
        axes.push_back({{tensor->dims[i].name, 0, 0, rule->tensorColumn}});
  sizes.assign(axes.size(), 1);
  std::vector<std::string> texts(axes.size());
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    for (size_t j = axes[i].size(); j-- > 0;) {
      int64_t size = 1;
      placeFactor(axes[i][j], stride * sizes[i], size);
      if (__builtin_mul_overflow(sizes[i], size, &sizes[i]))
        fail(axes[i][j].column, "the axis is too large");
      texts[i] =
          describe(axes[i][j]) + (texts[i].empty() ? "" : " ") + texts[i];
    }
    if (__builtin_mul_overflow(stride, sizes[i], &stride))
      fail(rule->tensorColumn, "the tensor is too large");
    if (axes[i].size() != 1)
      texts[i] = "(" + texts[i] + ")";
    texts[i] += " = " + std::to_string(sizes[i]);
  }
  for (const std::string &text : texts)
    shapeText += (shapeText.empty() ? "" : ", ") + text;
  shapeText = "[" + shapeText + "]";
  for (uint32_t i = 0; i < tensor->rank; ++i)
    if (!isPlaced[i] && !isIndex[i])
      fail(rule->tensorColumn,
           "dim '" + std::string(tensor->dims[i].name) + "' of parameter '" +
               tensor->name + "' is neither an axis nor in the tensor's name");
}

std::string ParameterSource::nameAt(const std::vector<int64_t> &indices) const {
  if (!rule)
    return stored;
  std::string name;
  for (const NamePart &part : rule->tensor) {
    name += part.text;
    if (!part.isNumber) {
      name += part.group ? groups[part.group] : "";
      continue;
    }
    int64_t number = 1;
    if (!part.dim.empty())
      number = indices[findDim(part.dim, part.column)];
    else if (!groups[part.group].empty())
      number = std::stoll(groups[part.group]);
    name += std::to_string(part.factor * number + part.summand);
  }
  return name;
}

void ParameterSource::forEachTensor(
    const std::function<void(const std::string &, const std::vector<int64_t> &)>
        &visit) const {
  std::vector<int64_t> indices(tensor->rank);
  while (true) {
    visit(nameAt(indices), indices);
    uint32_t i = tensor->rank;
    for (; i > 0; --i) {
      if (!isIndex[i - 1])
        continue;
      if (++indices[i - 1] < tensor->dims[i - 1].size)
        break;
      indices[i - 1] = 0;
    }
    if (i == 0)
      return;
  }
}

static ParameterSource findSource(const MeshcTensor &parameter,
                                  const NameMap &map) {
  const std::string name = parameter.name;
  const MapRule *found = nullptr;
  std::vector<std::string> groups;
  for (const MapRule &rule : map.rules()) {
    std::optional<std::vector<std::string>> match = rule.parameters.match(name);
    if (!match)
      continue;
    if (found)
      throw Failure(ExitCode::Checkpoint,
                    map.place(rule.line, 1) + ": parameter '" + name +
                        "' matches this line and line " +
                        std::to_string(found->line) +
                        "; expected one line for each parameter");
    found = &rule;
    groups = std::move(*match);
  }
  if (!found)
    throw Failure(ExitCode::Checkpoint, "no line of name map '" + map.path() +
                                            "' matches parameter '" + name +
                                            "' " + describeDims(parameter));
  return ParameterSource(parameter, map, *found, std::move(groups));
}

std::vector<ParameterSource>
meshc::runtime::findSources(const MeshcProgram &program, const NameMap *map) {
  std::vector<ParameterSource> sources;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (program.tensors[i].role == MESHC_PARAMETER)
      sources.push_back(map ? findSource(program.tensors[i], *map)
                            : ParameterSource(program.tensors[i]));
  return sources;
}
