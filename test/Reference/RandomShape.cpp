//===- RandomShape.cpp - draws of ops that move entries -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

namespace meshc::reference {

bool RandomProgram::addRename() {
  const Known *x = pick([](const Known &x) { return !x.dims.empty(); });
  if (!x)
    return false;
  Known in = *x;
  std::vector<Dim> dims = in.dims;
  Dim &first = dims[draw(dims.size())];
  Dim fresh = drawDim(first.size, in.dims);
  std::string text = first.name + " -> " + fresh.name;
  // Two dims of equal size change places, unless a name is declared with
  // another size.
  for (Dim &other : dims)
    if (other.name != first.name && other.size == first.size &&
        isDeclared(first) && isDeclared(other) && flip()) {
      text = first.name + " -> " + other.name + ", " + other.name + " -> " +
             first.name;
      return add("rename(" + in.name + ", " + text + ")", in);
    }
  first = fresh;
  return add("rename(" + in.name + ", " + text + ")", in.type, dims, in.size,
             in.isExact);
}

/// Into two parts, or three.
bool RandomProgram::addSplit() {
  const Known *x =
      pick([](const Known &x) { return !x.dims.empty() && x.dims.size() < 4; });
  if (!x)
    return false;
  Known in = *x;
  Dim dim = drawDimOf(in);
  std::vector<Dim> rest = without(in.dims, {dim}), parts, taken = rest;
  int64_t left = dim.size;
  for (size_t part = 0, wanted = 2 + draw(3); part < wanted; ++part) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= left; ++d)
      if (left % d == 0)
        divisors.push_back(d);
    int64_t size = part + 1 == wanted ? left : divisors[draw(divisors.size())];
    left /= size;
    parts.push_back(drawDim(size, taken));
    taken.push_back(parts.back());
  }
  return add("split(" + in.name + ", " + dim.name + " -> (" + list(parts) +
                 "))",
             in.type, taken, in.size, in.isExact);
}

bool RandomProgram::addMerge() {
  const Known *x = pick([](const Known &x) { return x.dims.size() > 1; });
  if (!x)
    return false;
  Known in = *x;
  std::vector<Dim> dims = drawDimsOf(in);
  if (dims.size() == 1 || flip())
    dims = in.dims;
  std::shuffle(dims.begin(), dims.end(), random);
  std::vector<Dim> rest = without(in.dims, dims);
  Dim into = drawDim(count(dims), rest);
  std::vector<Dim> all = rest;
  all.push_back(into);
  return add("merge(" + in.name + ", (" + list(dims) + ") -> " + into.name +
                 ")",
             in.type, all, in.size, in.isExact);
}

bool RandomProgram::addBroadcast() {
  const Known *x = pick([](const Known &x) { return x.dims.size() < 3; });
  if (!x)
    return false;
  Known in = *x;
  Dim added = pool[draw(pool.size())];
  if (in.has(added.name) || in.count() * added.size > maxElements)
    return false;
  return add("broadcast(" + in.name + ", " + added.name + ")", in.type,
             join(in.dims, {added}), in.size, in.isExact);
}

/// The dims with another size of one.
template <typename Dims, typename Dim>
static Dims resized(Dims dims, const Dim &dim, int64_t size) {
  for (Dim &other : dims)
    if (other.name == dim.name)
      other.size = size;
  return dims;
}

bool RandomProgram::addSlice() {
  const Known *x = pick([](const Known &x) { return !x.dims.empty(); });
  if (!x)
    return false;
  Known in = *x;
  Dim dim = drawDimOf(in);
  // Now and then all of it.
  int64_t size = draw(5) ? 1 + draw(dim.size) : dim.size;
  int64_t start = draw(dim.size - size + 1);
  return add("slice(" + in.name + ", " + dim.name + ", " +
                 std::to_string(start) + ", " + std::to_string(size) + ")",
             in.type, resized(in.dims, dim, size), in.size, in.isExact);
}

bool RandomProgram::addEntry() {
  const Known *x = pick([](const Known &x) { return !x.dims.empty(); });
  if (!x)
    return false;
  Known in = *x;
  Dim dim = drawDimOf(in);
  return add(in.name + " at " + dim.name + " = " +
                 std::to_string(draw(dim.size)),
             in.type, without(in.dims, {dim}), in.size, in.isExact);
}

bool RandomProgram::addConcat() {
  const Known *x = pick([](const Known &x) { return !x.dims.empty(); });
  if (!x)
    return false;
  Known a = *x;
  Dim dim = drawDimOf(a);
  std::string text = a.name;
  bool isExact = a.isExact;
  double magnitude = a.size;
  int64_t size = dim.size;
  for (size_t i = 0, wanted = draw(3); i < wanted; ++i) {
    Known b = *pick([&](const Known &y) {
      const Dim *other = y.find(dim.name);
      return y.type == a.type && other && y.dims.size() == a.dims.size() &&
             llvm::all_of(y.dims, [&](const Dim &d) {
               return d.name == dim.name || llvm::is_contained(a.dims, d);
             });
    });
    text += ", " + b.name;
    size += b.find(dim.name)->size;
    magnitude = std::max(magnitude, b.size);
    isExact = isExact && b.isExact;
  }
  if (a.count() / dim.size * size > maxElements)
    return false;
  return add("concat(" + text + ", " + dim.name + ")", a.type,
             resized(a.dims, dim, size), magnitude, isExact);
}

bool RandomProgram::addPad() {
  const Known *x =
      pick([](const Known &x) { return !x.dims.empty() && x.isFloat(); });
  if (!x)
    return false;
  Known in = *x;
  Dim dim = drawDimOf(in);
  int64_t before = draw(3), after = draw(3);
  if (in.count() / dim.size * (dim.size + before + after) > maxElements)
    return false;
  return add("pad(" + in.name + ", " + dim.name + ", " +
                 std::to_string(before) + ", " + std::to_string(after) +
                 (flip() ? ", " + drawNumber(-2, 2) : "") + ")",
             in.type, resized(in.dims, dim, dim.size + before + after), in.size,
             in.isExact);
}

} // namespace meshc::reference
