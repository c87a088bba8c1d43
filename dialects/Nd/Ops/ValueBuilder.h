//===- ValueBuilder.h - nd expressions in few words - ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What gradients and decompositions are written with: nd ops by their class,
/// constants that take their element type from another value, and the two
/// directions of broadcasting by name.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_VALUEBUILDER_H
#define MESHC_DIALECTS_ND_OPS_VALUEBUILDER_H

#include "dialects/Nd/NdInterfaces.h"

namespace meshc::nd {

class ValueBuilder {
public:
  ValueBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// The (only) result of a new op.
  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return Op::create(builder, loc, std::forward<Args>(args)...)->getResult(0);
  }
  /// `a PREDICATE b`.
  mlir::Value compare(Predicate predicate, mlir::Value a, mlir::Value b);
  /// A scalar constant of the element type of `like`.
  mlir::Value scalar(mlir::Value like, double value);
  mlir::Value scalar(mlir::Type elementType, double value);
  /// The value with another element type; itself where it has that already.
  mlir::Value castTo(mlir::Value value, mlir::Type elementType);
  /// A reduction of class `Op` over the dims; the value itself for none.
  template <typename Op>
  mlir::Value reduce(mlir::Value value, llvm::ArrayRef<mlir::StringAttr> dims) {
    return dims.empty() ? value : make<Op>(value, getNames(dims));
  }
  /// The sum over all dims that `type` has not: the transpose of broadcasting.
  mlir::Value sumTo(mlir::Value value, mlir::Type type);
  /// The value repeated along the dims that only `type` has.
  mlir::Value broadcastTo(mlir::Value value, mlir::Type type);

private:
  mlir::ArrayAttr getNames(llvm::ArrayRef<mlir::StringAttr> dims);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// The name of an op class as errors call it: "add" of nd.add.
template <typename Op> llvm::StringRef getShortName() {
  return Op::getOperationName().split('.').second;
}

/// The dims of all operands, each name once, for type inference. Reports at
/// `location`, as an error of `op`, dims of one name and different sizes and
/// operands that are no nd tensors.
mlir::FailureOr<llvm::SmallVector<DimAttr>>
uniteDims(std::optional<mlir::Location> location, llvm::StringRef op,
          mlir::ValueRange operands);

/// Whether the value is a constant with `number` as every element.
bool isConstantOf(mlir::Value value, double number);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_VALUEBUILDER_H
