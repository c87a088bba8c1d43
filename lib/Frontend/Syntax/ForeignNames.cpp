//===- ForeignNames.cpp - names of other frameworks -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/ForeignNames.h"

#include <algorithm>
#include <cctype>

using namespace meshc::syntax;

namespace {

/// Names as foldName gives them, separated by blanks, and what the language has
/// for them.
struct ForeignName {
  std::string_view names;
  std::string_view proposal;
};

constexpr ForeignName foreignNames[] = {
    // Shapes.
    {"view reshape flatten ravel unflatten resize rearrange",
     "split(x, d -> (a, b)) takes a dim apart, and merge(x, (a, b) -> d) joins "
     "dims"},
    {"transpose permute swapaxes moveaxis t mt swapdims",
     "dims are known by name, so nothing is transposed; rename(x, a -> b) "
     "gives "
     "a dim another name"},
    {"squeeze unsqueeze expanddims newaxis atleast1d atleast2d",
     "operands align by the names of their dims, so no dim of size 1 is "
     "needed; "
     "broadcast(x, dim) adds a dim"},
    {"expand expandas repeat tile broadcastto repeatinterleave",
     "write broadcast(x, dim); arithmetic broadcasts its operands by itself"},
    {"cat concatenate hstack vstack", "write concat(a, b, dim)"},
    {"stack", "a loop stacks its values along its dim; concat(a, b, dim) joins "
              "tensors along a dim that they have"},
    {"chunk arraysplit", "write slice(x, dim, start, size) for each part"},
    {"roll", "write concat(slice(x, d, n, size(d) - n), slice(x, d, 0, n), d)"},
    {"shape ndim numel len dim size",
     "size(dim) is the size of a dim; meshc --shapes "
     "lists the dims of all values"},
    {"print", "a metric prints a number; meshc --shapes lists the dims of all "
              "values"},
    // Products.
    {"matmul mm bmm mv inner tensordot vdot", "write dot(a, b, dim)"},
    {"outer", "a * b is the outer product of tensors without a common dim"},
    {"linear", "write nn.linear(x, in, out), or nn.dense(x, in, out) with a "
               "bias"},
    {"dense", "write nn.dense(x, in, out)"},
    {"scaleddotproductattention dotproductattention sdpa",
     "write dot_attention(q, k, v, key, memory)"},
    {"multiheadattention multiheaddotproductattention attention selfattention",
     "write nn.attention(x, model, heads, key, position, memory, mask)"},
    {"crossattention",
     "write nn.cross_attention(x, source, model, heads, key, memory, mask)"},
    {"mlp feedforward ffn", "write nn.feed_forward(x, model, ffn)"},
    {"swiglu geglu gatedfeedforward",
     "write nn.gated_feed_forward(x, model, ffn)"},
    {"conv conv1d conv2d convolve convgeneraldilated",
     "gather(x, iota(line) + iota(tap), d) makes the windows, and dot(…, w, "
     "tap) "
     "the products"},
    {"maxpool maxpool1d maxpool2d avgpool avgpool1d avgpool2d",
     "split(x, d -> (block, member)) makes blocks; max(…, member) or mean(…, "
     "member) reduces them"},
    {"lstm lstmcell", "write nn.lstm_cell(x, h, c, wx, wh, b, in, hidden, "
                      "gate, cell) in a loop"},
    {"gru grucell",
     "write nn.gru_cell(x, h, wx, wh, bx, bh, in, hidden, gate, cell) in a "
     "loop"},
    // Random numbers and constants.
    {"rand random uniform", "write random_uniform(dim, …)"},
    {"randn normal standardnormal", "write random_normal(dim, …)"},
    {"randint", "write cast(n * random_uniform(dim, …), i32)"},
    {"bernoulli", "random_uniform(dim, …) < p is true with probability p"},
    {"multinomial choice", "write categorical(logits, dim)"},
    {"zeros ones full zeroslike oneslike fulllike empty",
     "numbers are broadcast by themselves; broadcast(0, dim, …) has dims"},
    {"arange linspace", "iota(dim) has the indices along a dim"},
    {"eye identity", "write cast(iota(a) == iota(b), f32)"},
    {"tril triu", "write where(iota(b) <= iota(a), x, 0)"},
    {"causalmask makecausalmask", "write nn.causal(query, memory)"},
    // Functions of elements.
    {"clamp clip", "write minimum(maximum(x, low), high)"},
    {"pow power floatpower", "write x ** y"},
    {"absolute fabs", "write abs(x)"},
    {"add sub subtract mul multiply div divide truedivide neg negative",
     "write the operator: a + b, a - b, a * b, a / b"},
    {"equal eq notequal ne greater gt greaterequal ge less lt lessequal le",
     "write the comparison: a == b, a < b, …"},
    {"logicaland logicalor logicalnot", "write a and b, a or b, not a"},
    {"isnan", "x != x is true where x is NaN"},
    {"maskedfill", "write where(condition, a, b)"},
    {"fmod remainder", "write mod(a, b), which has the sign of b"},
    {"floordivide", "write floor(a / b)"},
    {"ceil", "write -floor(-x)"},
    {"round rint", "write floor(x + 0.5)"},
    {"trunc fix", "write sign(x) * floor(abs(x))"},
    {"log1p", "write log(1 + x)"},
    {"expm1", "write exp(x) - 1"},
    {"log2", "write log(x) / log(2)"},
    {"log10", "write log(x) / log(10)"},
    {"exp2", "write exp(x * log(2))"},
    {"tan", "write sin(x) / cos(x)"},
    {"erfc", "write 1 - erf(x)"},
    {"expit logistic", "write sigmoid(x)"},
    {"swish", "write silu(x)"},
    {"relu6", "write minimum(relu(x), 6)"},
    {"leakyrelu", "write maximum(x, 0.01 * x)"},
    {"elu", "write where(x > 0, x, exp(minimum(x, 0)) - 1)"},
    {"mish", "write x * tanh(softplus(x))"},
    {"logsigmoid", "write -softplus(-x)"},
    {"hardtanh", "write minimum(maximum(x, -1), 1)"},
    {"astype to type float half bfloat16 double int long bool "
     "convertelementtype",
     "write cast(x, f32), or another type"},
    {"detach nograd", "write stop_gradient(x)"},
    // Reductions.
    {"amax nanmax", "write max(x, dim)"},
    {"amin nanmin", "write min(x, dim)"},
    {"average nanmean", "write mean(x, dim)"},
    {"nansum", "write sum(x, dim)"},
    {"var variance", "write mean(square(x - mean(x, dim)), dim)"},
    {"std", "write sqrt(mean(square(x - mean(x, dim)), dim))"},
    {"norm vectornorm", "write sqrt(sum(square(x), dim))"},
    {"argmin", "write argmax(-x, dim)"},
    {"logsumexp", "with top = max(x, dim), write top + log(sum(exp(x - top), "
                  "dim))"},
    {"cumprod", "write exp(cumsum(log(x), dim))"},
    {"topk", "write top_k(x, dim -> k)"},
    {"take takealongaxis takealongdim indexselect",
     "write gather(x, indices, dim)"},
    // Normalization and embeddings.
    {"layernorm", "write nn.layer_norm(x, dim)"},
    {"rmsnorm", "write nn.rms_norm(x, dim)"},
    {"batchnorm batchnorm1d batchnorm2d groupnorm instancenorm",
     "nn.layer_norm(x, dim) and nn.rms_norm(x, dim) normalize each example by "
     "itself"},
    {"embedding embed", "write nn.embedding(tokens, vocab, model)"},
    // Losses.
    {"mseloss mse meansquarederror squarederror l2loss",
     "write mean(square(x - y))"},
    {"l1loss mae", "write mean(abs(x - y))"},
    {"huberloss smoothl1loss",
     "with e = abs(x - y), write where(e < 1, 0.5 * square(e), e - 0.5)"},
    {"crossentropyloss nllloss softmaxcrossentropy "
     "softmaxcrossentropywithintegerlabels sparsecategoricalcrossentropy",
     "write mean(cross_entropy(logits, targets, dim))"},
    {"bcewithlogitsloss bceloss binarycrossentropy "
     "binarycrossentropywithlogits sigmoidbinarycrossentropy",
     "write mean(softplus(x) - x * target), of logits x"},
    // Training.
    {"cosine cosineannealing cosineannealinglr cosinedecay cosinedecayschedule "
     "cosineschedule",
     "write nn.cosine(steps)"},
    {"warmup linearwarmup", "write nn.warmup(steps)"},
    {"lineardecay linearschedule linearlr", "write nn.linear_decay(steps)"},
    {"polynomial polynomialschedule polynomialdecay",
     "write nn.polynomial(steps)"},
    {"exponential exponentialdecay exponentiallr",
     "write nn.exponential(rate, steps)"},
    {"staircase steplr", "write nn.staircase(rate, steps)"},
    {"inversesqrt", "write nn.inverse_sqrt(steps)"},
    {"onecycle onecyclelr cosineonecycleschedule", "write nn.one_cycle(steps)"},
    {"module sequential modulelist parameter",
     "a layer is a function, 'fn', that declares parameters, 'param'"},
    {"backward grad valueandgrad",
     "gradients are derived where 'train' names the loss"},
    {"cuda cpu device", "the layout says where values are; leave it out"},
};

constexpr std::string_view foreignModules[] = {
    "torch", "np", "numpy", "jnp", "jax", "lax", "flax", "F", "tf", "optax"};

} // namespace

std::string meshc::syntax::foldName(std::string_view name) {
  std::string folded;
  for (char c : name)
    if (c != '_')
      folded += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

std::string meshc::syntax::describeForeign(std::string_view name, bool hasNn) {
  std::string folded = " " + foldName(name) + " ";
  for (const ForeignName &entry : foreignNames) {
    std::string names = " " + std::string(entry.names) + " ";
    if (folded.size() <= 2 || names.find(folded) == std::string::npos)
      continue;
    std::string text(entry.proposal);
    bool needsNn = !hasNn && text.find("nn.") != std::string::npos;
    return needsNn ? text + ", after 'import nn'" : text;
  }
  return {};
}

bool meshc::syntax::isForeignModule(std::string_view name) {
  return std::find(std::begin(foreignModules), std::end(foreignModules),
                   name) != std::end(foreignModules);
}

std::vector<std::string_view> meshc::syntax::foreignProposals() {
  std::vector<std::string_view> proposals;
  for (const ForeignName &entry : foreignNames)
    proposals.push_back(entry.proposal);
  return proposals;
}
