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
// verifier of exec.func rejects ops that have neither interface.

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
