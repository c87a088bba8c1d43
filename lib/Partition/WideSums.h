//===- WideSums.h - sums of 16 bits whose parts are f32 ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sum of bf16 or f16 is added in f32 and rounded once [L2.7], also if each
/// rank adds a part of it: the parts are f32 until a collective has added them.
/// So a partial sum of 16 bits has a type of f32. Linear ops on parts keep them
/// f32. Two kinds of partial values stay as they are: those of which one rank
/// at most has more than zero (nd::Factor::isSelection), and those of ops that
/// may round their parts (nd::hasRoundedParts).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_WIDESUMS_H
#define MESHC_LIB_PARTITION_WIDESUMS_H

#include "lib/Partition/FactorChoice.h"

namespace meshc::partition {

/// The type of what an op makes as `made`, which has the element type of the
/// op's result: of f32 if its parts must not be rounded. `adds`: entries of the
/// parts are sums (or products) of several terms on several ranks. `isWide`: an
/// operand is a partial sum of f32 instead of 16 bits.
nd::TensorType widenParts(nd::TensorType made, mlir::Operation *op, bool adds,
                          bool isWide);

/// Whether axes cut the factor so that ranks add up the parts of blocks that
/// overlap.
bool addsOverlaps(const nd::Factor &factor,
                  llvm::ArrayRef<mlir::StringAttr> axes);

/// The types in which a local op computes what it makes as `made`: all floats
/// are f32 if one of them is wide, or if ranks add up overlaps and must not
/// round the parts.
llvm::SmallVector<nd::TensorType>
getComputedTypes(mlir::Operation &op, llvm::ArrayRef<nd::TensorType> made,
                 bool addsOverlaps);

/// The types in which the op takes blocks of these types if its results have
/// the types `computed`: a product takes 16 bits, or only f32, as all other
/// ops.
llvm::SmallVector<nd::TensorType>
getWidened(mlir::Operation &op, llvm::ArrayRef<nd::TensorType> computed,
           llvm::ArrayRef<nd::TensorType> blocks);

/// The blocks in these types.
llvm::SmallVector<mlir::Value>
widenBlocks(mlir::Operation &op, llvm::ArrayRef<nd::TensorType> computed,
            llvm::ArrayRef<mlir::Value> blocks, mlir::OpBuilder &builder);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_WIDESUMS_H
