//===- GpuScatter.h - adding at computed places, on a GPU -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUSCATTER_H
#define MESHC_LIB_CODEGEN_GPU_GPUSCATTER_H

#include "lib/Codegen/Gpu/GpuGroup.h"
#include "lib/Codegen/KernelLoops.h"
#include "lib/Codegen/ScatterShape.h"

namespace meshc::codegen {

/// Emits a kernel whose result is that of one scatter op. A warp owns one entry
/// of the result (or, where entries are long, a part of one). It looks at 32
/// indices at once and adds the updates of those that name its entry, in order,
/// threads side by side along an update: no atomic additions, the same bits
/// each time. Sums are kept in registers, in the type in which elements are
/// computed.
class GpuScatter : KernelLoops {
public:
  GpuScatter(const ScatterShape &shape, KernelEmitter &emitter);

  const GpuMapping &getMapping() const { return map; }
  void emit(GpuGroup &group);

private:
  /// Where a thread's sums belong.
  struct Place {
    nd::ElementIndex index;
    mlir::Value isValid; ///< null: always
  };

  void takeEntry(GpuGroup &group);
  void placeSums(mlir::Value part, mlir::Value member);
  Values scanIndices(mlir::Value member);
  mlir::Value findMatches(mlir::Value first, mlir::Value member);
  Values addMatches(mlir::Value first, mlir::Value mask,
                    llvm::ArrayRef<mlir::Value> sums);
  Values addUpdate(mlir::Value number, llvm::ArrayRef<mlir::Value> sums);
  /// Takes `number` apart into the loops' indices, the last one fastest.
  void setIndices(nd::ElementIndex &index, llvm::ArrayRef<Loop> loops,
                  mlir::Value number, int64_t lanes);

  ScatterShape shape;
  GpuMapping map;
  /// The dims of the indices that the result has, and those that it has not.
  llvm::SmallVector<Loop> kept, scanned;
  int64_t parts = 1;  ///< of an entry, each a warp's
  int64_t chunks = 1; ///< sums of one thread
  int64_t innerCount = 1, scanCount = 1;
  nd::ElementIndex entry; ///< the dims outside of the inner ones
  mlir::Value entryNumber, isEntry;
  llvm::SmallVector<Place, 4> places;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUSCATTER_H
