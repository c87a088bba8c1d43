//===- KernelTrafficTest.cpp - how kernels use memory ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What holds of the memory traffic of every kernel in the steps of several
/// models, the examples among them, under several layouts, with loops and
/// unrolled:
///
/// - A kernel without reductions reads and writes each tensor in sequence along
///   its innermost loop, or does not move in it. A kernel that only copies a
///   tensor into another memory order is the exception: one of its two tensors
///   has a stride in any order of its loops.
/// - No block computes the same kernel of the same tensors twice, or copies a
///   tensor into two other memory orders.
///
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/StackOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Kernels/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Loops/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshc;

namespace {

struct Model {
  const char *name, *text, *mesh, *layout;
  const char *example = nullptr; ///< its file, instead of a text
};

/// Weights in both orders, and weights of three dims.
const char *const gptText = R"(
dim batch = 4, seq = 8, memory = seq, model = 32, heads = 4, key = 8, ffn = 64, vocab = 96, layers = 3, position = 16
fn norm(x) {
  param gain[model] ~ ones
  param bias[model] ~ zeros
  centered = x - mean(x, model)
  return centered * rsqrt(mean(square(centered), model) + 1e-5) * gain + bias
}
fn attention(x) {
  param wq[model, heads, key] ~ normal(0.02)
  param wk[model, heads, key] ~ normal(0.02)
  param wv[model, heads, key] ~ normal(0.02)
  param bq[heads, key] ~ zeros
  param bk[heads, key] ~ zeros
  param bv[heads, key] ~ zeros
  param wo[heads, key, model] ~ normal(0.02)
  param bo[model] ~ zeros
  q = dot(x, wq, model) + bq
  k = rename(dot(x, wk, model) + bk, seq -> memory)
  v = rename(dot(x, wv, model) + bv, seq -> memory)
  scores = dot(q, k, key) * rsqrt(size(key))
  scores = where(iota(memory) <= iota(seq), scores, -1e9)
  return dot(dot(softmax(scores, memory), v, memory), wo, heads, key) + bo
}
fn feed_forward(x) {
  param w1[model, ffn] ~ normal(0.02)
  param b1[ffn] ~ zeros
  param w2[ffn, model] ~ normal(0.02)
  param b2[model] ~ zeros
  return dot(gelu(dot(x, w1, model) + b1), w2, ffn) + b2
}
model gpt(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  param embed[vocab, model] ~ normal(0.02)
  param places[position, model] ~ normal(0.01)
  x = gather(embed, tokens, vocab) + gather(places, iota(seq), position)
  for layers {
    x = x + attention(norm(x))
    x = x + feed_forward(norm(x))
  }
  logits = dot(norm(x), embed, model)
  loss = mean(cross_entropy(logits, targets, vocab))
}
train gpt minimize loss with adamw(lr = 3e-4, weight_decay = 0.1)
)";

/// Root mean squares, gates, and an output of its own.
const char *const gatedText = R"(
dim batch = 4, seq = 8, memory = seq, model = 32, heads = 4, key = 8, ffn = 64, vocab = 96, layers = 3
fn norm(x) {
  param gain[model] ~ ones
  return x * rsqrt(mean(square(x), model) + 1e-5) * gain
}
model gated(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  param embed[vocab, model] ~ normal(0.02)
  param out[vocab, model] ~ normal(0.02)
  x = gather(embed, tokens, vocab)
  for layers {
    param wq[heads, key, model] ~ normal(0.02)
    param wk[key, model] ~ normal(0.02)
    param wv[key, model] ~ normal(0.02)
    param wo[model, heads, key] ~ normal(0.02)
    param up[ffn, model] ~ normal(0.02)
    param gate[ffn, model] ~ normal(0.02)
    param down[model, ffn] ~ normal(0.02)
    n = norm(x)
    k = rename(dot(n, wk, model), seq -> memory)
    v = rename(dot(n, wv, model), seq -> memory)
    scores = dot(dot(n, wq, model), k, key) * rsqrt(size(key))
    scores = where(iota(memory) <= iota(seq), scores, -1e9)
    x = x + dot(dot(softmax(scores, memory), v, memory), wo, heads, key)
    n = norm(x)
    g = dot(n, gate, model)
    x = x + dot(g * sigmoid(g) * dot(n, up, model), down, ffn)
  }
  loss = mean(cross_entropy(dot(norm(x), out, model), targets, vocab))
}
train gated minimize loss with momentum(lr = 0.1)
)";

/// Weights that are no matrices as they are declared: the dim that is
/// contracted lies between the others. Forwards and backwards need the same
/// copies.
const char *const copiesText = R"(
dim batch = 4, seq = 8, memory = seq, model = 32, heads = 4, key = 8, class = 6
model copies(x[batch, seq, model], label[batch]: i32) {
  param scale[model] ~ ones
  param wq[heads, model, key] ~ normal(0.2)
  param wk[heads, model, key] ~ normal(0.2)
  param wv[heads, model, key] ~ normal(0.2)
  param wo[heads, model, key] ~ normal(0.2)
  param out[model, class] ~ normal(0.2)
  h = x * scale
  q = dot(h, wq, model)
  k = rename(dot(h, wk, model), seq -> memory)
  v = rename(dot(h, wv, model), seq -> memory)
  p = softmax(dot(q, k, key) / 3, memory)
  y = h + dot(dot(p, v, memory), wo, heads, key)
  loss = mean(cross_entropy(dot(mean(y, seq), out, model), label, class))
}
train copies minimize loss with sgd(0.1)
)";

/// A recurrence whose dim is not the first of its input.
const char *const recurrenceText = R"(
dim batch = 4, seq = 5, model = 16, hidden = 32, hidden2 = 32, vocab = 10
model recurrence(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  param embed[vocab, model] ~ normal(0.5)
  param w[model, hidden] ~ normal(0.5)
  param u[hidden2, hidden] ~ normal(0.5)
  param f[model, hidden] ~ normal(0.5)
  param out[vocab, hidden] ~ normal(0.5)
  x = gather(embed, tokens, vocab)
  h = broadcast(0.0, batch, hidden)
  for seq {
    r = dot(rename(h, hidden -> hidden2), u, hidden2)
    c = tanh(dot(x, w, model) + r)
    i = sigmoid(dot(x, f, model) + r)
    h = i * c + (1 - i) * h
    y = h
  }
  loss = mean(cross_entropy(dot(y, out, hidden), targets, vocab))
}
train recurrence minimize loss with adamw(lr = 0.1)
)";

const Model models[] = {
    {"gpt", gptText, "", ""},
    {"gpt on two axes", gptText, "data=2,tensor=2",
     "batch:data,heads:tensor,ffn:tensor,vocab:tensor"},
    {"gated", gatedText, "", ""},
    {"gated, cut", gatedText, "data=2,tensor=2",
     "batch:data,heads:tensor,ffn:tensor,vocab:tensor"},
    {"recurrence", recurrenceText, "", ""},
    {"copies", copiesText, "", ""},
    {"gpt by sequence", gptText, "seq=4", "seq:seq"},
    {"gpt, ZeRO", gptText, "data=4", "batch:data,parameter.model:data"},
    {"gated by model", gatedText, "rows=2,cols=2", "batch:rows,model:cols"},
    {"05_gpt", "", "data=1", "", "05_gpt/gpt.mesh"},
    {"05_gpt, cut", "", "data=2,tensor=2",
     "batch:data,heads:tensor,ffn:tensor,vocab:tensor", "05_gpt/gpt.mesh"},
    {"06_llama", "", "data=1", "", "06_llama/llama.mesh"},
    {"06_llama, cut", "", "data=2,tensor=2",
     "batch:data,groups:tensor,ffn:tensor,vocab:tensor", "06_llama/llama.mesh"},
    {"07_moe", "", "data=1", "", "07_moe/moe.mesh"},
    {"07_moe, cut", "", "data=2", "batch:data,experts:data", "07_moe/moe.mesh"},
    {"08_names", "", "data=1", "", "08_names/names.mesh"},
};

class KernelTraffic : public testing::TestWithParam<bool> {
protected:
  KernelTraffic() {
    context.disableMultithreading();
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, exec::ExecDialect,
                        func::FuncDialect>();
  }

  /// The model after the kernels phase; null after an error.
  OwningOpRef<ModuleOp> compile(const Model &model) {
    llvm::SourceMgr sources;
    std::unique_ptr<llvm::MemoryBuffer> text =
        llvm::MemoryBuffer::getMemBuffer(model.text, model.name);
    if (model.example) {
      auto file = llvm::MemoryBuffer::getFile(std::string(MESHC_EXAMPLES "/") +
                                              model.example);
      if (!file)
        return {};
      text = std::move(*file);
    }
    sources.AddNewSourceBuffer(std::move(text), SMLoc());
    auto program = parseModel(sources, context, {model.mesh, model.layout, {}},
                              {MESHC_LIBRARY});
    if (!program)
      return {};
    PassManager passes(&context);
    if (GetParam())
      passes.addPass(loops::createUnrollLoops());
    steps::addStepsPasses(passes);
    layout::addLayoutPasses(passes);
    partition::addPartitionPasses(passes);
    collectives::addCollectivesPasses(passes);
    kernels::addKernelsPasses(passes);
    return succeeded(passes.run(*program)) ? std::move(program)
                                           : OwningOpRef<ModuleOp>();
  }

  /// The functions that run once per step; `initialize` runs once.
  static SmallVector<func::FuncOp> getSteps(ModuleOp program) {
    SmallVector<func::FuncOp> steps;
    for (auto function : program.getOps<func::FuncOp>())
      if (function.getName().ends_with("_step"))
        steps.push_back(function);
    return steps;
  }

  MLIRContext context;
};

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

/// Whether the fusion only copies a tensor or entries of it, perhaps under
/// other names of dims.
bool isCopy(exec::FusionOp fusion) {
  Block &body = fusion.getBody().front();
  return body.getNumArguments() == 1 &&
         llvm::all_of(body,
                      llvm::IsaPred<exec::YieldOp, nd::EntryOp, nd::RenameOp,
                                    nd::SplitDimOp, nd::MergeDimsOp>);
}

/// Whether the innermost loop strides through a tensor in memory.
bool isStrided(exec::FusionOp fusion, Value inside, Value outside) {
  nd::MeshAttr mesh = nd::MeshAttr::of(fusion);
  nd::TensorType type = nd::getTensorType(outside);
  auto loops = exec::getLoopDims(fusion.getBody().front());
  for (auto [loop, dim] : loops.lookup(inside))
    if (loop == fusion.getPlan().getLanes() &&
        type.getLocalSize(type.getDimIndex(dim.getValue()), mesh) > 1 &&
        exec::getStride(type, exec::getOrder(outside).value_or(exec::Order()),
                        dim.getValue(), mesh) != 1)
      return true;
  return false;
}

TEST_P(KernelTraffic, InnermostLoopsRunInSequence) {
  for (const Model &model : models) {
    OwningOpRef<ModuleOp> program = compile(model);
    ASSERT_TRUE(program) << model.name;
    unsigned count = 0;
    auto check = [&](func::FuncOp step, exec::FusionOp fusion) {
      if (!fusion.getPlan().getReduce().empty() || isCopy(fusion))
        return;
      Block &body = fusion.getBody().front();
      for (auto [inside, outside] :
           llvm::zip(body.getArguments(), fusion.getInputs()))
        EXPECT_FALSE(isStrided(fusion, inside, outside))
            << model.name << ", " << step.getName().str() << ": input "
            << inside.getArgNumber() << " of " << print(fusion);
      for (auto [inside, outside] :
           llvm::zip(body.getTerminator()->getOperands(), fusion.getResults()))
        EXPECT_FALSE(isStrided(fusion, inside, outside))
            << model.name << ", " << step.getName().str() << ": result "
            << outside.getResultNumber() << " of " << print(fusion);
      ++count;
    };
    for (func::FuncOp step : getSteps(*program))
      step.walk([&](exec::FusionOp fusion) { check(step, fusion); });
    EXPECT_GT(count, 5u) << model.name;
  }
}

TEST_P(KernelTraffic, NoKernelRunsTwice) {
  for (const Model &model : models) {
    OwningOpRef<ModuleOp> program = compile(model);
    ASSERT_TRUE(program) << model.name;
    auto check = [&](Block *block) {
      std::vector<exec::FusionOp> known;
      for (auto fusion : block->getOps<exec::FusionOp>()) {
        for (exec::FusionOp other : known) {
          EXPECT_FALSE(isCopy(fusion) && isCopy(other) &&
                       fusion.getInputs()[0] == other.getInputs()[0])
              << model.name << ": " << print(fusion);
          EXPECT_FALSE(OperationEquivalence::isEquivalentTo(
              fusion, other, OperationEquivalence::exactValueMatch,
              /*markEquivalent=*/nullptr,
              OperationEquivalence::IgnoreLocations))
              << model.name << ": " << print(fusion);
        }
        known.push_back(fusion);
      }
    };
    for (func::FuncOp step : getSteps(*program))
      step.walk(check);
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelTraffic, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                           return info.param ? "Unrolled" : "WithLoops";
                         });

} // namespace
