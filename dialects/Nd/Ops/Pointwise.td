//===- Pointwise.td - one element from one element of each operand --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_POINTWISE_TD
#define MESHC_DIALECTS_ND_OPS_POINTWISE_TD

include "dialects/Nd/NdOp.td"
include "dialects/Nd/Ops/Precision.td"

// The result has the operand's type.
class Nd_Unary<string mnemonic, string meaning, list<Trait> traits = []>
    : Nd_InferredOp<mnemonic, !listconcat([Nd_ElementOp], traits)> {
  let summary = meaning;
  let arguments = (ins Nd_TensorType:$input);
  let results = (outs Nd_TensorType:$result);
}
// Floats only.
def Nd_ExpOp : Nd_Unary<"exp", "e to the power of x; 0 where that is below 2^-126">;
def Nd_LogOp : Nd_Unary<"log", "natural logarithm; NaN below 0">;
def Nd_SqrtOp : Nd_Unary<"sqrt", "square root; NaN below 0">;
def Nd_RsqrtOp : Nd_Unary<"rsqrt", "1 / sqrt(x)">;
def Nd_ReciprocalOp : Nd_Unary<"reciprocal", "1 / x">;
def Nd_TanhOp : Nd_Unary<"tanh", "hyperbolic tangent", [Nd_KeepsShort]>;
def Nd_ErfOp : Nd_Unary<"erf", "the error function">;
def Nd_SigmoidOp : Nd_Unary<"sigmoid", "1 / (1 + exp(-x))", [Nd_KeepsShort]>;
def Nd_GeluOp : Nd_Unary<"gelu", "Gaussian error linear unit, tanh form (arXiv 1606.08415)", [Nd_KeepsShort]>;
def Nd_SiluOp : Nd_Unary<"silu", "x * sigmoid(x)", [Nd_KeepsShort]>;
def Nd_SoftplusOp : Nd_Unary<"softplus", "log(1 + exp(x))">;
def Nd_SinOp : Nd_Unary<"sin", "sine; radians">;
def Nd_CosOp : Nd_Unary<"cos", "cosine; radians">;
def Nd_FloorOp : Nd_Unary<"floor", "the largest whole number not above x">;
// Floats and i32.
def Nd_NegOp : Nd_Unary<"neg", "-x", [Nd_KeepsShort]>;
def Nd_AbsOp : Nd_Unary<"abs", "absolute value", [Nd_KeepsShort]>;
def Nd_SignOp : Nd_Unary<"sign", "-1, 0 or 1">;
def Nd_SquareOp : Nd_Unary<"square", "x * x">;
def Nd_ReluOp : Nd_Unary<"relu", "max(x, 0); gradient 0 at 0", [Nd_KeepsShort]>;
// i1.
def Nd_NotOp : Nd_Unary<"not", "logical negation">;
// Any.
def Nd_StopGradientOp : Nd_Unary<"stop_gradient", "the operand, without a gradient", [Nd_KeepsShort]>;

// Result dims: the union of the operands', which align and broadcast by name.
// Equal names must have equal sizes; element types must be equal.
class Nd_Binary<string mnemonic, string meaning, list<Trait> traits = []>
    : Nd_InferredOp<mnemonic, !listconcat([Nd_ElementOp], traits)> {
  let summary = meaning;
  let arguments = (ins Nd_TensorType:$lhs, Nd_TensorType:$rhs);
  let results = (outs Nd_TensorType:$result);
}
// Floats and i32.
def Nd_AddOp : Nd_Binary<"add", "lhs + rhs", [Nd_AffineOp, Nd_KeepsShort]> { let hasFolder = 1; }
def Nd_SubOp : Nd_Binary<"sub", "lhs - rhs", [Nd_AffineOp, Nd_KeepsShort]> { let hasFolder = 1; }
def Nd_MulOp : Nd_Binary<"mul", "lhs * rhs", [Nd_AffineOp, Nd_KeepsShort]> { let hasFolder = 1; }
def Nd_DivOp : Nd_Binary<"div", "lhs / rhs; integers round toward minus infinity, and x / 0 = 0"> { let hasFolder = 1; }
def Nd_ModOp : Nd_Binary<"mod", "x - y * floor(x / y); sign of the divisor; integers: x mod 0 = 0">;
def Nd_MaximumOp : Nd_Binary<"maximum", "the larger; NaN if an operand is NaN; on ties the gradient goes to lhs", [Nd_KeepsShort]>;
def Nd_MinimumOp : Nd_Binary<"minimum", "the smaller; NaN if an operand is NaN; on ties the gradient goes to lhs", [Nd_KeepsShort]>;
// Floats.
def Nd_PowOp : Nd_Binary<"pow", "lhs to the power of rhs"> { let hasCanonicalizer = 1; }
// i1.
def Nd_AndOp : Nd_Binary<"and", "logical conjunction">;
def Nd_OrOp : Nd_Binary<"or", "logical disjunction">;
// Any.
def Nd_InGenerationOp : Nd_Binary<"in_generation", "lhs in the steps of generation, else rhs, which alone has a gradient", [Nd_KeepsShort]> {
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange a, ::mlir::TypeRange b) {
      return ::meshc::nd::haveSameGlobalTypes(a, b);
    }
    /// The operand that is the result; it may have fewer dims.
    ::mlir::Value choose(bool inGeneration) { return inGeneration ? getLhs() : getRhs(); }
  }];
}

def Nd_CompareOp : Nd_InferredOp<"compare", [Nd_ElementOp]> {
  let summary = "i1: lhs PREDICATE rhs, false where unordered (ne: true)";
  let arguments = (ins Nd_TensorType:$lhs, Nd_TensorType:$rhs, Nd_PredicateAttr:$predicate);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def Nd_SelectOp : Nd_InferredOp<"select", [Nd_ElementOp, Nd_KeepsShort]> {
  let summary = "onTrue where the condition (i1) holds, else onFalse; broadcasts all three";
  let arguments = (ins Nd_TensorType:$condition, Nd_TensorType:$onTrue, Nd_TensorType:$onFalse);
  let results = (outs Nd_TensorType:$result);
}

def Nd_CastOp : Nd_Op<"cast", [Nd_ElementOp]> {
  let summary = "another element type: floats round to nearest even; float to i32 truncates and saturates, NaN to 0; to i1: x != 0";
  let arguments = (ins Nd_TensorType:$input);
  let results = (outs Nd_TensorType:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // MESHC_DIALECTS_ND_OPS_POINTWISE_TD
