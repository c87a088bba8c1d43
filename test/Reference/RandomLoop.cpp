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
  loop.endsEarly = draw(4) == 0;
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
  // A product: with 16 bits as the precision, only the loop makes it f32.
  if (draw(4) == 0)
    return "tanh(einsum(" + carried.name + ", " + carried.name + " -> [" +
           list(carried.dims) + "]) * 0.7 + 0.3)";
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

/// A scalar truth value of what is exact: the same number of iterations runs
/// under every layout.
std::string RandomProgram::drawCondition(const Loop &loop) {
  std::string number = "iota(" + loop.dim.name + ") " +
                       (flip() ? "< " : "!= ") +
                       std::to_string(draw(loop.dim.size));
  const Known *x = pick([](const Known &x) { return x.isExact; });
  if (!x || draw(3) == 0)
    return number;
  std::string text = x->name;
  if (x->type == Type::I1)
    text = "cast(" + text + ", i32)";
  if (!x->dims.empty())
    text = (x->isFloat() ? "max(" : "sum(") + text + ")";
  text +=
      x->isFloat() ? " < " + drawNumber(0, 2) : " > " + std::to_string(draw(4));
  return flip() ? text : text + (flip() ? " and " : " or ") + number;
}

/// After a loop without a gradient: those of what it has made end here.
void RandomProgram::stopGradients(const Loop &loop) {
  auto stop = [&](const Known &known) {
    if (known.isFloat())
      statements.push_back("  " + known.name + " = stop_gradient(" +
                           known.name + ")");
  };
  for (size_t index : loop.carried)
    stop(values[index]);
  for (size_t i = loop.outside.size(); i < values.size(); ++i)
    stop(values[i]);
}

/// A block has at least one statement.
void RandomProgram::closeBlock() {
  if (llvm::StringRef(statements.back()).ends_with("{"))
    add("cast(iota(" + loops.back().dim.name + "), f32)", Type::F32, {}, 4.0,
        false);
}

void RandomProgram::addRecomputed(size_t count) {
  statements.push_back("  recompute {");
  addSteps(count);
  closeBlock();
  statements.push_back("  }");
}

void RandomProgram::closeLoop() {
  closeBlock();
  Loop loop = std::move(loops.back());
  loops.pop_back();
  for (size_t index : loop.carried)
    statements.push_back("  " + values[index].name + " = " +
                         drawNext(loop, values[index]));
  statements.push_back(loop.endsEarly ? "  } while " + drawCondition(loop)
                                      : "  }");
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
  if (loop.endsEarly)
    stopGradients(loop);
}

/// A recurrence: a state of one row for each example, or none, whose weights
/// all iterations share. Products leave such loops (meshc-split-loops).
void RandomProgram::addRecurrence(const Dim &dim) {
  auto isFree = [&](const Dim &d) { return d.name != dim.name && d.size > 1; };
  std::vector<Dim> free;
  llvm::copy_if(pool, std::back_inserter(free), isFree);
  if (free.size() < 3)
    return;
  llvm::erase_if(free, [&](const Dim &d) { return d == pool.front(); });
  const Dim in = free[draw(free.size())];
  llvm::erase(free, in);
  const Dim state = free[draw(free.size())];
  std::vector<Dim> rows, ofInput = {in, dim}, ofState = {state};
  if (flip())
    rows.push_back(pool.front());
  ofInput.insert(ofInput.begin(), rows.begin(), rows.end());
  ofState.insert(ofState.begin(), rows.begin(), rows.end());
  if (count(ofInput) > maxElements || count(ofState) * dim.size > maxElements)
    return;
  const std::string number = std::to_string(++numbered), x = "rx" + number,
                    wx = "rw" + number, up = "ru" + number, h = "rh" + number,
                    all = "ra" + number, sum = "rs" + number;
  std::string text = "sin(cast(iota(" + dim.name + ") * 3 + iota(" + in.name +
                     "), f32) * " + drawNumber(0.2, 0.9) + ")";
  if (!rows.empty())
    text += " * cos(cast(iota(" + rows[0].name + "), f32) * 0.4)";
  const std::string between = in.name + ", " + state.name;
  llvm::append_values(statements, "  " + x + " = " + text,
                      "  param " + wx + "[" + between + "] ~ normal(0.4)",
                      "  param " + up + "[" + between + "] ~ normal(0.4)",
                      "  " + h + " = broadcast(0.1, " + list(ofState) + ")",
                      "  " + sum + " = broadcast(0, " + between + ")",
                      "  for " + dim.name + (flip() ? " backwards {" : " {"),
                      "  " + h + " = tanh(dot(" +
                          (flip() ? x : "tanh(" + x + ")") + ", " + wx + ", " +
                          in.name + ") + dot(dot(" + h + ", " + up + ", " +
                          state.name + "), " + wx + ", " + in.name + "))",
                      "  " + all + " = " + h);
  if (!rows.empty()) // what a loop adds up, or subtracts
    statements.push_back("  " + sum + " = " + sum + (flip() ? " + " : " - ") +
                         "dot(" + x + ", " + h + ", " + rows[0].name + ")");
  statements.push_back("  }");
  for (const std::string &weights : {wx, up})
    values.push_back({weights, Type::F32, {in, state}, 1, false});
  ofState.push_back(dim);
  // The first values become terms of the loss before others.
  values.insert(values.begin(), {all, Type::F32, ofState, 1, false});
  if (!rows.empty())
    values.insert(values.begin(), {sum, Type::F32, {in, state}, 4, false});
}

} // namespace meshc::reference
