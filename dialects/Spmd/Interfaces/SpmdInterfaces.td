//===- SpmdInterfaces.td - the interfaces of ops between ranks ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_INTERFACES_SPMDINTERFACES_TD
#define MESHC_DIALECTS_SPMD_INTERFACES_SPMDINTERFACES_TD

include "mlir/IR/OpBase.td"

def SpmdOpInterface : OpInterface<"SpmdOpInterface"> {
  let cppNamespace = "::meshc::spmd";
  let description = "An op whose results on one rank may depend on other ranks' operands.";
  let methods = [
    InterfaceMethod<[{
      Reference semantics on all ranks of the mesh at once.
      `operandsOfRank[rank][operand]` are the ranks' blocks; the results are
      `[rank][result]`, with the local sizes of the result types. Ranks are
      numbered row-major over `context.mesh`; `context.coordinates` is not read.
      Sums are computed in rank order, in double, and rounded once.
    }], "::llvm::SmallVector<::llvm::SmallVector<::meshc::nd::HostTensor>>", "evaluateAll",
      (ins "::llvm::ArrayRef<::llvm::SmallVector<const ::meshc::nd::HostTensor *>>":$operandsOfRank,
           "const ::meshc::nd::EvaluationContext &":$context)>,
  ];
}

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::meshc::spmd";
  let description = [{
    An op that moves data within groups of ranks. The ranks of a group differ only
    on the group's axes. Result i depends on operand i alone.
  }];
  let methods = [
    InterfaceMethod<"The kind of collective.", "::meshc::spmd::CollectiveKind", "getCollectiveKind", (ins)>,
    InterfaceMethod<"The axes of a group, in the mesh's order.",
      "::llvm::SmallVector<::mlir::StringAttr>", "getGroupAxes", (ins)>,
    InterfaceMethod<"How the ranks' values are combined; none for ops that do not reduce.",
      "::std::optional<::meshc::nd::ReductionKind>", "getGroupReduction", (ins)>,
    InterfaceMethod<"Who sends to whom in a permute; none for other ops.",
      "::std::optional<::meshc::spmd::AxisOrders>", "getAxisOrders", (ins)>,
    InterfaceMethod<[{
      Bytes that each rank sends over each mesh axis of the group with the ring
      algorithms (getRingTraffic), summed over all operands. Of a permute in a
      round, in which some ranks send nothing, the mean over the ranks.
    }], "::llvm::SmallVector<::meshc::spmd::AxisTraffic>", "getTraffic", (ins)>,
    InterfaceMethod<[{
      Builds one op that combines `members`, with their operands and results in
      that order. The members include this op and have its kind, axes, reduction
      and axis orders. The new location fuses theirs.
    }], "::mlir::Operation *", "createCombined",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Operation *>":$members)>,
  ];
}

#endif // MESHC_DIALECTS_SPMD_INTERFACES_SPMDINTERFACES_TD
