//===- OpCuts.cpp - the ways to cut the values of an op -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/OpCuts.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;
using spmd::AxisList;

OpCuts::OpCuts(Operation *op, ArrayRef<WantedResult> wanted, nd::MeshAttr mesh)
    : op(op), rule(nd::joinAlternatives(
                  cast<nd::NamedOpInterface>(op).getPartitionRule())),
      movedWindows(op, rule, mesh), points(countPoints(op)),
      isProduct(hasMostPoints(op)), wanted(wanted), lists(1) {
  const unsigned operandCount = op->getNumOperands();
  const unsigned values = operandCount + op->getNumResults();
  trees.resize(values);
  operands.resize(operandCount);
  operandTypes.resize(operandCount);
  results.resize(op->getNumResults());
  for (const nd::Factor &factor : rule.factors) {
    auto &along = valuesAlong.emplace_back();
    for (unsigned i = 0; i < operandCount; ++i)
      if (factor.operandDims[i])
        along.push_back(i);
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (factor.resultDims[i] || factor.effect == nd::FactorEffect::Reduce)
        along.push_back(operandCount + i);
    hasAlternatives |= factor.isAlternative;
    hasWindows |= factor.needsNeighbours() || factor.isGrouped();
  }
  std::vector<unsigned> last(values, 0);
  for (auto [factor, along] : llvm::enumerate(valuesAlong))
    for (unsigned value : along)
      last[value] = factor + 1;
  decidedBy.resize(rule.factors.size() + 1);
  for (auto [value, factor] : llvm::enumerate(last))
    decidedBy[factor].push_back(value);
  for (unsigned i = 0; i < operandCount; ++i) {
    auto &earlier = same.emplace_back();
    for (unsigned other = 0; other < i; ++other)
      if (op->getOperand(other) == op->getOperand(i))
        earlier.push_back(other);
  }
}

unsigned OpCuts::getNumber(const AxisList &axes) {
  auto *known = llvm::find(lists, axes);
  const unsigned number = known - lists.begin();
  if (known == lists.end())
    lists.push_back(axes);
  return number;
}

unsigned OpCuts::getChild(unsigned value, unsigned node, unsigned axes) {
  Tree &tree = trees[value];
  auto [child, isNew] = tree.children.try_emplace({node, axes}, tree.nodes);
  tree.nodes += isNew;
  return child->second;
}

/// The entry of a node, which may be new.
template <typename T> static T &getAt(std::vector<T> &entries, unsigned node) {
  if (entries.size() <= node)
    entries.resize(node + 1);
  return entries[node];
}

OpCuts::CutOperand &OpCuts::getOperand(unsigned operand, unsigned node) {
  return getAt(operands[operand], node);
}

OpCuts::CutResult &OpCuts::getResult(unsigned result, unsigned node) {
  return getAt(results[result], node);
}

TensorType
OpCuts::getOperandType(unsigned operand, unsigned node,
                       llvm::function_ref<llvm::SmallVector<AxisList>()> axes) {
  auto &known = getAt(operandTypes[operand], node);
  if (!known)
    known = getTypeAlong(
        nd::getTensorType(op->getOperand(operand)), rule, axes(),
        [&](const nd::Factor &factor) { return factor.operandDims[operand]; });
  return *known;
}

} // namespace meshc::partition
