//===- Source.td - constants, indices and random numbers ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_SOURCE_TD
#define MESHC_DIALECTS_ND_OPS_SOURCE_TD

include "dialects/Nd/NdOp.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Nd_ConstantOp : Nd_Op<"constant", [Nd_ElementOp, Nd_AffineOp, ConstantLike]> {
  let summary = "every element is `value`: `nd.constant 1.0 : f32 -> type`";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$value attr-dict `->` qualified(type($result))";
  let builders = [OpBuilder<(ins "::meshc::nd::TensorType":$type, "double":$value)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Nd_IotaOp : Nd_Op<"iota", [Nd_ElementOp, Nd_AffineOp, Nd_PositionOp, Nd_ReadsPosition]> {
  let summary = "i32 or float: the global index along the only dim";
  let arguments = (ins);
  let results = (outs Nd_TensorType:$result);
  let hasVerifier = 1;
}
def Nd_RandomOp : Nd_Op<"random", [Nd_ElementOp, Nd_ReadsPosition]> {
  let summary = "random numbers, a function of (seed, step, stream, global index)";
  let description = [{
    Philox 4x32-10 (Salmon et al., SC 2011): key = the run's seed; counter =
    (linear global index over the dims sorted by name, step, 32-bit FNV-1a hash
    of `stream`). Uniform: the upper 24 bits of the first word times 2^-24. Normal:
    Box-Muller of the first two words. The values do not depend on the layout.

    `iterations`, scalars of i32, are the numbers of the iterations of the loops
    around the op, outermost first. The hash goes on over their bytes, the lowest
    first, so that each iteration has its own numbers.
  }];
  let arguments = (ins Nd_DistributionAttr:$distribution, StrAttr:$stream, Variadic<Nd_TensorType>:$iterations);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = [{
    $distribution $stream (`(` $iterations^ `:` qualified(type($iterations)) `)`)? attr-dict `:`
    qualified(type($result))
  }];
  let builders = [
    // Outside of loops.
    OpBuilder<(ins "::meshc::nd::TensorType":$type, "::meshc::nd::Distribution":$distribution,
                   "::llvm::StringRef":$stream),
              [{ build($_builder, $_state, type, distribution, stream, ::mlir::ValueRange()); }]>];
  let hasVerifier = 1;
}
def Nd_StepOp : Nd_Op<"step", [Nd_ElementOp]> {
  let summary = "scalar i32: the number of the training step, from 0";
  let arguments = (ins);
  let results = (outs Nd_TensorType:$result);
  let hasVerifier = 1;
}
def Nd_SettingValueOp : Nd_Op<"setting_value", [Nd_ElementOp]> {
  let summary = "scalar f32: the run's value v of an nd.run_setting, or 1 - v, or -ln v";
  let description = [{
    The forms are computed in f64 and rounded once: 1 - 0.999f differs from 0.001
    by 1e-5 of its value. The reference semantics take `value`, the value in the
    model's text.
  }];
  let arguments = (ins StrAttr:$name, F64Attr:$value,
                       DefaultValuedAttr<Nd_SettingFormAttr, "SettingForm::Value">:$form);
  let results = (outs Nd_TensorType:$result);
  let extraClassDeclaration = [{
    /// `value` in the form.
    double computeForm();
  }];
  let assemblyFormat = "$name `=` $value (`as` $form^)? attr-dict `:` qualified(type($result))";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "double":$value,
                                 CArg<"::meshc::nd::SettingForm", "::meshc::nd::SettingForm::Value">:$form)>];
  let hasVerifier = 1;
}

#endif // MESHC_DIALECTS_ND_OPS_SOURCE_TD
