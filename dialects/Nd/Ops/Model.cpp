//===- Model.cpp - parameters, layout rules, training ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <numeric>

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Model.cpp.inc"

namespace meshc::nd {

void NdDialect::registerModel() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Model.cpp.inc"
      >();
}

std::string RuleOp::getText() {
  std::string text = getScope() ? (*getScope() + ".").str() : "";
  text +=
      (getDim() + (getWeak() ? " ~>" : " ->") + (getOptional() ? "? " : " "))
          .str();
  SmallVector<StringAttr> axes = getNames(getAxes());
  if (axes.size() == 1)
    return text + axes.front().str();
  text += "(";
  for (auto [index, axis] : llvm::enumerate(axes))
    text += (index ? ", " : "") + axis.str();
  return text + ")";
}

LogicalResult ParameterOp::verify() {
  SmallVector<StringAttr> order = getNames(getOrder());
  if (failed(verifyDistinct(getLoc(), "parameter", order)))
    return failure();
  TensorType type = getType();
  for (StringAttr name : order)
    if (!type.hasDim(name.getValue()))
      return emitOpError("order names dim '")
             << name.getValue()
             << "', which the parameter does not have; its dims are "
             << listDims(type);
  if (getStacked())
    for (StringAttr name : getNames(*getStacked()))
      if (!type.hasDim(name.getValue()))
        return emitOpError("has no stacked dim '")
               << name.getValue() << "'; its dims are " << listDims(type);
  if (static_cast<int64_t>(order.size()) != type.getRank())
    return emitOpError("order names ")
           << order.size() << " of the parameter's " << type.getRank()
           << " dims; name all of them";
  auto yield = cast<YieldOp>(getInitializer().front().getTerminator());
  if (yield.getValues().size() != 1 ||
      !haveSameGlobalType(yield.getValues().front().getType(), type))
    return emitOpError("the initializer must yield one ")
           << type << ", got " << yield.getValues().getTypes();
  return success();
}

/// A number or a scalar f32, and not both.
template <typename Op> static LogicalResult verifyScalar(Op op) {
  if (op.getConstant().has_value() == bool(op.getValue()))
    return op.emitOpError("expects either a number or a value");
  if (!op.getValue())
    return success();
  TensorType type = getTensorType(op.getValue());
  if (type.getRank() == 0 && type.getElementType().isF32())
    return success();
  return op.emitOpError("expects a scalar f32, got ") << type;
}

int64_t getBlocksOfRanks(Operation *op, StringRef dim, int64_t size) {
  MeshAttr mesh = MeshAttr::of(op);
  int64_t ranks = 1;
  for (auto rule : op->getParentOfType<ModuleOp>().getOps<RuleOp>())
    if (rule.getDim() == dim)
      ranks = std::lcm(ranks, mesh.getProduct(getNames(rule.getAxes())));
  return std::gcd(size, ranks);
}

std::optional<unsigned> findRunSetting(ModuleOp module, StringAttr name) {
  for (auto [index, setting] : llvm::enumerate(module.getOps<RunSettingOp>()))
    if (setting.getNameAttr() == name)
      return index;
  return std::nullopt;
}

LogicalResult SettingOp::verify() { return verifyScalar(*this); }

LogicalResult ClipOp::verify() {
  if (failed(verifyScalar(*this)))
    return failure();
  if (getConstant() &&
      !(getConstant()->convertToDouble() > 0 && getConstant()->isFinite()))
    return emitOpError("expects a bound above 0");
  return success();
}

LogicalResult AverageOp::verify() {
  if (failed(verifyScalar(*this)))
    return failure();
  if (!getConstant())
    return success();
  double decay = getConstant()->convertToDouble();
  if (!(decay >= 0 && decay < 1))
    return emitOpError("expects a decay from 0 to below 1, got ") << decay;
  return success();
}

} // namespace meshc::nd
