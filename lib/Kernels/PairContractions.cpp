//===- PairContractions.cpp - einsums to matrix products ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Kernels/Passes.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_PAIRCONTRACTIONS
#include "lib/Kernels/Passes.h.inc"

using NameSet = llvm::SmallVector<StringAttr, 4>;

static bool hasDim(Value value, StringAttr dim) {
  return nd::getTensorType(value).hasDim(dim.getValue());
}

/// The local type of the product of the operands summed over `reduced`: partial
/// over what they are and over the axes that cut the reduced dims.
static nd::TensorType getProductType(ValueRange operands,
                                     ArrayRef<StringAttr> reduced) {
  llvm::SmallVector<nd::DimAttr> dims;
  llvm::SmallVector<StringAttr> axes;
  auto addAxes = [&](ArrayRef<StringAttr> more) {
    for (StringAttr axis : more)
      if (!llvm::is_contained(axes, axis))
        axes.push_back(axis);
  };
  for (Value operand : operands) {
    nd::TensorType type = nd::getTensorType(operand);
    addAxes(type.getPartialAxes());
    for (nd::DimAttr dim : type.getDims())
      if (llvm::is_contained(reduced, dim.getName()))
        addAxes(dim.getAxes());
      else if (llvm::none_of(dims, [&](nd::DimAttr known) {
                 return known.getName() == dim.getName();
               }))
        dims.push_back(dim);
  }
  nd::TensorType first = nd::getTensorType(operands[0]);
  return nd::TensorType::get(first.getElementType(), dims,
                             nd::ReductionKind::Sum, axes);
}

namespace {
/// Takes one einsum apart.
class ContractionBuilder {
public:
  ContractionBuilder(nd::EinsumOp op)
      : op(op), builder(op), loc(op.getLoc()),
        operands(op.getInputs().begin(), op.getInputs().end()),
        reduced(op.getReduced().getAsRange<StringAttr>()) {}

  void run();

private:
  Value multiply(Value a, Value b);
  Value sum(Value value, ArrayRef<StringAttr> dims);
  bool isOneOp() const;
  bool isShort() const {
    return nd::getTensorType(operands.front()).isShortFloat();
  }
  Value cast(Value value, Type elementType);
  NameSet takeFinished();
  Value contract(Value a, Value b);
  void sumLonelyDims();
  std::pair<size_t, size_t> findCheapestPair();

  nd::EinsumOp op;
  OpBuilder builder;
  Location loc;
  llvm::SmallVector<Value> operands;
  NameSet reduced; ///< dims still to be summed over
};
} // namespace

Value ContractionBuilder::multiply(Value a, Value b) {
  return nd::MulOp::create(builder, loc, getProductType({a, b}, {}), a, b);
}

Value ContractionBuilder::sum(Value value, ArrayRef<StringAttr> dims) {
  if (dims.empty())
    return value;
  return nd::ReduceSumOp::create(
      builder, loc, getProductType({value}, dims), value,
      exec::getOrderAttr(builder.getContext(), dims));
}

Value ContractionBuilder::cast(Value value, Type elementType) {
  nd::TensorType type = nd::getTensorType(value);
  if (type.getElementType() == elementType)
    return value;
  return nd::CastOp::create(builder, loc, type.withElementType(elementType),
                            value);
}

/// The dims to be summed over that no operand has any more: they are done with
/// the two that were just taken out.
NameSet ContractionBuilder::takeFinished() {
  NameSet finished, left;
  for (StringAttr dim : reduced)
    (llvm::any_of(operands, [&](Value operand) { return hasDim(operand, dim); })
         ? left
         : finished)
        .push_back(dim);
  reduced = left;
  return finished;
}

/// Whether the product of the two, summed over `dims`, is one of matrices: each
/// has a dim that the other lacks. A call leaves out the padding of at most one
/// dim, by a shorter k; kernels leave out any.
static bool isMatrixProduct(Value a, Value b, ArrayRef<StringAttr> dims,
                            nd::MeshAttr mesh) {
  auto hasOwn = [](Value value, Value other) {
    return llvm::any_of(exec::getDims(value),
                        [&](StringAttr dim) { return !hasDim(other, dim); });
  };
  auto isUneven = [&](StringAttr dim) {
    nd::TensorType type = nd::getTensorType(a);
    int64_t index = type.getDimIndex(dim.getValue());
    return index >= 0 && !type.isEven(index, mesh);
  };
  return nd::getTensorType(a).isFloat() && !dims.empty() && hasOwn(a, b) &&
         hasOwn(b, a) && llvm::count_if(dims, isUneven) <= 1;
}

/// The product of two operands that were taken out.
Value ContractionBuilder::contract(Value a, Value b) {
  NameSet dims = takeFinished();
  if (!isMatrixProduct(a, b, dims, nd::MeshAttr::of(op)))
    return sum(multiply(a, b), dims);
  nd::TensorType type = getProductType({a, b}, dims);
  if (type.isShortFloat()) // the only product
    type = type.withElementType(op.getType().getElementType());
  return nd::EinsumOp::create(builder, loc, type, ValueRange{a, b},
                              exec::getOrderAttr(builder.getContext(), dims));
}

/// Sums each operand over the dims that no other operand has.
void ContractionBuilder::sumLonelyDims() {
  for (Value &operand : operands) {
    NameSet lonely;
    for (StringAttr dim : reduced)
      if (llvm::count_if(
              operands, [&](Value other) { return hasDim(other, dim); }) == 1 &&
          hasDim(operand, dim))
        lonely.push_back(dim);
    operand = sum(operand, lonely);
    llvm::erase_if(reduced, [&](StringAttr dim) {
      return llvm::is_contained(lonely, dim);
    });
  }
}

/// The two operands whose product takes the fewest multiplications, then leaves
/// the smallest result.
std::pair<size_t, size_t> ContractionBuilder::findCheapestPair() {
  nd::MeshAttr mesh = nd::MeshAttr::of(op);
  std::pair<size_t, size_t> best = {0, 1};
  std::pair<double, double> bestCost = {HUGE_VAL, HUGE_VAL};
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t j = i + 1; j < operands.size(); ++j) {
      Value pair[] = {operands[i], operands[j]};
      nd::TensorType whole = getProductType(pair, {});
      double points = 1, kept = 1;
      for (auto [index, dim] : llvm::enumerate(whole.getDims())) {
        double size = whole.getLocalSize(index, mesh);
        points *= size;
        bool isFinished = llvm::is_contained(reduced, dim.getName());
        for (auto [k, other] : llvm::enumerate(operands))
          isFinished &= k == i || k == j || !hasDim(other, dim.getName());
        kept *= isFinished ? 1 : size;
      }
      if (std::pair(points, kept) < bestCost) {
        bestCost = {points, kept};
        best = {i, j};
      }
    }
  return best;
}

/// Whether one op of short floats rounds as the einsum does: a product of two
/// that is a matrix product, or has no sum. All else takes several ops.
bool ContractionBuilder::isOneOp() const {
  return operands.size() == 2 &&
         (reduced.empty() || (isMatrixProduct(operands[0], operands[1], reduced,
                                              nd::MeshAttr::of(op)) &&
                              llvm::all_of(reduced, [&](StringAttr dim) {
                                return hasDim(operands[0], dim) &&
                                       hasDim(operands[1], dim);
                              })));
}

void ContractionBuilder::run() {
  // Several ops compute in f32, and round at the end alone [L2.7]; and so does
  // one without a sum whose result is f32.
  if (isShort() &&
      (!isOneOp() || (reduced.empty() && !op.getType().isShortFloat())))
    for (Value &operand : operands)
      operand = cast(operand, builder.getF32Type());
  sumLonelyDims();
  while (operands.size() > 1) {
    auto [i, j] = findCheapestPair();
    Value a = operands[i], b = operands[j];
    operands.erase(operands.begin() + j);
    operands.erase(operands.begin() + i);
    Value product = contract(a, b);
    operands.push_back(product);
  }
  Value result = cast(operands.front(), op.getType().getElementType());
  // The same type but for the order of partial axes.
  if (!llvm::is_contained(op.getInputs(), result)) {
    result.setType(op.getType());
    nd::copyName(op, result.getDefiningOp());
  }
  op.replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct PairContractions : impl::PairContractionsBase<PairContractions> {
  void runOnOperation() override {
    llvm::SmallVector<nd::EinsumOp> ops;
    getOperation().walk([&](nd::EinsumOp op) { ops.push_back(op); });
    for (nd::EinsumOp op : ops)
      ContractionBuilder(op).run();
  }
};
} // namespace

} // namespace meshc::kernels
