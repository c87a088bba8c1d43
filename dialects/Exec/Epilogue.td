//===- Epilogue.td - work fused into the call of a matrix product ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_EPILOGUE_TD
#define MESHC_DIALECTS_EXEC_EPILOGUE_TD

include "mlir/IR/EnumAttr.td"

/// Repeats the names and numbers of meshc/Epilogues.def, which TableGen cannot
/// read. Epilogues.h has what is known of each kind.
def Exec_Epilogue : I32EnumAttr<"Epilogue", "what a call does beside a matrix product c = a·b", [
    I32EnumAttrCase<"Bias", 1, "bias">, I32EnumAttrCase<"Relu", 2, "relu">,
    I32EnumAttrCase<"ReluBias", 3, "relu_bias">, I32EnumAttrCase<"Gelu", 4, "gelu">,
    I32EnumAttrCase<"GeluBias", 5, "gelu_bias">, I32EnumAttrCase<"ReluGradient", 6, "relu_gradient">,
    I32EnumAttrCase<"GeluGradient", 7, "gelu_gradient">,
    I32EnumAttrCase<"BiasGradientA", 8, "bias_gradient_a">,
    I32EnumAttrCase<"BiasGradientB", 9, "bias_gradient_b">]> {
  let cppNamespace = "::meshc::exec";
  let genSpecializedAttr = 0;
}

#endif // MESHC_DIALECTS_EXEC_EPILOGUE_TD
