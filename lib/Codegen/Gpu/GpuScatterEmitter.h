//===- GpuScatterEmitter.h - adding at computed places, on a GPU
//-----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel that returns the result of one scatter op. A *unit* is a few
/// adjacent entries of the scattered dim (or a part of them, if an entry is
/// long). The threads of a unit scan all indices and sum the updates of the
/// unit's entries. They work side by side along an update; each keeps the
/// unit's sums in registers, in the type in which elements are computed. If
/// there are few units, warps and then blocks share the indices of one, and
/// their sums are combined in order. Floats are never added with atomic
/// operations, so every run gives the same bits.
///
/// The lower bound is the bytes of indices, updates and result. In addition,
/// each unit reads all indices from the caches: one or two instructions per
/// index and 32 threads. Computed for an H100 (132 multiprocessors, 4
/// instructions each per cycle, 1.7 GHz, 3.35 TB/s), not measured:
///
///     entries × columns, indices | floor   | looking at indices | adding
///     256 × 24, 131072           |   4 µs  |   1 µs             |  13 µs
///     50304 × 768, 8192          |  54 µs  |  29 µs             |   2 µs
///     50304 × 768, 32768         |  77 µs  | 115 µs             |   7 µs
///
/// where *adding* is a chain of memory reads, 700 cycles for four updates, by
/// the warps of the most frequent entry. The columns run concurrently.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUSCATTEREMITTER_H
#define MESHC_LIB_CODEGEN_GPU_GPUSCATTEREMITTER_H

#include "lib/Codegen/Gpu/GpuGroup.h"
#include "lib/Codegen/LoopEmitter.h"
#include "lib/Codegen/ScatterShape.h"

namespace meshc::codegen {

/// Emits such a kernel. A point of the mapping is one thread's place in a unit;
/// a step is an index.
class GpuScatterEmitter : LoopEmitter {
public:
  GpuScatterEmitter(const ScatterShape &shape, KernelElements &emitter,
                    const GpuOptions &options);

  const GpuMapping &getMapping() const { return map; }
  void emit(GpuGroup &group);

private:
  /// The position of a thread's elements in an update and in an entry.
  struct Place {
    nd::ElementIndex index;
    mlir::Value isValid; ///< null: always
  };

  void shareIndices(const GpuOptions &options);
  /// Warps that share the indices of a unit.
  int64_t getWarps() const { return map.getWorkers() * columns / warpSize; }
  /// Indices that they scan at once.
  int64_t getRound() const { return getWarps() * warpSize * map.unroll; }
  void takeUnit(GpuGroup &group);
  void placeElements(mlir::Value part, mlir::Value column);
  Values scanIndices();
  mlir::Value findRows(mlir::Value first);
  mlir::Value getDistance(mlir::Value number);
  mlir::Value readDistance(nd::ElementIndex &index, mlir::Value number,
                           mlir::Value isThere);
  Values addRow(mlir::Value first, llvm::ArrayRef<mlir::Value> sums);
  Values addBatch(mlir::Value first, mlir::Value &bits,
                  llvm::ArrayRef<mlir::Value> sums);
  void storeSums(llvm::ArrayRef<mlir::Value> sums, mlir::Value isFirst);
  mlir::Value constant(int64_t value);

  ScatterShape shape;
  GpuMapping map;
  /// The dims of the indices that the result has, and those that it has not.
  llvm::SmallVector<Loop> kept, scanned;
  int64_t innerCount = 1; ///< elements (or vectors) of an update
  int64_t columns = 1;    ///< threads side by side along an update, 2^n
  int64_t parts = 1;      ///< of an update, each another unit's
  int64_t chunks = 1;     ///< elements of an update that one thread has
  int64_t span = 1;       ///< entries of a unit

  mlir::Value firstEntry, isUnit;
  mlir::Value firstIndex; ///< i32: the index that names the first entry
  mlir::Value warp, lane; ///< among the warps of the unit; within the warp
  mlir::Value firstLane;  ///< of those that are side by side, i32
  nd::ElementIndex entry; ///< the dims outside of entries and updates
  llvm::SmallVector<Place, 4> places;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUSCATTEREMITTER_H
