//===- RandomLoop.cpp - loops of random models ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

namespace meshc::reference {

/// Takes the loop's dim from the known values: inside, each is its entry.
void RandomProgram::enter(Loop &loop) {
  std::erase(pool, loop.dim);
  for (Known &known : values) {
    loop.outside.push_back(known.dims);
    known.dims = without(known.dims, {loop.dim});
    // A padded tensor has another size of the dim.
    known.isHidden |= known.has(loop.dim.name);
  }
}

/// A name for a value that the loop changes, initially some known value.
void RandomProgram::addCarried(Loop &loop) {
  Known *initial = pick([&](const Known &known) {
    return (known.isFloat() || known.isInteger()) && !known.has(loop.dim.name);
  });
  if (!initial)
    return;
  Known carried = *initial;
  carried.name = "s" + std::to_string(++numbered);
  carried.uses = 1;
  // After an iteration it is a function of values that may be sums.
  carried.isExact &= carried.isInteger();
  statements.push_back("  " + carried.name + " = " + initial->name);
  loop.carried.push_back(values.size());
  values.push_back(std::move(carried));
}

void RandomProgram::openLoop(const Dim &dim) {
  Loop loop;
  loop.dim = dim;
  for (size_t i = 0, wanted = draw(3); i < wanted; ++i)
    addCarried(loop);
  enter(loop);
  statements.push_back("  for " + dim.name + (flip() ? " backwards {" : " {"));
  if (flip())
    add("cast(iota(" + dim.name + "), f32) * 0.37 + 0.5", Type::F32, {}, 1.0,
        false);
  loops.push_back(std::move(loop));
}

/// The next value of a carried name: half of a value made inside, if one fits.
std::string RandomProgram::drawNext(const Loop &loop, const Known &carried) {
  if (carried.isInteger())
    return "mod(" + carried.name + " * 3 + 1, 8)";
  auto isLike = [&](const Known &known) {
    return known.type == carried.type &&
           known.dims.size() == carried.dims.size() &&
           without(known.dims, carried.dims).empty();
  };
  std::vector<size_t> fitting;
  for (size_t i = loop.outside.size(); i < values.size(); ++i)
    if (isLike(values[i]))
      fitting.push_back(i);
  if (fitting.empty())
    return "sin(" + carried.name + " * 0.9 + 0.2)";
  Known &other = values[fitting[draw(fitting.size())]];
  ++other.uses;
  return "sin(" + other.name + ") * 0.5 + " + carried.name + " * 0.5";
}

void RandomProgram::closeLoop() {
  Loop loop = std::move(loops.back());
  loops.pop_back();
  if (llvm::StringRef(statements.back()).ends_with("{"))
    add("cast(iota(" + loop.dim.name + "), f32)", Type::F32, {}, 4.0, false);
  for (size_t index : loop.carried)
    statements.push_back("  " + values[index].name + " = " +
                         drawNext(loop, values[index]));
  statements.push_back("  }");
  pool.push_back(loop.dim);
  for (auto [known, dims] : llvm::zip(values, loop.outside)) {
    known.dims = dims;
    known.isHidden = llvm::any_of(
        loops, [&](const Loop &outer) { return known.has(outer.dim.name); });
  }
  // What was made inside is stacked.
  for (size_t i = values.size(); i-- > loop.outside.size();) {
    if (values[i].count() * loop.dim.size > maxElements)
      values.erase(values.begin() + i);
    else
      values[i].dims.push_back(loop.dim);
  }
}

} // namespace meshc::reference
