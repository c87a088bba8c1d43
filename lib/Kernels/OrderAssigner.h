//===- OrderAssigner.h - the memory orders of a function ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The memory orders of all values of a function. Each block is walked once,
/// producers first. A value is *pinned* as soon as something relies on its
/// order; until then a later user may still change it.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_ORDERASSIGNER_H
#define MESHC_LIB_KERNELS_ORDERASSIGNER_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Kernels/DimOrder.h"

namespace meshc::kernels {

/// Chooses the orders, sets `exec.orders` of all ops and inserts fusions that
/// copy a tensor into another order.
class OrderAssigner : private exec::OrderChooser {
public:
  explicit OrderAssigner(mlir::func::FuncOp function)
      : function(function), mesh(nd::MeshAttr::of(function)),
        dimOrder(function), builder(function.getContext()) {}

  void run();

private:
  using Dims = llvm::ArrayRef<mlir::StringAttr>;

  /// The orders of all ops of a block whose arguments have theirs.
  void assignBlock(mlir::Block &block);
  void assignReturn(mlir::func::ReturnOp op);

  /// The order in which users prefer a value; nothing if they do not mind.
  std::optional<exec::Order> getWantedOrder(mlir::Value value,
                                            unsigned depth = 0);
  /// The same for one use.
  std::optional<exec::Order> getWantedOrder(mlir::OpOperand &use,
                                            unsigned depth);
  std::optional<exec::Order> getOrderBeside(mlir::OpOperand &use) const;
  std::optional<exec::Order> getOrderBehind(mlir::OpOperand &use,
                                            unsigned depth);
  std::optional<exec::Order> getOrderOfChanged(mlir::OpOperand &use,
                                               unsigned depth);

  // What the ops of a block ask for.
  exec::Order getOrder(mlir::Value value) override { return orders[value]; }
  std::optional<exec::Order> getPreferredOrder(mlir::Value result) override {
    return getWantedOrder(result);
  }
  bool isBefore(mlir::StringAttr a, mlir::StringAttr b) const override {
    return dimOrder.isBefore(a, b);
  }
  exec::Order getDefaultOrder(mlir::Value value) const override {
    return dimOrder.sort(value);
  }
  void suggestOrder(mlir::OpResult result, Dims order) override;
  void setOrder(mlir::OpResult result, Dims order) override;
  llvm::SmallVector<exec::Order> getCopies(mlir::Value value) const override;
  /// Pins the operand's value in the order, after a copy if it is pinned in
  /// another one.
  void require(mlir::OpOperand &operand, Dims order) override;
  mlir::Value copy(mlir::Value value, Dims order, mlir::Operation *before);
  /// Bytes that are read and written, each time that the value's block runs, if
  /// its order changes; a value that is not pinned counts as one byte.
  double getChangeCost(mlir::Value value) const override;
  double getBytes(mlir::Value value) const {
    return nd::getTensorType(value).getLocalBytes(mesh);
  }

  // Loops (LoopOrders.cpp).
  void assignScan(nd::ScanOp scan);
  void beginTie(nd::ScanOp scan, const nd::Tie &tie);
  void endTie(nd::ScanOp scan, const nd::Tie &tie);
  void assignYield(nd::YieldOp yield);
  mlir::Value chooseEntry(mlir::Value yielded, mlir::OpResult result) const;
  std::optional<exec::Order>
  getWantedOperand(nd::ScanOp scan, mlir::OpOperand &use, unsigned depth);
  std::optional<exec::Order> getWantedYield(mlir::OpOperand &use,
                                            unsigned depth);

  mlir::func::FuncOp function;
  nd::MeshAttr mesh;
  DimOrder dimOrder;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, exec::Order> orders;
  /// Values whose order something relies on.
  llvm::DenseSet<mlir::Value> pinned;
  /// Copies of values in other orders, all in the value's block.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> copies;
  /// getChangeCost of the arguments of loop bodies.
  llvm::DenseMap<mlir::Value, double> argumentCosts;
};

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_ORDERASSIGNER_H
