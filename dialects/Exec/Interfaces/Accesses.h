//===- Accesses.h - what an op of a step function accesses ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_INTERFACES_ACCESSES_H
#define MESHC_DIALECTS_EXEC_INTERFACES_ACCESSES_H

#include "dialects/Nd/NdTypes.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace meshc::exec {

/// A buffer's alignment in bytes, unless it is an entry of a stacked tensor.
inline constexpr int64_t arenaAlignment = 64;
/// The alignment in bytes on which kernels rely if nothing else is said: the
/// widest access of any target.
inline constexpr int64_t kernelAlignment = 16;

/// Where a piece of the arena begins, in bytes: at the offset, plus for each
/// loop around it (exec.loop) stride · iteration + alternate · (iteration mod
/// 2).
struct ArenaPlace {
  int64_t offset = 0;
  /// One for each loop, the outermost first; empty: the place never moves.
  llvm::SmallVector<int64_t, 2> strides;
  /// Likewise; empty: it never alternates between two places.
  llvm::SmallVector<int64_t, 2> alternates = {};

  int64_t at(llvm::ArrayRef<int64_t> iterations) const;
  /// Bytes from the first place to the last one in loops of these sizes, from
  /// loop number `level` on.
  int64_t getReach(llvm::ArrayRef<int64_t> sizes, size_t level = 0) const;
  /// A power of two that divides the address in all iterations: the largest
  /// one, but at most arenaAlignment.
  int64_t getAlignment() const;
  bool operator==(const ArenaPlace &other) const {
    return offset == other.offset && strides == other.strides &&
           alternates == other.alternates;
  }
};

/// A piece of the arena: [begin, end) in bytes.
struct ArenaPiece {
  int64_t begin = 0, end = 0;

  /// The piece that a value names (the result of an op with PieceOpInterface).
  /// If the piece moves in a loop: from its first byte in any iteration to its
  /// last.
  static ArenaPiece of(mlir::Value value, nd::MeshAttr mesh);
  /// The piece in these iterations of the loops around it, the outermost first.
  static ArenaPiece at(mlir::Value value, nd::MeshAttr mesh,
                       llvm::ArrayRef<int64_t> iterations);
  bool overlaps(const ArenaPiece &other) const {
    return begin < other.end && other.begin < end;
  }
  bool operator==(const ArenaPiece &other) const {
    return begin == other.begin && end == other.end;
  }
};

/// The pieces of the arena that an op accesses, as values.
struct Accesses {
  /// Buffers.
  llvm::SmallVector<mlir::Value> reads, writes;
  /// Memory in which the op may leave anything.
  llvm::SmallVector<mlir::Value> scratch;
  /// The token of what the op begins: the accesses last until an op awaits it.
  /// Null: they end with the op.
  mlir::Value begun;
  /// The token that the op awaits, or null.
  mlir::Value awaited;

  /// Whether an op with these accesses must not run at the same time as one
  /// with the others: one of the two writes, or has as scratch memory, what the
  /// other accesses. `meet` tells whether a piece of this op and one of the
  /// other overlap.
  bool
  conflictsWith(const Accesses &other,
                llvm::function_ref<bool(mlir::Value, mlir::Value)> meet) const;
};

/// The kernel (exec.kernel) that an op runs; null if it runs none. It is
/// launched on the inputs and outputs, in the order of the kernel's own.
struct KernelUse {
  mlir::FlatSymbolRefAttr kernel;
  mlir::ValueRange inputs, outputs;
};

/// Whether the kernel exists and takes these buffers, with the alignment that
/// it relies on; an error on the op if not.
llvm::LogicalResult verifyKernelUse(mlir::Operation *op, const KernelUse &use);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_INTERFACES_ACCESSES_H
