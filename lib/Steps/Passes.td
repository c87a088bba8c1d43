//===- Passes.td - from a model to its step functions ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_PASSES_TD
#define MESHC_LIB_STEPS_PASSES_TD

include "mlir/Pass/PassBase.td"

def RelativeBiases : Pass<"meshc-relative-biases", "::mlir::ModuleOp"> {
  let summary = "keeps a bias of attention by distance where it depends on nothing else";
  let description = [{
    A bias whose entries depend on the difference of two indices, of `memory` and of a dim of the
    rows, is computed for each difference instead of each pair: linear biases (Press et al., arXiv
    2108.12409), and learned ones with buckets of distances (Raffel et al., arXiv 1910.10683). So it
    takes memory in proportion to the length of a text, not to its square. Ops that compute entries
    from entries at the same place are rebuilt over a new dim, up to the difference of two
    `nd.iota`; what comes from outside of a loop is rebuilt there.

    ```mlir
    !q = !nd.tensor<f32, [key = 4, seq = 8]>
    !k = !nd.tensor<f32, [key = 4, memory = 8]>
    !i = !nd.tensor<f32, [seq = 8]>
    !j = !nd.tensor<f32, [memory = 8]>
    !d = !nd.tensor<f32, [memory = 8, seq = 8]>
    func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
      %i = nd.iota : () -> !i
      %j = nd.iota : () -> !j
      %d = nd.sub %j, %i : (!j, !i) -> !d
      %b = nd.abs %d : (!d) -> !d
      %y, %s = nd.attention %q, %k, %v, %b {key = "key", memory = "memory", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0>} : (!q, !k, !k, !d) -> (!q, !i)
      return %y : !q
    }
    ```
    becomes
    ```mlir
    !q = !nd.tensor<f32, [key = 4, seq = 8]>
    !k = !nd.tensor<f32, [key = 4, memory = 8]>
    !n = !nd.tensor<i32, [memory.distance = 15]>
    !c = !nd.tensor<i32, []>
    !d = !nd.tensor<f32, [memory.distance = 15]>
    !i = !nd.tensor<f32, [seq = 8]>
    func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
      %n = nd.iota : () -> !n
      %c = nd.constant 7 : i32 -> !c
      %m = nd.sub %n, %c : (!n, !c) -> !n
      %d = nd.cast %m : (!n) -> !d
      %b = nd.abs %d : (!d) -> !d
      %y, %s = nd.attention %q, %k, %v, %b {distance = "memory.distance", key = "key", memory = "memory", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0>, position = "seq"} : (!q, !k, !k, !d) -> (!q, !i)
      return %y : !q
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def BuildSteps : Pass<"meshc-build-steps", "::mlir::ModuleOp"> {
  let summary = "replaces the model by initialize, train_step and eval_step";
  let description = [{
    The model is the module's one func.func with `nd.parameter` ops and named
    results. After the pass:

    - `@initialize() -> (parameters, slots, averages)`: the parameters'
      initializers, and zeros for the optimizer's slots; but masters, the slots that
      have 16-bit parameters in f32, begin at these;
    - `@train_step(parameters, slots, averages, inputs) -> (parameters', slots',
      averages', metrics, training metrics)`, where the module has an `nd.train`:
      the model, the gradients of the loss by reverse mode (Griewank and Walther,
      Evaluating Derivatives, ch. 3), the settings that `nd.train` computes, the
      optimizer's updates, and the parameters' averages where it has an
      `nd.average`. Metrics that only training has get a role of their own: the
      norm of the gradients, the scale of the loss;
    - `@eval_step(parameters, inputs, batches, rest, statistics) -> (metrics,
      batches', statistics')`: adds a batch to the totals of an evaluation, and
      gives the metrics of all examples so far. `batches` is how many complete
      batches are to come, and `rest` how many examples the incomplete one behind
      them has. Its other examples are padding, which reaches no reduction
      (lib/Steps/Statistics). Sums have a second part, `.low`
      (nd.running_sum). A model in which padding cannot be told apart has neither
      `batches` nor `rest`, and the module has `nd.whole_batches`;
    - `@eval_average_step(averages, …)`, where there are averages: the same with
      them as parameters;
    - `@generate_step(parameters, inputs) -> logits`, where the module has an `nd.generate`, which
      meshc-decode-positions takes on.

    Arguments and results carry `nd.name`, `nd.role`, `nd.order` and `nd.class`;
    the loss is the first metric. Ops that make the gradient of a parameter have
    `nd.class = "gradient"`, updates "optimizer"; both name the parameter in
    `nd.of`. A parameter that the loss does not depend on is passed through
    unchanged, with a warning.

    With `accumulate n`, `@train_step` and `@eval_step` have inputs of n times the
    examples, and run the model in an `nd.scan` over n micro-batches: example i is in
    number i mod n. The loop carries the statistics of the metrics and the sums of
    the gradients, in f32. What it adds to the sum of a gradient is marked as that
    gradient. Statistics of the loss that depend on no parameter are computed of
    the whole batch first (MicroBatchLoss). An optimizer that depends on the number
    of updates has it as state, `@updates`, behind the slots. With `precision f16`, the scale of the loss and the number of good steps
    follow, and a result with the role "skipped" (`LossScale`).

    The module then has an `nd.run_setting` for each number of the training. Updates name
    those that a run may change in `adjustable`, and compute with `nd.setting_value`.

    An op with the float attribute `nd.eval_value` (the factor of a dropout) is
    for training only: in evaluation every element of its result is that value.

    ```mlir
    !s = !nd.tensor<f32, []>
    !x = !nd.tensor<f32, [batch = 4]>
    func.func @line(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "loss"}) {
      %w = nd.parameter "w" [] : !s {
        %one = nd.constant 1.0 : f32 -> !s
        nd.yield %one : !s
      }
      %y = nd.mul %x, %w : (!x, !s) -> !x
      %loss = nd.reduce_sum %y {dims = ["batch"]} : (!x) -> !s
      return %loss : !s
    }
    nd.train @line "loss" "sgd" { nd.setting "lr" = 0.1 }
    ```
    becomes
    ```mlir
    !s = !nd.tensor<f32, []>
    !i = !nd.tensor<i32, []>
    !x = !nd.tensor<f32, [batch = 4]>
    module attributes {nd.model = "line"} {
      // What a run may change, and what it may not.
      nd.run_setting "lr" = 0.1
      nd.run_setting "weight_decay" = 0.0 fixed
      func.func @initialize()
          -> (!s {nd.class = "parameter", nd.name = "w", nd.order = [], nd.role = "parameter"}) {
        %one = nd.constant 1.0 : f32 -> !s
        return %one : !s
      }
      func.func @train_step(%w: !s {nd.class = "parameter", nd.name = "w", nd.order = [], nd.role = "parameter"},
                            %x: !x {nd.name = "x", nd.order = ["batch"], nd.role = "input"})
          -> (!s {nd.class = "parameter", nd.name = "w", nd.order = [], nd.role = "parameter"},
              !s {nd.name = "loss", nd.order = [], nd.role = "metric"}) {
        // The gradient of the loss.
        %one = nd.constant 1.0 : f32 -> !s
        %y = nd.mul %x, %w : (!x, !s) -> !x
        %loss = nd.reduce_sum %y {dims = ["batch"]} : (!x) -> !s
        // The gradients of the sum, of both factors of the product, and of w.
        %dy = nd.broadcast %one : (!s) -> !x
        %dx = nd.mul %dy, %w : (!x, !s) -> !x
        %each = nd.mul %dy, %x : (!x, !x) -> !x
        %dw = nd.reduce_sum %each {dims = ["batch"], nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"} : (!x) -> !s
        %step = nd.step : () -> !nd.tensor<i32, []>
        %new = nd.sgd_update %w, %dw, %step {adjustable = {lr = "lr"}, nd.class = "optimizer", nd.name = "w", nd.of = "w", settings = {lr = 0.1}}
            : (!s, !s, !nd.tensor<i32, []>) -> !s
        return %new, %loss : !s, !s
      }
      func.func @eval_step(%w: !s {nd.class = "parameter", nd.name = "w", nd.order = [], nd.role = "parameter"},
                           %x: !x {nd.name = "x", nd.order = ["batch"], nd.role = "input"},
                           %batches: !i {nd.name = "batches", nd.order = [], nd.role = "batches"},
                           %rest: !i {nd.name = "rest", nd.order = [], nd.role = "rest"},
                           %examples: !s {nd.name = "statistic.examples", nd.order = [], nd.role = "statistic"},
                           %examples.low: !s {nd.name = "statistic.examples.low", nd.order = [], nd.role = "statistic"},
                           %sum: !s {nd.name = "statistic.0", nd.order = [], nd.role = "statistic"},
                           %sum.low: !s {nd.name = "statistic.0.low", nd.order = [], nd.role = "statistic"})
          -> (!s {nd.name = "loss", nd.order = [], nd.role = "metric"},
              !i {nd.name = "batches", nd.order = [], nd.role = "batches"},
              !s {nd.name = "statistic.examples", nd.order = [], nd.role = "statistic"},
              !s {nd.name = "statistic.examples.low", nd.order = [], nd.role = "statistic"},
              !s {nd.name = "statistic.0", nd.order = [], nd.role = "statistic"},
              !s {nd.name = "statistic.0.low", nd.order = [], nd.role = "statistic"}) {
        // How many examples this batch has.
        %size = nd.constant 4 : i32 -> !i
        %one = nd.constant 1 : i32 -> !i
        %left = nd.sub %batches, %one : (!i, !i) -> !i
        %none = nd.constant 0 : i32 -> !i
        %complete = nd.compare gt %batches, %none : (!i, !i) -> !nd.tensor<i1, []>
        %count = nd.select %complete, %size, %rest : (!nd.tensor<i1, []>, !i, !i) -> !i
        // The loss of its examples, without padding.
        %y = nd.mul %x, %w : (!x, !s) -> !x
        %index = nd.iota : () -> !nd.tensor<i32, [batch = 4]>
        %real = nd.compare lt %index, %count : (!nd.tensor<i32, [batch = 4]>, !i) -> !nd.tensor<i1, [batch = 4]>
        %zero = nd.constant 0.0 : f32 -> !s
        %own = nd.select %real, %y, %zero : (!nd.tensor<i1, [batch = 4]>, !x, !s) -> !x
        %part = nd.reduce_sum %own {dims = ["batch"]} : (!x) -> !s
        // The totals: of the examples, and of their losses, which is the metric.
        %counted = nd.cast %count : (!i) -> !s
        %seen = nd.running_sum %examples, %examples.low, %counted : (!s, !s, !s) -> !s
        %seen.low = nd.running_sum %examples, %examples.low, %counted {remainder} : (!s, !s, !s) -> !s
        %again = nd.cast %count : (!i) -> !s
        %first = nd.compare le %seen, %again : (!s, !s) -> !nd.tensor<i1, []>
        %total = nd.running_sum %sum, %sum.low, %part : (!s, !s, !s) -> !s
        %total.low = nd.running_sum %sum, %sum.low, %part {remainder} : (!s, !s, !s) -> !s
        %number = nd.cast %seen : (!s) -> !i
        return %total, %left, %seen, %seen.low, %total, %total.low : !s, !i, !s, !s, !s, !s
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect", "::mlir::func::FuncDialect"];
}

def LowerPrecision : Pass<"meshc-lower-precision", "::mlir::ModuleOp"> {
  let summary = "lets the model compute in 16 bits, as its `nd.train` says";
  let description = [{
    Where `nd.train` has a `precision`, the f32 ops of the model are divided by their traits (Precision.td). Products
    and attention compute in 16 bits, with sums and softmax in f32; what rounds little does so if its largest operands have 16 bits; everything else, parameters,
    the results of loops and of the model among it, stays f32. Casts stand between them. Reverse mode then makes
    gradients in the types of the values, and those of parameters f32. New ops of 16 bits have `nd.rounded_parts`, and
    so do their gradients: ranks may round their parts of a sum. They have not with `wide_sums`. After Micikevicius et al., Mixed Precision
    Training (arXiv 1710.03740).

    ```mlir
    !s = !nd.tensor<f32, []>
    !x = !nd.tensor<f32, [i = 8]>
    !y = !nd.tensor<f32, [i = 8, j = 4]>
    !w = !nd.tensor<f32, [j = 4]>
    func.func @m(%x: !x {nd.name = "x", nd.order = ["i"]}, %b: !w {nd.name = "b", nd.order = ["j"]}, %y: !y {nd.name = "y", nd.order = ["i", "j"]}) -> (!s {nd.name = "loss"}) {
      %0 = nd.einsum %x, %b {reduced = []} : (!x, !w) -> !y
      %1 = nd.add %0, %b : (!y, !w) -> !y
      %2 = nd.add %1, %y : (!y, !y) -> !y
      %3 = nd.reduce_sum %2 {dims = ["i", "j"]} : (!y) -> !s
      return %3 : !s
    }
    nd.train @m "loss" "sgd" precision bf16 { nd.setting "lr" = 0.1 }
    ```
    becomes
    ```mlir
    !s = !nd.tensor<f32, []>
    !x = !nd.tensor<f32, [i = 8]>
    !xs = !nd.tensor<bf16, [i = 8]>
    !y = !nd.tensor<f32, [i = 8, j = 4]>
    !ys = !nd.tensor<bf16, [i = 8, j = 4]>
    !w = !nd.tensor<f32, [j = 4]>
    !ws = !nd.tensor<bf16, [j = 4]>
    func.func @m(%x: !x {nd.name = "x", nd.order = ["i"]}, %b: !w {nd.name = "b", nd.order = ["j"]}, %y: !y {nd.name = "y", nd.order = ["i", "j"]}) -> (!s {nd.name = "loss"}) {
      %bs = nd.cast %b {nd.rounded_parts} : (!w) -> !ws
      %xs = nd.cast %x {nd.rounded_parts} : (!x) -> !xs
      %0 = nd.einsum %xs, %bs {nd.rounded_parts, reduced = []} : (!xs, !ws) -> !ys
      %1 = nd.add %0, %bs {nd.rounded_parts} : (!ys, !ws) -> !ys
      %wide = nd.cast %1 : (!ys) -> !y
      %2 = nd.add %wide, %y : (!y, !y) -> !y
      %3 = nd.reduce_sum %2 {dims = ["i", "j"]} : (!y) -> !s
      return %3 : !s
    }
    nd.train @m "loss" "sgd" precision bf16 { nd.setting "lr" = 0.1 }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def DecodePositions : Pass<"meshc-decode-positions", "::mlir::ModuleOp"> {
  let summary = "makes generate_step compute one position of the text, and prefill_step a block of them";
  let description = [{
    Where the module has an `nd.generate`, BuildSteps makes `@generate_step(parameters, inputs) -> logits`, for all
    positions of a text. This pass replaces it by
    `@generate_step(parameters, tokens, position, caches) -> (caches', logits)`, for one position, and removes the
    `nd.generate`. The dim of the positions disappears:

    - An op that treats each entry of the dim alike is computed for one entry.
    - The index along the dim is the argument `position`. Parameters with the dim, and what is computed from constants
      and parameters alone, are looked up at the position.
    - Keys and values of `nd.attention`, whose dim `memory` is a renamed dim of the positions, become caches:
      the entry at the position is written, and the attention reads the whole cache. Its band must forbid entries
      behind the position; it becomes a mask. Masks and biases that depend on the text become caches, too.
    - A loop over the positions becomes one iteration. Its carried values are caches.
    - Caches within a loop over another dim, such as layers, are stacked along it.

    In the same way, and from the same caches, the pass makes `@prefill_step(parameters, tokens, position, caches) ->
    caches'`, for a block of positions of a prompt, from `position` on: the dim `seq.block` of up to 64 entries takes
    the place of the dim `seq`, and nothing else changes. Entries of caches that lie behind the last position are not
    written. The function is missing where there are no caches, or where a loop over the positions is needed.

    Where the inputs of `@eval_step` have more examples than those of `@generate_step`, which are a micro-batch, the steps
    get as many; if an op depends on their number, they keep theirs, and a warning says so.

    Caches are zero before the first position. Everything else that combines positions is an error at its line, as is
    an input other than the tokens on which the logits depend. The module's `nd.positions` is the size of the dim.

    ```mlir
    !t = !nd.tensor<i32, [batch = 2, seq = 4]>
    !w = !nd.tensor<f32, [last = 8, vocab = 8]>
    !l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
    func.func @generate_step(
        %w: !w {nd.class = "parameter", nd.name = "w", nd.order = ["last", "vocab"], nd.role = "parameter"},
        %x: !t {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"})
        -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
      %y = nd.gather %w, %x {dim = "last"} : (!w, !t) -> !l
      return %y : !l
    }
    nd.generate @m "x" -> "logits" over "vocab" along "seq"
    ```
    becomes
    ```mlir
    !t = !nd.tensor<i32, [batch = 2]>
    !i = !nd.tensor<i32, []>
    !w = !nd.tensor<f32, [last = 8, vocab = 8]>
    !l = !nd.tensor<f32, [batch = 2, vocab = 8]>
    module attributes {nd.positions = 4 : i64} {
      func.func @generate_step(
          %w: !w {nd.class = "parameter", nd.name = "w", nd.order = ["last", "vocab"], nd.role = "parameter"},
          %x: !t {nd.name = "x", nd.order = ["batch"], nd.role = "token"},
          %position: !i {nd.name = "position", nd.order = [], nd.role = "position"})
          -> (!l {nd.name = "logits", nd.order = ["batch", "vocab"], nd.role = "logits"}) {
        %y = nd.gather %w, %x {dim = "last"} : (!w, !t) -> !l
        return %y : !l
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect", "::mlir::func::FuncDialect"];
}

def ChooseResiduals : Pass<"meshc-choose-residuals", "::mlir::func::FuncOp"> {
  let summary = "chooses which values loops store for their gradients";
  let description = [{
    Reverse mode stores every value of a loop's body that the loop's gradient reads: it is a stacked result of the one
    loop and a stacked operand of the other. This pass removes such values. The loop that reads them recomputes them in
    its own body, from the same entries. The canonicalizer then drops what is no longer read.

    The pass looks at the structure alone: any stacked result is a candidate if all of its uses are stacked operands of
    loops over the same dim. A result of a loop within a loop may reach them as an entry of a result of the outer loop. A
    carried value is never a candidate. The policies:

    - `none` stores all values;
    - `cheap`, the default, recomputes a value that pointwise ops compute from what is stored anyway (operands of the
      loop, stacked results that are used otherwise, the other values that are read), with at most 32 operations per
      byte of the value. This takes about as long as to write the byte and to read it;
    - `full` stores only carried values, and repeats all of the body that the values need (Chen et al., Training Deep
      Nets with Sublinear Memory Cost, arXiv 1604.06174). It leaves a loop alone if this would not store less.

    Whatever the policy, ops with `nd.recompute`, from a block `recompute { … }` of the text, are repeated. What a block
    uses of the body around it is stored instead. The pass removes the attribute.

    A loop within a recomputed body is repeated there together with what it stores; the policy then applies to it.

    ```mlir
    !x = !nd.tensor<f32, [i = 8]>
    !xs = !nd.tensor<f32, [i = 8, n = 4]>
    func.func @f(%x: !x, %w: !xs) -> !xs {
      %h, %e = nd.scan "n" 4 carried(%x : !x) stacked(%w : !xs) -> !x, !xs {
      ^bb0(%a: !x, %b: !x):
        %c = nd.exp %b : (!x) -> !x
        %d = nd.mul %a, %c : (!x, !x) -> !x
        nd.yield %d, %c : !x, !x
      }
      %g, %gs = nd.scan "n" 4 backwards carried(%h : !x) stacked(%e : !xs) -> !x, !xs {
      ^bb0(%a: !x, %c: !x):
        %d = nd.mul %a, %c : (!x, !x) -> !x
        nd.yield %d, %d : !x, !x
      }
      return %gs : !xs
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [i = 8]>
    !xs = !nd.tensor<f32, [i = 8, n = 4]>
    func.func @f(%x: !x, %w: !xs) -> !xs {
      %h, %e = nd.scan "n" 4 carried(%x : !x) stacked(%w : !xs) -> !x, !xs {
      ^bb0(%a: !x, %b: !x):
        %c = nd.exp %b : (!x) -> !x
        %d = nd.mul %a, %c : (!x, !x) -> !x
        nd.yield %d, %c : !x, !x
      }
      %g, %gs = nd.scan "n" 4 backwards carried(%h : !x) stacked(%e, %w : !xs, !xs) -> !x, !xs {
      ^bb0(%a: !x, %unused: !x, %b: !x):
        %c = nd.exp %b : (!x) -> !x
        %d = nd.mul %a, %c : (!x, !x) -> !x
        nd.yield %d, %d : !x, !x
      }
      return %gs : !xs
    }
    ```
    and the canonicalizer drops `%unused` and `%e`.
  }];
  let options = [
    Option<"policy", "policy", "::meshc::steps::Recompute", "::meshc::steps::Recompute::Cheap",
           "What is recomputed", [{::llvm::cl::values(
             clEnumValN(::meshc::steps::Recompute::None, "none", "nothing"),
             clEnumValN(::meshc::steps::Recompute::Cheap, "cheap",
                        "what a few pointwise ops compute from stored values"),
             clEnumValN(::meshc::steps::Recompute::Full, "full",
                        "everything but carried values"))}]>];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def SplitLoops : Pass<"meshc-split-loops", "::mlir::func::FuncOp"> {
  let summary = "computes products of all iterations at once, before or behind a loop";
  let description = [{
    A recurrence multiplies few rows in an iteration, and reads all weights for them, or adds to all of their gradient.
    This is loop distribution (Kennedy and McKinley, Loop distribution with arbitrary control flow, 1990), for recurrent
    networks as in Appleyard et al., arXiv 1604.01946. What does not depend on the iterations before is one product
    outside of the loop, with the rows of all iterations:

    - a product of entries of a stacked operand and whole operands comes before the loop, and its result is one more
      stacked operand;
    - a sum over all iterations of products, which starts at zero, comes behind the loop, as one product that also sums
      over the loop's dim. So does a product of an entry and whole operands that is a stacked result. What the body
      computes for it is one more stacked result.

    A stack is written once and read once. It is made only if an iteration moves at most as many elements for it as it
    saves: weights that it does not read any more, and twice the elements of sums. So products with many rows, as in
    loops over layers, stay. Loops with `while` stay as they are, and so do those over micro-batches, which exist to save
    memory.

    ```mlir
    !x = !nd.tensor<f32, [i = 64]>
    !xs = !nd.tensor<f32, [i = 64, n = 8]>
    !w = !nd.tensor<f32, [i = 64, j = 32]>
    !y = !nd.tensor<f32, [j = 32]>
    !ys = !nd.tensor<f32, [j = 32, n = 8]>
    func.func @f(%xs: !xs, %w: !w, %h: !y) -> !ys {
      %last, %all = nd.scan "n" 8 carried(%h : !y) stacked(%xs : !xs) whole(%w : !w) -> !y, !ys {
      ^bb0(%a: !y, %x: !x, %v: !w):
        %p = nd.einsum %x, %v {reduced = ["i"]} : (!x, !w) -> !y
        %b = nd.add %a, %p : (!y, !y) -> !y
        %c = nd.tanh %b : (!y) -> !y
        nd.yield %c, %c : !y, !y
      }
      return %all : !ys
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [i = 64]>
    !xs = !nd.tensor<f32, [i = 64, n = 8]>
    !w = !nd.tensor<f32, [i = 64, j = 32]>
    !y = !nd.tensor<f32, [j = 32]>
    !ys = !nd.tensor<f32, [j = 32, n = 8]>
    func.func @f(%xs: !xs, %w: !w, %h: !y) -> !ys {
      %ps = nd.einsum %xs, %w {reduced = ["i"]} : (!xs, !w) -> !ys
      %last, %all = nd.scan "n" 8 carried(%h : !y) stacked(%xs, %ps : !xs, !ys) whole(%w : !w) -> !y, !ys {
      ^bb0(%a: !y, %x: !x, %p: !y, %v: !w):
        %b = nd.add %a, %p : (!y, !y) -> !y
        %c = nd.tanh %b : (!y) -> !y
        nd.yield %c, %c : !y, !y
      }
      return %all : !ys
    }
    ```
    and the canonicalizer drops `%x` and `%v`.
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def VerifySteps : Pass<"meshc-verify-steps", "::mlir::ModuleOp"> {
  let summary = "checks what the steps phase promises";
  let description = [{
    No `nd.parameter`, `nd.train` and `nd.generate` remains. `@initialize` and `@eval_step` are there. `@train_step` takes and
    returns the state that `@initialize` makes, and `@eval_step` takes its parameters, in the same order and with the
    same types, names, roles and memory orders. If there are `@generate_step` and `@prefill_step`, they take these
    parameters, too, and return the caches that they take. `@eval_average_step` takes all averages that `@initialize` makes. Metrics of
    training and "skipped" are results of `@train_step` alone.

    For example, the pass rejects
    ```mlir
    // expected-error @below {{phase 'steps' made no 'initialize' or no 'eval_step'}}
    module {
      func.func @eval_step() { return }
    }
    ```
  }];
}

#endif // MESHC_LIB_STEPS_PASSES_TD
