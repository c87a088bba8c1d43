//===- PlanAttributes.td - how a function is partitioned ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by SpmdDialect.td.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_PLANATTRIBUTES_TD
#define MESHC_DIALECTS_SPMD_PLANATTRIBUTES_TD

def Spmd_FormAttr : AttrDef<Spmd_Dialect, "Form"> {
  let mnemonic = "form";
  let summary = "how a tensor lies on the mesh";
  let description = [{
    What a sharded type says beside the names and sizes of the dims, which are those
    of the value: the axes that cut dims, a reduction over further axes if the tensor
    is partial, and the element type if it is not that of the value (the parts of a
    sum of 16 bits are f32). Dims that are not named are whole.
        #spmd.form<[batch {data}, heads {tensor} ]>
        #spmd.form<[] sum {data, tensor} f32>
  }];
  let parameters = (ins ArrayRefParameter<"::meshc::nd::DimAttr">:$cuts,
                        "::meshc::nd::ReductionKind":$partialKind,
                        ArrayRefParameter<"::mlir::StringAttr">:$partialAxes,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The form of a value of type `value` that lies as `type` says.
    static FormAttr of(nd::TensorType value, nd::TensorType type);
    /// The type that a value of type `value` has in this form; null if the value
    /// lacks one of the dims, or would use an axis twice.
    nd::TensorType apply(nd::TensorType value) const;
  }];
}

def Spmd_StepKind : I32EnumAttr<"StepKind", "a step of a plan", [
    I32EnumAttrCase<"Make", 0, "make">,
    I32EnumAttrCase<"Same", 1, "same">,
    I32EnumAttrCase<"Repeat", 2, "repeat">,
    I32EnumAttrCase<"Return", 3, "return">,
    I32EnumAttrCase<"Zero", 4, "zero">,
    I32EnumAttrCase<"Move", 5, "move">,
    I32EnumAttrCase<"Loop", 6, "loop">,
    I32EnumAttrCase<"Enter", 7, "enter">,
    I32EnumAttrCase<"Take", 8, "take">,
    I32EnumAttrCase<"Keep", 9, "keep">]> {
  let cppNamespace = "::meshc::spmd";
  let genSpecializedAttr = 0;
}

def Spmd_StepAttr : AttrDef<Spmd_Dialect, "Step"> {
  let mnemonic = "step";
  let summary = "one step of a plan";
  let description = [{
    A step names ops by their places in the block as the phase layout left it, from 0,
    and values by `op N`, `op N result R` or `argument N`. A value in a form is known
    after the step that makes it. A step also has the name of its op, or for `move`
    that of the value for which the reshard is.

    | step | what it makes |
    |---|---|
    | `make op 3 nd.mul [{data}, {} ] (FORM, FORM) -> (FORM)` | the op on blocks: the axes that cut each factor of its rule (then of the rule's alternatives), the forms of its operands and of its results |
    | `same op 3 nd.cast FORM` | nothing: the op, a cast, gives its operand in this form as it is |
    | `repeat op 3 nd.iota () -> FORM` | the op once more, in another form |
    | `return op 3 nd.rename FORM -> FORM` | the operand of a rename, from its result |
    | `zero op 3 nd.constant FORM` | the result of the op, which is zero everywhere, in another element type |
    | `move op 3 FORM -> FORM "name"` | a value in another form, by a reshard that is for the value with this name |
    | `loop op 3 nd.scan {axes} PLAN` | a loop; the axes share the work of its iterations |
    | `enter argument 2 FORM` | in a loop: an operand that it has whole, in a form that the block around it has |
    | `take op 3 FORM from op 1 op 5` | in a loop: a value that the earlier loop `op 1` keeps, as its value `op 5` |
    | `keep op 3 FORM` | in a loop: stacks a value for a later loop that takes it |
  }];
  let parameters = (ins "::meshc::spmd::StepKind":$kind,
                        "::meshc::spmd::PlanValue":$value,
                        ArrayRefParameter<"::mlir::ArrayAttr">:$axes,
                        ArrayRefParameter<"::meshc::spmd::FormAttr">:$operands,
                        ArrayRefParameter<"::meshc::spmd::FormAttr">:$results,
                        "::mlir::StringAttr":$name,
                        "int64_t":$loop,
                        "::meshc::spmd::PlanValue":$source,
                        "::mlir::Attribute":$body);
  let hasCustomAssemblyFormat = 1;
}

def Spmd_PlanAttr : AttrDef<Spmd_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "how a block is partitioned";
  let description = [{
    All that the phase partition chooses about a block: the forms in which its
    arguments enter (of a loop: what it carries, then entries of stacked operands),
    the steps that make its values, and the forms of what it ends with. With
    `gather_once`, a loop over micro-batches has its parameters gathered before it.
        #spmd.plan<([batch {data} ]) {
          make op 0 nd.reduce_sum [{data} ] ([batch {data} ]) -> ([] sum {data})
          move op 0 [] sum {data} -> [] "loss"
        } ([])>
    meshc-choose-plan makes the plan of each function and keeps it in the function's
    attribute `spmd.plan`; meshc-partition-program builds the function from it.
  }];
  let parameters = (ins ArrayRefParameter<"::meshc::spmd::FormAttr">:$arguments,
                        ArrayRefParameter<"::meshc::spmd::StepAttr">:$steps,
                        ArrayRefParameter<"::meshc::spmd::FormAttr">:$ends,
                        "bool":$gathersOnce);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // MESHC_DIALECTS_SPMD_PLANATTRIBUTES_TD
