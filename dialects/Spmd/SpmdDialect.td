//===- SpmdDialect.td - the program of one rank ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_SPMDDIALECT_TD
#define MESHC_DIALECTS_SPMD_SPMDDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Spmd_Dialect : Dialect {
  let name = "spmd";
  let cppNamespace = "::meshc::spmd";
  let dependentDialects = ["::meshc::nd::NdDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let summary = "the program of one rank: blocks of tensors, and collectives";
  let extraClassDeclaration = [{
    /// One per family, each in Ops/<Family>.cpp.
    void registerCollective();
    void registerWindow();

    /// What analyses of the programs of one context keep for one another.
    ::meshc::spmd::SharedObjects &getSharedObjects() { return sharedObjects; }

  private:
    ::meshc::spmd::SharedObjects sharedObjects;
  }];
  let description = [{
    After the partition phase every nd op computes on this rank's blocks. Its types
    describe them: `!nd.tensor<f32, [batch = 64 on {data}, h = 8], sum {tensor}>`.
    The ops of this dialect move blocks between ranks.

    Order of axes. A dim `on {a, b}` is cut over a first: block index = row-major
    coordinate over (a, b). The ops below therefore append axes to a dim's list (as
    the innermost ones) and remove them from its end. The axes of one collective are
    in the mesh's order, because the runtime numbers a group row-major over the
    mesh. A dim that is cut in another order takes several collectives, or a permute,
    which numbers ranks over any order of axes.

    Discardable attributes, which the dialect verifies. `nd.name` on a reshard or
    collective is the name of the
    source value that caused it (absent if the value has no name); its location is
    that of the value. `getCause` reads it, and `spmd.causes`.

    | attribute | on | value |
    |---|---|---|
    | `spmd.causes` | a collective or window | instead of `nd.name`: one location per operand of a combined collective, `loc("name"("gpt.mesh":14:13))`; of a window whose op has no name, and of the permutes that it becomes |
    | `spmd.use` | an all_gather | a number from 2 on: the gather sends again what an earlier one sends, and nobody takes both for one |
    | `spmd.plan` | a function | `#spmd.plan`, between the choice of plans and the building of the program |
    | `spmd.price` | a function | what meshc-choose-plan estimates of the plan, f64: `seconds`, `arena` in bytes, and `bytes.AXIS`, which a rank sends over each axis |
    | `spmd.shared_axes` | a loop | names of axes that cut what the loop carries, so that their ranks share its work |
    | `spmd.gather_once` | the module | none: parameters are gathered once for all micro-batches |
    | `spmd.refused_share` | the module | f64: what meshc-choose-plan says of moves of axes |
    | `spmd.memory_bound` | the module | i64, bytes: the memory of each step of a reshard |
    | `spmd.byte_costs` | the module | by axis, f64 above 0: what a byte costs, beside one over the fastest axis |
    | `spmd.latency_bytes` | the module | by axis, f64 from 0 on: bytes that are sent in the latency of a message |
    | `spmd.flops_per_byte` | the module | by element type, f64 from 0 on: operations of products in the time of a byte |
    | `spmd.overlap` | the module | f64 from 0 to 1: the share of a collective's time in which ranks compute |
  }];
}

def Spmd_CollectiveKind : I32EnumAttr<"CollectiveKind", "how blocks move between ranks", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
    I32EnumAttrCase<"AllGather", 2, "all_gather">,
    I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
    I32EnumAttrCase<"Permute", 4, "permute">]> {
  let cppNamespace = "::meshc::spmd";
  let genSpecializedAttr = 0;
}
def Spmd_RoundAttr : AttrDef<Spmd_Dialect, "Round"> {
  let mnemonic = "round";
  let summary = "one round of an exchange between blocks of two sizes";
  let description = [{
    A dim is cut into blocks of `from` entries. A rank needs `to` of the entries: the
    one with number q those from q · to + offset on. Each round moves one piece to
    and from each rank at most; MeshcRound in meshc/RuntimeAbi.h says who sends to
    whom in round `number`. All numbers have at most 32 bits.
        #spmd.round<from = 16, to = 8, offset = 32, number = 1>
  }];
  let parameters = (ins "int64_t":$from, "int64_t":$to, "int64_t":$offset, "int64_t":$number);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::MeshcRound getRound() const { return {getFrom(), getTo(), getOffset(), getNumber()}; }
    static RoundAttr get(::mlir::MLIRContext *context, const ::MeshcRound &round) {
      return get(context, round.sendBlock, round.recvBlock, round.offset, round.number);
    }
  }];
}

def Spmd_CollectiveKindAttr : EnumAttr<Spmd_Dialect, Spmd_CollectiveKind, "collective">;

include "dialects/Spmd/PlanAttributes.td"

#endif // MESHC_DIALECTS_SPMD_SPMDDIALECT_TD
