//===- GpuSortEmitter.h - long rows sorted by digits, on a GPU --*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUSORTEMITTER_H
#define MESHC_LIB_CODEGEN_GPU_GPUSORTEMITTER_H

#include "lib/Codegen/Gpu/GpuGroup.h"
#include "lib/Codegen/SortEmitter.h"

namespace meshc::codegen {

/// Emits a sort in which a block has a row: by one digit of four bits after
/// another, the lowest first, each time stable (radix sort; D. Knuth, The Art
/// of Computer Programming 3, 5.2.5). Each thread has a piece of the row. Time
/// grows as the number of entries.
class GpuSortEmitter : SortEmitter {
public:
  GpuSortEmitter(const SortShape &shape, KernelElements &emitter);

  /// Whether rows are so long that this takes less time than to compare each
  /// entry with all others, and so few that their entries fit in memory of the
  /// kernel.
  static bool isBetterFor(const SortShape &shape);

  const GpuMapping &getMapping() const { return map; }
  void emit(GpuGroup &group);

private:
  using EntryBody = llvm::function_ref<void(mlir::Value entry)>;

  void emitPass(int64_t digit);
  void forOwnEntries(int64_t digit, EntryBody body);
  mlir::Value getDigitCount(mlir::Value entry, int64_t digit);
  void countDigits(int64_t digit);
  void sumCounts();
  void moveEntries(int64_t digit);
  mlir::Value loadCount(mlir::Value place);
  void storeCount(mlir::Value count, mlir::Value place);

  GpuMapping map;
  GpuGroup *group = nullptr;
  mlir::Value first;        ///< of the row's entries in memory of the kernel
  mlir::Value entries[2];   ///< entries after a pass
  mlir::Value counts, sums; ///< in the block's memory
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUSORTEMITTER_H
