//===- TransformerTest.cpp - collectives of a stack of layers -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A transformer whose layers are a loop, under the layouts of the literature:
/// its training step has exactly their collectives. Per layer and parameter of
/// n elements, Megatron (Shoeybi et al., arXiv 1909.08053) reduces the
/// activations twice forward and twice backward; data parallelism reduces n;
/// ZeRO (Rajbhandari et al., arXiv 1910.02054) scatters instead and gathers the
/// new parameters (stages 1 and 2), or gathers them for each use (stage 3).
/// What is outside the loop is the embedding and the loss.
///
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Layout/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Report/Report.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace meshc;

namespace {

const char *const text = R"(
dim batch = 8, seq = 16, memory = seq, model = 64, heads = 4, key = 16, ffn = 128, vocab = 64, layers = 4

fn normalize(x[batch, seq, model]) {
  c = x - mean(x, model)
  return c / sqrt(mean(c * c, model) + 0.01)
}

model gpt(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  param embed[vocab, model] ~ normal(0.02)
  x = gather(embed, tokens, vocab)
  for layers {
    param wq[model, heads, key] ~ normal(0.02)
    param wk[model, heads, key] ~ normal(0.02)
    param wv[model, heads, key] ~ normal(0.02)
    param wo[heads, key, model] ~ normal(0.02)
    param w1[model, ffn] ~ normal(0.02)
    param w2[ffn, model] ~ normal(0.02)
    y = normalize(x)
    k = rename(dot(y, wk, model), seq -> memory)
    v = rename(dot(y, wv, model), seq -> memory)
    s = softmax(dot(dot(y, wq, model), k, key), memory)
    x = x + dot(dot(s, v, memory), wo, heads, key)
    x = x + dot(gelu(dot(normalize(x), w1, model)), w2, ffn)
  }
  logits = dot(normalize(x), embed, model)
  loss = mean(cross_entropy(logits, targets, vocab))
}

train gpt minimize loss with adamw(lr = 1e-3)
)";

/// Elements: of a layer's parameters, of the embedding, of an activation.
constexpr int64_t layer = 32768, embedding = 4096, activation = 8192;

/// Calls, kind, axes, elements of one call.
using Collective = std::tuple<int64_t, std::string, std::string, int64_t>;

struct Case {
  const char *name, *mesh, *layout;
  std::multiset<Collective> collectives;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }

class TransformerTest : public testing::TestWithParam<Case> {
protected:
  TransformerTest() {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  }

  /// The report of the training step after all phases up to collectives.
  report::Json getReport() {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, "gpt"),
                               llvm::SMLoc());
    auto module =
        parseModel(sources, context, {GetParam().mesh, GetParam().layout, {}});
    PassManager passes(&context);
    steps::addStepsPasses(passes);
    layout::addLayoutPasses(passes);
    partition::addPartitionPasses(passes);
    collectives::addCollectivesPasses(passes);
    if (!module || failed(passes.run(*module)))
      return {};
    report::Json all = report::buildReport(*module);
    for (const report::Json &function : all["functions"])
      if (function["name"] == "train_step")
        return function;
    return {};
  }

  MLIRContext context;
};

TEST_P(TransformerTest, HasTheCollectivesOfTheLiterature) {
  report::Json report = getReport();
  ASSERT_TRUE(report.is_object());
  std::multiset<Collective> found;
  for (const report::Json &collective : report["collectives"]) {
    std::string axes;
    for (const report::Json &axis : collective["axes"])
      axes += (axes.empty() ? "" : ",") + axis.get<std::string>();
    found.insert({collective["calls"], collective["kind"], axes,
                  collective["elements"]});
  }
  EXPECT_EQ(found, GetParam().collectives) << report.dump(2);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, TransformerTest,
    testing::Values(Case{"one_rank", "data=1", "batch:data", {}},
                    Case{"data",
                         "data=2",
                         "batch:data",
                         {{4, "all_reduce", "data", layer},
                          {1, "all_reduce", "data", embedding + 1}}},
                    Case{"tensor",
                         "tensor=2",
                         "heads:tensor,ffn:tensor",
                         {{4, "all_reduce", "tensor", activation},
                          {4, "all_reduce", "tensor", activation},
                          {4, "all_reduce", "tensor", activation},
                          {4, "all_reduce", "tensor", activation}}},
                    Case{"data_and_tensor",
                         "data=2,tensor=2",
                         "batch:data,heads:tensor,ffn:tensor",
                         {{4, "all_reduce", "tensor", activation / 2},
                          {4, "all_reduce", "tensor", activation / 2},
                          {4, "all_reduce", "tensor", activation / 2},
                          {4, "all_reduce", "tensor", activation / 2},
                          {4, "all_reduce", "data", layer / 2},
                          {1, "all_reduce", "data", embedding + 1}}},
                    Case{"zero_1",
                         "data=2",
                         "batch:data,optimizer.model:data",
                         {{4, "reduce_scatter", "data", layer},
                          {1, "reduce_scatter", "data", embedding},
                          {1, "all_gather", "data", 4 * layer + embedding},
                          {1, "all_reduce", "data", 1}}},
                    Case{"zero_2",
                         "data=2",
                         "batch:data,optimizer.model:data,gradient.model:data",
                         {{4, "reduce_scatter", "data", layer},
                          {1, "reduce_scatter", "data", embedding},
                          {1, "all_gather", "data", 4 * layer + embedding},
                          {1, "all_reduce", "data", 1}}},
                    Case{"zero_3",
                         "data=2",
                         "batch:data,optimizer.model:data,gradient.model:data,"
                         "parameter.model:data",
                         {{4, "all_gather", "data", layer},
                          {4, "all_gather", "data", layer},
                          {4, "reduce_scatter", "data", layer},
                          {1, "all_gather", "data", embedding},
                          {1, "reduce_scatter", "data", embedding},
                          {1, "all_reduce", "data", 1}}}),
    [](const auto &info) { return info.param.name; });

} // namespace
