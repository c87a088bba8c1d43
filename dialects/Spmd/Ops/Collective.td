//===- Collective.td - resharding and collectives -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_OPS_COLLECTIVE_TD
#define MESHC_DIALECTS_SPMD_OPS_COLLECTIVE_TD

include "dialects/Nd/NdOp.td"
include "dialects/Spmd/SpmdDialect.td"
include "dialects/Spmd/Interfaces/SpmdInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Spmd_Axes : TypedArrayAttrBase<StrAttr, "mesh axes">;

class Spmd_Op<string mnemonic, list<Trait> traits = []>
    : Op<Spmd_Dialect, mnemonic,
         !listconcat([Pure, DeclareOpInterfaceMethods<SpmdOpInterface>], traits)>;

def Spmd_ReshardOp : Spmd_Op<"reshard"> {
  let summary = "the same tensor in another sharding";
  let description = [{
    Dims and global sizes stay the same, and so does the element type: but a
    partial sum or product of f32 that ends may be rounded to 16 bits. The result may be a partial
    sum over axes over which the operand is not partial, but no partial result of
    another kind. The collectives phase replaces every reshard by collectives and
    local ops.
  }];
  let arguments = (ins Nd_TensorType:$input);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Spmd_SliceOp : Spmd_Op<"slice", [DeclareOpInterfaceMethods<NamedOpInterface>, Nd_ElementOp]> {
  let summary = "cuts a dim over further axes: a local op that moves no data";
  let description = [{
    Kernels compute it in place: the element at i is the operand's element at i plus
    the rank's offset in the operand's block.

    `axes` are appended to the axes of `dim`.
        %b = spmd.slice "batch" ["data"] %a : !nd.tensor<f32, [batch = 8, h = 4]> -> !nd.tensor<f32, [batch = 8 on {data}, h = 4]>
  }];
  let arguments = (ins StrAttr:$dim, Spmd_Axes:$axes, Nd_TensorType:$input);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$dim $axes $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Spmd_ToPartialOp : Spmd_Op<"to_partial", [DeclareOpInterfaceMethods<NamedOpInterface>, Nd_ElementOp]> {
  let summary = "a whole value as a partial sum: a local op that moves no data";
  let description = [{
    The first rank of each group, that with the coordinate 0 on all of `axes`, keeps
    the operand; the others have zeros. The result is a partial sum over `axes` too,
    so that it can be added to another one before a collective sums both.
        %b = spmd.to_partial ["t"] %a : !nd.tensor<f32, [h = 4]> -> !nd.tensor<f32, [h = 4], sum {t}>
  }];
  let arguments = (ins Spmd_Axes:$axes, Nd_TensorType:$input);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$axes $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Spmd_FlattenOp
    : Op<Spmd_Dialect, "flatten", [Pure, DeclareOpInterfaceMethods<NamedOpInterface>, Nd_ElementOp]> {
  let summary = "several dims of a rank's block as one, padding included: a local op that moves no data";
  let description = [{
    The entries of a rank's block along `dims`, row-major, are those of its block
    along `into`. That dim has as many entries as the blocks of all ranks, and all
    their axes, so that no entry of the result is padding; those that are in the
    operand hold anything. Unlike nd.merge_dims, the op does not keep the order of
    a tensor's entries over ranks.
        // on #nd.mesh<data = 4>: blocks of 3 · 6 entries
        %b = spmd.flatten ["batch", "seq"] "place" %a : !nd.tensor<i32, [batch = 10 on {data}, seq = 6, x = 2]> -> !nd.tensor<i32, [place = 72 on {data}, x = 2]>
  }];
  let arguments = (ins Nd_DimNames:$dims, StrAttr:$into, Nd_TensorType:$input);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$dims $into $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of the result for an operand of type `input`, which has the dims.
    static ::meshc::nd::TensorType getFlattened(::meshc::nd::TensorType input,
        ::llvm::ArrayRef<::mlir::StringAttr> dims, ::mlir::StringAttr into, ::meshc::nd::MeshAttr mesh);
  }];
}

class Spmd_Collective<string mnemonic>
    : Spmd_Op<mnemonic, [DeclareOpInterfaceMethods<CollectiveOpInterface>]> {
  let results = (outs Variadic<Nd_TensorType>:$results);
  let hasVerifier = 1;
}

def Spmd_AllReduceOp : Spmd_Collective<"all_reduce"> {
  let summary = "combines the partial values of the group's ranks; every rank gets the whole";
  let description = [{
    Operands are partial over (at least) `axes`; results are not partial over them.
        %b = spmd.all_reduce sum ["data"] %a : (!nd.tensor<f32, [h = 4], sum {data}>) -> !nd.tensor<f32, [h = 4]>
  }];
  let arguments = (ins Nd_ReductionKindAttr:$reduction, Spmd_Axes:$axes, Variadic<Nd_TensorType>:$inputs);
  let assemblyFormat = "`` $reduction $axes $inputs attr-dict `:` functional-type($inputs, $results)";
}

def Spmd_ReduceScatterOp : Spmd_Collective<"reduce_scatter"> {
  let summary = "combines the partial values of the group's ranks; every rank gets its block";
  let description = [{
    Like all_reduce, but dim `dims[i]` of result i is cut over `axes`, which are
    appended to its axes.
  }];
  let arguments = (ins Nd_ReductionKindAttr:$reduction, Spmd_Axes:$axes, Nd_DimNames:$dims,
                       Variadic<Nd_TensorType>:$inputs);
  let assemblyFormat = "`` $reduction $axes `to` $dims $inputs attr-dict `:` functional-type($inputs, $results)";
}

def Spmd_AllGatherOp : Spmd_Collective<"all_gather"> {
  let summary = "every rank gets the blocks of all ranks of the group";
  let description = [{
    `axes` are the last axes of dim `dims[i]` of operand i; in result i the dim no
    longer has them.
  }];
  let arguments = (ins Spmd_Axes:$axes, Nd_DimNames:$dims, Variadic<Nd_TensorType>:$inputs);
  let assemblyFormat = "$axes `from` $dims $inputs attr-dict `:` functional-type($inputs, $results)";
}

def Spmd_AllToAllOp : Spmd_Collective<"all_to_all"> {
  let summary = "cuts another dim over the group";
  let description = [{
    `axes` are the last axes of dim `from[i]` of operand i; in the result they are
    the last axes of dim `to[i]` instead.
  }];
  let arguments = (ins Spmd_Axes:$axes, Nd_DimNames:$from, Nd_DimNames:$to, Variadic<Nd_TensorType>:$inputs);
  let assemblyFormat = "$axes `from` $from `to` $to $inputs attr-dict `:` functional-type($inputs, $results)";
}

def Spmd_PermuteOp : Spmd_Collective<"permute"> {
  let summary = "every rank sends its block to one rank, and receives one";
  let description = [{
    `senders` and `receivers` are the axes of the group in two orders. Each order
    numbers the ranks of the group, row-major. The rank with number p among senders
    sends its block to the one with number p + `shift` among receivers, modulo their
    count, perhaps itself. The blocks do not change, only their places: without a
    shift it gives the axes of a dim another order, or cuts a dim over another axis of
    the same size. A shift rolls the blocks of a dim, which are all full. With `round`,
    the round says instead who sends to whom; both orders are equal, there is no shift,
    and a rank that receives nothing has anything as its result.
        // on #nd.mesh<a = 2, b = 4>
        %b = spmd.permute ["a", "b"] to ["b", "a"] %a : (!nd.tensor<f32, [i = 64 on {a, b} ]>) -> !nd.tensor<f32, [i = 64 on {b, a} ]>
        // on #nd.mesh<a = 4, b = 4>
        %d = spmd.permute ["a", "b"] to ["b", "a"] %c : (!nd.tensor<f32, [i = 10 on {a} ]>) -> !nd.tensor<f32, [i = 10 on {b} ]>
        %h = spmd.permute ["a"] to ["a"] round <from = 8, to = 4, offset = 16, number = 1> %g : (!nd.tensor<f32, [i = 16 on {a} ]>) -> !nd.tensor<f32, [i = 16 on {a} ]>
        %f = spmd.permute ["a"] to ["a"] shift 1 %e : (!nd.tensor<f32, [i = 8 on {a} ]>) -> !nd.tensor<f32, [i = 8 on {a} ]>
    In both orders axes are taken together from the left until as many ranks differ
    on them in both: here {a, b} and {b, a}; there {a} and {b}, {b} and {a}. A dim
    that has the axes of such a part of `senders`, in sequence, has those of the part
    of `receivers` in the result. Both must cut what they cut into the same blocks:
    they do if their axes have the same sizes, or if the number of ranks divides it.
    Operands are not partial over the group's axes.
  }];
  let arguments = (ins Spmd_Axes:$senders, Spmd_Axes:$receivers, DefaultValuedAttr<I64Attr, "0">:$shift,
                       OptionalAttr<Spmd_RoundAttr>:$round, Variadic<Nd_TensorType>:$inputs);
  let assemblyFormat = "$senders `to` $receivers (`shift` $shift^)? (`round` $round^)? $inputs attr-dict `:` functional-type($inputs, $results)";
}

#endif // MESHC_DIALECTS_SPMD_OPS_COLLECTIVE_TD
