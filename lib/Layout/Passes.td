//===- Passes.td - where every tensor lies --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_LAYOUT_PASSES_TD
#define MESHC_LIB_LAYOUT_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeComposites : Pass<"meshc-decompose-composites", "::mlir::ModuleOp"> {
  let summary = "replaces composite ops by primitive ones";
  let description = [{
    Softmax, cross-entropy, optimizer updates and other ops with
    CompositeOpInterface become primitive ops, which keep the location and
    `nd.class`; the op that computes the result gets its `nd.name` and `nd.of`. In an
    optimizer update, the op that computes the new parameter gets class
    "parameter", all others "optimizer".

    ```mlir
    !x = !nd.tensor<f32, [a = 4]>
    func.func @f(%x: !x) -> !x {
      %y = nd.softmax %x {dim = "a", nd.name = "y"} : (!x) -> !x
      return %y : !x
    }
    ```
    becomes
    ```mlir
    !s = !nd.tensor<f32, []>
    !x = !nd.tensor<f32, [a = 4]>
    func.func @f(%x: !x) -> !x {
      %max = nd.reduce_max %x {dims = ["a"]} : (!x) -> !s
      %less = nd.sub %x, %max : (!x, !s) -> !x
      %exp = nd.exp %less : (!x) -> !x
      %sum = nd.reduce_sum %exp {dims = ["a"]} : (!x) -> !s
      %factor = nd.reciprocal %sum : (!s) -> !s
      %y = nd.mul %exp, %factor {nd.name = "y"} : (!x, !s) -> !x
      return %y : !x
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def VerifyRules : Pass<"meshc-verify-rules", "::mlir::ModuleOp"> {
  let summary = "checks the layout's rules by themselves";
  let description = [{
    Every rule must be used: its scope is a class of tensors or a tensor's name,
    a tensor in scope has its dim, its axes are the mesh's, each once; unless the
    rule is optional. Two rules of one scope for one dim must agree.

    For example, the pass rejects
    ```mlir
    module attributes {nd.mesh = #nd.mesh<data = 2>} {
      // expected-error @below {{names dim 'btch', which the model does not have; did you mean 'batch'?}}
      nd.rule "btch" -> ["data"]
      // expected-note @below {{'batch' is here}}
      func.func @step(%x: !nd.tensor<f32, [batch = 8]>) { return }
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def AssignShardings : Pass<"meshc-assign-shardings", "::mlir::ModuleOp"> {
  let summary = "gives every tensor the sharding that the rules want";
  let description = [{
    By dim name and class: the rule that names the tensor wins over one for its
    class, that over one for the parameter that a gradient or an optimizer's slot
    belongs to, that over one without scope. Each op gets `nd.sharding`, an array
    with one type per result; function arguments and results get one type.
    Metrics are whole on every rank. Axes of size 1 cut nothing and are left out.
    Ops in the bodies of loops get shardings, too, and each result of a loop by its
    own name and class. Arguments of a body need none: they have those of the loop's
    operands (stacked tensors without the loop's dim) and, if carried, of its results.
    A weak rule (`~>`) cuts its dim over those of its axes that no other rule takes in
    the tensor; of several weak rules, the first one of the layout comes first.
    Dims of activations and gradients that no rule places are open: `nd.open_dims` names
    them for each result of an op, and the partition phase may cut them.

    Refused, at the tensor's line with notes at the rules: two dims of one tensor
    on one axis; a loop over a dim that a rule cuts, of a tensor whose entries the
    loop takes or makes.

    ```mlir
    !x = !nd.tensor<f32, [batch = 8, model = 4]>
    module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
      nd.rule "batch" -> ["data"]
      nd.rule "model" -> ["tensor"] in "y"
      func.func @f(%x: !x) -> !x {
        %y = nd.exp %x {nd.name = "y"} : (!x) -> !x
        return %y : !x
      }
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [batch = 8, model = 4]>
    !rows = !nd.tensor<f32, [batch = 8 on {data}, model = 4]>
    !blocks = !nd.tensor<f32, [batch = 8 on {data}, model = 4 on {tensor} ]>
    module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
      nd.rule "batch" -> ["data"]
      nd.rule "model" -> ["tensor"] in "y"
      func.func @f(%x: !x {nd.sharding = !rows}) -> (!x {nd.sharding = !rows}) {
        %y = nd.exp %x {nd.name = "y", nd.sharding = [!blocks]} : (!x) -> !x
        return %y : !x
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def VerifyLayout : Pass<"meshc-verify-layout", "::mlir::ModuleOp"> {
  let summary = "checks what the layout phase promises";
  let description = [{
    No composite op remains; every result of an op, argument and result of a
    function has a wanted sharding of its own global type over axes of the mesh;
    state has the same sharding in all functions. This holds in the bodies of
    loops, too. No stacked tensor of a loop is cut along the loop's dim.

    For example, the pass rejects
    ```mlir
    !x = !nd.tensor<f32, [batch = 8]>
    module attributes {nd.mesh = #nd.mesh<data = 2>} {
      // expected-error @below {{argument 0 has no nd.sharding}}
      func.func @f(%x: !x) { return }
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

#endif // MESHC_LIB_LAYOUT_PASSES_TD
