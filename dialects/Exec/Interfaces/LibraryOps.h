//===- LibraryOps.h - what library ops tell the compiler and ask of it ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The types of ScheduledOpInterface and of LibraryOpInterface.
/// docs/rationale/library-ops.md gives the reasons for them.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_INTERFACES_LIBRARYOPS_H
#define MESHC_DIALECTS_EXEC_INTERFACES_LIBRARYOPS_H

#include "dialects/Nd/NdTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace meshc::exec {

class FusionOp;

/// All dims of a tensor, the outermost first (Order.h).
using Order = llvm::SmallVector<mlir::StringAttr, 4>;

/// Whose functions the calls of a program run in.
enum class Library {
  Host, ///< those of runtime/; scratch memory lies in the arena
  Cuda  ///< those of CUDA, with scratch memory of their own
};

/// One way to compute a library op.
struct LibraryImplementation {
  llvm::StringRef name;
  /// Whether it computes tensors of these types and sizes in these memory
  /// orders. It may still refuse when the program runs, for example if the
  /// processor lacks a feature; then the next one is tried.
  bool accepts;
  int64_t scratchBytes; ///< of the arena, while it runs
};

/// What the call that an op becomes works on.
struct ScheduledCall {
  llvm::SmallVector<mlir::Value> inputs, results; ///< buffers
  mlir::Value scratch;                            ///< null: none is needed
  /// The kernel of a fusion that the op holds, for these buffers; takes the
  /// fusion's body.
  llvm::function_ref<mlir::FlatSymbolRefAttr(
      FusionOp, llvm::ArrayRef<mlir::Value> inputs,
      llvm::ArrayRef<mlir::Value> outputs)>
      getKernel;
  /// Of a collective in a loop: the call belongs to the next iteration.
  bool ahead = false;
};

/// Whether dim `a` comes before dim `b` in the order in which the tensors of a
/// function declare dims.
using DimPrecedence =
    llvm::function_ref<bool(mlir::StringAttr a, mlir::StringAttr b)>;

/// The memory orders of a block while they are chosen, producers first. A value
/// is *pinned* as soon as something relies on its order.
class OrderChooser {
public:
  virtual ~OrderChooser() = default;

  /// The value's order so far.
  virtual Order getOrder(mlir::Value value) = 0;
  /// The order in which the users of a result prefer it, if they do.
  virtual std::optional<Order> getPreferredOrder(mlir::Value result) = 0;
  /// Bytes that are moved if the value gets another order; 1 if it can have any
  /// order at no cost.
  virtual double getChangeCost(mlir::Value value) const = 0;
  virtual bool isBefore(mlir::StringAttr a, mlir::StringAttr b) const = 0;

  /// The orders in which copies of the value exist.
  virtual llvm::SmallVector<Order> getCopies(mlir::Value value) const = 0;
  /// Pins the operand in this order. Replaces it by a copy if its value is
  /// pinned in another one.
  virtual void require(mlir::OpOperand &operand,
                       llvm::ArrayRef<mlir::StringAttr> order) = 0;
  /// The order of a value that nobody prefers in another one: that in which the
  /// function declares its dims.
  virtual Order getDefaultOrder(mlir::Value value) const = 0;
  /// Gives a result an order that later users may still change.
  virtual void suggestOrder(mlir::OpResult result,
                            llvm::ArrayRef<mlir::StringAttr> order) = 0;
  /// Pins a result.
  virtual void setOrder(mlir::OpResult result,
                        llvm::ArrayRef<mlir::StringAttr> order) = 0;
};

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_INTERFACES_LIBRARYOPS_H
