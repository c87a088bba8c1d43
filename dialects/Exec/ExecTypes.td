//===- ExecTypes.td - the exec dialect's attributes and types --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_EXECTYPES_TD
#define MESHC_DIALECTS_EXEC_EXECTYPES_TD

include "dialects/Exec/Epilogue.td"
include "dialects/Nd/NdOp.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::meshc::exec";
  let dependentDialects = ["::meshc::nd::NdDialect",
                           "::meshc::spmd::SpmdDialect"];
  let summary = "the ordered program of one rank on the buffers of one arena";
  let description = [{
    The program after the schedule phase. A module holds kernels (`exec.kernel`)
    and step functions (`exec.func`). Ops execute in program order; every op reads
    and writes buffers. The dialect does not depend on the target: a launch becomes
    a call into a thread pool or an operation on a stream.

    The kernels phase prepares this form on tensor values. Each `exec.fusion` op
    will be one kernel; between them stand the ops that will be calls of a library
    (LibraryOpInterface), such as matrix products (`exec.product`). A product and the
    fusion that follows it may become one call.

    Discardable attributes:
    - `exec.gpu` (module, unit): kernels are code for GPUs, whose library supports
      epilogues of products
    - `exec.arena_bytes` (module, i64): size of a rank's arena
    - `exec.memory_budget` (module, i64, up to the schedule phase): bytes that the arena
      may take; `exec.recompute_policy` (module, "full" or "none", likewise): values are
      computed again wherever this makes it smaller, or nowhere
    - `exec.recompute` (module, unit, before the schedule phase): fusions are computed
      again where this lowers a peak; without it, `exec.recompute_gain` (module, i64,
      after it) says by how many bytes at most this would lower the highest peak
    - `exec.library_workspace` (module, unit): calls run in CUDA's libraries, which
      have scratch memory of their own; none is planned in the arena
    - `exec.orders` (op, after the kernels phase): the memory order of each result
    - `exec.offsets` (op, after the arena is planned): the offset of each result;
      of an nd.scan, also of each argument of its body
    - `exec.strides` (op in a loop, likewise): bytes by which each of them moves per
      iteration of each loop around it, the outermost first; absent if none moves
    - `exec.alternates` (op in a loop, likewise): bytes by which each of them moves in
      iterations of an odd number; absent if none alternates
    - `exec.offset` (function argument, likewise): its offset
    - `exec.scratch` (library op, likewise): offset and bytes of its scratch memory

    The dialect verifies them (ArenaAttributes.cpp) and rejects any other
    attribute with its prefix. ArenaAttributes.h has their accessors.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
}

def Exec_EpilogueAttr : EnumAttr<Exec_Dialect, Exec_Epilogue, "epilogue">;

def Exec_PlanAttr : AttrDef<Exec_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "the loop nest of a kernel";
  let description = [{
    The outer loops run over the `parallel` dims, outermost first; the launch splits
    the first one over threads (on a GPU, all of them over the grid). The inner
    loops run over the `reduce` dims (outermost first), once per stage. A stage
    computes reductions over all reduce dims: their operands have at most parallel ∪
    reduce dims, their results at most the parallel ones. A stage ends before the
    first use of its results. A last walk stores the results that have reduce dims.
    `lanes` is the dim along which elements are computed in vectors: a parallel or
    reduce dim, the innermost of its group, or empty for scalar code. Dims have the
    names that they have in the kernel's results and reductions. `sizes` holds the
    local sizes, parallel dims first.

    In the kernel of an op that is neither an element op nor a reduction
    (`nd.scatter_add`), the parallel dims are the parallel factors of the op's
    partition rule, and the reduce dims its reduce factors. The op itself iterates
    over the other dims of the result. Its operands may be computed in place like
    any others.
  }];
  let parameters =
      (ins OptionalArrayRefParameter<"::mlir::StringAttr">:$parallel,
          OptionalArrayRefParameter<"::mlir::StringAttr">:$reduce,
          "::mlir::StringAttr":$lanes,
          OptionalArrayRefParameter<"int64_t">:$sizes);
  let genVerifyDecl = 1;
  let assemblyFormat =
      [{ `<` `parallel` `=` `[` (`]`) : ($parallel^ `]`)? `,` `reduce` `=` `[` (`]`) : ($reduce^ `]`)?
      `,` `lanes` `=` $lanes `,` `sizes` `=` `[` (`]`) : ($sizes^ `]`)? `>` }];
}

def Exec_PartAttr : AttrDef<Exec_Dialect, "Part"> {
  let mnemonic = "part";
  let summary = "the next results of a kernel, with a loop nest of their own";
  let description = [{
    A kernel for GPUs may have parts: computations that have nothing to do with each
    other and share one launch, such as the updates of many parameters. Each part has
    blocks of threads of its own. `results` is the number of its results, which
    follow those of the parts before. `plan` has no reduce dims. Parts may read the
    same inputs, but they share no op, and no part overwrites what another one reads.
    The plan of the kernel itself is empty.
  }];
  let parameters = (ins "int64_t":$results, "::meshc::exec::PlanAttr":$plan);
  let assemblyFormat = "`<` $results `,` $plan `>`";
}
def Exec_Parts : OptionalAttr<TypedArrayAttrBase<Exec_PartAttr, "parts">>;

def Exec_BufferType : TypeDef<Exec_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "one rank's block of a tensor in memory";
  let description = [{
    `!exec.buffer<!nd.tensor<f32, [b = 8, h = 4]>, ["b", "h"]>`: a dense, row-major
    block of local sizes in the given order of all dims (the last one is
    contiguous). An i1 element takes one byte.
  }];
  let parameters = (ins "::meshc::nd::TensorType":$tensor,
      OptionalArrayRefParameter<"::mlir::StringAttr">:$order);
  let assemblyFormat = "`<` $tensor `,` `[` (`]`) : ($order^ `]`)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Local sizes in memory order.
    ::llvm::SmallVector<int64_t> getShape(::meshc::nd::MeshAttr mesh) const;
    /// Elements between neighbours along the dim.
    int64_t getStride(::llvm::StringRef dim, ::meshc::nd::MeshAttr mesh) const;
  }];
}

def Exec_ScratchType : TypeDef<Exec_Dialect, "Scratch"> {
  let mnemonic = "scratch";
  let summary = "bytes of the arena that one call may use while it runs";
  let description = "What they hold before and after the call has no meaning.";
  let parameters = (ins "int64_t":$bytes);
  let assemblyFormat = "`<` $bytes `>`";
  let genVerifyDecl = 1;
}

def Exec_TokenType : TypeDef<Exec_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "a collective that was begun";
}

#endif // MESHC_DIALECTS_EXEC_EXECTYPES_TD
