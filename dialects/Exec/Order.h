//===- Order.h - memory orders and the matrix products they allow ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A memory order lists all dims of a tensor, the outermost first; the tensor
/// is dense and row-major in that order. The orders of the three tensors alone
/// decide whether a contraction is one (batched) matrix product of the runtime.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_ORDER_H
#define MESHC_DIALECTS_EXEC_ORDER_H

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/Ops/ContractionOps.h"

namespace meshc::exec {

/// Discardable op attribute: an array with the memory order of each result.
inline constexpr llvm::StringLiteral ordersAttrName = "exec.orders";

/// The memory order of a value after the kernels phase: `exec.orders` of its
/// defining op or `nd.order` of a function argument. The argument of a loop's
/// body follows its tie: a carried one has the order of the result, a whole one
/// that of the operand, and a stacked one that of the operand without the
/// loop's dim. Nothing if the attribute is absent.
std::optional<Order> getOrder(mlir::Value value);

/// Order as attribute and back.
mlir::ArrayAttr getOrderAttr(mlir::MLIRContext *context,
                             llvm::ArrayRef<mlir::StringAttr> order);
Order getOrder(mlir::ArrayAttr attr);

/// Sets `exec.orders`, one order for each result.
void setOrders(mlir::Operation *op, llvm::ArrayRef<Order> orders);

/// Whether each result has a memory order that names each of its dims once; an
/// error if not.
llvm::LogicalResult verifyOrders(mlir::Operation *op);

/// Elements between neighbours along the dim in a dense local block; 0 if the
/// type does not have the dim.
int64_t getStride(nd::TensorType type, llvm::ArrayRef<mlir::StringAttr> order,
                  llvm::StringRef dim, nd::MeshAttr mesh);

/// Dims of a contraction of two tensors by their role.
struct ProductDims {
  llvm::SmallVector<mlir::StringAttr, 2> batch; ///< of all three tensors
  llvm::SmallVector<mlir::StringAttr, 2> m;     ///< of `a` and the result
  llvm::SmallVector<mlir::StringAttr, 2> n;     ///< of `b` and the result
  llvm::SmallVector<mlir::StringAttr, 2> k;     ///< of `a` and `b` alone
  /// Dims of one factor and the result along which the product is repeated with
  /// all of the other factor: batch dims that this one lacks.
  llvm::SmallVector<mlir::StringAttr, 2> repeatedA, repeatedB;

  /// The einsum must have two operands and reduce only dims that both have. The
  /// dims are sorted by name.
  static ProductDims of(nd::EinsumOp product);

  /// The same product, repeated along those dims of `a` (operand 0) or `b` (1)
  /// that lie outside of all of k in this memory order, as experts in a weight
  /// [experts, k, n] of all tokens. Nothing if there are none, or batch dims.
  std::optional<ProductDims>
  repeatOutside(unsigned operand, llvm::ArrayRef<mlir::StringAttr> order) const;
};

/// The parameters of an exec.gemm.
struct ProductShape {
  /// The first matrix is `b` and the second `a`: the product computes the
  /// transposed result, whose rows are `n`.
  bool isSwapped = false;
  bool transA = false, transB = false;
  /// m, n, k, lda, ldb, ldc, batch, strideA, strideB, strideC.
  llvm::SmallVector<int64_t, 10> sizes;
  /// The dim of k whose blocks may have padding; null without one.
  mlir::StringAttr cut;

  /// The product in the memory orders that its tensors have.
  static std::optional<ProductShape> of(nd::EinsumOp product);

  /// The product of `a` and `b` into the result in these memory orders, perhaps
  /// repeated with all of one of them; nothing if it is not one (batched)
  /// product, or if a shorter k would not leave out
  /// what is padding along k.
  static std::optional<ProductShape>
  of(nd::EinsumOp product, llvm::ArrayRef<mlir::StringAttr> orderA,
     llvm::ArrayRef<mlir::StringAttr> orderB,
     llvm::ArrayRef<mlir::StringAttr> orderC);
};

/// The ABI's description of a product with the sizes of a ProductShape, of
/// factors and a result of these element types; without scratch memory.
MeshcGemm describeProduct(llvm::ArrayRef<int64_t> sizes, bool transA,
                          bool transB, mlir::Type factorType,
                          mlir::Type resultType);

/// Whether a tensor in this order is a batch of matrices: each of the three
/// groups of dims, in the given order, can be walked with one stride, and
/// `rows` or `columns` has stride 1.
bool isMatrix(nd::TensorType type, llvm::ArrayRef<mlir::StringAttr> order,
              llvm::ArrayRef<mlir::StringAttr> batch,
              llvm::ArrayRef<mlir::StringAttr> rows,
              llvm::ArrayRef<mlir::StringAttr> columns, nd::MeshAttr mesh);

/// The dims of the type among `group` whose blocks have padding on some rank.
llvm::SmallVector<mlir::StringAttr, 2>
getUnevenDims(nd::TensorType type, llvm::ArrayRef<mlir::StringAttr> group,
              nd::MeshAttr mesh);

/// The dims of `order` that are in `group`, in the sequence of `order`.
Order restrictOrder(llvm::ArrayRef<mlir::StringAttr> order,
                    llvm::ArrayRef<mlir::StringAttr> group);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_ORDER_H
