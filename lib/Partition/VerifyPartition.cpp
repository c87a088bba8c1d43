//===- VerifyPartition.cpp - whether every op is local --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::partition {

#define GEN_PASS_DEF_VERIFYPARTITION
#include "lib/Partition/Passes.h.inc"

using nd::Factor;
using nd::FactorEffect;
using nd::PartitionRule;
using nd::TensorType;
using spmd::AxisList;

/// Makes the factor one of the rule, instead of those of the same dims.
static void replaceFactors(PartitionRule &rule, Factor by) {
  llvm::erase_if(rule.factors, [&](const Factor &factor) {
    return nd::shareDim(factor, by);
  });
  rule.factors.push_back(std::move(by));
}

/// Whether axes cut an operand along the factor and make the results partial.
static bool isReduced(nd::NamedOpInterface op, const Factor &factor) {
  auto isSummed = [&](StringAttr axis) {
    return llvm::all_of(op->getResultTypes(), [&](Type type) {
      auto tensor = dyn_cast<TensorType>(type);
      return tensor && llvm::is_contained(tensor.getPartialAxes(), axis);
    });
  };
  return llvm::any_of(
      llvm::zip(op->getOperands(), factor.operandDims), [&](auto pair) {
        auto [operand, dim] = pair;
        TensorType type = nd::getTensorType(operand);
        return type && dim &&
               llvm::any_of(spmd::getAxesOf(type, dim.getValue()), isSummed);
      });
}

static llvm::SmallVector<Factor> getWidenedFactors(Operation *op) {
  auto exchanging = dyn_cast<nd::ExchangeOpInterface>(op);
  return exchanging ? exchanging.getWidenedFactors()
                    : llvm::SmallVector<Factor>();
}

/// The rule of an op on blocks: with the alternative along which the op is cut,
/// instead of the factors of the same dims. Widened blocks are known by the
/// op's attributes, a sum by its partial result. Cut windows are spmd.window.
static PartitionRule getLocalRule(nd::NamedOpInterface op) {
  PartitionRule rule = op.getPartitionRule();
  for (const Factor &factor : rule.alternatives)
    if (factor.effect == FactorEffect::Reduce && isReduced(op, factor))
      replaceFactors(rule, factor);
  for (Factor &factor : getWidenedFactors(op))
    replaceFactors(rule, std::move(factor));
  return rule;
}

namespace {

/// Checks one op against its rule.
class LocalityCheck {
public:
  explicit LocalityCheck(nd::NamedOpInterface op)
      : op(op), rule(getLocalRule(op)), axesOfFactor(rule.factors.size()),
        isKnown(rule.factors.size(), false) {}

  LogicalResult run() {
    for (Value value : llvm::concat<Value>(operands(), results()))
      if (!nd::getTensorType(value))
        return op->emitOpError("is not on nd tensors");
    return success(succeeded(checkIndices()) && succeeded(learnFactors()) &&
                   succeeded(checkFactors()) && succeeded(checkDims()) &&
                   succeeded(checkPartial()));
  }

private:
  llvm::SmallVector<Value> operands() { return op->getOperands(); }
  llvm::SmallVector<Value> results() { return op->getResults(); }

  /// The factors that run along a dim of a value, in the rule's order.
  llvm::SmallVector<unsigned> getFactors(bool isResult, unsigned index,
                                         StringAttr dim) const {
    llvm::SmallVector<unsigned> found;
    for (auto [i, factor] : llvm::enumerate(rule.factors)) {
      ArrayRef<StringAttr> dims(factor.operandDims);
      if (isResult)
        dims = factor.resultDims;
      if (index < dims.size() && dims[index] == dim)
        found.push_back(i);
    }
    return found;
  }

  /// Calls `body(dim, its factors)` for all dims of all values.
  LogicalResult forEachDim(
      llvm::function_ref<LogicalResult(nd::DimAttr, ArrayRef<unsigned>)> body) {
    for (bool isResult : {false, true})
      for (auto [index, value] :
           llvm::enumerate(isResult ? results() : operands()))
        for (nd::DimAttr dim : nd::getTensorType(value).getDims())
          if (failed(body(dim, getFactors(isResult, index, dim.getName()))))
            return failure();
    return success();
  }

  /// On widened blocks, indices are those of a rank's own block.
  LogicalResult checkIndices() {
    for (const Factor &factor : getWidenedFactors(op)) {
      if (!factor.indices)
        continue;
      StringAttr along = factor.operandDims[*factor.indices];
      auto reindex =
          op->getOperand(*factor.indices).getDefiningOp<spmd::ReindexOp>();
      if (!reindex || reindex.getAlongAttr() != along)
        return op->emitOpError("is not local: its indices may be those of "
                               "other ranks' entries; reindex them along '")
               << along.getValue() << "'";
    }
    return success();
  }

  /// A dim along which one factor runs says how the factor is cut; all such
  /// dims must say the same.
  LogicalResult learnFactors() {
    return forEachDim([&](nd::DimAttr dim, ArrayRef<unsigned> factors) {
      if (factors.size() != 1)
        return success();
      unsigned factor = factors.front();
      if (isKnown[factor] && ArrayRef(axesOfFactor[factor]) != dim.getAxes())
        return LogicalResult(op->emitOpError()
                             << "is not local: dim '"
                             << dim.getName().getValue()
                             << "' is cut differently on two of its values");
      isKnown[factor] = true;
      axesOfFactor[factor].assign(dim.getAxes().begin(), dim.getAxes().end());
      return success();
    });
  }

  LogicalResult checkFactors() {
    for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor)) {
      if (axes.empty())
        continue;
      if (factor.effect == FactorEffect::Whole || factor.needsNeighbours())
        return op->emitOpError("is not local: it needs all of a dim that is "
                               "cut over '")
               << axes.front().getValue() << "'";
      if (!nd::mayCut(op, factor, nd::MeshAttr::of(op).getProduct(axes)))
        return op->emitOpError("is not local: its values have other entries in "
                               "their blocks of a dim that is cut over '")
               << axes.front().getValue() << "'";
      for (StringAttr axis : axes) {
        if (llvm::is_contained(used, axis))
          return op->emitOpError("is not local: mesh axis '")
                 << axis.getValue() << "' cuts two directions of it";
        used.push_back(axis);
      }
      if (factor.effect != FactorEffect::Reduce)
        continue;
      if (kind && *kind != factor.reduction)
        return op->emitOpError("makes partial results of two kinds");
      kind = factor.reduction;
    }
    return success();
  }

  /// The axes over which a result must be partial: those of sums whose dim it
  /// lacks, and `kept`, those over which an operand is.
  AxisList getPartialAxes(unsigned result, const AxisList &kept) const {
    AxisList partial(kept);
    for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor))
      if (factor.effect == FactorEffect::Reduce && !factor.resultDims[result])
        partial.append(axes);
    return partial;
  }

  /// Every dim is cut by its factors, one after another; a dim without a factor
  /// is whole.
  LogicalResult checkDims() {
    return forEachDim([&](nd::DimAttr dim, ArrayRef<unsigned> factors) {
      AxisList axes;
      for (unsigned factor : factors)
        axes.append(axesOfFactor[factor]);
      if (ArrayRef(axes) == dim.getAxes())
        return success();
      return LogicalResult(op->emitOpError("is not local: dim '")
                           << dim.getName().getValue()
                           << "' is cut as no block of the op is");
    });
  }

  LogicalResult checkPartial() {
    llvm::SmallVector<unsigned> partialOperands;
    AxisList kept;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      TensorType type = nd::getTensorType(operand);
      if (!type.isPartial())
        continue;
      if (type.getPartialKind() != nd::ReductionKind::Sum)
        return op->emitOpError("takes a partial value that is not a sum");
      if (!partialOperands.empty() &&
          !haveSameAxes(kept, type.getPartialAxes()))
        return op->emitOpError("takes partial sums over different axes");
      partialOperands.push_back(index);
      kept.assign(type.getPartialAxes().begin(), type.getPartialAxes().end());
    }
    if (!partialOperands.empty()) {
      bool isLinear = rule.jointlyLinear
                          ? partialOperands.size() == op->getNumOperands()
                          : partialOperands.size() == 1 &&
                                llvm::is_contained(rule.linearOperands,
                                                   partialOperands.front());
      if (!isLinear)
        return op->emitOpError("takes a partial sum, but is not linear in it");
      if (kind && *kind != nd::ReductionKind::Sum)
        return op->emitOpError("makes partial results of two kinds");
      kind = nd::ReductionKind::Sum;
      for (StringAttr axis : kept)
        if (llvm::is_contained(used, axis))
          return op->emitOpError("takes a partial sum over '")
                 << axis.getValue() << "', which cuts it too";
    }
    for (OpResult result : op->getResults()) {
      TensorType type = nd::getTensorType(result);
      if (rule.isZero && type.getPartialKind() == nd::ReductionKind::Sum)
        continue;
      if (!haveSameAxes(getPartialAxes(result.getResultNumber(), kept),
                        type.getPartialAxes()) ||
          (type.isPartial() && type.getPartialKind() != *kind))
        return op->emitOpError("makes another partial result than its type "
                               "says: ")
               << type;
    }
    return success();
  }

  static bool haveSameAxes(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
    return a.size() == b.size() && llvm::all_of(a, [&](StringAttr axis) {
             return llvm::is_contained(b, axis);
           });
  }

  nd::NamedOpInterface op;
  PartitionRule rule;
  llvm::SmallVector<AxisList> axesOfFactor;
  llvm::SmallVector<bool> isKnown;
  AxisList used; ///< axes that cut the op
  std::optional<nd::ReductionKind> kind;
};

struct VerifyPartition : impl::VerifyPartitionBase<VerifyPartition> {
  void runOnOperation() override {
    bool ok = true;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      for (Type type : llvm::concat<const Type>(function.getArgumentTypes(),
                                                function.getResultTypes()))
        if (auto tensor = dyn_cast<TensorType>(type);
            tensor && tensor.isPartial()) {
          function.emitError() << "takes or gives a partial value: " << type;
          ok = false;
        }
      function.walk([&](Operation *op) {
        if (auto named = dyn_cast<nd::NamedOpInterface>(op))
          ok &= succeeded(LocalityCheck(named).run());
      });
    }
    if (!ok)
      signalPassFailure();
  }
};

} // namespace

} // namespace meshc::partition
