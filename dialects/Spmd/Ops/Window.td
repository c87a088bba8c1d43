//===- Window.td - windows of cut dims, and what they become --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_OPS_WINDOW_TD
#define MESHC_DIALECTS_SPMD_OPS_WINDOW_TD

include "dialects/Nd/NdOp.td"
include "dialects/Spmd/SpmdDialect.td"
include "dialects/Spmd/Interfaces/SpmdInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Spmd_WindowOp
    : Op<Spmd_Dialect, "window", [Pure, DeclareOpInterfaceMethods<SpmdOpInterface>]> {
  let summary = "entries of cut tensors at other places along the dim that is cut";
  let description = [{
    Slices, paddings, concatenations and shifts along a dim that the same axes cut in
    the result and in all operands but those that are whole along it; the sizes differ.
    Of `segments`, each four numbers
    (operand, at, from, size) say that entries at … at + size - 1 of the result are
    entries from … from + size - 1 of that operand. Segments are in the order of the
    result and do not overlap. All other entries are `fill`. All blocks begin at equal
    distances (areEquidistant). The collectives phase replaces every window by the
    exchange of halos.

    With `repeat`, two numbers, the only segment is there once for each rank p of the
    dim's axes: its `at` is then p times the first number further on, and its `from` p
    times the second. Entries that would come from beyond the operand hold anything.
    So blocks are widened by entries that others have, too: each repetition is a block
    of the result. Or parts of widened blocks go where they belong: each repetition is
    of one block of the operand.
        // on #nd.mesh<ring = 4>: entry i of the result is entry i - 1, the first is zero
        %b = spmd.window "seq" [0, 1, 0, 63] fill 0.0 %a : (!nd.tensor<f32, [seq = 64 on {ring} ]>) -> !nd.tensor<f32, [seq = 64 on {ring} ]>
        // the 16 entries of each block between those before and after it
        %c = spmd.window "seq" [0, 0, -1, 18] repeat [18, 16] fill 0.0 %a : (!nd.tensor<f32, [seq = 64 on {ring} ]>) -> !nd.tensor<f32, [seq = 72 on {ring} ]>
  }];
  let arguments = (ins StrAttr:$dim, DenseI64ArrayAttr:$segments, OptionalAttr<DenseI64ArrayAttr>:$repeat,
                       F64Attr:$fill, Variadic<Nd_TensorType>:$inputs);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$dim $segments (`repeat` $repeat^)? `fill` $fill $inputs attr-dict `:` functional-type($inputs, $result)";
  let extraClassDeclaration = [{
    ::meshc::spmd::WindowSegments getWindowSegments();
  }];
  let hasVerifier = 1;
}

def Spmd_PieceOp
    : Op<Spmd_Dialect, "piece", [Pure, DeclareOpInterfaceMethods<NamedOpInterface>, Nd_ElementOp]> {
  let summary = "some entries of every rank's block, padding included: a local op";
  let description = [{
    Entries low … low + size - 1 of a rank's block along `dim` are its block of the
    result. That dim has `size` entries for each rank of its axes, so that none is
    padding; those that are in the operand hold anything. The result is what a
    permute sends, not a tensor of the model. With `round`, `low` is 0, and each rank
    takes the entries that it sends in that round (getSentLow); the blocks of the
    operand are those of the round's senders.
        // on #nd.mesh<ring = 4>: the last entry of each block
        %b = spmd.piece "seq" 15 size 1 %a : !nd.tensor<f32, [seq = 64 on {ring} ]> -> !nd.tensor<f32, [seq = 4 on {ring} ]>
        // what each rank sends in round 1
        %c = spmd.piece "seq" 0 round <from = 16, to = 8, offset = 32, number = 1> size 8 %a : !nd.tensor<f32, [seq = 64 on {ring} ]> -> !nd.tensor<f32, [seq = 32 on {ring} ]>
  }];
  let arguments = (ins StrAttr:$dim, I64Attr:$low, OptionalAttr<Spmd_RoundAttr>:$round, I64Attr:$size,
                       Nd_TensorType:$input);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$dim $low (`round` $round^)? `size` $size $input attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    /// The type of the result for an operand of type `input`, which has the dim.
    static ::meshc::nd::TensorType getPiece(::meshc::nd::TensorType input, ::llvm::StringRef dim,
        int64_t size, ::meshc::nd::MeshAttr mesh);
  }];
  let hasVerifier = 1;
}

def Spmd_JoinOp
    : Op<Spmd_Dialect, "join", [Pure, DeclareOpInterfaceMethods<NamedOpInterface>, Nd_ElementOp]> {
  let summary = "a block that consists of entries of the operands' blocks: a local op";
  let description = [{
    `places` has four numbers for each operand: origin, step, first, end. On the rank
    with number p among those of the dim's axes, entry g of the result (a global
    index) is entry g - origin - p · step of its block of the first operand that has
    such an entry and for which first ≤ g < end. Where there is none, it is `fill`.
    Without `fill`, each entry has an operand. An operand that is whole along the dim
    has the step 0.

    `rounds` has one attribute for each operand: a round or unit. An operand with a
    round is the piece that the rank received in that round. The round says where the
    piece lies, so origin and step are 0. A rank that received nothing takes no entries
    of it. The receivers' blocks are those of the result.
        // on #nd.mesh<ring = 4>: %halo is the last entry of the previous rank's block
        %c = spmd.join "seq" [0, 16, 1, 64, 1, 16, 1, 64] fill 0.0 %halo, %a : (!nd.tensor<f32, [seq = 4 on {ring} ]>, !nd.tensor<f32, [seq = 64 on {ring} ]>) -> !nd.tensor<f32, [seq = 64 on {ring} ]>
  }];
  let arguments = (ins StrAttr:$dim, DenseI64ArrayAttr:$places, OptionalAttr<ArrayAttr>:$rounds,
                       OptionalAttr<F64Attr>:$fill, Variadic<Nd_TensorType>:$inputs);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$dim $places (`rounds` $rounds^)? (`fill` $fill^)? $inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

def Spmd_ReindexOp
    : Op<Spmd_Dialect, "reindex", [Pure, SameOperandsAndResultType, DeclareOpInterfaceMethods<NamedOpInterface>,
                                   Nd_ElementOp]> {
  let summary = "indices of a table as indices of its widened blocks: a local op";
  let description = [{
    The i32 indices are those of entries of a table with `size` entries. Blocks of the
    table are widened to `block` entries each (a window with `repeat`): the block of
    the rank with number p among those of the axes of the indices' dim `along` begins
    with entry p · b · stride + low of the table, where b is the size of a block of
    `along`. An index becomes that of the entry of the rank's own block, counted
    through all blocks; it becomes -1 where the table, or that block, has no such
    entry.
        // on #nd.mesh<ring = 4>
        %b = spmd.reindex "line" stride 1 low -1 size 64 block 18 %a : !nd.tensor<i32, [line = 64 on {ring}, tap = 3]>
  }];
  let arguments = (ins StrAttr:$along, I64Attr:$stride, I64Attr:$low, I64Attr:$size, I64Attr:$block,
                       Nd_TensorType:$input);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$along `stride` $stride `low` $low `size` $size `block` $block $input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

#endif // MESHC_DIALECTS_SPMD_OPS_WINDOW_TD
