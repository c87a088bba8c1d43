//===- GpuScatterEmitter.h - adding at computed places, on a GPU ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel that returns the result of one scatter op, whose indices have an
/// order. In that order, indices that name one entry are neighbours: a *run*.
/// A *walker* is some threads side by side along an update, or along a part of
/// a long one. It goes through a piece of the order and sums runs in
/// registers. It stores what it sums of runs that begin and end in its piece,
/// and passes on the sums of its first and of its last run. What all walkers
/// pass on is a sequence that is sorted like the order, and is summed in the
/// same way by fewer walkers: those of a block through its memory, those of
/// all blocks by the last block, until one walker stores all (a segmented sum
/// as in G. E. Blelloch, Prefix Sums and Their Applications, 1990, by pieces).
///
/// So the kernel reads each update once, and reads and writes the entries that
/// are named, if its result lies where its table does. A run may be as long as
/// all indices: all walkers share it. No float is added by an atomic
/// operation, and pieces do not depend on timing: every run gives the same
/// bits.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUSCATTEREMITTER_H
#define MESHC_LIB_CODEGEN_GPU_GPUSCATTEREMITTER_H

#include "lib/Codegen/Gpu/GpuGroup.h"
#include "lib/Codegen/LoopEmitter.h"
#include "lib/Codegen/ScatterShape.h"

namespace meshc::codegen {

/// Emits such a kernel. A point of the mapping is a thread's place in an
/// update; a member is a walker, and a step a place of the order.
class GpuScatterEmitter : LoopEmitter {
public:
  GpuScatterEmitter(const ScatterShape &shape, KernelElements &emitter,
                    const GpuOptions &options);

  const GpuMapping &getMapping() const { return map; }
  void emit(GpuGroup &group);

private:
  /// Sums by entry, sorted by entry. Several may belong to one entry.
  struct Sums {
    int64_t count = 0;
    /// Of number `n` (`index`): the index that names the entry (i32), and the
    /// sum.
    std::function<mlir::Value(mlir::Value n)> getName, getSum;
  };
  struct NameAt {
    mlir::Value number, name;
  };
  /// Memory for such sums, of all threads of a walker.
  struct Rows {
    int64_t count = 0;
    mlir::Value names, sums;
    mlir::Value first; ///< number of the first row; null: 0
    bool isGlobal = false;
  };
  /// The sums of a walker's first and last run.
  struct Ends {
    mlir::Value firstName, firstSum, lastName, lastSum;
  };

  void chooseMapping(const GpuOptions &options);
  int64_t getPieceLength() const;
  void placeThread(mlir::Value point);
  void emitOthers(mlir::Value worker);
  mlir::Value findName(mlir::Value wanted);

  Sums getUpdates();
  mlir::Value getUpdate(const nd::ElementIndex &index);
  Sums getSums(const Rows &rows);
  Rows allocateRows(int64_t count);
  Rows allocateGlobalRows(int64_t count);
  mlir::Value getRow(const Rows &rows, mlir::Value number);
  void storeEnds(const Rows &rows, mlir::Value walker, const Ends &ends);
  NameAt readName(const Sums &sums, mlir::Value number);
  void walk(const Sums &sums, mlir::Value walker, int64_t length,
            const Rows *into, mlir::Value slot);
  Values addToRun(mlir::Value name, mlir::Value sum,
                  llvm::ArrayRef<mlir::Value> carried);
  void combineRows(Rows rows, const Rows *into, mlir::Value slot);
  void storeSum(mlir::Value name, mlir::Value sum);
  void store(mlir::Value entry, mlir::Value element);

  mlir::Value isEqual(mlir::Value a, mlir::Value b);
  mlir::Value isBelow(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value scale(mlir::Value a, int64_t b);
  mlir::Value constant(int64_t value);
  mlir::Value getZero();
  void emitIf(mlir::Value condition, llvm::function_ref<void()> code);

  ScatterShape shape;
  GpuMapping map;
  int64_t innerCount = 1; ///< elements (or vectors) of an update
  int64_t columns = 1;    ///< threads side by side along an update, 2^n
  int64_t parts = 1;      ///< of an update, each another walker's

  GpuGroup *group = nullptr; ///< of the code that is being emitted
  mlir::Value unit;          ///< number of the part of an update
  mlir::Value column;
  mlir::Value isValid;    ///< whether the thread has an element; null: always
  mlir::Value firstIndex; ///< i32: the index that names the rank's first entry
  nd::ElementIndex place; ///< of the thread in entries and updates
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUSCATTEREMITTER_H
