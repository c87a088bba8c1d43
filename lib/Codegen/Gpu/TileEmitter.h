//===- TileEmitter.h - products of tiles in workgroup memory ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a kernel of attention is made of: tiles of tensors in workgroup memory,
/// in f32, and their products in the registers of a block's threads. The
/// threads form a grid (AttentionTiles). The thread at (y, x) has the held
/// entries y, y + 16, y + 32 … and the streamed entries x, x + 8, x + 16 …; of
/// the elements of an entry it has four from 4 x on, of each 32.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_TILEEMITTER_H
#define MESHC_LIB_CODEGEN_GPU_TILEEMITTER_H

#include "dialects/Exec/AttentionTiles.h"
#include "lib/Codegen/Gpu/GpuGroup.h"
#include "lib/Codegen/LoopEmitter.h"

namespace meshc::codegen {

/// Entries of a tensor in global memory, one element after another.
struct GlobalEntries {
  mlir::Value pointer;
  mlir::Type elementType;
  mlir::Value first;  ///< element number of the first entry
  int64_t stride = 0; ///< elements between entries
  mlir::Value count;  ///< entries that there are; may be negative: none
};

class TileEmitter : public LoopEmitter {
public:
  /// Entries in workgroup memory; elements up to the next multiple of four are
  /// zero.
  struct Tile {
    mlir::Value memory;
    int64_t entries = 0, size = 0, stride = 0;
  };

  /// `lanes`: elements of an access to global memory, 4 or 1.
  TileEmitter(KernelElements &emitter, GpuGroup &group,
              const exec::AttentionTiles &tiles, int64_t lanes);

  Tile allocateTile(int64_t entries, int64_t size);
  /// One row for each held entry, of a number for each streamed one.
  Tile allocateScores();

  /// Copies entries into the tile; those that do not exist become zeros. All
  /// threads of the block take part. Barriers are the caller's.
  void load(const Tile &tile, const GlobalEntries &from);
  /// The products of this thread's entries, summed over their elements: the
  /// streamed ones of the first held one, then those of the next.
  Values multiply(const Tile &held, const Tile &streamed);
  /// Writes such numbers into a tile of scores.
  void storeScores(const Tile &scores, llvm::ArrayRef<mlir::Value> numbers);
  /// Zeros for addProducts.
  Values makeSums(const Tile &streamed);
  /// Adds to this thread's elements of each held entry the sum over the
  /// streamed ones of scores · elements.
  Values addProducts(const Tile &scores, const Tile &streamed,
                     llvm::ArrayRef<mlir::Value> sums);
  /// Multiplies the elements of held entry n by factors[n].
  Values scaleSums(llvm::ArrayRef<mlir::Value> sums,
                   llvm::ArrayRef<mlir::Value> factors);
  /// Writes the sums to their places, where the entries exist.
  void storeSums(llvm::ArrayRef<mlir::Value> sums, const GlobalEntries &to,
                 int64_t size);

  /// Numbers of this thread's entries within a tile.
  mlir::Value getHeld(int64_t n) const { return heldNumbers[n]; }
  mlir::Value getStreamed(int64_t n) const { return streamedNumbers[n]; }
  mlir::Value getThread() const { return thread; }
  /// Whether the thread is the first of those that have the same held entries.
  mlir::Value isFirstOfRow();
  /// Combines a number with those of the threads with the same held entries,
  /// or with those of `width` neighbours.
  mlir::Value
  combineRow(mlir::Value value,
             llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine,
             int64_t width = exec::AttentionTiles::streamedThreads);

  // Arithmetic on indices and on f32.

  mlir::Value index(int64_t value) { return emitter.getIndexConstant(value); }
  mlir::Value number(double value);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  mlir::Value minus(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, int64_t b) { return times(a, index(b)); }
  mlir::Value smaller(mlir::Value a, mlir::Value b);  ///< of integers, signed
  mlir::Value larger(mlir::Value a, mlir::Value b);   ///< of integers, signed
  mlir::Value clamp(mlir::Value at, mlir::Value end); ///< within [0, end]
  mlir::Value isLess(mlir::Value a, mlir::Value b);   ///< of indices, signed
  mlir::Value both(mlir::Value a, mlir::Value b); ///< and; null counts as true
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// Emits `code` under the condition.
  void emitIf(mlir::Value condition, llvm::function_ref<void()> code);

  /// An element, or `count` of them, as f32.
  mlir::Value loadGlobal(mlir::Value pointer, mlir::Type elementType,
                         mlir::Value at, int64_t count = 1);
  void storeGlobal(mlir::Value pointer, mlir::Type elementType, mlir::Value at,
                   mlir::Value value);
  mlir::Value loadLocal(mlir::Value memory, mlir::Value at, int64_t count = 1);
  void storeLocal(mlir::Value memory, mlir::Value at, mlir::Value value);

protected:
  GpuGroup &group;
  exec::AttentionTiles tiles;
  int64_t lanes;

private:
  int64_t getPieces(int64_t size) const { return (size + 31) / 32; }
  mlir::Value getAddress(mlir::Value pointer, mlir::Type type, mlir::Value at);
  mlir::Value extract(mlir::Value vector, int64_t lane);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);

  mlir::Value thread, row, column; ///< in the grid
  Values heldNumbers, streamedNumbers;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_TILEEMITTER_H
