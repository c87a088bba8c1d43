//===- RandomReduction.cpp - draws of ops that reduce ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "llvm/Support/Format.h"
#include <cmath>

namespace meshc::reference {

/// How much larger than `count` entries their sum is: as independent ones of
/// either sign, but not if all have one sign, as those of x · x may.
static double getGrowth(double count, bool isRepeated) {
  return isRepeated ? count : std::sqrt(count);
}

bool RandomProgram::addEinsum() {
  std::vector<Known> operands;
  std::vector<Dim> dims;
  double size = 1;
  bool isRepeated = false;
  for (size_t tries = 0, wanted = 1 + draw(4);
       operands.size() < wanted && tries < 8; ++tries) {
    const Known *x = pick([&](const Known &x) {
      return x.isFloat() && llvm::all_of(operands, [&](const Known &other) {
               return mayJoin(other, x) && other.type == x.type;
             });
    });
    if (!x)
      return false;
    if (count(join(dims, x->dims)) > 4 * maxElements)
      continue;
    isRepeated |= llvm::any_of(
        operands, [&](const Known &other) { return other.name == x->name; });
    operands.push_back(*x);
    dims = join(dims, x->dims);
    size *= x->size;
  }
  if (operands.empty())
    return false;
  std::vector<Dim> kept;
  for (const Dim &dim : dims)
    if (flip())
      kept.push_back(dim);
  if (count(kept) > maxElements)
    return false;
  std::string text;
  for (const Known &operand : operands)
    text += (text.empty() ? "" : ", ") + operand.name;
  return add(
      "einsum(" + text + " -> [" + list(kept) + "])", operands[0].type, kept,
      size * getGrowth(double(count(dims)) / count(kept), isRepeated), false);
}

/// A product of two tensors over dims that both have, as `dot` or spelled out.
bool RandomProgram::addDot() {
  const Known *x =
      pick([](const Known &x) { return x.isFloat() && !x.dims.empty(); });
  if (!x)
    return false;
  Known a = *x;
  auto isShared = [&](const Known &y, const Dim &dim) {
    return llvm::is_contained(y.dims, dim);
  };
  const Known *y = pick([&](const Known &y) {
    return y.type == a.type && mayJoin(a, y) &&
           llvm::any_of(a.dims, [&](const Dim &d) { return isShared(y, d); });
  });
  if (!y)
    return false;
  Known b = *y;
  std::vector<Dim> reduced;
  for (const Dim &dim : a.dims)
    if (isShared(b, dim) && (reduced.empty() || flip()))
      reduced.push_back(dim);
  double growth = getGrowth(double(count(reduced)), a.name == b.name);
  double size = a.size * b.size * growth;
  std::vector<Dim> dims = without(join(a.dims, b.dims), reduced);
  std::string names = ", " + list(reduced) + ")";
  if (draw(3) != 0)
    return add("dot(" + a.name + ", " + b.name + names, a.type, dims, size,
               false);
  // Two ops are two roundings, whoever else uses the product.
  add(a.name + " * " + b.name, a.type, join(a.dims, b.dims), a.size * b.size,
      a.isExact && b.isExact);
  Known product = values.back();
  values.back().uses = flip();
  return add("sum(" + product.name + names, a.type, dims, product.size * growth,
             false);
}

/// What makes `count` factors exp(±exponent) one number of a few units at most:
/// products neither vanish nor explode.
static std::string spellExponent(int64_t count) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%.4g", std::min(0.1, 2.0 / static_cast<double>(count)));
  return text;
}

bool RandomProgram::addReduction() {
  const Known *x =
      pick([](const Known &x) { return x.isFloat() && !x.dims.empty(); });
  if (!x)
    return false;
  Known in = *x;
  std::vector<Dim> gone = drawDimsOf(in), rest = without(in.dims, gone);
  std::string arguments = "(" + in.name + ", " + list(gone) + ")";
  switch (draw(6)) {
  case 0:
  case 1:
    return add("sum" + arguments, in.type, rest,
               in.size * std::sqrt(double(count(gone))), false);
  case 2:
    return add("mean" + arguments, in.type, rest, in.size, false);
  case 3:
    return !in.mayTie &&
           add("max" + arguments, in.type, rest, in.size, in.isExact);
  case 4:
    return !in.mayTie &&
           add("min" + arguments, in.type, rest, in.size, in.isExact);
  default:
    return add("prod(exp(tanh(" + in.name + ") * " +
                   spellExponent(count(gone)) + "), " + list(gone) + ")",
               in.type, rest, 1, false);
  }
}

bool RandomProgram::addArgmax() {
  const Known *x = pick([](const Known &x) {
    return x.isFloat() && x.isExact && !x.dims.empty();
  });
  if (!x)
    return false;
  Known in = *x;
  Dim dim = drawDimOf(in);
  return add("argmax(" + in.name + ", " + dim.name + ")", Type::I32,
             without(in.dims, {dim}), 4, true);
}

bool RandomProgram::addCategorical() {
  const Known *x = pick([](const Known &x) {
    return x.isFloat() && x.isExact && !x.dims.empty();
  });
  if (!x)
    return false;
  Known in = *x;
  Dim dim = drawDimOf(in);
  return add("categorical(" + in.name + " * " + drawNumber(0.3, 1.5) + ", " +
                 dim.name + ")",
             Type::I32, without(in.dims, {dim}), 4, true);
}

bool RandomProgram::addCumsum() {
  const Known *x = pick([](const Known &x) {
    return (x.isFloat() || x.isInteger()) && !x.dims.empty();
  });
  if (!x)
    return false;
  Known in = *x;
  Dim dim = drawDimOf(in);
  std::string text = "cumsum(" + in.name + ", " + dim.name;
  for (const char *word : {", exclusive", ", backwards"})
    if (flip())
      text += word;
  double growth = in.isFloat() ? std::sqrt(double(dim.size)) : double(dim.size);
  return add(text + ")", in.type, in.dims, in.size * growth, in.isInteger());
}

bool RandomProgram::addSort() {
  const Known *x = pick([](const Known &x) {
    return (x.isFloat() || x.isInteger()) && x.isExact && !x.dims.empty();
  });
  if (!x)
    return false;
  Known in = *x;
  std::string arguments = in.name + ", " + drawDimOf(in).name;
  if (flip())
    arguments += ", descending";
  return flip()
             ? add("sort(" + arguments + ")", in)
             : add("argsort(" + arguments + ")", Type::I32, in.dims, 4, true);
}

bool RandomProgram::addTopK() {
  const Known *x = pick([](const Known &x) {
    return (x.isFloat() || x.isInteger()) && x.isExact && !x.dims.empty();
  });
  if (!x)
    return false;
  Known in = *x;
  Dim dim = drawDimOf(in), into = pool[draw(pool.size())];
  if (in.has(into.name) || into.size > dim.size ||
      std::any_of(loops.begin(), loops.end(),
                  [&](const Loop &loop) { return loop.dim.name == into.name; }))
    return false;
  std::string chosen = "t" + std::to_string(++numbered);
  std::string indices = "t" + std::to_string(++numbered);
  statements.push_back("  " + chosen + ", " + indices + " = top_k(" + in.name +
                       ", " + dim.name + " -> " + into.name + ")");
  std::vector<Dim> dims = join(without(in.dims, {dim}), {into});
  values.push_back({chosen, in.type, dims, in.size, true});
  values.push_back({indices, Type::I32, dims, 4, true});
  return true;
}

bool RandomProgram::addSoftmax() {
  const Known *x =
      pick([](const Known &x) { return x.isFloat() && !x.dims.empty(); });
  if (!x)
    return false;
  Known in = *x;
  std::string arguments = "(" + in.name + ", " + drawDimOf(in).name + ")";
  if (flip())
    return add("softmax" + arguments, in.type, in.dims, 1, false);
  return add("log_softmax" + arguments, in.type, in.dims, in.size + 2, false);
}

/// ", " and a bias by the distance of two positions, from a value's entries
/// along one dim; empty without such a value.
std::string RandomProgram::drawBias(const Known &query, const Dim &key,
                                    const Dim &position, const Dim &memory) {
  std::vector<Dim> rows = without(query.dims, {key, position});
  auto isRow = [&](const Dim &dim) {
    return llvm::any_of(rows,
                        [&](const Dim &row) { return row.name == dim.name; });
  };
  auto isOther = [&](const Dim &dim) { return !isRow(dim); };
  const Known *table = pick([&](const Known &other) {
    return other.type == query.type && mayJoin(query, other) &&
           !other.has(position.name) && !other.has(memory.name) &&
           llvm::count_if(other.dims, isOther) == 1;
  });
  if (!table)
    return "";
  const Dim &dim = *llvm::find_if(table->dims, isOther);
  return ", gather(" + table->name + ", mod(iota(" + memory.name + ") - iota(" +
         position.name + ") + 60, " + std::to_string(dim.size) + "), " +
         dim.name + ")";
}

/// A mask of attention from two positions: a band, labels, or both, joined by
/// `and` or `or`.
std::string RandomProgram::drawMask(const Known &query, const Dim &key,
                                    const Dim &position, const Dim &memory) {
  auto compare = [&](const std::string &of) {
    static const char *const all[] = {"<=", ">=", "<", ">", "==", "!="};
    return "iota(" + memory.name + ") " + all[draw(6)] + " " + of;
  };
  std::string text = compare("iota(" + position.name + ")");
  const Known *labels = pick([&](const Known &other) {
    return other.isInteger() && mayJoin(query, other) && !other.has(key.name) &&
           !other.has(memory.name) &&
           llvm::all_of(other.dims,
                        [&](const Dim &dim) { return query.has(dim.name); });
  });
  if (!labels || flip())
    return text;
  std::string name = "mod(" + labels->name + ", 4)";
  std::string more = compare(name);
  if (labels->has(position.name) && flip())
    more = "rename(" + name + ", " + position.name + " -> " + memory.name +
           ") " + (flip() ? "==" : ">") + " " + name;
  return "(" + text + (flip() ? " and " : " or ") + more + ")";
}

/// The memory is a dim of the queries, renamed.
bool RandomProgram::addAttention() {
  const Known *x =
      pick([](const Known &x) { return x.isFloat() && x.dims.size() > 1; });
  if (!x)
    return false;
  Known query = *x;
  Dim key = drawDimOf(query);
  Dim position = without(query.dims, {key})[draw(query.dims.size() - 1)];
  Dim memory = drawDim(position.size, query.dims);
  auto fits = [&](const Known &other) {
    return other.type == query.type && other.has(position.name) &&
           !other.has(memory.name) && mayJoin(query, other);
  };
  const Known *k = pick([&](const Known &other) {
    return fits(other) && other.has(key.name) &&
           llvm::all_of(other.dims,
                        [&](const Dim &dim) { return query.has(dim.name); });
  });
  if (!k)
    return false;
  Known keys = *k;
  const Known *v = pick(
      [&](const Known &other) { return fits(other) && mayJoin(keys, other); });
  if (!v)
    return false;
  Known values = *v;
  std::vector<Dim> dims =
      join(without(query.dims, {key}), without(values.dims, {position}));
  auto remember = [&](const Known &value) {
    return "rename(" + value.name + ", " + position.name + " -> " +
           memory.name + ")";
  };
  std::string text = "dot_attention(" + query.name + ", " + remember(keys) +
                     ", " + remember(values) + ", " + key.name + ", " +
                     memory.name;
  if (isDeclared(position) && isDeclared(memory) && flip())
    text += ", " + drawMask(query, key, position, memory);
  if (isDeclared(position) && isDeclared(memory) && flip())
    text += drawBias(query, key, position, memory);
  return add(text + ")", query.type, dims, values.size, false);
}

bool RandomProgram::addCrossEntropy() {
  const Known *i = pick([](const Known &x) { return x.isInteger(); });
  if (!i)
    return false;
  Known indices = *i;
  auto isFree = [&](const Dim &dim) { return !indices.has(dim.name); };
  const Known *l = pick([&](const Known &x) {
    return x.isFloat() && mayJoin(indices, x) && llvm::any_of(x.dims, isFree);
  });
  if (!l)
    return false;
  Known logits = *l;
  Dim dim = *llvm::find_if(logits.dims, isFree);
  return add("cross_entropy(" + logits.name + ", mod(" + indices.name + ", " +
                 std::to_string(dim.size) + "), " + dim.name + ")",
             logits.type, without(join(logits.dims, indices.dims), {dim}),
             logits.size + 2, false);
}

} // namespace meshc::reference
