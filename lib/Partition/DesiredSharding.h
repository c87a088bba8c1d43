//===- DesiredSharding.h - how a value lies if its users leave the choice -===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rules of a layout place some dims of a value; the others are *open*. The
/// term, and the propagation of shardings along open dims, are those of Shardy
/// (openxla.org/shardy).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_DESIREDSHARDING_H
#define MESHC_LIB_PARTITION_DESIREDSHARDING_H

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Spmd/Sharding.h"

namespace meshc::partition {

/// The sharding in an attribute that the layout phase left; null if the
/// attribute is null or not the type of a tensor.
nd::TensorType getSharding(mlir::Attribute attribute);

/// What the layout and the users of a value want of its sharding.
struct DesiredSharding {
  DesiredSharding() = default;
  /// Of a value without open dims.
  explicit DesiredSharding(nd::TensorType type) : type(type), preferred(type) {}
  DesiredSharding(nd::TensorType type, spmd::AxisList open)
      : type(type), preferred(type), open(std::move(open)) {}

  bool isOpen(mlir::StringAttr dim) const {
    return llvm::is_contained(open, dim);
  }
  /// Enters that users want the open dim cut over `axes`, instead of what was
  /// entered before. A wish for an axis of another dim is dropped.
  void prefer(mlir::StringAttr dim, llvm::ArrayRef<mlir::StringAttr> axes);
  /// The same for all dims that are cut in `wish`, which may be null.
  void prefer(nd::TensorType wish);
  /// The reduced sharding that the value takes once it was computed as `made`:
  /// placed dims as the layout wants them, or cut further where `made` is and
  /// mayCutFurther allows it, open ones as they are. Open dims take axes over
  /// which `made` is partial if the users want it: a reduce-scatter is cheaper
  /// than an all-reduce.
  nd::TensorType settle(nd::TensorType made) const;

  nd::TensorType type;      ///< open dims whole; null if unknown
  nd::TensorType preferred; ///< open dims as the users want them
  spmd::AxisList open;      ///< names of dims
  /// Whether a placed dim may also be cut by axes behind those of its rule, if
  /// the rule names any: `ffn -> cols` holds where (cols, rows) cut ffn. So it
  /// is in blocks where axes move (searchBlock), and where the limit for moves
  /// is raised.
  bool mayCutFurther = false;

private:
  nd::TensorType cutFurther(nd::TensorType settled, nd::TensorType made) const;
};

/// The sharding of a partial sum `made` after reduce-scatters that cut its dims
/// as `placed` does.
///
/// - A dim is scattered where `placed` cuts it over axes of the sum. If `made`
///   cuts the dim over axes that `placed` does not name, these stay, and those
///   of the sum come behind them.
/// - A dim is left alone if `placed` cuts it over an axis of another dim.
/// - The result is still a sum over the axes that cut no dim in `placed`.
///
/// A type that is no partial sum is returned as it is.
nd::TensorType scatterSum(nd::TensorType made, nd::TensorType placed);

/// The desired shardings of the values of one block.
using DesiredShardings = llvm::DenseMap<mlir::Value, DesiredSharding>;

/// What the layout wants of the result: the attributes that it left on the op.
/// Nothing if it left none, or those of another type.
std::optional<DesiredSharding> readDesired(mlir::OpResult result);

/// Lets the ops of the block, from the last to the first, pass the wishes for
/// their results on to the open dims of their operands. Time is linear in the
/// ops. Of several users, the first in program order that wants a dim cut
/// decides.
void propagatePreferences(mlir::Block &block, DesiredShardings &desired);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_DESIREDSHARDING_H
