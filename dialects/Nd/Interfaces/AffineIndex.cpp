//===- AffineIndex.cpp - indices that depend on positions alone -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/AffineIndex.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace meshc::nd {

int64_t AffineIndex::getStep(StringAttr dim) const {
  for (auto [name, step] : steps)
    if (name == dim)
      return step;
  return 0;
}

/// Adds `number` times `factor` to `sum`. False where this exceeds 64 bits.
static bool addProduct(int64_t &sum, int64_t number, int64_t factor) {
  int64_t product = 0;
  return !llvm::MulOverflow(number, factor, product) &&
         !llvm::AddOverflow(sum, product, sum);
}

bool AffineIndex::add(const AffineIndex &other, int64_t factor) {
  if (!addProduct(constant, other.constant, factor))
    return false;
  for (auto [dim, step] : other.steps) {
    auto *mine = llvm::find_if(
        steps, [&, dim = dim](auto &known) { return known.first == dim; });
    if (mine == steps.end())
      mine = steps.insert(mine, {dim, 0});
    if (!addProduct(mine->second, step, factor))
      return false;
  }
  llvm::erase_if(steps, [](auto &known) { return known.second == 0; });
  return true;
}

std::optional<IndexRange> getRange(const AffineIndex &index, TensorType type) {
  IndexRange range = {index.constant, index.constant};
  for (auto [dim, step] : index.steps)
    if (!addProduct(step < 0 ? range.least : range.greatest, step,
                    type.getSize(dim.getValue()) - 1))
      return std::nullopt;
  return range;
}

static bool fitsIn32Bits(const AffineIndex &index, TensorType type) {
  auto range = getRange(index, type);
  return range && range->least >= std::numeric_limits<int32_t>::min() &&
         range->greatest <= std::numeric_limits<int32_t>::max();
}

/// `left`: how many more values may be visited.
static std::optional<AffineIndex> find(Value value, unsigned &left) {
  TensorType type = getTensorType(value);
  if (!type || !type.getElementType().isSignlessInteger(32) || left == 0)
    return std::nullopt;
  --left;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<ScanOp>(argument.getOwner()->getParentOp());
    if (!loop || loop.getTie(argument).kind != TieKind::Whole)
      return std::nullopt;
    return find(loop.getTie(argument).operand, left);
  }
  auto op = dyn_cast<AffineOpInterface>(value.getDefiningOp());
  if (!op)
    return std::nullopt;
  SmallVector<AffineIndex> operands;
  for (Value operand : op->getOperands()) {
    auto known = find(operand, left);
    if (!known)
      return std::nullopt;
    operands.push_back(std::move(*known));
  }
  auto index = op.getAffineIndex(operands);
  if (!index || !fitsIn32Bits(*index, type))
    return std::nullopt;
  return index;
}

std::optional<AffineIndex> findAffineIndex(Value value) {
  constexpr unsigned mostValues = 64;
  unsigned left = mostValues;
  return find(value, left);
}

} // namespace meshc::nd
