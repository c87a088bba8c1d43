//===- ValueBuilder.cpp - nd expressions in few words ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace meshc::nd {

Value ValueBuilder::compare(Predicate predicate, Value a, Value b) {
  return make<CompareOp>(a, b, predicate);
}

Value ValueBuilder::scalar(Value like, double value) {
  return scalar(getTensorType(like).getElementType(), value);
}

Value ValueBuilder::scalar(Type elementType, double value) {
  return make<ConstantOp>(TensorType::get(elementType, ArrayRef<DimAttr>()),
                          value);
}

Value ValueBuilder::castTo(Value value, Type elementType) {
  TensorType type = getTensorType(value);
  if (type.getElementType() == elementType)
    return value;
  return make<CastOp>(type.withElementType(elementType), value);
}

Value ValueBuilder::sumTo(Value value, Type type) {
  auto target = cast<TensorType>(type);
  SmallVector<StringAttr> dims;
  for (DimAttr dim : getTensorType(value).getDims())
    if (!target.hasDim(dim.getName().getValue()))
      dims.push_back(dim.getName());
  return reduce<ReduceSumOp>(value, dims);
}

Value ValueBuilder::broadcastTo(Value value, Type type) {
  auto target = cast<TensorType>(type);
  if (getTensorType(value).getRank() == target.getRank())
    return value;
  return make<BroadcastOp>(
      target.withElementType(getTensorType(value).getElementType()), value);
}

ArrayAttr ValueBuilder::getNames(ArrayRef<StringAttr> dims) {
  return ArrayAttr::get(builder.getContext(),
                        SmallVector<Attribute>(dims.begin(), dims.end()));
}

FailureOr<SmallVector<DimAttr>> uniteDims(std::optional<Location> location,
                                          StringRef op, ValueRange operands) {
  SmallVector<DimAttr> dims;
  for (Value operand : operands) {
    TensorType type = getTensorType(operand);
    if (!type)
      return emitOptionalError(location, op,
                               ": operands must be nd tensors, got ",
                               operand.getType());
    for (DimAttr dim : type.getDims()) {
      auto same = llvm::find_if(
          dims, [&](DimAttr d) { return d.getName() == dim.getName(); });
      if (same == dims.end())
        dims.push_back(dim);
      else if (same->getSize() != dim.getSize())
        return emitOptionalError(
            location, op, ": dim '", dim.getName().getValue(), "' has size ",
            same->getSize(), " in one operand and ", dim.getSize(),
            " in another; sizes must be equal (rename one of the dims if they "
            "are not the same)");
    }
  }
  return dims;
}

bool isConstantOf(Value value, double number) {
  Attribute attr;
  return matchPattern(value, m_Constant(&attr)) &&
         getConstantNumber(attr) == number;
}

} // namespace meshc::nd
