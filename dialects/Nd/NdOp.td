//===- NdOp.td - base classes of the op families --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_NDOP_TD
#define MESHC_DIALECTS_ND_NDOP_TD

include "dialects/Nd/NdTypes.td"
include "dialects/Nd/Interfaces/OpInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

// An op that must implement every method of NamedOpInterface.
class Nd_Op<string mnemonic, list<Trait> traits = []>
    : Op<Nd_Dialect, mnemonic,
         !listconcat([Pure, DeclareOpInterfaceMethods<NamedOpInterface>], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

// The result type follows from the operands. Only global dims are compared:
// after partitioning, the actual type may have another sharding.
class Nd_InferredOp<string mnemonic, list<Trait> traits = []>
    : Nd_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<InferTypeOpInterface>], traits)> {
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange a, ::mlir::TypeRange b) {
      return ::meshc::nd::haveSameGlobalTypes(a, b);
    }
  }];
}

// An element depends on its position itself, not only on the elements of operands
// that it asks for.
def Nd_ReadsPosition : NativeOpTrait<"ReadsPosition"> {
  let cppNamespace = "::meshc::nd";
}

def Nd_ElementOp : DeclareOpInterfaceMethods<ElementOpInterface>;
def Nd_AffineOp : DeclareOpInterfaceMethods<AffineOpInterface>;
def Nd_ReduceOp : DeclareOpInterfaceMethods<ReduceOpInterface>;
def Nd_PrefixOp : DeclareOpInterfaceMethods<PrefixOpInterface>;
def Nd_SortOp : DeclareOpInterfaceMethods<SortOpInterface>;
def Nd_ExchangeOp : DeclareOpInterfaceMethods<ExchangeOpInterface>;
def Nd_CompositeOp : DeclareOpInterfaceMethods<CompositeOpInterface>;
def Nd_PositionOp : DeclareOpInterfaceMethods<PositionOpInterface>;
def Nd_OptimizerOp : DeclareOpInterfaceMethods<OptimizerOpInterface>;

#endif // MESHC_DIALECTS_ND_NDOP_TD
