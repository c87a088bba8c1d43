//===- ExecInterfaces.td - the interfaces of exec ops ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_INTERFACES_EXECINTERFACES_TD
#define MESHC_DIALECTS_EXEC_INTERFACES_EXECINTERFACES_TD

include "mlir/IR/OpBase.td"

// The interfaces have no defaults: an op that omits a method does not link. The
// verifier of exec.func rejects ops that are neither steps nor pieces.

def ScheduledOpInterface : OpInterface<"ScheduledOpInterface"> {
  let cppNamespace = "::meshc::exec";
  let description = [{
    An op on tensor values that is one call: a fusion, a library op or a collective
    (CollectiveCall.h has the definition for collectives). The kernels phase leaves
    nothing but these and loops. It gives their results memory orders; the schedule
    phase gives these places in the arena, and replaces the op by a step op. All that
    the two phases ask of every such op is here.

    Loops are no such ops: a phase that walks a block also walks the bodies of its
    loops, and treats their ties.
  }];
  let methods = [
    InterfaceMethod<[{
      Chooses memory orders in which the op is one call: requires those of the
      operands, and sets or suggests those of the results.
    }], "void", "chooseOrders", (ins "::meshc::exec::OrderChooser &":$orders)>,
    InterfaceMethod<[{
      Whether the op is one call as it is, in the memory orders that its tensors have;
      an error if not. Each result has an order that names its dims.
    }], "::llvm::LogicalResult", "verifyReady", (ins)>,
    InterfaceMethod<"Whether the call may write a result over an operand of the same memory order.",
      "bool", "mayOverwrite", (ins "unsigned":$operand, "unsigned":$result)>,
    InterfaceMethod<"Builds the step op.", "void", "buildCall",
      (ins "::mlir::OpBuilder &":$builder, "const ::meshc::exec::ScheduledCall &":$call)>,
  ];
}

def LibraryOpInterface : OpInterface<"LibraryOpInterface"> {
  let cppNamespace = "::meshc::exec";
  let description = [{
    An op on tensor values that becomes the call of a library: a matrix product, for
    example. Its block holds an nd op, the *held op*, which says what it computes,
    and possibly fusions that the call computes as well (exec.fusion), and ends with
    exec.yield. The kernels phase makes it of the nd op. All that the phases know of
    it is here and in its ScheduledOpInterface.

    Implementations are tried in their order, and the last one always accepts.
    Scratch memory is planned for any of them.
  }];
  let methods = [
    StaticInterfaceMethod<[{
      The name of the nd op that it holds. Each nd op of this name that the kernels
      phase meets becomes one of these ops.
    }], "::llvm::StringRef", "getHeldName", (ins)>,
    StaticInterfaceMethod<[{
      Whether a library has an implementation for such an nd op in some memory
      orders. An op with FallbackOpInterface becomes primitive ops where it has not.
    }], "bool", "computes", (ins "::mlir::Operation *":$held, "::meshc::exec::Library":$library)>,
    InterfaceMethod<[{
      The implementations of a library, in the order in which they are tried. Needs
      memory orders.
    }], "::llvm::SmallVector<::meshc::exec::LibraryImplementation>", "getImplementations",
      (ins "::meshc::exec::Library":$library)>,
    InterfaceMethod<[{
      The memory order in which a result will probably lie, before orders are chosen.
    }], "::meshc::exec::Order", "getExpectedOrder",
      (ins "unsigned":$result, "::meshc::exec::DimPrecedence":$isBefore)>,
    InterfaceMethod<"Whether the op is one call in the memory orders that its tensors have; an error if not.",
      "::llvm::LogicalResult", "verifyCall", (ins)>,
  ];
}

def StepOpInterface : OpInterface<"StepOpInterface"> {
  let cppNamespace = "::meshc::exec";
  let description = [{
    An op of a step function (exec.func): what happens when the program reaches
    it. Everything that other parts of the compiler know of such an op is here.
  }];
  let methods = [
    InterfaceMethod<"The pieces of the arena that the op reads and writes, and until when.",
      "::meshc::exec::Accesses", "getAccesses", (ins)>,
    InterfaceMethod<[{
      Whether write `write` of getAccesses may have the same piece of the arena as
      read `read`, because each element is written after its last read.
    }], "bool", "mayWriteOver", (ins "unsigned":$read, "unsigned":$write)>,
    InterfaceMethod<"The kernel that the op runs, if it runs one.",
      "::meshc::exec::KernelUse", "getKernelUse", (ins)>,
    InterfaceMethod<"Emits the calls of the runtime that the op stands for.",
      "void", "emitCall", (ins "::meshc::exec::CallEmitter &":$emitter)>,
    InterfaceMethod<"Reference semantics: what the op does to the arenas of all ranks.",
      "void", "run", (ins "::meshc::exec::Arenas &":$arenas)>,
    InterfaceMethod<"What a report says of the op.",
      "::meshc::exec::CallDescription", "describe", (ins)>,
  ];
}

def PieceOpInterface : OpInterface<"PieceOpInterface"> {
  let cppNamespace = "::meshc::exec";
  let description = [{
    An op that names a piece of the arena, its only result. It does nothing when
    the program runs.
  }];
  let methods = [
    InterfaceMethod<"Where the piece begins, in each iteration of the loops around the op.",
      "::meshc::exec::ArenaPlace", "getPlace", (ins)>,
    InterfaceMethod<"Bytes of the piece.", "int64_t", "getBytes",
      (ins "::meshc::nd::MeshAttr":$mesh)>,
  ];
}

#endif // MESHC_DIALECTS_EXEC_INTERFACES_EXECINTERFACES_TD
