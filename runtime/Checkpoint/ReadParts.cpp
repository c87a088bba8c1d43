//===- ReadParts.cpp - what a map reads of each tensor --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/ReadParts.h"

#include "runtime/Checkpoint/StridedCopy.h"

#include <algorithm>
#include <numeric>

using namespace meshc::runtime;

namespace {

/// Elements of a tensor: runs of neighbours, one for each entry of `dims`.
struct ReadBox {
  int64_t first = 0, run = 1;
  std::vector<CopyDim> dims; ///< only the target's strides count

  explicit ReadBox(const ParameterSource &source);
  bool operator==(const ReadBox &other) const;
  int64_t elements() const;
};

/// The entries of one axis of a tensor.
struct EntryRange {
  int64_t first, last;
};

} // namespace

ReadBox::ReadBox(const ParameterSource &source) : first(source.offset()) {
  for (uint32_t i = 0; i < source.parameter().rank; ++i)
    if (!source.isInName(i) && source.parameter().dims[i].size > 1)
      dims.push_back({source.parameter().dims[i].size, 0, source.strides()[i]});
  std::sort(dims.begin(), dims.end(), [](const CopyDim &a, const CopyDim &b) {
    return a.targetStride < b.targetStride;
  });
  size_t count = 0;
  for (; count < dims.size() && dims[count].targetStride == run; ++count)
    run *= dims[count].size;
  dims.erase(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(count));
}

bool ReadBox::operator==(const ReadBox &other) const {
  return first == other.first && run == other.run &&
         std::equal(dims.begin(), dims.end(), other.dims.begin(),
                    other.dims.end(), [](const CopyDim &a, const CopyDim &b) {
                      return a.size == b.size &&
                             a.targetStride == b.targetStride;
                    });
}

int64_t ReadBox::elements() const {
  int64_t count = run;
  for (const CopyDim &dim : dims)
    count *= dim.size;
  return count;
}

/// Marks what the boxes read. A mark stands for `unit` neighbours, as many as
/// no box divides.
static std::vector<char> markUnits(const std::vector<ReadBox> &boxes,
                                   int64_t elements, int64_t &unit) {
  unit = elements;
  for (const ReadBox &box : boxes) {
    unit = std::gcd(std::gcd(unit, box.first), box.run);
    for (const CopyDim &dim : box.dims)
      unit = std::gcd(unit, dim.targetStride);
  }
  std::vector<char> marks(static_cast<size_t>(elements / unit));
  const char mark = 1;
  for (const ReadBox &box : boxes) {
    std::vector<CopyDim> dims = box.dims;
    for (CopyDim &dim : dims)
      dim.targetStride /= unit;
    dims.push_back({box.run / unit, 0, 1});
    copyStrided(dims, 1, &mark, marks.data() + box.first / unit);
  }
  return marks;
}

/// The least range of each axis that has all elements without a mark.
static std::vector<EntryRange> findUnread(const std::vector<int64_t> &shape,
                                          const std::vector<char> &marks,
                                          int64_t unit) {
  std::vector<EntryRange> ranges;
  for (int64_t size : shape)
    ranges.push_back({size, -1});
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i])
      continue;
    int64_t first = static_cast<int64_t>(i) * unit, last = first + unit - 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      const int64_t size = shape[axis];
      // Neighbours that begin the axis anew have all of its entries.
      const bool isAll = last / size != first / size;
      ranges[axis].first =
          std::min(ranges[axis].first, isAll ? 0 : first % size);
      ranges[axis].last =
          std::max(ranges[axis].last, isAll ? size - 1 : last % size);
      first /= size;
      last /= size;
    }
  }
  return ranges;
}

static std::string describeRanges(const std::vector<EntryRange> &ranges) {
  std::string text;
  for (const EntryRange &range : ranges) {
    text += (text.empty() ? "" : ", ") + std::to_string(range.first);
    if (range.last > range.first)
      text += " to " + std::to_string(range.last);
  }
  return "[" + text + "]";
}

/// What is wrong with a tensor that the sources read; empty if they read all.
static std::string
describeUnread(const FileTensor &tensor,
               const std::vector<const ParameterSource *> &sources) {
  std::vector<ReadBox> boxes;
  std::string twice;
  for (size_t i = 0; i < sources.size(); ++i) {
    const ReadBox box(*sources[i]);
    auto same = std::find(boxes.begin(), boxes.end(), box);
    if (same != boxes.end() && twice.empty())
      twice = "; '" +
              std::string(sources[same - boxes.begin()]->parameter().name) +
              "' and '" + sources[i]->parameter().name + "' read the same part";
    boxes.push_back(box);
  }
  const int64_t elements = std::accumulate(
      tensor.shape.begin(), tensor.shape.end(), int64_t(1), std::multiplies());
  if (elements == 0 || boxes.front().elements() == elements)
    return "";
  int64_t unit = 1;
  const std::vector<char> marks = markUnits(boxes, elements, unit);
  const int64_t unread = unit * std::count(marks.begin(), marks.end(), 0);
  if (unread == 0)
    return "";
  return sources.back()->place() + ": tensor '" + tensor.name + "', " +
         tensor.describe() + ", is read only in part: no parameter has " +
         std::to_string(unread) + " of its " + std::to_string(elements) +
         " elements, at " +
         describeRanges(findUnread(tensor.shape, marks, unit)) + twice +
         "; correct the axes of its lines, or add a line 'ignore' for this "
         "tensor";
}

void ReadParts::add(const FileTensor &tensor, const ParameterSource &source) {
  Tensor &entry = tensors[tensor.name];
  entry.tensor = &tensor;
  entry.sources.push_back(&source);
}

void ReadParts::listUnread(const NameMap &map,
                           std::vector<std::string> &problems) const {
  for (const auto &[name, entry] : tensors) {
    if (map.isIgnored(name))
      continue;
    std::string problem = describeUnread(*entry.tensor, entry.sources);
    if (!problem.empty())
      problems.push_back(problem);
  }
}
