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
/// for them. A message has the proposal without its grave accents, which mark
/// what is written so in a program.
struct ForeignName {
  std::string_view names;
  std::string_view proposal;
};

constexpr ForeignName foreignNames[] = {
    // Shapes.
    {"view reshape flatten ravel unflatten resize rearrange",
     "`split(x, d -> (a, b))` takes a dim apart, and merge(x, (a, b) -> d) "
     "joins dims"},
    {"transpose permute swapaxes moveaxis t mt swapdims",
     "dims are known by name, so nothing is transposed; rename(x, a -> b) "
     "gives a dim another name"},
    {"squeeze unsqueeze expanddims newaxis atleast1d atleast2d",
     "operands align by the names of their dims, so no dim of size 1 is "
     "needed; `broadcast(x, other)` adds a dim"},
    {"expand expandas repeat tile broadcastto broadcastindim",
     "write `broadcast(x, other)`; arithmetic broadcasts its operands by "
     "itself"},
    {"repeatinterleave interpolate upsample",
     "write `merge(broadcast(x, copy), (dim, copy) -> long)`, which repeats "
     "each entry"},
    {"cat concatenate hstack vstack", "write `concat(a, b, dim)`"},
    {"stack", "a loop stacks its values along its dim; `concat(a, b, dim)` "
              "joins tensors along a dim that they have"},
    {"chunk arraysplit narrow dynamicslice",
     "write `slice(x, dim, start, count)` for each part"},
    {"roll",
     "write `concat(slice(x, d, n, size(d) - n), slice(x, d, 0, n), d)`"},
    {"flip flipud fliplr reverse rev",
     "with a second name of the dim, `dim back = d`, write `rename(gather(x, "
     "size(d) - 1 - iota(back), d), back -> d)`"},
    {"diff",
     "write `slice(x, d, 1, size(d) - 1) - slice(x, d, 0, size(d) - 1)`"},
    {"pixelshuffle depthtospace spacetodepth",
     "`split(x, d -> (a, b))` and merge(x, (a, b) -> d) move entries between "
     "dims"},
    {"diag diagonal", "`sum(where(iota(a) == iota(b), x, 0), b)` takes the "
                      "diagonal of x[a, b], and "
                      "`where(iota(a) == iota(b), x, 0)` puts x[a] on one"},
    {"trace", "write `sum(where(iota(a) == iota(b), x, 0), a, b)`"},
    {"meshgrid",
     "operands align by the names of their dims: use `iota(a)` and `iota(b)`"},
    {"clone copy deepcopy contiguous",
     "values never change, so nothing is copied; write `y = x`"},
    {"shape ndim numel len dim size", "`size(dim)` is the size of a dim; meshc "
                                      "--shapes lists the dims of all values"},
    {"print item tolist numpy",
     "a metric prints a number; meshc --shapes lists the dims of all values"},
    // Products.
    {"matmul mm bmm mv inner tensordot vdot dotgeneral",
     "write `dot(a, b, dim)`"},
    {"addmm addmv baddbmm addbmm", "write `x + dot(a, b, dim)`"},
    {"outer", "`a * b` is the outer product of tensors without a common dim"},
    {"linear",
     "write `nn.linear(x, in, out)`, or `nn.dense(x, in, out)` with a bias"},
    {"dense", "write `nn.dense(x, in, out)`"},
    {"bilinear", "with `param w[a, b, out] ~ lecun(a, b)`, write `einsum(x, w, "
                 "y -> [batch, out])`"},
    {"scaleddotproductattention dotproductattention sdpa",
     "write `dot_attention(q, k, v, key, memory)`"},
    {"multiheadattention multiheaddotproductattention attention selfattention",
     "write `nn.attention(x, model, heads, key, position, memory, mask)`"},
    {"crossattention",
     "write `nn.cross_attention(x, source, model, heads, key, memory, mask)`"},
    {"mlp feedforward ffn", "write `nn.feed_forward(x, model, ffn)`"},
    {"swiglu geglu gatedfeedforward",
     "write `nn.gated_feed_forward(x, model, ffn)`"},
    {"conv conv1d conv2d convolve convgeneraldilated unfold",
     "`gather(x, iota(line) + iota(tap), d)` makes the windows, and dot(…, w, "
     "tap) the products"},
    {"maxpool maxpool1d maxpool2d avgpool avgpool1d avgpool2d",
     "`split(x, d -> (block, member))` makes blocks; max(…, member) or mean(…, "
     "member) reduces them"},
    {"adaptiveavgpool1d adaptiveavgpool2d globalaveragepool",
     "write `mean(x, row, col)`, over the dims of positions"},
    {"lstm lstmcell", "write nn.lstm_cell(x, h, c, wx, wh, b, in, hidden, "
                      "gate, cell) in a loop"},
    {"gru grucell", "write nn.gru_cell(x, h, wx, wh, bx, bh, in, hidden, gate, "
                    "cell) in a loop"},
    {"inv inverse pinv solve lstsq cholesky qr svd eig eigh det slogdet "
     "matrixpower expm",
     "meshc has no solvers and no decompositions of matrices; products with "
     "`dot(a, b, dim)` in a loop can come near, as in "
     "Newton's iteration for an inverse"},
    {"fft ifft rfft irfft fft2 stft",
     "meshc has no Fourier transform; products with cosines and sines are one: "
     "`dot(x, cos(2 * nn.pi / size(d) * iota(d, f32) * iota(wave, f32)), d)`"},
    {"complex real imag conj polar angle",
     "meshc has no complex numbers; keep real and imaginary parts as two "
     "tensors"},
    // Random numbers and constants.
    {"rand random uniform randlike", "write `random_uniform(dim, …)`"},
    {"randn normal standardnormal randnlike", "write `random_normal(dim, …)`"},
    {"randint", "write `cast(n * random_uniform(dim, …), i32)`"},
    {"randperm permutation shuffle",
     "write `argsort(random_uniform(dim), dim)`"},
    {"bernoulli", "`random_uniform(dim, …) < p` is true with probability p"},
    {"multinomial choice", "write `categorical(logits, dim)`"},
    {"gumbelsoftmax",
     "write `softmax(logits - log(-log(random_uniform(dim))), dim)`"},
    {"alphadropout dropout1d dropout2d featuredropout",
     "write `dropout(x, rate)`"},
    {"zeros ones full zeroslike oneslike fulllike empty",
     "numbers are broadcast by themselves; `broadcast(0, dim, …)` has dims"},
    {"tensor array asarray fromnumpy constant",
     "a number needs no tensor, and `[1, 2, 3] over three` is a table along a "
     "dim"},
    {"arange linspace", "`iota(dim)` has the indices along a dim"},
    {"eye identity", "write `cast(iota(a) == iota(b), f32)`"},
    {"tril triu", "write `where(iota(b) <= iota(a), x, 0)`"},
    {"causalmask makecausalmask", "write `nn.causal(query, memory)`"},
    // Functions of elements.
    {"clamp clip", "write `minimum(maximum(x, low), high)`"},
    {"pow power floatpower", "write `x ** y`"},
    {"absolute fabs", "write `abs(x)`"},
    {"add sub subtract mul multiply div divide truedivide neg negative",
     "write the operator: `a + b`, `a - b`, `a * b`, `a / b`"},
    {"addcmul", "write `x + value * a * b`"},
    {"addcdiv", "write `x + value * a / b`"},
    {"lerp", "write `x + weight * (y - x)`"},
    {"equal eq notequal ne greater gt greaterequal ge less lt lessequal le",
     "write the comparison: `a == b`, `a < b`, …"},
    {"logicaland logicalor logicalnot",
     "write `left and right`, `left or right`, `not left`"},
    {"logicalxor", "write `(left or right) and not (left and right)`"},
    {"bitwiseand bitwiseor bitwisexor bitwisenot leftshift rightshift "
     "bitwiseleftshift bitwiserightshift",
     "meshc has no operations on bits; of an i32, `mod(n, 2)` is the last one"},
    {"isnan", "`x != x` is true where x is NaN"},
    {"isinf", "`abs(x) == inf` is true where x is infinite"},
    {"isfinite", "`abs(x) < inf` is true where x is finite"},
    {"nantonum", "write `where(x != x, 0, x)`"},
    {"maskedfill cond select", "write `where(condition, a, b)`"},
    {"fmod remainder", "write `mod(a, b)`, which has the sign of b"},
    {"floordivide", "write `floor(a / b)`"},
    {"ceil", "write `-floor(-x)`"},
    {"round rint", "write `floor(x + 0.5)`"},
    {"trunc fix", "write `sign(x) * floor(abs(x))`"},
    {"frac", "write `x - floor(x)`"},
    {"heaviside", "write `cast(x > 0, f32)`"},
    {"log1p", "write `log(1 + x)`"},
    {"expm1", "write `exp(x) - 1`"},
    {"log2", "write `log(x) / log(2)`"},
    {"log10", "write `log(x) / log(10)`"},
    {"exp2", "write `exp(x * log(2))`"},
    {"logaddexp", "write `maximum(a, b) + softplus(-abs(a - b))`"},
    {"logit", "write `log(x / (1 - x))`"},
    {"xlogy", "write `where(x == 0, 0, x * log(y))`"},
    {"cbrt", "write `sign(x) * abs(x) ** (1 / 3)`"},
    {"hypot", "write `sqrt(square(x) + square(y))`"},
    {"tan", "write `sin(x) / cos(x)`"},
    {"sinh", "write `0.5 * (exp(x) - exp(-x))`"},
    {"cosh", "write `0.5 * (exp(x) + exp(-x))`"},
    {"asinh arcsinh", "write `sign(x) * log(abs(x) + sqrt(square(x) + 1))`"},
    {"acosh arccosh", "write `log(x + sqrt(square(x) - 1))`"},
    {"atanh arctanh", "write `0.5 * log((1 + x) / (1 - x))`"},
    {"atan arctan asin arcsin acos arccos",
     "meshc has no inverse of sin, cos and tan; near 0, `x - x ** 3 / 3 + x ** "
     "5 / 5` is the arc of a tangent x"},
    {"atan2 arctan2", "meshc has no atan2; the sine and the cosine of that "
                      "angle are `y * rsqrt(square(x) + square(y))` and "
                      "`x * rsqrt(square(x) + square(y))`"},
    {"erfc", "write `1 - erf(x)`"},
    {"erfinv gamma lgamma gammaln digamma i0 bessel zeta",
     "meshc has no such function; a series of powers comes near where it is "
     "needed, as x + x ** 3 / 6 for asin"},
    {"expit logistic", "write `sigmoid(x)`"},
    {"swish", "write `silu(x)`"},
    {"gelutanh gelunew geluapproximate",
     "write `gelu(x)`, which is the tanh form"},
    {"geluexact gelunone", "write `0.5 * x * (1 + erf(x / sqrt(2)))`"},
    {"quickgelu", "write `x * sigmoid(1.702 * x)`"},
    {"relu6", "write `minimum(relu(x), 6)`"},
    {"leakyrelu", "write `maximum(x, 0.01 * x)`"},
    {"prelu rrelu",
     "with `param slope[] ~ ones`, write `where(x > 0, x, 0.25 * slope * x)`"},
    {"elu celu", "write `where(x > 0, x, exp(minimum(x, 0)) - 1)`"},
    {"selu",
     "write `1.0507 * where(x > 0, x, 1.67326 * (exp(minimum(x, 0)) - 1))`"},
    {"glu", "with `half = size(d) / 2`, write `slice(x, d, 0, half) * "
            "sigmoid(slice(x, d, half, half))`"},
    {"mish", "write `x * tanh(softplus(x))`"},
    {"logsigmoid", "write `-softplus(-x)`"},
    {"hardtanh", "write `minimum(maximum(x, -1), 1)`"},
    {"hardsigmoid", "write `minimum(maximum(x + 3, 0), 6) / 6`"},
    {"hardswish hardsilu", "write `x * minimum(maximum(x + 3, 0), 6) / 6`"},
    {"hardshrink", "write `where(abs(x) > 0.5, x, 0)`"},
    {"softshrink", "write `sign(x) * maximum(abs(x) - 0.5, 0)`"},
    {"tanhshrink", "write `x - tanh(x)`"},
    {"softsign", "write `x / (1 + abs(x))`"},
    {"threshold", "write `where(x > low, x, 0)`"},
    {"astype to type float half bfloat16 double int long bool "
     "convertelementtype",
     "write `cast(x, f32)`, or another type"},
    {"detach nograd", "write `stop_gradient(x)`"},
    // Reductions.
    {"reducesum nansum", "write `sum(x, dim)`"},
    {"reducemean average nanmean", "write `mean(x, dim)`"},
    {"reducemax amax nanmax", "write `max(x, dim)`"},
    {"reducemin amin nanmin", "write `min(x, dim)`"},
    {"reduceprod", "write `prod(x, dim)`"},
    {"any reduceany", "write `max(cast(condition, i32), dim) > 0`"},
    {"all reduceall", "write `min(cast(condition, i32), dim) > 0`"},
    {"countnonzero", "write `sum(x != 0, dim)`"},
    {"median",
     "meshc has no median; `sort(x, dim)` has the entries in order, and "
     "`mean(slice(sort(x, dim), dim, floor(size(dim) / 2), 1), dim)` is the "
     "middle one"},
    {"quantile percentile nanquantile kthvalue",
     "meshc has no quantiles; `sort(x, dim)` has the entries in order, and "
     "`slice(sort(x, dim), dim, start, 1)` one of them"},
    {"mode", "meshc has no mode; `argmax(sum(one_hot(indices, slot), "
             "position), slot)` is the most frequent index"},
    {"bincount histogram histc", "write `sum(one_hot(indices, slot), "
                                 "position)`, of the dim of the indices"},
    {"searchsorted bucketize digitize",
     "write `sum(edges <= x, edge)`, which counts the edges below x"},
    {"var variance", "write `mean(square(x - mean(x, dim)), dim)`"},
    {"std", "write `sqrt(mean(square(x - mean(x, dim)), dim))`"},
    {"ptp", "write `max(x, dim) - min(x, dim)`"},
    {"norm vectornorm", "write `sqrt(sum(square(x), dim))`"},
    {"normalize", "write `x * rsqrt(sum(square(x), dim))`"},
    {"argmin", "write `argmax(-x, dim)`"},
    {"logsumexp",
     "with `top = max(x, dim)`, write `top + log(sum(exp(x - top), dim))`"},
    {"softmin", "write `softmax(-x, dim)`"},
    {"cumprod", "write `exp(cumsum(log(x), dim))`"},
    {"cummax cummin associativescan",
     "meshc has no running maximum; a loop carries one: for d { top = "
     "maximum(top, x) }"},
    {"topk", "write `largest, indices = top_k(x, dim -> k)`"},
    {"take takealongaxis takealongdim indexselect",
     "write `gather(x, indices, dim)`"},
    {"scatter scatteradd scatterreduce indexadd indexput putalongaxis "
     "segmentsum",
     "meshc has no scatter; `dot(one_hot(indices, slot), values, position)` "
     "adds up the values at their indices along a dim"},
    {"nonzero argwhere maskedselect booleanmask compress unique extract",
     "sizes are known when a program is compiled, so meshc has no list of what "
     "a condition selects; "
     "`where(condition, x, 0)` keeps the places of the rest"},
    // Loops.
    {"forloop foriloop whileloop scan vmap pmap map",
     "a loop runs along a dim: for d { … }; other dims need none"},
    {"jit checkpoint remat", "the compiler decides this; leave it out"},
    // Normalization and embeddings.
    {"layernorm", "write `nn.layer_norm(x, dim)`"},
    {"rmsnorm", "write `nn.rms_norm(x, dim)`"},
    {"batchnorm batchnorm1d batchnorm2d groupnorm instancenorm",
     "`nn.layer_norm(x, dim)` and `nn.rms_norm(x, dim)` normalize each example "
     "by itself"},
    {"embedding embed", "write `nn.embedding(tokens, vocab, model)`"},
    // Losses.
    {"mseloss mse meansquarederror squarederror l2loss",
     "write `mean(square(x - y))`"},
    {"l1loss mae", "write `mean(abs(x - y))`"},
    {"huberloss smoothl1loss",
     "with `e = abs(x - y)`, write `where(e < 1, 0.5 * square(e), e - 0.5)`"},
    {"crossentropyloss nllloss softmaxcrossentropy "
     "softmaxcrossentropywithlogits "
     "softmaxcrossentropywithintegerlabels sparsecategoricalcrossentropy",
     "write `mean(cross_entropy(logits, targets, dim))`"},
    {"bcewithlogitsloss bcewithlogits bceloss bce binarycrossentropy "
     "binarycrossentropywithlogits sigmoidbinarycrossentropy "
     "sigmoidcrossentropy sigmoidcrossentropywithlogits",
     "write `mean(softplus(x) - x * y)`, of logits x and targets y"},
    {"kldiv kldivloss kldivergence",
     "write `mean(sum(y * (log(y) - log_softmax(x, dim)), dim))`, of "
     "probabilities y and logits x"},
    {"cosinesimilarity cosinedistance",
     "write `dot(a, b, dim) * rsqrt(sum(square(a), dim) * sum(square(b), "
     "dim))`"},
    {"pairwisedistance cdist", "write `sqrt(sum(square(a - b), dim))`"},
    {"hinge hingeloss",
     "write `mean(maximum(1 - x * y, 0))`, of targets y of 1 and -1"},
    {"poissonnllloss", "write `mean(exp(x) - x * y)`"},
    {"accuracy", "write `mean(argmax(logits, dim) == targets)`"},
    // Training.
    {"cosine cosineannealing cosineannealinglr cosinedecay cosinedecayschedule "
     "cosineschedule",
     "write `nn.cosine(steps)`"},
    {"warmup linearwarmup", "write `nn.warmup(steps)`"},
    {"lineardecay linearschedule linearlr", "write `nn.linear_decay(steps)`"},
    {"polynomial polynomialschedule polynomialdecay",
     "write `nn.polynomial(steps)`"},
    {"exponential exponentialdecay exponentiallr",
     "write `nn.exponential(rate, steps)`"},
    {"staircase steplr", "write `nn.staircase(rate, steps)`"},
    {"inversesqrt", "write `nn.inverse_sqrt(steps)`"},
    {"onecycle onecyclelr cosineonecycleschedule",
     "write `nn.one_cycle(steps)`"},
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
    text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
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
