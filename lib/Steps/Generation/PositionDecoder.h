//===- PositionDecoder.h - a model's values at one position ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rebuilds the ops from which a value is computed, for one position of a text
/// or for a block of neighbours. The dim of the positions disappears, or the
/// block's takes its place, and what later positions need of a step becomes
/// its caches.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_GENERATION_POSITIONDECODER_H
#define MESHC_LIB_STEPS_GENERATION_POSITIONDECODER_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Steps/Generation/PositionDims.h"
#include "llvm/ADT/StringSet.h"

namespace meshc::steps {

/// A tensor that a step updates for the steps of later positions: the keys of
/// an attention, or the state of a recurrence.
struct DecodingCache {
  mlir::StringAttr name;
  llvm::SmallVector<mlir::Attribute> order; ///< names of dims
  mlir::Value current;      ///< when the step or iteration begins
  mlir::Value updated = {}; ///< when it ends
  unsigned outer = 0; ///< in a loop: the number of the cache around the loop
};

/// A block that is being rebuilt: that of the function, or the body of a loop
/// over another dim than the positions.
struct DecodingBlock {
  /// An operand of a loop, and the argument of `block` that stands for it.
  using Operand = std::pair<mlir::Value, mlir::Value>;

  mlir::Block *block;              ///< new
  DecodingBlock *parent = nullptr; ///< null for the function
  nd::ScanOp scan = {};            ///< old; null for the function
  mlir::Value position = {};       ///< i32; null until it is needed
  llvm::SmallVector<DecodingCache> caches = {};
  llvm::SmallVector<Operand> stacked = {}, whole = {};
};

/// The type that a value has at the position along `dims`, or at those of the
/// dim `span`, if it is not null.
nd::TensorType getTypeAtPositions(nd::TensorType type,
                                  llvm::ArrayRef<mlir::StringAttr> dims,
                                  nd::DimAttr span);

class PositionDecoder : private nd::PositionBuilder {
public:
  /// Rebuilds in `block`, a function's. `position`, a scalar i32, is the
  /// position along the dim `positions`; with `span`, a dim that no value has,
  /// an i32 for each of its entries. There may be a recurrence over positions
  /// without `span` only.
  PositionDecoder(mlir::Block &block, mlir::Value position,
                  mlir::StringAttr positions, nd::DimAttr span,
                  const PositionDims &varying);
  ~PositionDecoder() override;

  /// From now on, `value` of the old function without the dims `dims` is `at`.
  void define(mlir::Value value, llvm::ArrayRef<mlir::StringAttr> dims,
              mlir::Value at);
  /// The value at the position along `dims`, among which are those of
  /// PositionDims, and whole along its other dims. Fails with an error at the
  /// op that cannot be computed one position after the other.
  mlir::FailureOr<mlir::Value> get(mlir::Value value,
                                   llvm::ArrayRef<mlir::StringAttr> dims);
  /// Computes what the caches are after the step. Call it last.
  mlir::FailureOr<llvm::ArrayRef<DecodingCache>> finish();

private:
  using Names = llvm::ArrayRef<mlir::StringAttr>;
  using MaybeValue = mlir::FailureOr<mlir::Value>;
  using Key = std::pair<mlir::Value, mlir::Attribute>;

  /// A value at the position along dims.
  struct Need {
    mlir::Value value;
    llvm::SmallVector<mlir::StringAttr> dims;
  };

  // What ops ask for (PositionBuilder.h).
  mlir::StringAttr getPositions() const override { return positions; }
  Names getPositionDims(mlir::Value value) const override {
    return varying.of(value);
  }
  mlir::OpBuilder getBuilder(mlir::OpResult result) override {
    return builderAt(result);
  }
  mlir::Value getPosition(mlir::OpResult result) override {
    return getPosition(blockOf(result));
  }
  MaybeValue getOperand(mlir::Operation *op, mlir::Value operand,
                        Names dims) override;
  mlir::Value getCached(mlir::Value operand) const override {
    return extended.lookup(operand);
  }
  mlir::Value addCache(mlir::OpResult result, mlir::Value operand,
                       mlir::Value entry, mlir::StringAttr along,
                       llvm::StringRef name,
                       llvm::ArrayRef<mlir::Attribute> order) override;

  // PositionDecoder.cpp: ops
  void addNeeds(const Need &need, llvm::SmallVector<Need> &open);
  llvm::SmallVector<mlir::StringAttr>
  getDimsOf(mlir::OpResult result, unsigned index, Names dims) const;
  Key getKey(mlir::Value value, Names dims) const;
  DecodingBlock &blockOf(mlir::Value value);
  mlir::OpBuilder builderAt(mlir::Value value);
  mlir::Value getPosition(DecodingBlock &block);
  MaybeValue compute(mlir::Value value, Names dims);
  MaybeValue computeArgument(mlir::BlockArgument argument, Names dims);
  MaybeValue computeOp(mlir::OpResult result, Names dims);
  bool isEntrywise(mlir::OpResult result, Names dims) const;
  mlir::Value clone(mlir::OpResult result, mlir::ValueRange operands,
                    Names dims);
  mlir::Value take(mlir::Value value, Names dims, mlir::Value near);

  // DecodeLoops.cpp
  MaybeValue computeScan(nd::ScanOp scan, mlir::OpResult result);
  MaybeValue computeRecurrence(nd::ScanOp scan, mlir::OpResult result);
  mlir::LogicalResult beginRecurrence(nd::ScanOp scan);
  mlir::LogicalResult rebuildScan(nd::ScanOp scan);
  void closeScan(DecodingBlock &body, mlir::ValueRange carried,
                 mlir::ValueRange yielded);
  /// Adds a cache to the block and those around it; its number in the block.
  unsigned addCache(DecodingBlock &block, nd::TensorType type,
                    llvm::StringRef name, llvm::ArrayRef<mlir::Attribute> order,
                    mlir::Location loc);
  static mlir::Value addOperand(DecodingBlock &block,
                                llvm::SmallVector<DecodingBlock::Operand> &list,
                                mlir::Value operand, mlir::Type type);
  mlir::LogicalResult finishStates(DecodingBlock &block);

  /// The carried value of a recurrence over positions.
  struct State {
    DecodingBlock *block;
    unsigned cache;
    mlir::Value yielded; ///< old
  };

  mlir::StringAttr positions;
  nd::DimAttr span;
  const PositionDims &varying;
  DecodingBlock function;
  /// By old block. The body of a recurrence is computed in the block around it.
  llvm::DenseMap<mlir::Block *, DecodingBlock *> blocks;
  std::vector<std::unique_ptr<DecodingBlock>> bodies;
  llvm::DenseMap<Key, mlir::Value> values;
  llvm::DenseMap<mlir::Value, mlir::Value> extended; ///< by old value
  llvm::SmallVector<State> states;
  llvm::StringSet<> names; ///< of caches
};

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_GENERATION_POSITIONDECODER_H
