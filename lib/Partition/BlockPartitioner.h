//===- BlockPartitioner.h - the ops of one block on shards ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rebuilds a block with sharded types: that of a function, or the body of a
/// loop (LoopPartitioner.h). The shardings of the block's arguments and of the
/// values at its end are known in advance, so one pass over its ops suffices.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_BLOCKPARTITIONER_H
#define MESHC_LIB_PARTITION_BLOCKPARTITIONER_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Partition/FactorChoice.h"

namespace meshc::partition {

/// The sharding in an attribute that the layout phase left; null if the
/// attribute is null or not the type of a tensor.
nd::TensorType getSharding(mlir::Attribute attribute);

/// Whether the value is used by exactly one op, however often.
bool hasOneUser(mlir::Value value);

/// Rebuilds one block. A value of the old block is known in one or several
/// forms: values of the new block that hold it in different shardings.
class BlockPartitioner {
public:
  /// The new ops go to the end of `made`.
  BlockPartitioner(mlir::Block &old, mlir::Block &made,
                   spmd::ReshardPlanner &planner, nd::MeshAttr mesh)
      : old(old), made(made), planner(planner), mesh(mesh),
        builder(mesh.getContext()) {
    builder.setInsertionPointToEnd(&made);
  }
  virtual ~BlockPartitioner() = default;

  /// Adds an argument with the sharding to the new block; it holds `argument`
  /// of the old one.
  void addArgument(mlir::BlockArgument argument, nd::TensorType sharding);
  /// Sets the sharding of each operand of the terminator.
  void setEnds(llvm::ArrayRef<nd::TensorType> shardings) {
    ends.assign(shardings.begin(), shardings.end());
  }
  /// Rebuilds all ops. Fails, with an error on the op, if one cannot be cut.
  mlir::LogicalResult run();

  /// What the search for an op's sharding knows of its operand `value`.
  virtual OperandForms describe(mlir::Value value);
  /// The value of the new block that holds `value` in the sharding; created on
  /// first use.
  virtual mlir::Value getForm(mlir::Value value, nd::TensorType type);
  /// Whether the value is zero everywhere, so that it is a partial sum, too.
  virtual bool isZero(mlir::Value value);
  /// The sharding in which the value lies unless a user needs another one.
  nd::TensorType getSettled(mlir::Value value) const;
  /// That of an operand of a loop whose result is to lie as `result` says.
  nd::TensorType getSettled(mlir::Value value,
                            const DesiredSharding &result) const;
  const DesiredSharding &getDesired(mlir::Value value) const {
    return desired.find(value)->second;
  }
  /// How often the result is resharded for one execution of its op.
  virtual double getShare(mlir::OpResult) { return 1; }

protected:
  virtual mlir::LogicalResult partition(mlir::Operation &op);
  /// Settles the shardings at the end of the block once its ops are rebuilt.
  virtual void chooseEnds() {}

  mlir::Block &old, &made;
  spmd::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> forms;
  DesiredShardings desired;
  llvm::SmallVector<nd::TensorType> ends;

private:
  mlir::LogicalResult collectDesired(mlir::Operation &op);
  mlir::LogicalResult partitionLoop(nd::ScanOp loop);
  void partitionEnd(mlir::Operation &terminator);
  void addResult(mlir::OpResult result, mlir::Value computed);
  mlir::Value getReduced(mlir::Value value) const;
  double getFormBytes(mlir::Value value, nd::TensorType type);
  mlir::Value recompute(mlir::Operation *op, nd::TensorType type);
  mlir::Value copyFromOperand(mlir::Value value, nd::TensorType type);
  mlir::Value reshard(mlir::Value value, mlir::Value from, nd::TensorType type);
  mlir::StringAttr getCauseName(mlir::Value value);
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_BLOCKPARTITIONER_H
