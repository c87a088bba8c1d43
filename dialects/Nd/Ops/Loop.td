//===- Loop.td - blocks that run once per entry of a dim ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_LOOP_TD
#define MESHC_DIALECTS_ND_OPS_LOOP_TD

include "dialects/Nd/NdOp.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Nd_ScanOp : Op<Nd_Dialect, "scan", [Pure, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "runs its body once per entry of a dim";
  let description = [{
        %h, %all = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !stack) whole(%b : !b) -> !x, !all {
        ^bb0(%h: !x, %wi: !entry, %bi: !b):
          …
          nd.yield %next, %y : !x, !y
        }

    Runs the body for the entries 0 … size - 1 of `dim`, or with `backwards` from the
    last entry to the first. The block's arguments, the yielded values and the
    results correspond by *ties*:

    | tie | operand | argument | yielded | result |
    |---|---|---|---|---|
    | carried | initial value | value at the start of an iteration | value for the next one | value after the last one |
    | stacked operand | tensor with `dim` | its entry, without `dim` | | |
    | whole | any tensor | the same tensor | | |
    | stacked result | | | the entry of this iteration | tensor with `dim` |

    Operands and arguments: carried, stacked, whole. Yielded values and results:
    carried, stacked. All members of a carried tie have one type, which lacks
    `dim`. There is no argument for the number of the iteration: it is the entry of
    a stacked nd.iota over `dim`. No value of the body has `dim`, except whole
    tensors. `dim` is whole on every rank in stacked operands and results.

    With `while`, the first carried value is the *condition*, a scalar i1 that is
    whole on every rank: the loop ends with the iteration that yields false, or with
    the last one. The first iteration always runs; the condition's initial value is
    only an argument of the body. What the loop carries has the values of the last
    iteration that ran, and the entries of stacked results whose iterations did not
    run are unspecified.

    With `micro_batches`, an iteration computes all of a training step for a part of
    its batch.

    `res_attrs`, one dictionary per result, has their names and classes as in
    TensorAttributes.h. The name of a carried tie is that of its result; stacked and
    whole arguments have the names of their operands.

    After jax.lax.scan of JAX, with its carry, xs, and ys.
  }];
  let arguments = (ins StrAttr:$dim, I64Attr:$size, UnitAttr:$backwards, UnitAttr:$conditional,
                       UnitAttr:$micro_batches,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       Variadic<Nd_TensorType>:$carried, Variadic<Nd_TensorType>:$stacked,
                       Variadic<Nd_TensorType>:$whole);
  let results = (outs Variadic<Nd_TensorType>:$results);
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = [{
    $dim $size (`backwards` $backwards^)? (`while` $conditional^)? (`micro_batches` $micro_batches^)?
    (`carried` `(` $carried^ `:` qualified(type($carried)) `)`)?
    (`stacked` `(` $stacked^ `:` qualified(type($stacked)) `)`)?
    (`whole` `(` $whole^ `:` qualified(type($whole)) `)`)?
    (`->` qualified(type($results))^)? attr-dict-with-keyword $region
  }];
  let builders = [
    // With an empty block that has its arguments.
    OpBuilder<(ins "::llvm::StringRef":$dim, "int64_t":$size, "bool":$backwards, "::mlir::ValueRange":$carried,
                   "::mlir::ValueRange":$stacked, "::mlir::ValueRange":$whole,
                   CArg<"::mlir::TypeRange", "{}">:$stackedResults)>];
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getRegion().front(); }
    ::meshc::nd::YieldOp getYield();
    unsigned getCarriedCount() { return getCarried().size(); }
    unsigned getStackedCount() { return getStacked().size(); }
    unsigned getWholeCount() { return getWhole().size(); }
    ::mlir::ValueRange getStackedResults() { return getResults().drop_front(getCarriedCount()); }
    /// All ties, in the order of the table above.
    ::llvm::SmallVector<::meshc::nd::Tie> getTies();
    /// The tie of an argument of the block, or of a result.
    ::meshc::nd::Tie getTie(::mlir::BlockArgument argument);
    ::meshc::nd::Tie getTie(::mlir::OpResult result);
    /// The attributes of a result (TensorAttributes.h); null is an empty
    /// dictionary.
    ::mlir::DictionaryAttr getResultAttributes(unsigned result);
    void setResultAttributes(unsigned result, ::mlir::DictionaryAttr attributes);
    /// With `while`, the condition that an iteration yields; null without.
    ::mlir::Value getCondition() { return getConditional() ? getYield()->getOperand(0) : ::mlir::Value(); }
    /// Entries in the order in which the iterations have them.
    ::llvm::SmallVector<int64_t> getIterations();
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

#endif // MESHC_DIALECTS_ND_OPS_LOOP_TD
