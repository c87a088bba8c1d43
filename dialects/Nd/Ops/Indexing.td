//===- Indexing.td - gather, scatter and one-hot --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_INDEXING_TD
#define MESHC_DIALECTS_ND_OPS_INDEXING_TD

include "dialects/Nd/NdOp.td"
include "dialects/Nd/Ops/Precision.td"

def Nd_GatherOp : Nd_InferredOp<"gather", [Nd_ElementOp, Nd_ExchangeOp, Nd_KeepsShort]> {
  let summary = "table[dim = indices]; 0 where an index is out of range";
  let description = [{
    Result dims: those of the table without `dim`, and those of the indices (i32);
    common dims align. The indices must not have `dim`. The partition phase sets
    `along` where blocks of the table overlap.
  }];
  let arguments = (ins Nd_TensorType:$table, Nd_TensorType:$indices, StrAttr:$dim, OptionalAttr<StrAttr>:$along);
  let results = (outs Nd_TensorType:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$table, "::mlir::Value":$indices, "::llvm::StringRef":$dim), [{
      build($_builder, $_state, table, indices, dim, ::mlir::StringAttr());
    }]>,
  ];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange a, ::mlir::TypeRange b) {
      return ::meshc::nd::haveSameGlobalTypes(a, b);
    }
  }];
}
def Nd_ScatterAddOp : Nd_Op<"scatter_add", [ScatterOpInterface, Nd_ExchangeOp, AttrSizedOperandSegments]> {
  let summary = "the transpose of gather: the table, or zeros, with table[dim = indices] += updates";
  let description = [{
    The updates have all dims of the indices (i32). The result has `dim` and dims
    of the updates. Dims of the indices that the result lacks are summed over.
    Out-of-range indices add nothing. The table has the type of the result. The
    order says nothing new: it is one way to sort the indices, for kernels. The
    partition phase sets `along` where blocks of the result overlap.
  }];
  let arguments = (ins Nd_TensorType:$updates, Nd_TensorType:$indices, Optional<Nd_TensorType>:$table,
      Optional<Nd_TensorType>:$order, StrAttr:$dim, OptionalAttr<StrAttr>:$along);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = [{
    $updates `,` $indices (`into` $table^)? (`ordered` $order^)? attr-dict `:` functional-type(operands, results)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$updates, "::mlir::Value":$indices, "::llvm::StringRef":$dim), [{
      build($_builder, $_state, type, updates, indices, ::mlir::Value(), ::mlir::Value(), dim, ::mlir::StringAttr());
    }]>,
  ];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
  private:
    ::llvm::LogicalResult verifyOrder();
  }];
}
def Nd_InsertOp : Nd_InferredOp<"insert", [InsertOpInterface, Nd_KeepsShort]> {
  let summary = "the table with table[dim = indices] = updates";
  let description = [{
    The updates have the dims of the table without `dim`, and those of the indices
    (i32). Dims of the indices that the table lacks count updates of the same
    entries: the last of several for one entry stays. Out-of-range indices replace
    nothing.
  }];
  let arguments = (ins Nd_TensorType:$table, Nd_TensorType:$updates, Nd_TensorType:$indices, StrAttr:$dim);
  let results = (outs Nd_TensorType:$result);
}
def Nd_OneHotOp : Nd_Op<"one_hot", [Nd_CompositeOp]> {
  let summary = "1 where the index (i32) equals the entry along `dim`, which only the result has; else 0";
  let arguments = (ins Nd_TensorType:$indices, StrAttr:$dim);
  let results = (outs Nd_TensorType:$result);
  let hasVerifier = 1;
}

#endif // MESHC_DIALECTS_ND_OPS_INDEXING_TD
