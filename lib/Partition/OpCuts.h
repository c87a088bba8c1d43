//===- OpCuts.h - the ways to cut the values of an op -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A search of a block asks for the choices of each op many times, with its
/// operands in other forms each time. What does not depend on these forms is
/// found once.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_OPCUTS_H
#define MESHC_LIB_PARTITION_OPCUTS_H

#include "lib/Partition/FactorChoice.h"
#include "lib/Partition/MovedWindows.h"

namespace meshc::partition {

/// What the searches of one op share.
///
/// Axes have numbers here, 0 for none. The ways to cut a value are the nodes of
/// a tree, whose levels are the factors along which the value has a dim, and
/// whose edges are axes for them. A node stands for the axes of each factor
/// above it; the root is 0.
class OpCuts {
public:
  /// `wanted`: of the op's results.
  OpCuts(mlir::Operation *op, llvm::ArrayRef<WantedResult> wanted,
         nd::MeshAttr mesh);

  /// An operand as some axes cut it, in one search.
  struct CutOperand {
    size_t search = 0;    ///< in which the others are known
    nd::TensorType type;  ///< that the op needs; null if it cannot have it so
    nd::TensorType moved; ///< to which its forms are moved for that
    /// What it sends to be there, once in `OperandForms::share` executions of
    /// the op, and at least that much.
    std::optional<double> bytes;
    double leastBytes = 0;
    /// What it takes to make a whole value a part of a sum.
    double work = 0;
  };
  /// A result as some axes cut it.
  struct CutResult {
    size_t search = 0;           ///< in which the others are known
    nd::TensorType type;         ///< that the op makes; null if it cannot
    std::optional<double> bytes; ///< WantedResult::getCost
    double leastBytes = 0;
  };

  /// The number of the axes, in this order.
  unsigned getNumber(const spmd::AxisList &axes);
  const spmd::AxisList &getAxes(unsigned number) const { return lists[number]; }
  /// The node of a value (operands, then results) below `node`.
  unsigned getChild(unsigned value, unsigned node, unsigned axes);
  /// What is known at the node. The reference is valid until the operand, or
  /// the result, has a new node.
  CutOperand &getOperand(unsigned operand, unsigned node);
  CutResult &getResult(unsigned result, unsigned node);
  /// The type that the operand has at the node, where the factors have these
  /// axes; null where an axis would cut it twice.
  nd::TensorType
  getOperandType(unsigned operand, unsigned node,
                 llvm::function_ref<llvm::SmallVector<spmd::AxisList>()> axes);
  /// The number of a search that begins.
  size_t beginSearch() { return ++searches; }
  /// The number of all searches in which no operand stays partial: they know
  /// the same of the results.
  static constexpr size_t withoutSums = ~size_t(0);

  mlir::Operation *const op;
  const nd::PartitionRule rule; ///< with its alternatives
  const MovedWindows movedWindows;
  const double points; ///< of the op on one device
  const bool isProduct;
  const llvm::ArrayRef<WantedResult> wanted;
  bool hasAlternatives = false, hasWindows = false; ///< factors
  /// The values along each factor: operands, then results. A result is also
  /// partial over the axes of a reduced factor.
  std::vector<llvm::SmallVector<unsigned, 4>> valuesAlong;
  /// The values whose cut is decided once so many factors have axes.
  std::vector<llvm::SmallVector<unsigned, 4>> decidedBy;
  /// For each operand, the earlier ones that are the same value.
  llvm::SmallVector<llvm::SmallVector<unsigned, 1>> same;

private:
  struct Tree {
    llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> children;
    unsigned nodes = 1;
  };

  size_t searches = 0;
  llvm::SmallVector<spmd::AxisList> lists;
  std::vector<Tree> trees; ///< by value
  std::vector<std::vector<CutOperand>> operands;
  std::vector<std::vector<CutResult>> results;
  std::vector<std::vector<std::optional<nd::TensorType>>> operandTypes;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_OPCUTS_H
