//===- Alignment.h - dims of a kernel's values that follow its loops ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels are computed by pull: the element of a result at the loops' indices
/// requests elements of its operands, at indices that ops may change. A dim of
/// a value is *aligned* if it is only ever requested at the index of the loop
/// of its name. Reductions within a kernel need all their dims aligned, and so
/// do inputs that share their buffer with an output.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_ALIGNMENT_H
#define MESHC_DIALECTS_EXEC_ALIGNMENT_H

#include "dialects/Exec/Exec.h"

namespace meshc::exec {

/// Names of dims, sorted by name.
using DimSet = llvm::SmallVector<mlir::StringAttr, 4>;

/// The dims, sorted by name.
DimSet sortDims(llvm::ArrayRef<mlir::StringAttr> dims);
/// All dims of the value's type.
DimSet getDims(mlir::Value value);
DimSet intersect(llvm::ArrayRef<mlir::StringAttr> a,
                 llvm::ArrayRef<mlir::StringAttr> b);
DimSet unite(llvm::ArrayRef<mlir::StringAttr> a,
             llvm::ArrayRef<mlir::StringAttr> b);

/// Whether the element op requests the operand along `dim` at the result's own
/// index and covers all entries of both: the dim has the same name and the same
/// local size in both.
bool isAligned(nd::ElementOpInterface op, unsigned operand,
               mlir::StringAttr dim, nd::MeshAttr mesh);

/// The operand's dims that are aligned if the result's dims in `resultDims`
/// are. For an element op these are the dims for which isAligned holds; for any
/// other op, all dims.
DimSet getAlignedDims(mlir::Operation *op, unsigned operand,
                      llvm::ArrayRef<mlir::StringAttr> resultDims,
                      nd::MeshAttr mesh);

/// For each value of a kernel's or fusion's block, the dims that are aligned in
/// all its uses.
llvm::DenseMap<mlir::Value, DimSet> getAlignment(mlir::Block &block,
                                                 nd::MeshAttr mesh);

/// Whether output `output` of a kernel's block may have the memory of input
/// `input`. Both need the same size, in the same memory order, and every
/// element must be read only at the point that writes it, and, of a kernel with
/// `parts`, by the part that writes it.
bool canWriteOver(mlir::Block &kernel, unsigned input, unsigned output,
                  PlanAttr plan, mlir::ArrayAttr parts, nd::MeshAttr mesh);
/// The same for the buffers of a kernel that an op runs; false if they have
/// different memory orders.
bool canWriteOver(mlir::Operation *op, const KernelUse &use, unsigned input,
                  unsigned output);

/// Maps each value of the block to pairs (loop dim, dim of the value that runs
/// along it, perhaps shifted). The pairs come from one path from a result or
/// reduction that has all these loops. Values without any such loop are absent.
using LoopDims =
    llvm::SmallVector<std::pair<mlir::StringAttr, mlir::StringAttr>, 4>;
llvm::DenseMap<mlir::Value, LoopDims> getLoopDims(mlir::Block &block);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_ALIGNMENT_H
