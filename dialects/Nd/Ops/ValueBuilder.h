//===- ValueBuilder.h - concise construction of nd expressions ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The builder for gradients and decompositions: nd ops by their class,
/// constants that take their element type from another value, and broadcasting
/// by name in both directions.
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
  /// The value cast to the element type; itself if it already has it.
  mlir::Value castTo(mlir::Value value, mlir::Type elementType);
  /// A reduction of class `Op` over the dims; the value itself without dims.
  template <typename Op>
  mlir::Value reduce(mlir::Value value, llvm::ArrayRef<mlir::StringAttr> dims) {
    return dims.empty() ? value : make<Op>(value, getNames(dims));
  }
  /// The sum over all dims that `type` lacks: the transpose of broadcasting.
  mlir::Value sumTo(mlir::Value value, mlir::Type type);
  /// The value repeated along the dims that only `type` has.
  mlir::Value broadcastTo(mlir::Value value, mlir::Type type);

private:
  mlir::ArrayAttr getNames(llvm::ArrayRef<mlir::StringAttr> dims);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// The name of an op class in error messages: "add" for nd.add.
template <typename Op> llvm::StringRef getShortName() {
  return Op::getOperationName().split('.').second;
}

/// The dims of all operands, each name once, for type inference. Reports an
/// error of `op` at `location` if dims of one name differ in size or if an
/// operand is not an nd tensor.
mlir::FailureOr<llvm::SmallVector<DimAttr>>
uniteDims(std::optional<mlir::Location> location, llvm::StringRef op,
          mlir::ValueRange operands);

/// Whether the value is a constant whose elements are all `number`.
bool isConstantOf(mlir::Value value, double number);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_VALUEBUILDER_H
