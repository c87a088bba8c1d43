//===- SpmdInterfaces.td - what ops between ranks say of themselves ---===//
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
      `[rank][result]`, of the local sizes of the result types. Ranks are
      numbered row-major over `context.mesh`; `context.coordinates` is not read.
      Sums are taken in the order of the ranks, in double, then rounded once.
    }], "::llvm::SmallVector<::llvm::SmallVector<::meshc::nd::HostTensor>>", "evaluateAll",
      (ins "::llvm::ArrayRef<::llvm::SmallVector<const ::meshc::nd::HostTensor *>>":$operandsOfRank,
           "const ::meshc::nd::EvaluationContext &":$context)>,
  ];
}

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::meshc::spmd";
  let description = [{
    An op that moves data between the ranks of groups: ranks that differ on the
    group's axes only. Result i comes from operand i alone.
  }];
  let methods = [
    InterfaceMethod<"What moves.", "::meshc::spmd::CollectiveKind", "getCollectiveKind", (ins)>,
    InterfaceMethod<"The axes over which a group extends, in the mesh's order.",
      "::llvm::SmallVector<::mlir::StringAttr>", "getGroupAxes", (ins)>,
    InterfaceMethod<"What combines the ranks' values; none where nothing is combined.",
      "::std::optional<::meshc::nd::ReductionKind>", "getGroupReduction", (ins)>,
    InterfaceMethod<[{
      Bytes that each rank sends over each mesh axis of the group, by the ring
      algorithms (getRingTraffic), all operands together.
    }], "::llvm::SmallVector<::meshc::spmd::AxisTraffic>", "getTraffic", (ins)>,
    InterfaceMethod<[{
      Builds one op of this kind that does what `members` do (this op among
      them; all of its kind, axes and reduction), operands and results in that
      order. The location is fused of theirs.
    }], "::mlir::Operation *", "createCombined",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Operation *>":$members)>,
  ];
}

#endif // MESHC_DIALECTS_SPMD_INTERFACES_SPMDINTERFACES_TD
