//===- Exec.td - buffers, launches and library calls ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_EXEC_TD
#define MESHC_DIALECTS_EXEC_EXEC_TD

include "dialects/Exec/ExecTypes.td"
include "dialects/Exec/Interfaces/ExecInterfaces.td"
include "dialects/Nd/NdOp.td"
include "dialects/Spmd/SpmdDialect.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

/// An op of a step function.
class Exec_StepOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic,
              !listconcat([DeclareOpInterfaceMethods<StepOpInterface>],
                          traits)>;

/// A piece of the arena.
class Exec_PieceOp<string mnemonic>
    : Exec_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<PieceOpInterface>]>;

def Exec_KernelOp
    : Exec_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "a fused loop nest";
  let description = [{
    The block's arguments are the inputs as nd tensors; its nd ops define the
    computation and `exec.yield` names the outputs. `plan` is the loop nest.
    `input_orders` and `output_orders` give the memory order of each input and
    output (all dims). A launch passes the buffers of the inputs, then those of the
    outputs. An output may share the buffer of an input of equal order if every
    element is read only at the point that writes it. Seed, step and the rank's
    coordinates come from the context.

    `alignments`: for each buffer, a power of two of which its address is a multiple
    in every launch. Without the attribute, all are multiples of 16 bytes.

    `parts`: see exec.part.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_PlanAttr:$plan,
      ArrayAttr:$input_orders, ArrayAttr:$output_orders,
      OptionalAttr<DenseI64ArrayAttr>:$alignments, Exec_Parts:$parts);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $plan `in` $input_orders `out` "
                       "$output_orders attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The alignment in bytes on which the code relies for a buffer: an input, or
    /// an output after all inputs.
    int64_t getAlignment(unsigned buffer);
  }];
  let hasVerifier = 1;
}

def Exec_FusionOp
    : Exec_Op<"fusion", [Pure, IsolatedFromAbove, SingleBlock,
                         DeclareOpInterfaceMethods<NamedOpInterface>,
                         DeclareOpInterfaceMethods<ScheduledOpInterface>]> {
  let summary = "ops on tensor values that will become one kernel";
  let description = [{
    The form of exec.kernel before the schedule phase: the block's arguments are the
    inputs, and exec.yield names the results. Before `plan-loops`, the dims in
    `plan` are sorted by name and `lanes` is empty. `parts`: see exec.part.
  }];
  let arguments = (ins Variadic<Nd_TensorType>:$inputs, Exec_PlanAttr:$plan,
      Exec_Parts:$parts);
  let results = (outs Variadic<Nd_TensorType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      [{ $plan `(` $inputs `)` `:` functional-type($inputs, $results)
      attr-dict-with-keyword $body }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results,
                                "::mlir::ValueRange":$inputs, "PlanAttr":$plan),
                            "build($_builder, $_state, results, inputs, plan, "
                            "::mlir::ArrayAttr());">];
  let extraClassDeclaration = [{
    /// The number of the input that is a table whose entries the fusion replaces, if
    /// it does nothing else. The result may keep the table's place.
    ::std::optional<unsigned> getChangedInput();
  }];
  let hasVerifier = 1;
}

def Exec_ProductOp
    : Exec_Op<"product", [Pure, IsolatedFromAbove, SingleBlock,
                          DeclareOpInterfaceMethods<NamedOpInterface>,
                          DeclareOpInterfaceMethods<ScheduledOpInterface>,
                          DeclareOpInterfaceMethods<LibraryOpInterface>]> {
  let summary =
      "a matrix product, perhaps with the fusion that follows it, in one call";
  let description = [{
    The block's arguments are the inputs. It holds an `nd.einsum` of two of them,
    with an epilogue also an `exec.fusion`, and yields the results.

    With an epilogue, c, the einsum's result, has a batch of 1; its last dims in
    memory are its *columns*. meshc/Epilogues.def says what each epilogue reads and
    computes. The fusion's inputs are c (for the sums of a factor: the factor) and
    the bias, whose dims are the columns of c, or the tensor of c's shape, if there
    is one. Its results are the computed value, and gelu's argument if it has other
    users. All tensors have one float type and the memory order of c. The product
    returns c itself only besides the sums of a factor.

    `mask` adds a last result to epilogues that write a mask and a last input to
    those that read one: bytes in which the first call may record where its result
    is positive. The second call then reads the mask instead of that result. The
    format of the mask is private to the two calls.
  }];
  let arguments = (ins Variadic<Nd_TensorType>:$inputs,
      OptionalAttr<Exec_EpilogueAttr>:$epilogue, UnitAttr:$mask);
  let results = (outs Variadic<Nd_TensorType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      [{ (`then` $epilogue^ (`mask` $mask^)?)? `(` $inputs `)` `:` functional-type($inputs, $results)
      attr-dict-with-keyword $body }];
  let extraClassDeclaration = [{
    ::meshc::nd::EinsumOp getEinsum();
    /// The fusion of the epilogue, or null.
    ::meshc::exec::FusionOp getFusion();
    /// Number of the input that corresponds to the inner value, or -1.
    int64_t getInputOf(::mlir::Value inner);
  }];
  let hasVerifier = 1;
}

class Exec_AttentionHolder<string mnemonic>
    : Exec_Op<mnemonic, [Pure, IsolatedFromAbove, SingleBlock,
                         DeclareOpInterfaceMethods<NamedOpInterface>,
                         DeclareOpInterfaceMethods<ScheduledOpInterface>,
                         DeclareOpInterfaceMethods<LibraryOpInterface>]> {
  let arguments = (ins Variadic<Nd_TensorType>:$inputs);
  let results = (outs Variadic<Nd_TensorType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      [{ `(` $inputs `)` `:` functional-type($inputs, $results) attr-dict-with-keyword $body }];
  let hasVerifier = 1;
}
def Exec_AttentionOp : Exec_AttentionHolder<"attention"> {
  let summary = "an nd.attention in one call";
  let description = [{
    Key and value dims are the last in memory. The gradients of query, keys, values
    and output have the memory orders of these tensors.
  }];
}
def Exec_AttentionGradientOp : Exec_AttentionHolder<"attention_gradient"> {
  let summary = "an nd.attention_gradient in one call";
  let description = "As exec.attention.";
}

def Exec_YieldOp : Exec_Op<"yield", [Pure, ReturnLike, Terminator]> {
  let summary = "the outputs of a kernel, a fusion or a library op";
  let arguments = (ins Variadic<Nd_TensorType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Exec_FuncOp
    : Exec_Op<"func", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "a function of the program (dialects/Nd/StepNames.h)";
  let description = [{
    Its ops have StepOpInterface or PieceOpInterface. It has no arguments: buffers and
    scratch memory are results of ops with PieceOpInterface.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The ops that do something, in order.
    ::llvm::SmallVector<::meshc::exec::StepOpInterface> getSteps();
  }];
  let hasVerifier = 1;
}

def Exec_LoopOp
    : Exec_StepOp<"loop", [IsolatedFromAbove, SingleBlock, NoTerminator,
                           RegionKindInterface, HasOnlyGraphRegion]> {
  let summary = "runs its body once for each entry of a dim";
  let description = [{
    The body holds what an exec.func may hold, loops too. Iterations are numbered by
    the entries of the dim: from 0 on, or with `backwards` from the last one down to
    0. A buffer in the body may move with the iterations (exec.buffer).

    A collective may go on into the next iteration: a wait that stands before its
    collective in the body is for the collective of the previous iteration. The
    first iteration has none to wait for, unless the collective is begun ahead: one
    with `ahead` belongs to the next iteration. The first iteration's is begun before
    the loop, and the last iteration begins none. What still runs after the last
    iteration is awaited at the end of the loop. With an exec.while as the last op, the
    loop may end before its last iteration, and no collective is begun ahead.

    ```mlir
    exec.loop "layers" 4 {
      %w = exec.buffer at 0 strides [128] : !w
      %all = exec.buffer at 512 alternates [256] : !all
      exec.wait %t
      %t = exec.collective all_gather ahead … (%w) -> (%all) : (!w) -> !all
      …
    }
    ```
  }];
  let arguments = (ins StrAttr:$dim, ConfinedAttr<I64Attr, [IntPositive]>:$size,
      UnitAttr:$backwards);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      "$dim $size (`backwards` $backwards^)? attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The ops of the body that do something, in order.
    ::llvm::SmallVector<::meshc::exec::StepOpInterface> getSteps();
    /// The numbers of the first and the last iteration.
    int64_t getFirst() { return getBackwards() ? static_cast<int64_t>(getSize()) - 1 : 0; }
    int64_t getLast() { return getBackwards() ? 0 : static_cast<int64_t>(getSize()) - 1; }
    /// What is added to an iteration's number to get the next one's: 1 or -1.
    int64_t getDirection() { return getBackwards() ? -1 : 1; }
    /// The collectives of the body, in order, that begin in the iteration before
    /// theirs.
    ::llvm::SmallVector<::meshc::exec::CollectiveOp> getBegunAhead();
    /// What decides after an iteration whether the next one runs; null if all run.
    ::meshc::exec::WhileOp getWhile();
    /// The calls of one iteration.
    MeshcLoop countCalls();
  }];
  let hasVerifier = 1;
}

def Exec_WhileOp : Exec_StepOp<"while"> {
  let summary = "ends the loop around it unless the condition is true";
  let description = "The last op of an exec.loop. The condition, a scalar i1, is the same on every rank.";
  let arguments = (ins Exec_BufferType:$condition);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
  let hasVerifier = 1;
}

def Exec_TensorOp : Exec_Op<"tensor"> {
  let summary = "a tensor that the runtime sees: MeshcTensor of RuntimeAbi.h";
  let description = [{
    In the module's body, in the order of the program's table: parameters,
    optimizer state, inputs, metrics (the loss first). `order` is the declared
    order of dims; the buffer's type gives the memory order.
  }];
  let arguments = (ins StrAttr:$tensor_name, Nd_TensorRoleAttr:$role,
      Nd_DimNames:$order, TypeAttrOf<Exec_BufferType>:$type, I64Attr:$offset);
  let assemblyFormat =
      "$tensor_name $role $order `at` $offset `:` $type attr-dict";
}

def Exec_BufferOp : Exec_PieceOp<"buffer"> {
  let summary =
      "a piece of the arena, at a byte offset that is a multiple of 64";
  let description = [{
    `strides`: bytes by which the piece moves per iteration of the loops around it,
    the outermost first. An entry of a tensor that is stacked over a loop's dim moves
    by its own bytes, which need not be a multiple of 64. Without strides, the piece
    is the same in all iterations.

    `alternates`: bytes by which the piece moves in iterations of an odd number, for
    the same loops: it alternates between two places, so that an iteration may use
    one while the next one's value arrives in the other.
  }];
  let arguments = (ins I64Attr:$offset,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$strides,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$alternates);
  let results = (outs Exec_BufferType:$result);
  let assemblyFormat = "`at` $offset (`strides` $strides^)? (`alternates` "
                       "$alternates^)? attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::meshc::exec::BufferType":$type,
      "const ::meshc::exec::ArenaPlace &":$place)>];
  let hasVerifier = 1;
}

def Exec_ScratchOp : Exec_PieceOp<"scratch"> {
  let summary =
      "scratch memory at a byte offset of the arena that is a multiple of 64";
  let arguments = (ins I64Attr:$offset);
  let results = (outs Exec_ScratchType:$result);
  let assemblyFormat = "`at` $offset attr-dict `:` type($result)";
}

def Exec_LaunchOp : Exec_StepOp<"launch", [AttrSizedOperandSegments]> {
  let summary = "runs a kernel on buffers: inputs, then outputs";
  let description = [{
    `scratch`: memory for a kernel whose code is the runtime's (exec.attention on the
    host). It comes after the buffers.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
      Variadic<Exec_BufferType>:$inputs, Variadic<Exec_BufferType>:$outputs,
      Optional<Exec_ScratchType>:$scratch);
  let assemblyFormat = [{ $kernel `(` $inputs `)` `->` `(` $outputs `)`
      (`scratch` $scratch^ `:` type($scratch))? attr-dict `:` functional-type($inputs, $outputs) }];
  let hasVerifier = 1;
}

def Exec_GemmOp : Exec_StepOp<"gemm", [AttrSizedOperandSegments]> {
  let summary = "c[m,n] = a[m,k]·b[k,n], as MeshcGemm of RuntimeAbi.h";
  let description = [{
    `sizes`: m, n, k, lda, ldb, ldc, batch, strideA, strideB, strideC. All elements
    that they address lie in the buffers.
    `cut`: the dim of a and b, of those along which k runs, whose blocks have padding
    on some rank. It is the outermost of them, and the only one with padding. Each
    rank sums over the entries that exist.
    `scratch`: memory for the runtime's implementation of the product.

    With an epilogue (see exec.product), the call has the effect of the product
    followed by a launch of `kernel` on these inputs and outputs. `c` is one of the
    kernel's buffers; with a bias gradient it is a separate result. relu writes
    `mask`; its gradient reads it.
  }];
  let arguments = (ins Exec_BufferType:$a, Exec_BufferType:$b,
      Exec_BufferType:$c, DenseI64ArrayAttr:$sizes, UnitAttr:$trans_a,
      UnitAttr:$trans_b, OptionalAttr<StrAttr>:$cut,
      OptionalAttr<Exec_EpilogueAttr>:$epilogue,
      OptionalAttr<FlatSymbolRefAttr>:$kernel,
      Variadic<Exec_BufferType>:$inputs, Variadic<Exec_BufferType>:$outputs,
      Optional<Exec_BufferType>:$mask, Optional<Exec_ScratchType>:$scratch);
  let assemblyFormat =
      [{ $a (`transposed` $trans_a^)? `,` $b (`transposed` $trans_b^)? `->` $c
      $sizes (`cut` $cut^)? (`scratch` $scratch^ `:` type($scratch))? (`then` $epilogue^ $kernel `(` $inputs `)` `->` `(` $outputs `)`
      (`mask` $mask^ `:` type($mask))? `:` functional-type($inputs, $outputs))?
      attr-dict `:` type($a) `,` type($b) `->` type($c) }];
  let builders = [OpBuilder<
      (ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$c,
          "::mlir::DenseI64ArrayAttr":$sizes, "bool":$transA, "bool":$transB,
          "::mlir::StringAttr":$cut),
      [{
    build($_builder, $_state, a, b, c, sizes, transA, transB, cut, EpilogueAttr(), ::mlir::FlatSymbolRefAttr(), {}, {}, ::mlir::Value(), ::mlir::Value());
  }]>];
  let extraClassDeclaration = [{
    /// How many of the elements along k exist on the rank at the context's
    /// coordinates.
    int64_t getDepth(const ::meshc::nd::EvaluationContext &context);
  }];
  let hasVerifier = 1;
}

def Exec_CollectiveOp : Exec_StepOp<"collective", [AttrSizedOperandSegments]> {
  let summary = "begins a collective on one or more tensors, as "
                "MeshcCollective of RuntimeAbi.h";
  let description = [{
    The collective may run until the `exec.wait` of its token. Until then, `send`
    may be read but not written, and `recv` must not be touched. Collectives run in
    the order in which they begin.

    `ahead`: the collective is that of the next iteration of the loop around it, on
    the buffers of that iteration (see exec.loop).
    `items`: six numbers for each tensor: sendOuter, sendEntries, sendInner,
    recvOuter, recvEntries, recvInner, which must divide its buffers as
    MeshcCollectiveItem says. There is at least one tensor, and all have one element
    type.
    `senders`, `receivers`: of a permute alone, the axes in the two orders that number
    its ranks, and `shift`, the distance from a sender's number to its receiver's, or
    `round`, which says who sends to whom (spmd.permute).
    `description`: the text of the site, such as "all_reduce of 'h' over tensor".
  }];
  let arguments = (ins Spmd_CollectiveKindAttr:$kind, UnitAttr:$ahead,
      Nd_ReductionKindAttr:$reduction,
      TypedArrayAttrBase<StrAttr, "axes">:$axes,
      OptionalAttr<TypedArrayAttrBase<StrAttr, "axes">>:$senders,
      OptionalAttr<TypedArrayAttrBase<StrAttr, "axes">>:$receivers,
      DefaultValuedAttr<I64Attr, "0">:$shift,
      OptionalAttr<Spmd_RoundAttr>:$round,
      DenseI64ArrayAttr:$items,
      StrAttr:$description, Variadic<Exec_BufferType>:$send,
      Variadic<Exec_BufferType>:$recv);
  let results = (outs Exec_TokenType:$token);
  let extraClassDeclaration = [{
    /// The call's descriptor, which is made when it is first asked for.
    ::llvm::Value *getDescriptor(::meshc::exec::CallEmitter &emitter);
    /// Begins the collective in the current iteration.
    void begin(::meshc::exec::CallEmitter &emitter);
    void begin(::meshc::exec::Arenas &arenas);
    /// Whether its wait is in the next iteration. False before waits are placed.
    bool goesOn();
  }];
  let assemblyFormat =
      [{ $kind (`ahead` $ahead^)? $reduction `over` $axes (`from` $senders^ `to` $receivers)? (`shift` $shift^)? (`round` $round^)? $items $description
      `(` $send `)` `->` `(` $recv `)` attr-dict `:` functional-type($send, $recv) }];
  let hasVerifier = 1;
}

def Exec_WaitOp : Exec_StepOp<"wait"> {
  let summary = "waits for the collective of the token";
  let description = [{
    Exactly one wait per collective, in the block that began it. In a loop the wait may
    stand before its collective (exec.loop). Nothing happens if the collective does
    not run.
  }];
  let arguments = (ins Exec_TokenType:$token);
  let assemblyFormat = "$token attr-dict";
}

#endif // MESHC_DIALECTS_EXEC_EXEC_TD
