//===- RandomProgram.cpp - random models ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>

namespace meshc::reference {

const RandomProgram::Dim *
RandomProgram::Known::find(const std::string &dim) const {
  auto found =
      llvm::find_if(dims, [&](const Dim &other) { return other.name == dim; });
  return found == dims.end() ? nullptr : &*found;
}

int64_t RandomProgram::count(const std::vector<Dim> &dims) {
  int64_t product = 1;
  for (const Dim &dim : dims)
    product *= dim.size;
  return product;
}

int64_t RandomProgram::Known::count() const {
  return RandomProgram::count(dims);
}

std::string RandomProgram::spell(Type type) {
  static const char *const names[] = {"f32", "bf16", "f16", "i32", "i1"};
  return names[static_cast<int>(type)];
}

std::string RandomProgram::list(const std::vector<Dim> &dims) {
  std::string text;
  for (const Dim &dim : dims)
    text += (text.empty() ? "" : ", ") + dim.name;
  return text;
}

std::string RandomProgram::drawNumber(double low, double high) {
  double value = std::uniform_real_distribution<double>(low, high)(random);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3f", value);
  return text;
}

RandomProgram::Known *RandomProgram::pick(Filter filter) {
  std::vector<Known *> fitting;
  for (Known &known : values)
    if (!known.isHidden && filter(known))
      fitting.push_back(&known);
  if (fitting.empty())
    return nullptr;
  // Later values more often, so that programs grow deep.
  size_t a = draw(fitting.size()), b = draw(fitting.size());
  Known *picked = fitting[std::max(a, b)];
  ++picked->uses;
  return picked;
}

bool RandomProgram::mayTie(llvm::StringRef expression) const {
  auto isPartOfName = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  while (!expression.empty()) {
    llvm::StringRef name = expression.take_while(isPartOfName);
    if (llvm::any_of(values, [&](const Known &known) {
          return known.mayTie && known.name == name;
        }))
      return true;
    expression = expression.drop_front(std::max<size_t>(name.size(), 1));
  }
  return false;
}

std::string RandomProgram::stateType(Type type,
                                     const std::vector<Dim> &dims) const {
  // A slice has another size than its dim is declared with.
  bool isDeclared = llvm::all_of(
      dims, [&](const Dim &dim) { return llvm::is_contained(pool, dim); });
  return (isDeclared && numbered % 3 == 0 ? "[" + list(dims) + "]" : "") +
         (numbered % 4 == 0 ? ": " + spell(type) : "");
}

bool RandomProgram::add(std::string expression, Type type,
                        std::vector<Dim> dims, double size, bool isExact) {
  if (type <= Type::F16 && size > 20) {
    std::string factor;
    llvm::raw_string_ostream(factor) << llvm::format("%.6f", 1 / size);
    expression = "(" + expression + ") * " + factor;
    size = 1;
  }
  if (type == Type::I32 && size > 1000) {
    expression = "mod(" + expression + ", 16)";
    size = 16;
  }
  std::string name = "t" + std::to_string(++numbered);
  statements.push_back("  " + name + stateType(type, dims) + " = " +
                       expression);
  values.push_back(
      {name, type, std::move(dims), size, isExact, mayTie(expression)});
  return true;
}

std::vector<RandomProgram::Dim> RandomProgram::drawDims(size_t most) {
  std::vector<Dim> dims;
  for (size_t wanted = draw(most + 1), tries = 0;
       dims.size() < wanted && tries < 12; ++tries) {
    const Dim &dim = pool[draw(pool.size())];
    if (!llvm::is_contained(dims, dim) && count(dims) * dim.size <= maxElements)
      dims.push_back(dim);
  }
  return dims;
}

std::vector<RandomProgram::Dim> RandomProgram::drawDimsOf(const Known &value) {
  std::vector<Dim> dims;
  for (const Dim &dim : value.dims)
    if (flip())
      dims.push_back(dim);
  if (dims.empty() && !value.dims.empty())
    dims.push_back(drawDimOf(value));
  return dims;
}

RandomProgram::Dim RandomProgram::drawDim(int64_t size,
                                          const std::vector<Dim> &taken) {
  std::vector<Dim> fitting;
  for (const Dim &dim : pool)
    if (dim.size == size && llvm::none_of(taken, [&](const Dim &other) {
          return other.name == dim.name;
        }))
      fitting.push_back(dim);
  if (!fitting.empty() && flip())
    return fitting[draw(fitting.size())];
  pool.push_back({"n" + std::to_string(++numbered), size});
  return pool.back();
}

bool RandomProgram::isDeclared(const Dim &dim) const {
  return llvm::is_contained(pool, dim);
}

/// Whether the two have equal sizes of the dims that both have, and together
/// few elements.
bool RandomProgram::mayJoin(const Known &a, const Known &b) {
  int64_t product = a.count();
  for (const Dim &dim : b.dims) {
    const Dim *other = a.find(dim.name);
    if (other && other->size != dim.size)
      return false;
    if (!other)
      product *= dim.size;
  }
  return product <= maxElements;
}

std::vector<RandomProgram::Dim> RandomProgram::join(const std::vector<Dim> &a,
                                                    const std::vector<Dim> &b) {
  std::vector<Dim> dims = a;
  for (const Dim &dim : b)
    if (!llvm::is_contained(dims, dim))
      dims.push_back(dim);
  return dims;
}

std::vector<RandomProgram::Dim>
RandomProgram::without(const std::vector<Dim> &dims,
                       const std::vector<Dim> &gone) {
  std::vector<Dim> rest;
  for (const Dim &dim : dims)
    if (!llvm::is_contained(gone, dim))
      rest.push_back(dim);
  return rest;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void RandomProgram::addInputs() {
  static constexpr Type types[] = {Type::F32, Type::F32,  Type::F32, Type::F32,
                                   Type::I32, Type::BF16, Type::F16, Type::I1};
  Dim batch = pool.front();
  for (size_t i = 0, wanted = 1 + draw(4); i < wanted; ++i) {
    Type type = types[i ? draw(std::size(types)) : 0];
    std::vector<Dim> dims = drawDims(type == Type::I32 ? 1 : 3);
    llvm::erase(dims, batch);
    dims.insert(dims.begin(), batch);
    while (count(dims) > maxElements)
      dims.pop_back();
    std::string name = "x" + std::to_string(i);
    inputs.push_back(name + "[" + list(dims) + "]: " + spell(type));
    values.push_back({name, type, dims, type == Type::I32 ? 8.0 : 1.0, true});
  }
}

std::string RandomProgram::drawInitializer(const std::vector<Dim> &dims) {
  switch (draw(dims.empty() ? 6 : 9)) {
  case 0:
    return "zeros";
  case 1:
    return "ones";
  case 2:
    return "constant(" + drawNumber(0.1, 1) + ")";
  case 3:
    return "uniform(-1, 1)";
  case 4:
    return "normal(0.5, 0.3)";
  case 5:
    return "normal(0.5)";
  case 6:
    return "he(" + dims[draw(dims.size())].name + ")";
  case 7:
    return "lecun(" + list(dims) + ")";
  default:
    return "glorot(" + dims.front().name + " -> " + dims.back().name + ")";
  }
}

/// None in a loop that ends early: they would have no gradient.
void RandomProgram::addParameters(const std::string &letter, size_t count) {
  if (llvm::any_of(loops, [](const Loop &loop) { return loop.endsEarly; }))
    return;
  static constexpr Type types[] = {Type::F32, Type::F32,  Type::F32,
                                   Type::F32, Type::BF16, Type::F16};
  for (size_t i = 0; i < count; ++i) {
    Type type = types[draw(std::size(types))];
    std::vector<Dim> dims = drawDims(3);
    std::string name = letter + std::to_string(i);
    std::string initializer = drawInitializer(dims);
    statements.push_back("  param " + name + "[" + list(dims) +
                         "]: " + spell(type) + " ~ " + initializer);
    bool areEqual = initializer == "zeros" || initializer == "ones" ||
                    llvm::StringRef(initializer).starts_with("constant");
    // Initial values have errors of their own.
    values.push_back({name, type, dims, 1, false, areEqual});
  }
}

std::string RandomProgram::weigh(const Known &value) {
  Known v = value;
  std::string text = v.name;
  if (v.type != Type::F32)
    text = "cast(" + text + ", f32)";
  for (Dim &dim : v.dims)
    if (!isDeclared(dim)) {
      // The result of a slice, say: indices are along the whole dim.
      Dim fresh = drawDim(dim.size, v.dims);
      text = "rename(" + text + ", " + dim.name + " -> " + fresh.name + ")";
      dim = fresh;
    }
  if (value.size > 4 || flip())
    text = "sin(" + text + ")";
  for (const Dim &dim : v.dims)
    text += " * cos(cast(iota(" + dim.name + "), f32) * " +
            drawNumber(0.3, 1.5) + " + " + drawNumber(0, 1) + ")";
  return (v.dims.empty() ? "(" : "mean(") + text + ")";
}

/// Values that nothing uses become metrics, or terms of the loss.
void RandomProgram::addMetrics() {
  std::vector<std::string> terms, metrics;
  for (size_t i = 0; i < values.size(); ++i) {
    const Known value = values[i];
    if (value.uses > 0 && draw(6) != 0)
      continue;
    // The gradient of a jump is zero.
    if (value.isFloat() && draw(3) != 0)
      terms.push_back(weigh(value));
    else
      metrics.push_back(weigh(value));
    if (terms.size() + metrics.size() >= 6)
      break;
  }
  const Known parameter = *llvm::find_if(
      values, [](const Known &known) { return known.name == "p0"; });
  terms.push_back(weigh(parameter));
  statements.push_back("  loss = " + llvm::join(terms, " + "));
  for (auto [i, text] : llvm::enumerate(metrics))
    statements.push_back("  metric m" + std::to_string(i) + " = " + text);
}

void RandomProgram::addTraining() {
  // A setting of each optimizer beside those that all have. lion is missing:
  // the sign of a sum near 0 depends on rounding.
  static constexpr std::pair<const char *, const char *> optimizers[] = {
      {"sgd", ""},
      {"momentum", ", nesterov = 1"},
      {"momentum", ", momentum = 0.8"},
      {"adam", ", beta2 = 0.9"},
      {"adamw", ""},
      {"adamw", ", beta1 = 0.8, epsilon = 1e-3"},
      {"lars", ", trust = 0.1"},
      {"lars", ", adaptive = 0"},
      {"lamb", ", epsilon = 1e-3"},
      {"adafactor", ", min_factored = 2"},
      {"adafactor", ", relative = 0"}};
  auto [name, setting] = optimizers[draw(std::size(optimizers))];
  std::string settings = "lr = " + drawNumber(0.01, 0.1);
  if (flip())
    settings += " / cast(step() + 1, f32)";
  settings += setting;
  if (flip())
    settings += ", weight_decay = 0.1";
  statements.push_back("train m minimize loss with " + std::string(name) + "(" +
                       settings + ")");
  addTrainingOptions();
}

void RandomProgram::addTrainingOptions() {
  if (draw(3) == 0)
    statements.push_back("  set p*, *1 ->? (lr = 0.02, weight_decay = 0)");
  if (draw(3) == 0)
    statements.push_back("  clip " + drawNumber(0.1, 2) + " as norm");
  if (draw(6) == 0)
    statements.push_back("  average 0.9");
  // Far from what overflows, so that rounding skips no step.
  static const char *const precisions[] = {"bf16",
                                           "bf16",
                                           "bf16(sums = f32)",
                                           "bf16(sums = f32)",
                                           "f16(scale = 16)",
                                           "f16(scale = 16, sums = f32)"};
  if (draw(5) == 0)
    statements.push_back(std::string("  precision ") +
                         precisions[draw(std::size(precisions))]);
  if (draw(4) == 0) {
    microBatches = static_cast<int64_t>(2 + draw(2));
    statements.push_back("  accumulate " + std::to_string(microBatches));
  }
}

void RandomProgram::addSteps(size_t count) {
  static constexpr Step steps[] = {&RandomProgram::addUnary,
                                   &RandomProgram::addSafeUnary,
                                   &RandomProgram::addJump,
                                   &RandomProgram::addBinary,
                                   &RandomProgram::addBinary,
                                   &RandomProgram::addDivision,
                                   &RandomProgram::addSelect,
                                   &RandomProgram::addLogic,
                                   &RandomProgram::addEinsum,
                                   &RandomProgram::addEinsum,
                                   &RandomProgram::addDot,
                                   &RandomProgram::addDot,
                                   &RandomProgram::addReduction,
                                   &RandomProgram::addReduction,
                                   &RandomProgram::addArgmax,
                                   &RandomProgram::addCumsum,
                                   &RandomProgram::addSort,
                                   &RandomProgram::addTopK,
                                   &RandomProgram::addRename,
                                   &RandomProgram::addSplit,
                                   &RandomProgram::addSplit,
                                   &RandomProgram::addMerge,
                                   &RandomProgram::addMerge,
                                   &RandomProgram::addBroadcast,
                                   &RandomProgram::addSlice,
                                   &RandomProgram::addEntry,
                                   &RandomProgram::addConcat,
                                   &RandomProgram::addPad,
                                   &RandomProgram::addSource,
                                   &RandomProgram::addGather,
                                   &RandomProgram::addGather,
                                   &RandomProgram::addGatherOfWindows,
                                   &RandomProgram::addGatherOfWindows,
                                   &RandomProgram::addOneHot,
                                   &RandomProgram::addSoftmax,
                                   &RandomProgram::addCrossEntropy,
                                   &RandomProgram::addAttention,
                                   &RandomProgram::addDropout,
                                   &RandomProgram::addCast,
                                   &RandomProgram::addCategorical,
                                   &RandomProgram::addFunction,
                                   &RandomProgram::addFunctionAlong,
                                   &RandomProgram::addFunctionOfTwo,
                                   &RandomProgram::addFunctionWithLoop};
  for (size_t i = 0; i < count; ++i)
    (this->*steps[draw(std::size(steps))])();
}

/// A loop with steps of its own, and perhaps one within it.
void RandomProgram::addLoops() {
  Dim outer = *llvm::find_if(pool, [](const Dim &d) { return d.name == "u"; });
  Dim inner = *llvm::find_if(pool, [](const Dim &d) { return d.name == "v"; });
  openLoop(outer);
  addParameters("q", draw(3));
  addSteps(2 + draw(5));
  if (draw(4) == 0)
    addRecomputed(1 + draw(3));
  if (draw(3) == 0) {
    openLoop(inner);
    addParameters("r", draw(2));
    addSteps(1 + draw(3));
    closeLoop();
    addSteps(draw(3));
  }
  closeLoop();
  if (draw(3) == 0)
    addRecurrence(outer);
}

std::vector<std::string> RandomProgram::write() {
  static constexpr int64_t sizes[] = {1, 2, 3, 4, 4, 5, 6, 7, 8, 12, 13};
  for (const char *name : {"o", "a", "b", "c", "d", "e", "f"})
    pool.push_back({name, sizes[draw(std::size(sizes))]});
  if (hasLoops)
    for (const char *name : {"u", "v"})
      pool.push_back({name, int64_t(draw(8) ? 2 + draw(3) : 1)});
  addInputs();
  addParameters("p", 1 + draw(3));
  addSteps(hasLoops ? draw(4) : 4 + draw(8));
  if (hasLoops) {
    addLoops();
    addSteps(draw(4));
  }
  addMetrics();
  statements.push_back("}");
  addTraining();
  std::vector<std::string> lines = {""};
  for (const Dim &dim : pool)
    lines[0] +=
        (lines[0].empty() ? "dim " : ", ") + dim.name + " = " +
        std::to_string(dim.name == pool.front().name ? dim.size * microBatches
                                                     : dim.size);
  lines.push_back("model m(" + llvm::join(inputs, ", ") + ") {");
  lines.insert(lines.end(), statements.begin(), statements.end());
  lines.insert(lines.end(), functions.begin(), functions.end());
  return lines;
}

} // namespace meshc::reference
