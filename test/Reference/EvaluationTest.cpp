//===- EvaluationTest.cpp - metrics of random models, batch by batch ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Random models with masks, ratios, extrema and statistics of layers. An
/// evaluation of 20 examples gives the same metrics in batches of any size, of
/// which the last one is incomplete, as in one batch; a step with `accumulate`
/// gives the loss and the gradients of the whole batch; and so does the
/// partitioned program under random layouts. Padding is NaN. MESHC_EVALUATIONS
/// says how many models are tried with padding, with `accumulate` and under
/// layouts (60, 100, 40).
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Layout/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Reference/CompareSteps.h"
#include "lib/Reference/EvaluationRun.h"
#include "lib/Steps/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace meshc;
using meshc::nd::HostTensor;

namespace {

constexpr int64_t exampleCount = 20;

uint64_t countModels(uint64_t otherwise) {
  const char *text = std::getenv("MESHC_EVALUATIONS");
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// The text of a random model. With `usesBatches`, it also has statistics of a
/// batch that its examples use.
class RandomMetrics {
public:
  explicit RandomMetrics(uint64_t seed) : random(seed) {}

  std::string write(bool usesBatches) {
    std::string text = R"(
let parts = 1
dim batch = 20, seq = 3, model = 4, layers = 2, class = 5
model m(x[batch, seq, model], mask[batch, seq]: i1, target[batch]: i32) {
  param w[model] ~ normal(1)
  param v[layers, model, class] ~ normal(1)
  h = x * w
)";
    if (usesBatches)
      text +=
          "  h = h - " +
          pick({"mean(h, batch)", "max(h, batch, seq)", "sum(h, batch) / 20"}) +
          "\n";
    text += R"(  side = 0
  for layers {
    p = softmax(dot(h, v, model), class)
    side = side + )" +
            pick({"sum(square(mean(p, batch, seq)))", "mean(p)",
                  "max(mean(p, batch), seq, class)", "sum(p) / 50"}) +
            R"(
    most = max(p, batch, seq)
  }
  each = mean(square(h), model)
  losses = cross_entropy(dot(h, v at layers = 1, model) at seq = 1, target, class, ignore = 2)
)";
    text += "  loss = " + pickLoss() + "\n";
    for (int i = 0; i < 3; ++i)
      text += "  metric m" + std::to_string(i) + " = " + pickMetric() + "\n";
    return text + "}\ntrain m minimize loss with sgd(lr = 0.1) accumulate "
                  "parts\n";
  }

  std::string pick(const std::vector<std::string> &choices) {
    return choices[random() % choices.size()];
  }
  int64_t draw(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(random() % (last - first + 1));
  }

private:
  std::string pickLoss() {
    return pick({"mean(each)", "mean(losses) + 0.1 * mean(each)",
                 "sum(where(mask, each, 0)) / sum(mask)",
                 "sum(losses) / sum(target != 2) + 0.5 * mean(h * h)",
                 "mean(where(mask, each, 0)) / (mean(mask) + 0.25)"});
  }
  std::string pickMetric() {
    return pick({"exp(mean(losses))", "sum(losses) / sum(target != 2)",
                 "sum(where(mask, each, 0)) / sum(mask)",
                 "max(each) - min(each)",
                 "sqrt(mean(square(each)) - mean(each) ** 2 + 1)", "side",
                 "max(mean(each, batch)) * min(sum(mask, seq))",
                 "mean(sum(most, class), layers)", "cast(sum(target), f32)",
                 "sum(einsum(cast(mask, f32), each -> [seq])) / 7",
                 "max(sum(where(mask, each, -1), batch))"});
  }

  std::mt19937_64 random;
};

class Evaluation : public testing::Test {
protected:
  Evaluation() {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  }

  OwningOpRef<ModuleOp> build(const std::string &text,
                              const ModelOverrides &overrides = {}) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, "m.mesh"),
                               llvm::SMLoc());
    std::string errors;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        errors += diagnostic.str() + "\n";
      else
        warnings += diagnostic.str() + "\n";
      return success();
    });
    auto module = parseModel(sources, context, overrides);
    PassManager passes(&context);
    steps::addStepsPasses(passes);
    if (!module || failed(passes.run(*module))) {
      ADD_FAILURE() << errors << text;
      return {};
    }
    return module;
  }

  /// Random inputs, and parameters as one step would begin with.
  void draw(ModuleOp module, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    auto step = module.lookupSymbol<func::FuncOp>("eval_step");
    state.clear();
    examples.clear();
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      auto attributes = nd::TensorAttributes::ofArgument(step, i);
      bool isInput = attributes.hasRole(nd::TensorRole::Input);
      if (!isInput && !attributes.hasRole(nd::TensorRole::Parameter))
        continue;
      HostTensor tensor(nd::getTensorType(step.getArgument(i)),
                        nd::MeshAttr::of(module));
      Type type = tensor.type.getElementType();
      for (double &value : tensor.data)
        value = isa<FloatType>(type)
                    ? normal(random)
                    : double(random() % (type.isInteger(1) ? 2 : 5));
      std::string name = attributes.getName().str();
      if (isInput)
        reference::appendExamples(step, i, tensor, examples[name]);
      else
        state[name] = tensor;
    }
  }

  llvm::StringMap<HostTensor> evaluate(ModuleOp module, int64_t perBatch) {
    reference::RunOptions options;
    options.roundToType = false;
    auto metrics =
        reference::runEvaluation(module.lookupSymbol<func::FuncOp>("eval_step"),
                                 state, examples, perBatch, options);
    EXPECT_TRUE(succeeded(metrics));
    return succeeded(metrics) ? std::move(*metrics)
                              : llvm::StringMap<HostTensor>();
  }

  /// The results of a training step over all examples.
  llvm::StringMap<HostTensor> train(ModuleOp module) {
    auto step = module.lookupSymbol<func::FuncOp>("train_step");
    std::vector<reference::RankTensors> arguments;
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      arguments.push_back(
          {reference::makeArgument(step, i, state, examples, 0, exampleCount)});
    reference::RunOptions options;
    options.roundToType = false;
    auto results = reference::interpret(step, nd::MeshAttr::of(module),
                                        std::move(arguments), options);
    EXPECT_TRUE(succeeded(results));
    llvm::StringMap<HostTensor> named;
    for (unsigned i = 0; succeeded(results) && i < results->size(); ++i)
      named[nd::TensorAttributes::ofResult(step, i).getName()] =
          (*results)[i].front();
    return named;
  }

  static void expectSame(const llvm::StringMap<HostTensor> &got,
                         const llvm::StringMap<HostTensor> &wanted,
                         const std::string &what) {
    ASSERT_FALSE(wanted.empty());
    for (const auto &[name, tensor] : wanted) {
      auto found = got.find(name);
      ASSERT_NE(found, got.end()) << name.str();
      for (size_t i = 0; i < tensor.data.size(); ++i) {
        double value = tensor.data[i];
        ASSERT_NEAR(found->second.data[i], value, 1e-5 * (1 + std::abs(value)))
            << name.str() << " " << what;
      }
    }
  }

  MLIRContext context;
  std::string warnings;
  llvm::StringMap<HostTensor> state;
  reference::Examples examples;
};

/// The metrics of all examples, whatever the batches of an evaluation.
TEST_F(Evaluation, DoesNotDependOnBatches) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomMetrics random(seed);
    std::string text = random.write(/*usesBatches=*/false);
    auto whole = build(text);
    ASSERT_TRUE(whole);
    ASSERT_FALSE(nd::getWholeBatches(*whole));
    draw(*whole, seed);
    auto wanted = evaluate(*whole, exampleCount);
    for (int i = 0; i < 2; ++i) {
      int64_t batch = random.draw(1, 7), parts = random.draw(1, 3);
      ModelOverrides sizes;
      sizes.values = {"batch=" + std::to_string(batch * parts) +
                      ",parts=" + std::to_string(parts)};
      auto module = build(text, sizes);
      ASSERT_TRUE(module);
      int64_t perBatch = random.draw(1, batch * parts);
      expectSame(evaluate(*module, perBatch), wanted,
                 "in batches of " + std::to_string(perBatch) + " of " +
                     std::to_string(batch * parts) + " in " +
                     std::to_string(parts) + " parts, seed " +
                     std::to_string(seed) + text);
      if (HasFatalFailure())
        return;
    }
  }
}

/// Statistics within a batch are those of its examples: as one batch of as
/// many.
TEST_F(Evaluation, PaddingIsNotPartOfABatch) {
  for (uint64_t seed = 0; seed < countModels(60); ++seed) {
    RandomMetrics random(seed);
    std::string text = random.write(/*usesBatches=*/true);
    auto whole = build(text);
    ASSERT_TRUE(whole);
    ASSERT_TRUE(nd::dependsOnBatches(*whole)) << text;
    draw(*whole, seed);
    ModelOverrides larger;
    larger.values = {"batch=" + std::to_string(random.draw(21, 30))};
    auto module = build(text, larger);
    ASSERT_TRUE(module);
    expectSame(evaluate(*module, exampleCount), evaluate(*whole, exampleCount),
               "seed " + std::to_string(seed) + text);
    if (HasFatalFailure())
      return;
  }
}

/// The loss and the update of a step are those of the whole batch, unless a
/// warning says otherwise.
TEST_F(Evaluation, MicroBatchesAddUpToTheBatch) {
  for (uint64_t seed = 0; seed < countModels(100); ++seed) {
    RandomMetrics random(seed);
    std::string text = random.write(/*usesBatches=*/false);
    auto whole = build(text);
    ASSERT_TRUE(whole);
    draw(*whole, seed);
    ModelOverrides parts;
    parts.values = {"parts=" + random.pick({"2", "4", "5", "10"})};
    warnings.clear();
    auto module = build(text, parts);
    ASSERT_TRUE(module);
    EXPECT_EQ(warnings.find("with 'accumulate'"), std::string::npos)
        << warnings << text;
    expectSame(train(*module), train(*whole),
               "seed " + std::to_string(seed) + " " + parts.values[0] + text);
    if (HasFatalFailure())
      return;
  }
}

TEST_F(Evaluation, LayoutsAgreeOnIncompleteBatches) {
  for (uint64_t seed = 0; seed < countModels(40); ++seed) {
    RandomMetrics random(seed);
    std::string text = random.write(seed % 2);
    ModelOverrides cut;
    cut.mesh = random.pick({"a=2,b=2", "a=3,b=2", "a=4,b=1"});
    cut.layout = random.pick({"batch:a", "batch:a+b", "batch:a,seq:b",
                              "batch:a,class:b", "seq:a,model:b"});
    auto whole = build(text), module = build(text, cut);
    ASSERT_TRUE(whole && module);
    PassManager decompose(&context), passes(&context);
    decompose.addPass(layout::createDecomposeComposites());
    layout::addLayoutPasses(passes);
    partition::addPartitionPasses(passes);
    collectives::addCollectivesPasses(passes);
    ASSERT_TRUE(succeeded(decompose.run(*whole)) &&
                succeeded(passes.run(*module)));
    reference::CompareOptions options;
    options.seed = seed;
    auto differences = reference::compareSteps(*whole, *module, options);
    ASSERT_TRUE(succeeded(differences));
    for (const auto &difference : *differences)
      EXPECT_TRUE(difference.agrees)
          << difference.function << " " << difference.name << ": "
          << difference.largest << " of " << difference.scale << ", seed "
          << seed << " " << *cut.layout << text;
  }
}

/// An entry of a dim that the batch was split into belongs to the examples of
/// that entry.
TEST_F(Evaluation, EntriesBelongToTheirExamples) {
  const std::string text = R"(
dim batch = 20, group = 4, member = 5, seq = 3, model = 4
model m(x[batch, seq, model], mask[batch, seq]: i1, target[batch]: i32) {
  param w[model] ~ normal(1)
  g = split(x * w, batch -> (group, member))
  loss = mean(g at group = 2)
  metric last = mean(g at group = 3)
  metric two = sum(g at group = 1) + max(g at group = 0)
}
train m minimize loss with sgd(lr = 0.1)
)";
  auto module = build(text);
  ASSERT_TRUE(module);
  ASSERT_FALSE(nd::getWholeBatches(*module));
  draw(*module, 1);
  for (int64_t perBatch : {20, 17}) {
    reference::Examples all = examples;
    for (auto &input : examples)
      input.second.erase(input.second.begin() + perBatch, input.second.end());
    const auto metrics = evaluate(*module, perBatch);
    double total = 0, count = 0;
    for (int64_t i = 15; i < perBatch; ++i)
      for (size_t j = 0; j < 12; ++j, ++count)
        total += examples["x"][i].data[j] * state["w"].data[j / 3];
    EXPECT_NEAR(metrics.lookup("last").data[0], total / count, 1e-9);
    examples = std::move(all);
  }
}

/// Entries of different examples side by side, and one example by its number,
/// cannot be told from padding by a bound on one number.
TEST_F(Evaluation, RefusesWhatPaddingWouldChange) {
  const std::string begin = R"(
dim batch = 4, group = 2, member = 2, model = 3
model m(x[batch, model]) {
  param w[model] ~ normal(1)
  g = split(x, batch -> (group, member))
  loss = mean(x * w)
  metric a = )";
  for (const char *metric :
       {"sum(x at batch = 2)",
        "mean(concat(g at group = 0, g at group = 1, model))"}) {
    auto module = build(begin + metric +
                        "\n}\ntrain m minimize loss with sgd(lr = 0.1)\n");
    ASSERT_TRUE(module);
    EXPECT_TRUE(nd::getWholeBatches(*module)) << metric;
  }
}

TEST_F(Evaluation, CountsExamplesIn32Bits) {
  const std::string text = R"(
dim batch = 4
model m(x[batch]) {
  metric a = mean(x)
}
)";
  for (auto [batch, reason] :
       {std::pair("2147483647", ""),
        std::pair("2147483648", "a batch has more than 2^31 - 1 of them")}) {
    ModelOverrides size;
    size.values = {std::string("batch=") + batch};
    auto module = build(text, size);
    ASSERT_TRUE(module);
    StringAttr found = nd::getWholeBatches(*module);
    EXPECT_EQ(found ? found.str() : "", reason) << batch;
  }
}

/// What an example has may depend on the others of its batch.
TEST_F(Evaluation, KnowsWhatDependsOnBatches) {
  const std::string begin = R"(
dim batch = 4, other = batch, model = 3
model m(x[batch, model]) {
  param w[model] ~ normal(1)
  loss = mean(x * w)
  metric a = )";
  const std::pair<const char *, bool> metrics[] = {
      {"mean(exp(x))", false},
      {"mean(softmax(x, model))", false},
      {"mean(softmax(x, batch))", true},
      {"mean(square(cast(argsort(x, batch), f32)))", true},
      {"mean(cumsum(x, batch))", true},
      {"mean(dot(x, rename(x, batch -> other), model))", true},
      {"mean(square(dot(dot(x, rename(x, batch -> other), model), "
       "rename(x, batch -> other), other)))",
       true}};
  for (auto [metric, depends] : metrics) {
    auto module = build(begin + metric +
                        "\n}\ntrain m minimize loss with sgd(lr = 0.1)\n");
    ASSERT_TRUE(module);
    EXPECT_EQ(nd::dependsOnBatches(*module), depends) << metric;
  }
}

/// Each micro-batch draws numbers of its own, and which examples are in it
/// depends on the size of the batches.
TEST_F(Evaluation, KnowsThatMicroBatchesDraw) {
  for (auto [metric, count, depends] :
       {std::tuple("mean(x * random_uniform(model))", 1, false),
        std::tuple("mean(x * random_uniform(model))", 2, true),
        std::tuple("mean(x) * mean(random_uniform(model))", 2, false),
        std::tuple("mean(exp(x))", 2, false)}) {
    auto module = build(R"(
dim batch = 4, model = 3
model m(x[batch, model]) {
  param w[model] ~ normal(1)
  loss = mean(x * w)
  metric a = )" + std::string(metric) +
                        "\n}\ntrain m minimize loss with sgd(lr = 0.1)\n  "
                        "accumulate " +
                        std::to_string(count) + "\n");
    ASSERT_TRUE(module);
    EXPECT_EQ(nd::dependsOnBatches(*module), depends) << metric << count;
  }
}

TEST_F(Evaluation, SaysWhatIsNoFunctionOfStatistics) {
  const std::string text = R"(
dim batch = 4
model m(x[batch]) {
  metric first = gather(x, argmax(x, batch), batch)
  metric share = sum(x) / size(batch)
}
)";
  ASSERT_TRUE(build(text));
  EXPECT_NE(warnings.find("this value is computed within a batch"),
            std::string::npos)
      << warnings;
  EXPECT_NE(warnings.find("this divides a sum over the examples by 4, which"),
            std::string::npos)
      << warnings;
}

} // namespace
