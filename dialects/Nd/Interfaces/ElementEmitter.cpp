//===- ElementEmitter.cpp - code for one element of a tensor --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace meshc::nd {

OperandDim getSameDim(Value operand, StringRef dim) {
  DimAttr same = getTensorType(operand).getDim(dim);
  return same ? OperandDim::same(same.getName()) : OperandDim::none();
}

LocalEntry ElementEmitter::findLocalEntry(TensorType type, llvm::StringRef dim,
                                          Value global) {
  Value local =
      arith::SubIOp::create(builder, loc, global, getGlobalOffset(type, dim));
  // Unsigned, so that what is negative is out of range too. What follows a
  // short block in the tensor is another rank's.
  Value isHere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       local, getEntryCount(type, dim));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  return {isHere, arith::SelectOp::create(builder, loc, isHere, local, zero)};
}

Value ElementEmitter::selectIfHere(const LocalEntry &entry, Value element,
                                   Type elementType) {
  return arith::SelectOp::create(builder, loc, entry.isHere, element,
                                 constant(elementType, 0.0, element));
}

void ElementEmitter::unify(Value &a, Value &b) {
  auto va = dyn_cast<VectorType>(a.getType());
  auto vb = dyn_cast<VectorType>(b.getType());
  if (va && !vb)
    b = vector::BroadcastOp::create(
        builder, loc, VectorType::get(va.getShape(), b.getType()), b);
  if (vb && !va)
    a = vector::BroadcastOp::create(
        builder, loc, VectorType::get(vb.getShape(), a.getType()), a);
}

Type ElementEmitter::getComputeType(Type elementType, Value like) {
  if (isa<FloatType>(elementType))
    elementType = builder.getF32Type();
  if (like)
    if (auto vector = dyn_cast<VectorType>(like.getType()))
      return VectorType::get(vector.getShape(), elementType);
  return elementType;
}

Value ElementEmitter::constant(Type elementType, double value, Value like) {
  Type type = getComputeType(elementType, like);
  Type scalar = getElementTypeOrSelf(type);
  TypedAttr attr;
  if (isa<FloatType>(scalar))
    attr = builder.getFloatAttr(scalar, value);
  else
    attr = builder.getIntegerAttr(scalar, static_cast<int64_t>(value));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = SplatElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(builder, loc, attr);
}

Value ElementEmitter::getIndexAsI32(const DimIndex &index) {
  Value base = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                          index.base);
  if (!index.lanes)
    return base;
  auto type = VectorType::get({getLanes()}, builder.getI32Type());
  llvm::SmallVector<int32_t> numbers;
  for (int64_t i = 0; i < getLanes(); ++i)
    numbers.push_back(i);
  Value lanes = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, llvm::ArrayRef(numbers)));
  Value start = vector::BroadcastOp::create(builder, loc, type, base);
  return arith::AddIOp::create(builder, loc, start, lanes);
}

} // namespace meshc::nd
