//===- LoopKernelsTest.cpp - kernels of loops compute the same ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Random functions with loops, whose arguments and results lie in random
/// memory orders, and models with loops: after the kernels phase, whose last
/// pass verifies orders along ties, they compute what their unrolled forms
/// compute.
///
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Kernels/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Loops/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Reference/CompareSteps.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace meshc;

namespace {

/// Draws the text of a module with one function.
class RandomLoops {
public:
  explicit RandomLoops(uint64_t seed) : random(seed) {}
  std::string write();

private:
  /// Dims are letters, sorted.
  struct Known {
    std::string name, dims;
  };
  using Values = std::vector<Known>;

  static int64_t getSize(char dim) {
    return dim == 'b' || dim == 'e' || dim == 'n' ? 3 : dim == 'f' ? 1 : 2;
  }
  static bool has(const Known &value, char dim) {
    return value.dims.find(dim) != std::string::npos;
  }
  static std::string unite(const std::string &a, const std::string &b);
  static std::string without(const std::string &dims, char dim);
  static std::string spell(const std::string &dims);
  std::string spellOrder(std::string dims);

  size_t draw(size_t below) { return random() % below; }
  const Known &pick(const Values &values) {
    return values[draw(values.size())];
  }
  /// Up to `most` of the values that pass.
  Values pickSome(const Values &values, size_t most,
                  llvm::function_ref<bool(const Known &)> passes);
  Known add(Values &values, const std::string &op, const Values &operands,
            const std::string &attributes, const std::string &dims);
  void addOps(Values &values, size_t count, const std::string &loops);
  void addEinsum(Values &values);
  void addLoop(Values &values, const std::string &loops);
  std::string spellGroup(const char *group, const Values &values);

  std::mt19937_64 random;
  std::string text;
  int numbered = 0;
};

std::string RandomLoops::unite(const std::string &a, const std::string &b) {
  std::string dims = a + b;
  llvm::sort(dims);
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

std::string RandomLoops::without(const std::string &dims, char dim) {
  std::string left = dims;
  llvm::erase(left, dim);
  return left;
}

std::string RandomLoops::spell(const std::string &dims) {
  std::vector<std::string> all;
  for (char dim : dims)
    all.push_back(std::string(1, dim) + " = " + std::to_string(getSize(dim)));
  return "!nd.tensor<f32, [" + llvm::join(all, ", ") + "]>";
}

/// The attribute of a random memory order.
std::string RandomLoops::spellOrder(std::string dims) {
  std::shuffle(dims.begin(), dims.end(), random);
  std::vector<std::string> names;
  for (char dim : dims)
    names.push_back(std::string("\"") + dim + "\"");
  return " {nd.order = [" + llvm::join(names, ", ") + "]}";
}

RandomLoops::Values
RandomLoops::pickSome(const Values &values, size_t most,
                      llvm::function_ref<bool(const Known &)> passes) {
  Values some;
  for (size_t i = draw(most + 1); i > 0; --i)
    if (const Known &value = pick(values); passes(value))
      some.push_back(value);
  return some;
}

RandomLoops::Known RandomLoops::add(Values &values, const std::string &op,
                                    const Values &operands,
                                    const std::string &attributes,
                                    const std::string &dims) {
  std::vector<std::string> names, types;
  for (const Known &operand : operands) {
    names.push_back(operand.name);
    types.push_back(spell(operand.dims));
  }
  Known result{"%v" + std::to_string(numbered++), dims};
  text += result.name + " = nd." + op + " " + llvm::join(names, ", ") +
          attributes + " : (" + llvm::join(types, ", ") + ") -> " +
          spell(dims) + "\n";
  values.push_back(result);
  return result;
}

/// Of two or three values, over some of their dims.
void RandomLoops::addEinsum(Values &values) {
  Values operands;
  std::string dims;
  for (size_t i = 2 + draw(2); i > 0; --i) {
    operands.push_back(pick(values));
    dims = unite(dims, operands.back().dims);
  }
  std::vector<std::string> reduced;
  for (char dim : std::string(dims))
    // Larger tensors take too long.
    if (draw(2) == 0 || dims.size() > 5) {
      reduced.push_back(std::string("\"") + dim + "\"");
      dims = without(dims, dim);
    }
  Known sum = add(values, "einsum", operands,
                  " {reduced = [" + llvm::join(reduced, ", ") + "]}", dims);
  values.pop_back();
  add(values, "tanh", {sum}, "", dims);
}

void RandomLoops::addOps(Values &values, size_t count,
                         const std::string &loops) {
  for (; count > 0; --count) {
    const Known a = pick(values), b = pick(values);
    switch (draw(6)) {
    case 0:
      add(values, draw(2) ? "sigmoid" : "neg", {a}, "", a.dims);
      break;
    case 1:
      add(values, draw(2) ? "add" : "mul", {a, b}, "", unite(a.dims, b.dims));
      break;
    case 2:
      if (!a.dims.empty()) {
        char dim = a.dims[draw(a.dims.size())];
        add(values, draw(2) ? "reduce_sum" : "reduce_max", {a},
            std::string(" {dims = [\"") + dim + "\"]}", without(a.dims, dim));
      }
      break;
    case 3:
      if (has(a, 'b') && !has(a, 'e'))
        add(values, "rename", {a}, " {from = [\"b\"], to = [\"e\"]}",
            unite(without(a.dims, 'b'), "e"));
      break;
    case 4:
      addEinsum(values);
      break;
    case 5:
      if (loops.size() < 2)
        addLoop(values, loops);
      break;
    }
  }
}

std::string RandomLoops::spellGroup(const char *group, const Values &values) {
  if (values.empty())
    return "";
  std::vector<std::string> names, types;
  for (const Known &value : values) {
    names.push_back(value.name);
    types.push_back(spell(value.dims));
  }
  return std::string(" ") + group + "(" + llvm::join(names, ", ") + " : " +
         llvm::join(types, ", ") + ")";
}

/// A loop over `n` or `m` of random values, and perhaps the number of the
/// iteration.
void RandomLoops::addLoop(Values &values, const std::string &loops) {
  char dim = loops == "n" ? 'm' : loops == "m" ? 'n' : draw(2) ? 'n' : 'm';
  auto isEntry = [&](const Known &value) { return !has(value, dim); };
  Values carried = pickSome(values, 3, isEntry);
  Values stacked =
      pickSome(values, 4, [&](const Known &value) { return has(value, dim); });
  Values whole = pickSome(values, 2, isEntry);
  const std::string before = std::move(text);
  text.clear();
  Values body, results;
  std::vector<std::string> arguments, yielded, types, resultTypes;
  auto addArgument = [&](const std::string &dims) {
    body.push_back({"%v" + std::to_string(numbered++), dims});
    arguments.push_back(body.back().name + ": " + spell(dims));
  };
  for (const Known &value : carried)
    addArgument(value.dims);
  for (const Known &value : stacked)
    addArgument(without(value.dims, dim));
  for (const Known &value : whole)
    addArgument(value.dims);
  body.push_back({"%v" + std::to_string(numbered++), ""});
  text += body.back().name + " = nd.constant 0.5 : f32 -> " + spell("") + "\n";
  addOps(body, 5, loops + dim);
  std::string name = "%v" + std::to_string(numbered++);
  auto addResult = [&](const Known &value, const std::string &dims) {
    yielded.push_back(value.name);
    types.push_back(spell(value.dims));
    resultTypes.push_back(spell(dims));
    results.push_back({name + "#" + std::to_string(results.size()), dims});
  };
  for (const Known &value : carried) {
    Values fitting;
    llvm::copy_if(body, std::back_inserter(fitting),
                  [&](const Known &each) { return each.dims == value.dims; });
    addResult(pick(fitting), value.dims);
  }
  for (size_t i = draw(3); i > 0 || results.empty(); i -= i > 0) {
    const Known &value = pick(body);
    addResult(value, unite(value.dims, std::string(1, dim)));
  }
  text = before + name + ":" + std::to_string(results.size()) +
         " = nd.scan \"" + dim + "\" " + std::to_string(getSize(dim)) +
         (draw(2) ? " backwards" : "") + spellGroup("carried", carried) +
         spellGroup("stacked", stacked) + spellGroup("whole", whole) + " -> " +
         llvm::join(resultTypes, ", ") + " {\n^bb0(" +
         llvm::join(arguments, ", ") + "):\n" + text + "nd.yield " +
         llvm::join(yielded, ", ") + " : " + llvm::join(types, ", ") + "\n}\n";
  llvm::append_range(values, results);
}

std::string RandomLoops::write() {
  Values values;
  std::vector<std::string> arguments, types, names, results;
  for (int i = 0; i < 6; ++i) {
    std::string dims;
    for (char dim : std::string("abcdfmn"))
      if (draw(2) == 0 && dims.size() < 4)
        dims += dim;
    values.push_back({"%v" + std::to_string(numbered++), dims});
    arguments.push_back(values.back().name + ": " + spell(dims) +
                        spellOrder(dims));
  }
  addOps(values, 3, "");
  addLoop(values, "");
  addOps(values, 4, "");
  addLoop(values, "");
  for (size_t i = 0; i < 5; ++i) {
    const Known &value = values[values.size() - 1 - draw(8)];
    names.push_back(value.name);
    types.push_back(spell(value.dims));
    results.push_back(spell(value.dims) +
                      (draw(2) ? spellOrder(value.dims) : ""));
  }
  return "module attributes {" + std::string(draw(2) ? "exec.gpu, " : "") +
         "nd.mesh = #nd.mesh<>} {\nfunc.func @step(" +
         llvm::join(arguments, ", ") + ") -> (" + llvm::join(results, ", ") +
         ") {\n" + text + "return " + llvm::join(names, ", ") + " : " +
         llvm::join(types, ", ") + "\n}\n}\n";
}

/// A model and how it is cut.
struct Model {
  std::string text, mesh, layout;
};

/// A stack of layers.
const char *const layersText = R"(
dim batch = 8, model = 6, ffn = 10, class = 4, layers = 3
model deep(x[batch, model], label[batch]: i32) {
  param bias[model] ~ normal(0.1)
  param out[model, class] ~ normal(0.5)
  h = x
  for layers {
    param w1[model, ffn] ~ normal(0.5)
    param b1[ffn] ~ normal(0.1)
    param w2[ffn, model] ~ normal(0.5)
    c = h - mean(h, model) + bias
    n = dropout(c * rsqrt(mean(square(c), model) + 1e-5), 0.1)
    h = h + dot(gelu(dot(n, w1, model) + b1), w2, ffn)
  }
  loss = mean(cross_entropy(dot(h, out, model), label, class))
}
train deep minimize loss with adamw(lr = 0.1)
)";

/// A recurrence whose dim is not the first of its input.
const char *const recurrenceText = R"(
dim batch = 4, seq = 5, model = 6, hidden = 8, hidden2 = 8, vocab = 10
model recurrence(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  param embed[vocab, model] ~ normal(0.5)
  param w[model, hidden] ~ normal(0.5)
  param u[hidden2, hidden] ~ normal(0.5)
  param out[hidden, vocab] ~ normal(0.5)
  x = gather(embed, tokens, vocab)
  h = broadcast(0.0, batch, hidden)
  c = broadcast(0.0, batch, hidden)
  for seq backwards {
    p = dot(x, w, model) + dot(rename(h, hidden -> hidden2), u, hidden2)
    c = sigmoid(p) * c + (1 - sigmoid(p)) * tanh(p)
    h = tanh(c)
    y = h
  }
  loss = mean(cross_entropy(dot(y, out, hidden), targets, vocab))
}
train recurrence minimize loss with sgd(0.1)
)";

/// Layers of recurrences: a loop in a loop, and a state that is carried by one
/// and stacked by the other.
const char *const nestedText = R"(
dim batch = 4, seq = 3, layers = 2, model = 6, model2 = 6, class = 4
model nested(x[batch, seq, model], label[batch]: i32) {
  param out[model, class] ~ normal(0.5)
  h = broadcast(0.0, batch, layers, model)
  for seq {
    u = x
    for layers {
      param w[model, model2] ~ normal(0.5)
      param r[model, model2] ~ normal(0.5)
      u = dropout(tanh(rename(dot(u, w, model) + dot(h, r, model), model2 -> model)), 0.1)
      g = u
    }
    h = g
  }
  loss = mean(cross_entropy(dot(u, out, model), label, class))
}
train nested minimize loss with sgd(0.1)
)";

class LoopKernels : public testing::Test {
protected:
  LoopKernels() {
    context.disableMultithreading();
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, exec::ExecDialect,
                        func::FuncDialect>();
    handler.emplace(&context, [&](Diagnostic &diagnostic) {
      errors += diagnostic.str() + "\n";
      return success();
    });
  }

  using AddPasses = void (*)(OpPassManager &);
  bool runPasses(ModuleOp module, ArrayRef<AddPasses> phases) {
    PassManager passes(&context);
    for (AddPasses add : phases)
      add(passes);
    return succeeded(passes.run(module));
  }
  static void addSteps(OpPassManager &passes) { steps::addStepsPasses(passes); }
  static void addUnroll(OpPassManager &passes) {
    passes.addPass(loops::createUnrollLoops());
  }

  /// Empty if both modules compute the same; otherwise what is wrong.
  std::string compare(ModuleOp unrolled, ModuleOp kernels, uint64_t seed) {
    reference::CompareOptions options;
    options.seed = seed;
    auto differences = reference::compareSteps(unrolled, kernels, options);
    if (failed(differences))
      return errors;
    for (const reference::OutputDifference &difference : *differences)
      if (!difference.agrees)
        return difference.name + " differs by " +
               std::to_string(difference.largest);
    return "";
  }

  /// The same for a function in MLIR text and its unrolled form.
  std::string compareText(const std::string &text, uint64_t seed) {
    auto unrolled = parseSourceString<ModuleOp>(text, &context);
    if (!unrolled)
      return "not parsed: " + errors;
    OwningOpRef<ModuleOp> kernels = unrolled->clone();
    if (!runPasses(*unrolled, addUnroll) ||
        !runPasses(*kernels, kernels::addKernelsPasses))
      return errors;
    return compare(*unrolled, *kernels, seed);
  }

  /// The same for the steps of a model: unrolled on one device, and as loops on
  /// all ranks.
  std::string compareModel(const Model &model) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(model.text, "loop.mesh"),
        llvm::SMLoc());
    auto program = parseModel(sources, context, {model.mesh, model.layout, {}});
    if (!program || !runPasses(*program, {addSteps, layout::addLayoutPasses}))
      return "not compiled: " + errors;
    OwningOpRef<ModuleOp> unrolled = program->clone();
    if (!runPasses(*unrolled, addUnroll) ||
        !runPasses(*program, {partition::addPartitionPasses,
                              collectives::addCollectivesPasses,
                              kernels::addKernelsPasses}))
      return errors;
    bool hasLoops = false;
    program->walk([&](nd::ScanOp) { hasLoops = true; });
    return hasLoops ? compare(*unrolled, *program, 1) : "has no loops";
  }

  MLIRContext context;
  std::optional<ScopedDiagnosticHandler> handler;
  std::string errors;
};

TEST_F(LoopKernels, ComputeWhatUnrolledLoopsDo) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    std::string text = RandomLoops(seed).write();
    ASSERT_EQ(compareText(text, seed), "") << "seed " << seed << "\n" << text;
  }
}

TEST_F(LoopKernels, OfModelsComputeWhatUnrolledLoopsDo) {
  const Model models[] = {
      {layersText, "data=1", ""},
      {layersText, "data=2,tensor=2", "batch:data,ffn:tensor"},
      {layersText, "data=2", "parameter.model:data,batch:data"},
      {recurrenceText, "data=1", ""},
      {recurrenceText, "data=2,tensor=2", "batch:data,hidden:tensor"},
      {recurrenceText, "tensor=2", "model:tensor"},
      {nestedText, "data=1", ""},
      {nestedText, "data=2,tensor=2", "batch:data,model:tensor"},
  };
  for (const Model &model : models) {
    errors.clear();
    EXPECT_EQ(compareModel(model), "")
        << model.text << model.mesh << " " << model.layout;
  }
}

} // namespace
