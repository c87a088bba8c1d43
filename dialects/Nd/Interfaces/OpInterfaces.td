//===- OpInterfaces.td - the interfaces of nd ops -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_INTERFACES_OPINTERFACES_TD
#define MESHC_DIALECTS_ND_INTERFACES_OPINTERFACES_TD

include "mlir/IR/OpBase.td"

// The interfaces have no defaults: an op that omits a method does not link.

def NamedOpInterface : OpInterface<"NamedOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = "The interface of every nd op: reference semantics, gradient, partition rule, cost.";
  let methods = [
    InterfaceMethod<[{
      Reference semantics on one rank's blocks: one tensor per result, with the
      local sizes of the result type. For sharded types this is the op's local
      computation.
    }], "::llvm::SmallVector<::meshc::nd::HostTensor>", "evaluate",
      (ins "::llvm::ArrayRef<const ::meshc::nd::HostTensor *>":$operands,
           "const ::meshc::nd::EvaluationContext &":$context)>,
    InterfaceMethod<[{
      Builds the gradients of the operands from those of the results. A null
      result gradient means that the result has no influence. `operandGrads` has
      one entry per operand, all null on entry; entries without a gradient stay
      null (integer operands, or no dependence). A gradient has its operand's
      type. Fails, with an error on the op, if the op cannot be differentiated.
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
    An op that computes each result element from few elements of its operands, so
    that it can be computed in place in any loop nest.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits code for the element(s) of the (only) result at `index`, which has an
      entry for each dim of the result. Returns null if the op cannot produce
      lanes along this index; the emitter then falls back to scalar code.
      `supportsLanes` predicts this.
    }], "::mlir::Value", "emitElement",
      (ins "::meshc::nd::ElementEmitter &":$emitter,
           "const ::meshc::nd::ElementIndex &":$index)>,
    InterfaceMethod<[{
      Whether `lanes` consecutive entries of result dim `dim`, starting at a
      multiple of `lanes`, can be computed as one vector.
    }], "bool", "supportsLanes",
      (ins "::llvm::StringRef":$dim, "int64_t":$lanes, "::meshc::nd::MeshAttr":$mesh)>,
    InterfaceMethod<[{
      How the operand index that `emitElement` requests depends on the index
      along result dim `dim`. A dependence through the values of another operand,
      such as that of gather's table on the indices, does not count.
    }], "::meshc::nd::OperandDim", "getOperandDim",
      (ins "unsigned":$operand, "::llvm::StringRef":$dim)>,
  ];
}

def ReduceOpInterface : OpInterface<"ReduceOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = "A reduction of operand 0 over named dims.";
  let methods = [
    InterfaceMethod<"The reduced dims.", "::llvm::SmallVector<::mlir::StringAttr>",
      "getReducedDims", (ins)>,
    InterfaceMethod<"How two values are combined.", "::meshc::nd::ReductionKind",
      "getReductionKind", (ins)>,
  ];
}

def AffineOpInterface : OpInterface<"AffineOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    An op whose i32 elements may be an affine function of their position, if those
    of its operands are.
  }];
  let methods = [
    InterfaceMethod<[{
      The function, from those of the operands; nothing if it is not affine.
      Overflow is the caller's to exclude.
    }], "::std::optional<::meshc::nd::AffineIndex>", "getAffineIndex",
      (ins "::llvm::ArrayRef<::meshc::nd::AffineIndex>":$operands)>,
  ];
}

def ExchangeOpInterface : OpInterface<"ExchangeOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    An op whose attributes depend on the sizes of its blocks. Where a factor of its
    rule is cut so that ranks need entries of others' blocks (PartitionRule), blocks are
    widened by these, or padded. The op on such blocks is a copy of the original.
  }];
  let methods = [
    InterfaceMethod<[{
      Adapts the copy to blocks that were widened or padded along `factor`, one of
      the original's rule. The operands have their new types already; the results
      will have `resultTypes`.
    }], "void", "resizeBlock", (ins "const ::meshc::nd::Factor &":$factor,
      "::llvm::ArrayRef<::meshc::nd::TensorType>":$resultTypes)>,
    InterfaceMethod<[{
      The factors along which the op, a copy, is on widened blocks
      (Factor::isOfWidenedBlocks). They take the place of those that its rule has along the
      same dims.
    }], "::llvm::SmallVector<::meshc::nd::Factor>", "getWidenedFactors", (ins)>,
  ];
}

def ScatterOpInterface : OpInterface<"ScatterOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    Adds each element of `updates` into the only result, which is zero elsewhere.
    The indices give the entry along the scattered dim (a global index, less the
    rank's offset). Along all dims that updates and result share, the position is
    the same. Entries outside the rank's block add nothing.
  }];
  let methods = [
    InterfaceMethod<"The values to add.", "::mlir::Value", "getUpdates", (ins)>,
    InterfaceMethod<"Where to add them (i32); the dims are a subset of the updates'.", "::mlir::Value",
      "getIndices", (ins)>,
    InterfaceMethod<"The dim of the result that the indices refer to.", "::mlir::StringAttr",
      "getDimAttr", (ins)>,
  ];
}

def InsertOpInterface : OpInterface<"InsertOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    Replaces entries of `table` along one dim; the only result has the type of the
    table. The indices give the entry (a global index, less the rank's offset).
    Along all dims that updates and table share, the position is the same. Entries
    outside the rank's block stay. A kernel may write the result over the table:
    it then touches the replaced entries alone.
  }];
  let methods = [
    InterfaceMethod<"What keeps its other entries.", "::mlir::Value", "getTable", (ins)>,
    InterfaceMethod<"The new entries.", "::mlir::Value", "getUpdates", (ins)>,
    InterfaceMethod<"Where they go (i32); the dims are a subset of the updates'.", "::mlir::Value",
      "getIndices", (ins)>,
    InterfaceMethod<"The dim of the table that the indices refer to.", "::mlir::StringAttr",
      "getDimAttr", (ins)>,
  ];
}

def PrefixOpInterface : OpInterface<"PrefixOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    Sums of the entries of operand 0 that come before each entry along one dim.
    The only result has the operand's dims. Elsewhere the position is the same.
  }];
  let methods = [
    InterfaceMethod<"The dim along which entries are summed.", "::mlir::StringAttr",
      "getDimAttr", (ins)>,
    InterfaceMethod<"Whether an entry's own value is left out of its sum.", "bool",
      "getExclusive", (ins)>,
    InterfaceMethod<"Whether sums run from the last entry to the first.", "bool",
      "getBackwards", (ins)>,
  ];
}

def SortOpInterface : OpInterface<"SortOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    The indices of entries of operand 0 along one dim, in the order of their values:
    -0 and 0 are equal, NaN comes behind all numbers, and among equal entries the
    first index comes first. The only result (i32) has another dim instead, with as
    many of the first indices as its size. Elsewhere the position is the same.
  }];
  let methods = [
    InterfaceMethod<"The dim along which entries are compared.", "::mlir::StringAttr",
      "getDimAttr", (ins)>,
    InterfaceMethod<"The result's dim; it may have the same name.", "::mlir::StringAttr",
      "getIntoAttr", (ins)>,
    InterfaceMethod<"Whether the largest entry, or a NaN, comes first.", "bool",
      "getDescending", (ins)>,
  ];
}

def CompositeOpInterface : OpInterface<"CompositeOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    An op that stays whole for autodiff and for readers of the IR. It becomes
    primitive ops before layout, so that partitioning and fusion handle only
    primitives.
  }];
  let methods = [
    InterfaceMethod<"Builds the same results from primitive ops.",
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def FallbackOpInterface : OpInterface<"FallbackOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    An op that a library may compute in one call. It stays whole for layout and
    partition. In the kernels phase it becomes primitive ops if the target's library
    does not compute it.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the same results from primitive ops, for whole operands: the caller
      enters how the values are cut. Sums over dims are einsums or reductions.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def PositionOpInterface : OpInterface<"PositionOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    An op that a step of generation computes in a way of its own (PositionBuilder.h).
    Of any other op, the step computes a result at the position by the op itself,
    from the operands at the position, as its partition rule says.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether the entries of the result along `dims`, one dim or more, are each
      computed from the entries of the operands at the same place.
    }], "bool", "isEntrywise",
      (ins "::mlir::OpResult":$result, "::llvm::ArrayRef<::mlir::StringAttr>":$dims)>,
    InterfaceMethod<[{
      The dims of an operand along which its entries at the position are needed for
      those of the result along `dims`.
    }], "::llvm::SmallVector<::mlir::StringAttr>", "getDimsAtPosition",
      (ins "::mlir::OpResult":$result, "unsigned":$operand, "::llvm::ArrayRef<::mlir::StringAttr>":$dims)>,
    InterfaceMethod<[{
      How many operands, the first ones, are needed at the position in any case. They
      are computed before buildAtPosition is called, so that calls do not nest.
    }], "unsigned", "countNeededOperands", (ins)>,
    InterfaceMethod<[{
      Builds the result at the position along `dims`. Fails with an error at the op if
      it cannot be computed one position after the other.
    }], "::llvm::FailureOr<::mlir::Value>", "buildAtPosition",
      (ins "::meshc::nd::PositionBuilder &":$builder, "::mlir::OpResult":$result,
           "::llvm::ArrayRef<::mlir::StringAttr>":$dims)>,
  ];
}

def OptimizerOpInterface : OpInterface<"OptimizerOpInterface"> {
  let cppNamespace = "::meshc::nd";
  let description = [{
    The update of one parameter. Operands: parameter, gradient (of the parameter's
    type, or in f32), how many updates were made before (scalar i32), one tensor per slot, then
    one scalar f32 per setting that the attribute `computed` names. Results: the
    new parameter, the new slots. The attribute `settings` holds the constant
    settings that the model gives, as f64. A run may have other values of those
    in `adjustable`, which says by which nd.run_setting. `stacked` names the dims of
    loops: each of their entries is a parameter of its own.
    The op is found by name: `optimizer "adamw"` is op `nd.adamw_update`.
  }];
  let methods = [
    StaticInterfaceMethod<"What can be set, the learning rate first.",
      "::llvm::SmallVector<::meshc::nd::OptimizerSetting>", "getKnownSettings", (ins)>,
    StaticInterfaceMethod<[{
      The state for a parameter, with the constant settings `settings` (may be
      null).
    }], "::llvm::SmallVector<::meshc::nd::OptimizerSlot>", "getSlotsFor",
      (ins "::meshc::nd::TensorType":$parameter, "::llvm::ArrayRef<::mlir::StringAttr>":$stacked,
           "::mlir::DictionaryAttr":$settings)>,
    StaticInterfaceMethod<"Whether the update depends on how many were made before.",
      "bool", "countsUpdates", (ins)>,
    InterfaceMethod<"The state that this update reads and writes.",
      "::llvm::SmallVector<::meshc::nd::OptimizerSlot>", "getSlots", (ins)>,
  ];
}

#endif // MESHC_DIALECTS_ND_INTERFACES_OPINTERFACES_TD
