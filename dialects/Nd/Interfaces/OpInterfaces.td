//===- OpInterfaces.td - what every op says of itself - ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_INTERFACES_OPINTERFACES_TD
#define MESHC_DIALECTS_ND_INTERFACES_OPINTERFACES_TD

include "mlir/IR/OpBase.td"

// Interfaces without defaults: an op that leaves a method out does not link.

def NamedOpInterface : OpInterface<"NamedOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = "What every nd op has: reference semantics, gradient, partition rule, cost.";
  let methods = [
    InterfaceMethod<[{
      Reference semantics on one rank's blocks: one tensor per result, of the
      local sizes of the result type. Sharded types make this the op's local
      computation.
    }], "::llvm::SmallVector<::meshc::nd::HostTensor>", "evaluate",
      (ins "::llvm::ArrayRef<const ::meshc::nd::HostTensor *>":$operands,
           "const ::meshc::nd::EvaluationContext &":$context)>,
    InterfaceMethod<[{
      Builds the gradients of the operands from those of the results (null: the
      result has no influence). Leaves null in `operandGrads` (one entry per
      operand, all null on entry) where there is no gradient: integer operands,
      or no dependence. Types equal the operands'. Fails, with an error on the
      op, where the op cannot be differentiated.
    }], "::llvm::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::ArrayRef<::mlir::Value>":$resultGrads,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGrads)>,
    InterfaceMethod<"How the op may be cut over the mesh.",
      "::meshc::nd::PartitionRule", "getPartitionRule", (ins)>,
    InterfaceMethod<"Work on one rank.", "::meshc::nd::OpCost", "getCost", (ins)>,
  ];
}

def ElementOpInterface : OpInterface<"ElementOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    An op whose result elements each come from few elements of its operands, so
    that it can be computed in place in any loop nest.
  }];
  let methods = [
    InterfaceMethod<[{
      Code for the element(s) of the (only) result at `index`, which has an
      entry for each dim of the result; null where lanes along this index cannot
      be had (the emitter then falls back to scalar code), which
      `supportsLanes` predicts.
    }], "::mlir::Value", "emitElement",
      (ins "::meshc::nd::ElementEmitter &":$emitter,
           "const ::meshc::nd::ElementIndex &":$index)>,
    InterfaceMethod<[{
      Whether `lanes` consecutive entries of result dim `dim`, starting at a
      multiple of `lanes`, can be had as one vector.
    }], "bool", "supportsLanes",
      (ins "::llvm::StringRef":$dim, "int64_t":$lanes, "::meshc::nd::MeshAttr":$mesh)>,
    InterfaceMethod<[{
      How the place where `emitElement` asks for the operand depends on the
      index along result dim `dim`. A dependence through the values of another
      operand, as of gather's table on the indices, does not count.
    }], "::meshc::nd::OperandDim", "getOperandDim",
      (ins "unsigned":$operand, "::llvm::StringRef":$dim)>,
  ];
}

def ReduceOpInterface : OpInterface<"ReduceOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = "A reduction of operand 0 over named dims.";
  let methods = [
    InterfaceMethod<"The dims that go.", "::llvm::SmallVector<::mlir::StringAttr>",
      "getReducedDims", (ins)>,
    InterfaceMethod<"What combines two values.", "::meshc::nd::ReductionKind",
      "getReductionKind", (ins)>,
  ];
}

def ScatterOpInterface : OpInterface<"ScatterOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    Adds the elements of `updates` into its only result, zero elsewhere, each at
    the entry of the scattered dim (a global index, less the rank's offset) that
    the indices have for it; at the same place along all dims that updates and
    result share. Entries out of the rank's block add nothing.
  }];
  let methods = [
    InterfaceMethod<"What is added.", "::mlir::Value", "getUpdates", (ins)>,
    InterfaceMethod<"Where, i32: dims are a subset of the updates'.", "::mlir::Value",
      "getIndices", (ins)>,
    InterfaceMethod<"The result's dim that the indices index.", "::mlir::StringAttr",
      "getDimAttr", (ins)>,
  ];
}

def CompositeOpInterface : OpInterface<"CompositeOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    An op that is kept whole for autodiff and readers, and becomes primitive ops
    before layout, so that cutting and fusing need to know the primitives only.
  }];
  let methods = [
    InterfaceMethod<"Builds the same results from primitive ops.",
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def OptimizerOpInterface : OpInterface<"OptimizerOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    The update of one parameter. Operands: parameter, gradient, learning rate
    (scalar f32), step number (scalar i32, from 0), then one tensor per slot,
    of the parameter's dims and f32. Results: the new parameter, the new slots.
    Found by name: `optimizer "adamw"` is op `nd.adamw_update`.
  }];
  let methods = [
    StaticInterfaceMethod<"Names of the slots, as in checkpoints. All start as zeros.",
      "::llvm::SmallVector<::llvm::StringRef>", "getSlotNames", (ins)>,
    StaticInterfaceMethod<[{
      Hyper-parameters besides the learning rate: attribute name and default.
    }], "::llvm::SmallVector<std::pair<::llvm::StringRef, double>>",
      "getHyperParameters", (ins)>,
  ];
}

#endif // MESHC_DIALECTS_ND_INTERFACES_OPINTERFACES_TD
