//===- AttentionEmitter.h - the code of attention on GPUs -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_ATTENTIONEMITTER_H
#define MESHC_LIB_CODEGEN_GPU_ATTENTIONEMITTER_H

#include "lib/Codegen/Gpu/GpuAttention.h"

namespace meshc::codegen {

/// A tensor of an attention; without one, the pointer is null.
struct AttentionTensor {
  mlir::Value pointer;
  mlir::Type elementType;
  const MeshcAttentionStrides *strides = nullptr;
};

/// Emits the code of one kernel: places, scores and the forward pass in
/// GpuAttention.cpp, which tiles are computed in AttentionRanges.cpp, the
/// gradient in AttentionGradient.cpp.
class AttentionEmitter : TileEmitter {
public:
  AttentionEmitter(const AttentionPlan &plan, KernelElements &emitter,
                   GpuGroup &group, mlir::ValueRange buffers);

  void emitForward();
  void emitGradient();

private:
  /// An index along each outer dim; null where the dim plays no part.
  using Outer = llvm::SmallVector<mlir::Value>;
  /// What a block holds: entries of the rows or of the memory.
  struct Held {
    bool isRows = true;
    mlir::Value first; ///< entry of the tile's first one
    Outer outer;
  };
  /// Numbers of rows in workgroup memory.
  struct RowNumbers {
    mlir::Value logSums, products; ///< products: of output and its gradient
  };

  void countEntries();
  mlir::Value getRowCount();
  mlir::Value doesExist(const Held &held);
  mlir::Value getEndIfExists(const Held &held, mlir::Value end);
  Outer split(mlir::Value number, int64_t begin, int64_t end);
  mlir::Value getPlace(const AttentionTensor &tensor, const Outer &outer);
  GlobalEntries getEntries(const AttentionTensor &tensor, const Outer &outer,
                           mlir::Value first, bool areRows);
  Held takeHeld(mlir::Value block, bool isRows);
  bool variesBeyondShared(const AttentionTensor &tensor) const;
  bool trimsByMask(const Held &held) const;
  bool trimsByLabels() const;
  std::pair<mlir::Value, mlir::Value> getAllowedEntries(const Held &held);
  std::pair<mlir::Value, mlir::Value> getHeldLabels(const Held &held,
                                                    mlir::Value lane);
  mlir::Value mayAllow(mlir::Value label, bool isRow,
                       std::pair<mlir::Value, mlir::Value> held);
  mlir::Value compareLabels(mlir::Value ofMemory, mlir::Value ofRow);
  mlir::Value getLabel(bool isRow, const Outer &outer, mlir::Value entry);
  mlir::Value
  combineWarp(mlir::Value value,
              llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>);
  std::pair<mlir::Value, mlir::Value> getStreamedTiles(const Held &held);
  mlir::Value isAllowed(mlir::Value row, mlir::Value entry);
  Values finishScores(llvm::ArrayRef<mlir::Value> products, const Held &held,
                      mlir::Value streamedFirst,
                      llvm::SmallVectorImpl<mlir::Value> &allowed);
  Values emitSoftmax(llvm::ArrayRef<mlir::Value> scores,
                     llvm::ArrayRef<mlir::Value> carried,
                     llvm::SmallVectorImpl<mlir::Value> &factors);
  void storeRows(llvm::ArrayRef<mlir::Value> carried, const Held &held);
  void loadRowNumbers(const RowNumbers &numbers, const Outer &outer,
                      mlir::Value first, int64_t entries);
  Values getScoreGradients(llvm::ArrayRef<mlir::Value> probabilities,
                           llvm::ArrayRef<mlir::Value> products,
                           llvm::ArrayRef<mlir::Value> allowed,
                           const RowNumbers &numbers, bool rowsAreHeld);
  Values getProbabilities(llvm::ArrayRef<mlir::Value> scores,
                          llvm::ArrayRef<mlir::Value> allowed,
                          const RowNumbers &numbers, bool rowsAreHeld);
  void storeHeldSlopes(const Held &held, mlir::Value first);
  void emitForBlocks(mlir::Value block, int64_t count,
                     llvm::function_ref<void(mlir::Value)> first,
                     llvm::function_ref<void(mlir::Value)> others);
  void emitQueryGradient(mlir::Value block);
  void emitMemoryGradients(mlir::Value block);
  void emitBiasGradient(mlir::Value block);
  Values addDistances(const Held &held, mlir::Value first, mlir::Value distance,
                      llvm::ArrayRef<mlir::Value> carried);
  mlir::Value exp(mlir::Value x);

  const AttentionPlan &plan;
  const MeshcAttention &call;
  AttentionTensor query, keys, values, mask, bias, output, logSums, gradient;
  AttentionTensor rowLabels, memoryLabels;
  std::optional<nd::Predicate> predicate; ///< of the labels
  AttentionTensor ofQuery, ofKeys, ofValues, ofBias;
  mlir::Value firstRow; ///< global index of this rank's first row
  /// How many rows, and entries of each outer dim, exist on this rank; null if
  /// the block is full on every rank.
  mlir::Value existingRows;
  Outer existingOuter;
  Tile heldKeys, heldValues, streamedKeys, streamedValues, scores;
  RowNumbers numbers;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_ATTENTIONEMITTER_H
