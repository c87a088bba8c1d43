//===- NdDialect.td - named-dimension tensors and their ops ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_NDDIALECT_TD
#define MESHC_DIALECTS_ND_NDDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Nd_Dialect : Dialect {
  let name = "nd";
  let cppNamespace = "::meshc::nd";
  let summary = "global computations on tensors whose dims have names";
  let description = [{
    A program for one logical device. Tensors have named, sized dims whose order
    has no meaning; operands align by name. A module holds the mesh
    (attribute `nd.mesh`), the layout (`nd.rule` ops), the model (a func.func)
    and its training (`nd.train`).

    Discardable attributes of this dialect:
    - `nd.mesh` (module): #nd.mesh
    - `nd.model` (module): after the steps phase, the model's name
    - `nd.positions` (module): after the steps phase, the largest number of
      positions of a generated text (i64)
    - `nd.whole_batches` (module): after the steps phase, why evaluations need
      complete batches, a clause for messages; absent if they do not
    - `nd.depends_on_batches` (module): after the steps phase, there if the
      metrics of an evaluation depend on its batches
    - `nd.name` (op, function argument or result): the name in the source
    - `nd.role` (function argument or result): "parameter", "optimizer",
      "average" (of a parameter), "input" or "metric"; of training steps alone
      "training_metric" and "skipped" (1 if the step left its state as it was,
      else 0); in generation "cache", "token", "position" or "logits"; in
      evaluations "statistic" (a total over the batches so far), "batches" (how
      many complete ones follow) and "rest" (the examples of the incomplete one)
      (TensorRole)
    - `nd.order` (function argument or result): dim names as declared
    - `nd.class` (op, function argument or result): "parameter", "gradient" or
      "optimizer" (TensorClass); absent means "activation"
    - `nd.of` (op, function argument or result): the name of the parameter that
      a gradient or an optimizer's value belongs to
    - `nd.eval_value` (op): a float that replaces every element of the op's
      result in evaluation (the factor of a dropout)
    - `nd.recompute` (op in a loop): before the steps phase, the number of the
      block `recompute { … }` of the text that has the op (RecomputeBlock.h)
    - `nd.rounded_parts` (op): until the partition phase, ranks round their parts
      of 16-bit sums, as `precision` allows (RoundedParts.h)
    - `nd.sharding` (op, function argument or result): between the phases layout
      and partition, the type that a tensor is to have; of an op, an array with
      one type for each result
    - `nd.phase`, `nd.targets`, `nd.indices`, `nd.ignored`, `nd.manifest` (module): in a dump, where meshc
      goes on from it

    The dialect verifies them (TensorAttributes.cpp) and rejects any other
    attribute with its prefix. TensorAttributes.h has their accessors.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
    /// One per family, each in Ops/<Family>.cpp.
    void registerPointwise();
    void registerContraction();
    void registerCumulative();
    void registerCustomGradient();
    void registerSorting();
    void registerReduction();
    void registerShape();
    void registerWindow();
    void registerSource();
    void registerIndexing();
    void registerNormalization();
    void registerAttention();
    void registerOptimizer();
    void registerModel();
    void registerLoop();
    void registerStack();
    void registerStatistic();
  }];
}

#endif // MESHC_DIALECTS_ND_NDDIALECT_TD
