//===- RandomIndexing.cpp - draws of sources and gathers ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

namespace meshc::reference {

bool RandomProgram::addSource() {
  switch (draw(4)) {
  case 0: {
    Type type = flip() ? Type::F32 : Type::I32;
    Dim dim = pool[draw(pool.size())];
    return add("iota(" + dim.name + ", " + spell(type) + ")", type, {dim}, 4,
               true);
  }
  case 1:
    return add("cast(step(), f32)", Type::F32, {}, 1, true);
  default: {
    std::vector<Dim> dims = drawDims(3);
    if (dims.empty())
      dims.push_back(pool.front());
    return add((flip() ? "random_uniform(" : "random_normal(") + list(dims) +
                   ")",
               Type::F32, dims, 1, true);
  }
  }
}

bool RandomProgram::addGather() {
  const Known *i = pick([](const Known &x) { return x.isInteger(); });
  if (!i)
    return false;
  Known indices = *i;
  auto isFree = [&](const Dim &dim) { return !indices.has(dim.name); };
  const Known *t = pick([&](const Known &x) {
    return mayJoin(indices, x) && llvm::any_of(x.dims, isFree);
  });
  if (!t)
    return false;
  Known table = *t;
  Dim dim = *llvm::find_if(table.dims, isFree);
  std::vector<Dim> dims = without(join(table.dims, indices.dims), {dim});
  // Indices out of range give 0.
  std::string text = indices.name;
  if (flip())
    text = "mod(" + text + ", " + std::to_string(dim.size) + ")";
  return add("gather(" + table.name + ", " + text + ", " + dim.name + ")",
             table.type, dims, table.size, table.isExact);
}

bool RandomProgram::addGatherOfWindows() {
  const Known *t =
      pick([](const Known &x) { return !x.dims.empty() && x.dims.size() < 3; });
  if (!t)
    return false;
  Known table = *t;
  Dim dim = drawDimOf(table);
  std::vector<Dim> dims = without(table.dims, {dim});
  std::string indices = std::to_string(int(draw(5)) - 2);
  for (size_t i = 0, count = 1 + draw(2); i < count; ++i) {
    Dim line = pool[draw(pool.size())];
    auto isOther = [&](const Dim &known) {
      return known.name == line.name && known != line;
    };
    std::vector<Dim> both = join(dims, {line});
    if (line.name == dim.name || llvm::any_of(dims, isOther) ||
        RandomProgram::count(both) > maxElements)
      continue;
    dims = both;
    indices += " + iota(" + line.name + ") * " + std::to_string(1 + draw(3));
  }
  // Indices out of range give 0.
  return add("gather(" + table.name + ", " + indices + ", " + dim.name + ")",
             table.type, dims, table.size, table.isExact);
}

bool RandomProgram::addOneHot() {
  const Known *i =
      pick([](const Known &x) { return x.isInteger() && x.dims.size() < 3; });
  if (!i)
    return false;
  Known indices = *i;
  Dim dim = pool[draw(pool.size())];
  if (indices.has(dim.name) || indices.count() * dim.size > maxElements)
    return false;
  static constexpr Type types[] = {Type::F32, Type::BF16, Type::F16};
  Type type = types[draw(3)];
  return add("one_hot(" + indices.name + ", " + dim.name + ", " + spell(type) +
                 ")",
             type, join(indices.dims, {dim}), 1, true);
}

} // namespace meshc::reference
