//===- PositionBuilder.h - values at one position of a text -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an op asks of the function that computes one position of a text, or a
/// block of neighbours, while it is built (PositionOpInterface). `dims` are the
/// dims of a value that have the positions: the built value has the entries of
/// the position along them, and lacks these dims.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_INTERFACES_POSITIONBUILDER_H
#define MESHC_DIALECTS_ND_INTERFACES_POSITIONBUILDER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace meshc::nd {

/// A step of generation while it is built from the ops for all positions. *Old*
/// values are those for all positions.
class PositionBuilder {
public:
  using Dims = llvm::ArrayRef<mlir::StringAttr>;

  virtual ~PositionBuilder() = default;

  /// The dim of the positions in the tokens, for messages.
  virtual mlir::StringAttr getPositions() const = 0;
  /// The dims of an old value along which its entries belong to positions.
  virtual Dims getPositionDims(mlir::Value value) const = 0;

  /// Builds where the old result is computed.
  virtual mlir::OpBuilder getBuilder(mlir::OpResult result) = 0;
  /// The position there: an i32, or one for each position of a block.
  virtual mlir::Value getPosition(mlir::OpResult result) = 0;
  /// The operand of an old op at the position along `dims`. Fails with an error
  /// at the op if it varies along further dims.
  virtual mlir::FailureOr<mlir::Value>
  getOperand(mlir::Operation *op, mlir::Value operand, Dims dims) = 0;

  /// What addCache has made of the operand; null if it has not been called.
  virtual mlir::Value getCached(mlir::Value operand) const = 0;
  /// The operand of an old op with the entries of all positions so far along
  /// `along`: earlier ones from a cache, that of the position is `entry`.
  /// `name` is a part of the cache's name, `order` its memory order, names of
  /// dims.
  virtual mlir::Value addCache(mlir::OpResult result, mlir::Value operand,
                               mlir::Value entry, mlir::StringAttr along,
                               llvm::StringRef name,
                               llvm::ArrayRef<mlir::Attribute> order) = 0;
};

/// The dims of an operand along which its entries are those of the result along
/// `dims`, by the op's partition rule.
llvm::SmallVector<mlir::StringAttr> getDimsByRule(mlir::OpResult result,
                                                  unsigned operand,
                                                  PositionBuilder::Dims dims);

/// Whether the op computes each entry of the result along `dims` by itself, by
/// its partition rule.
bool isParallelByRule(mlir::OpResult result, PositionBuilder::Dims dims);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_INTERFACES_POSITIONBUILDER_H
