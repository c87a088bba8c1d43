//===- GpuScatter.h - adding at computed places, on a GPU -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel whose result is that of one scatter op. A *unit* of it is a few
/// neighbouring entries of the scattered dim (or a part of them, where an entry
/// is long). The threads of a unit look at all indices, and sum the updates of
/// those that name one of its entries: side by side along an update, each with
/// the unit's sums in registers, in the type in which elements are computed.
/// Where there are few units, warps and then blocks share the indices of one,
/// and their sums are combined in order. No float is added by atomic
/// operations: the same bits each time.
///
/// The floor is the bytes of indices, updates and result. Beside them, each
/// unit reads all indices, from the caches: an instruction or two for each of
/// them and 32 threads. Counted for an H100 (132 multiprocessors, 4
/// instructions each in a cycle, 1.7 GHz, 3.35 TB/s), unmeasured:
///
///     entries × columns, indices | floor   | looking at indices | adding
///     256 × 24, 131072           |   4 µs  |   1 µs             |  13 µs
///     50304 × 768, 8192          |  54 µs  |  29 µs             |   2 µs
///     50304 × 768, 32768         |  77 µs  | 115 µs             |   7 µs
///
/// where *adding* is a chain of reads of memory, 700 cycles for four updates,
/// by the warps of the most frequent entry. The columns run at the same time.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUSCATTER_H
#define MESHC_LIB_CODEGEN_GPU_GPUSCATTER_H

#include "lib/Codegen/Gpu/GpuGroup.h"
#include "lib/Codegen/KernelLoops.h"
#include "lib/Codegen/ScatterShape.h"

namespace meshc::codegen {

/// Emits such a kernel. A point of the mapping is one thread's place in a unit,
/// a step an index.
class GpuScatter : KernelLoops {
public:
  GpuScatter(const ScatterShape &shape, KernelEmitter &emitter,
             const GpuOptions &options);

  const GpuMapping &getMapping() const { return map; }
  void emit(GpuGroup &group);

private:
  /// Where a thread's elements are in an update and in an entry.
  struct Place {
    nd::ElementIndex index;
    mlir::Value isValid; ///< null: always
  };

  void shareIndices(const GpuOptions &options);
  /// Warps that share the indices of a unit.
  int64_t getWarps() const { return map.getWorkers() * columns / kWarp; }
  /// Indices that they look at at once.
  int64_t getRound() const { return getWarps() * kWarp * map.unroll; }
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

#endif // MESHC_LIB_CODEGEN_GPU_GPUSCATTER_H
