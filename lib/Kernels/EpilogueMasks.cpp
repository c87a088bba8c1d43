//===- EpilogueMasks.cpp - masks of activations for their gradients --===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/EpilogueMasks.h"
#include "dialects/Nd/Ops/LoopEdit.h"

using namespace mlir;

namespace meshc::kernels {

static constexpr llvm::StringLiteral maskDim = "mask";

/// The entry, in the body of another loop, that `value` is as well; `value`
/// itself if it is no entry of a stacked result.
static Value findYielded(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto scan = argument
                  ? dyn_cast<nd::ScanOp>(argument.getOwner()->getParentOp())
                  : nd::ScanOp();
  if (!scan || scan.getTie(argument).kind != nd::TieKind::StackedOperand)
    return value;
  Value stacked = scan.getTie(argument).operand;
  auto other = stacked.getDefiningOp<nd::ScanOp>();
  if (!other || other.getDim() != scan.getDim())
    return value;
  nd::Tie tie = other.getTie(cast<OpResult>(stacked));
  return tie.kind == nd::TieKind::StackedResult ? tie.yielded : value;
}

exec::ProductOp findMaskWriter(Value value, Activation function) {
  Value result = findYielded(value);
  auto product = result.getDefiningOp<exec::ProductOp>();
  if (!product || result != product.getResult(0))
    return {};
  const EpilogueTraits *epilogue = exec::getTraits(product.getEpilogue());
  bool isWriter =
      epilogue && epilogue->writesMask() && epilogue->function == function;
  return isWriter ? product : exec::ProductOp();
}

/// The mask of the product, which is replaced by one with a mask if it has
/// none.
static Value addMask(exec::ProductOp product,
                     const exec::ResultMatrix &matrix) {
  if (product.getMask())
    return product.getResults().back();
  OpBuilder builder(product);
  StringAttr dim = builder.getStringAttr(maskDim);
  SmallVector<Type> types(product.getResultTypes());
  types.push_back(nd::TensorType::get(
      builder.getI1Type(), nd::DimAttr::get(builder.getContext(), dim,
                                            exec::getMaskBytes(matrix), {})));
  auto masked =
      exec::ProductOp::create(builder, product.getLoc(), types,
                              product.getInputs(), product.getEpilogueAttr(),
                              /*mask=*/true);
  masked.getBody().takeBody(product.getBody());
  exec::setOrders(
      masked,
      {exec::getOrder(product.getResult(0)).value_or(exec::Order()), {dim}});
  product.getResult(0).replaceAllUsesWith(masked.getResult(0));
  product.erase();
  return masked.getResults().back();
}

/// The tensor that the loop around `mask` stacks from it.
static Value stackMask(Value mask) {
  auto scan = cast<nd::ScanOp>(mask.getParentBlock()->getParentOp());
  if (OpResult known = nd::findStackedResult(scan, mask))
    return known;
  SmallVector<exec::Order> orders;
  for (Value result : scan.getResults())
    orders.push_back(exec::getOrder(result).value_or(exec::Order()));
  orders.push_back(
      {scan.getDimAttr(), StringAttr::get(scan.getContext(), maskDim)});
  IRRewriter rewriter(scan.getContext());
  nd::ScanOp stacking = nd::addStackedResults(rewriter, scan, mask);
  exec::setOrders(stacking, orders);
  return stacking.getResults().back();
}

Value getMask(Value value, Activation function,
              const exec::ResultMatrix &matrix) {
  exec::ProductOp product = findMaskWriter(value, function);
  bool isEntry = product.getResult(0) != value;
  Value mask = addMask(product, matrix);
  if (!isEntry)
    return mask;
  auto scan =
      cast<nd::ScanOp>(cast<BlockArgument>(value).getOwner()->getParentOp());
  Value stacked = stackMask(mask);
  return nd::getStackedArgument(scan, stacked);
}

} // namespace meshc::kernels
