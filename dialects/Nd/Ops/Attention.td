//===- Attention.td - scaled dot-product attention ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_ATTENTION_TD
#define MESHC_DIALECTS_ND_OPS_ATTENTION_TD

include "dialects/Nd/NdOp.td"
include "dialects/Nd/Ops/Precision.td"

defvar Nd_AttentionOperands = (ins Nd_TensorType:$query, Nd_TensorType:$keys,
    Nd_TensorType:$values, Optional<Nd_TensorType>:$mask,
    Optional<Nd_TensorType>:$bias, Optional<Nd_TensorType>:$row_labels,
    Optional<Nd_TensorType>:$memory_labels);
defvar Nd_AttentionSettings = (ins StrAttr:$key, StrAttr:$memory,
    OptionalAttr<StrAttr>:$position, OptionalAttr<I64Attr>:$lowest,
    OptionalAttr<I64Attr>:$highest, OptionalAttr<StrAttr>:$distance,
    OptionalAttr<Nd_PredicateAttr>:$predicate);

// Attention as in "Attention is all you need" (arXiv 1706.03762):
//
//   scores = dot(query, keys, key) / sqrt(size of key) + bias
//   output = dot(softmax(scores over memory), values, memory)
//
// where a score that the mask, the labels or the band forbids counts as -inf. A
// row without an allowed entry has output 0. The *rows* are the dims of the
// query but `key`. The dims of the keys are `key`, `memory` and dims of the
// rows. Dims of the values that are neither `memory` nor rows are the *value
// dims*, which may include one called `key`. Mask and bias have dims of the
// rows, and `memory`.
//
// The band: with `position`, a dim of the rows, an entry is allowed only if its
// index along `memory` less its index along `position` is within
// [lowest, highest], where given. The band comes from a mask that compares two
// iotas: a causal mask is the band with highest = 0.
//
// The labels: with `predicate`, an entry is allowed only if
//
//   memory label PREDICATE row label
//
// Both labels are i32. Row labels have dims of the rows. Memory labels have dims
// of the keys, other than `key`. They come from a mask that compares two
// tensors, such as the documents of two positions, and take as much memory as
// these tensors.
//
// A bias by distance: with `distance`, a dim that the bias has instead of
// `memory` and `position`, the bias of an entry is that at index
//
//   its index along memory - its index along position + size of position - 1
//
// of `distance`, which has one entry for each difference: size of position +
// size of memory - 1.
//
// All floats have one type. The op computes in f32 and rounds its results.
class Nd_AttentionBase<string mnemonic, list<Trait> traits = []>
    : Nd_InferredOp<mnemonic, [DeclareOpInterfaceMethods<FallbackOpInterface>,
                               AttrSizedOperandSegments] # traits> {
  let hasCanonicalizer = 1;
}

def Nd_AttentionOp : Nd_AttentionBase<"attention", [Nd_PositionOp, Nd_ShortProduct]> {
  let summary = "softmax(query · keys / sqrt(key) + bias) · values";
  let description = [{
    A score counts as -inf where `mask` is false, and where the comparison `predicate`
    of memory label and row label is false: with `eq`, a row sees the entries of the
    memory that have its own label. With `position`, scores also count so where the index
    along `memory` less that along `position` is outside of [`lowest`, `highest`]: a
    causal mask is `highest` = 0.

    `log_sums`, f32 with the dims of the rows, is the logarithm of the sum over
    `memory` of exp(scores), for the gradient; +inf for rows without an allowed entry.
  }];
  let arguments = !con(Nd_AttentionOperands, Nd_AttentionSettings);
  let results = (outs Nd_TensorType:$output, Nd_TensorType:$log_sums);
}

def Nd_AttentionGradientOp : Nd_AttentionBase<"attention_gradient"> {
  let summary = "the gradients of attention's query, keys and values";
  let description = [{
    `gradient` is that of the output. The scores are computed again: neither they nor
    anything else of their size is stored (FlashAttention, arXiv 2205.14135).

    With `of_bias`, `bias_gradient` is that of a bias by distance, in f32, with all rows'
    dims but `position`, and with `distance`: rows that share an entry of the bias are
    not added up. Biases that have `memory` have a gradient of the scores' size, so it
    is not one of the results.
  }];
  let arguments = !con(Nd_AttentionOperands,
                       (ins Nd_TensorType:$output, Nd_TensorType:$log_sums,
                           Nd_TensorType:$gradient),
                       Nd_AttentionSettings,
                       (ins UnitAttr:$of_bias));
  let results = (outs Nd_TensorType:$query_gradient,
      Nd_TensorType:$keys_gradient, Nd_TensorType:$values_gradient,
      Optional<Nd_TensorType>:$bias_gradient);
}

#endif // MESHC_DIALECTS_ND_OPS_ATTENTION_TD
