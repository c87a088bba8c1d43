//===- SplitLoops.cpp - products leave loops ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace meshc::steps {

#define GEN_PASS_DEF_SPLITLOOPS
#include "lib/Steps/Passes.h.inc"

using nd::TensorType;

namespace {
/// Moves products of one loop to the front of it, and behind it.
class LoopSplit {
public:
  LoopSplit(IRRewriter &rewriter, nd::ScanOp loop)
      : rewriter(rewriter), loop(loop),
        dim(StringAttr::get(loop.getContext(), loop.getDim())) {}

  void moveBefore();
  void moveBehind();

private:
  /// A product, and the cast of it if it has another element type where it is
  /// needed.
  struct Product {
    nd::EinsumOp op;
    nd::CastOp cast;
  };
  /// Products whose sum may be computed behind the loop, of the stacks of their
  /// operands.
  struct Leaving {
    SmallVector<Product, 1> products;
    unsigned result;  ///< of the loop, in whose place the sum comes
    bool isSum;       ///< over the iterations
    double saved = 0; ///< elements that an iteration does not move any more
    llvm::SetVector<Value> missing; ///< operands that are no stack yet
  };

  bool isKnownOutside(Value value);
  bool isStackedOutside(Value value);
  /// Whether the value may differ from entry to entry.
  bool varies(Value value) {
    return !isKnownOutside(value) || isStackedOutside(value);
  }
  Value getOutside(Value value);
  double countWeights(nd::EinsumOp product);
  void addSum(unsigned carried, std::vector<Leaving> &found);
  void addStacked(unsigned result, std::vector<Leaving> &found);
  static Product getProduct(Value value);
  bool collectProducts(Value summand, SmallVectorImpl<Product> &products);
  void add(Leaving leaving, std::vector<Leaving> &found);
  static llvm::SetVector<Value> chooseStacks(const std::vector<Leaving> &found);
  Value putBehind(const Product &product, const Leaving &leaving);
  void putBehind(const Leaving &leaving);

  IRRewriter &rewriter;
  nd::ScanOp loop;
  StringAttr dim;
  llvm::DenseMap<Value, bool> isKnown; ///< isKnownOutside
  IRMapping outside;                   ///< of values of the body
};
} // namespace

static double countElements(Value value) {
  return static_cast<double>(nd::getTensorType(value).getElementCount());
}

/// Whether all entries of the loop's dim are known in the block around the
/// loop, or easily computed there: entries of stacked operands, whole operands,
/// and what pointwise ops and renames make of them.
bool LoopSplit::isKnownOutside(Value value) {
  if (auto known = isKnown.find(value); known != isKnown.end())
    return known->second;
  bool result = false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const nd::TieKind kind = loop.getTie(argument).kind;
    result = kind == nd::TieKind::StackedOperand ||
             (kind == nd::TieKind::Whole &&
              !nd::getTensorType(value).hasDim(dim.getValue()));
  } else {
    Operation *op = value.getDefiningOp();
    result = op->getNumRegions() == 0 && op->getNumResults() == 1 &&
             isMemoryEffectFree(op) &&
             isa<nd::ElementOpInterface, nd::RenameOp, nd::ConstantOp>(op) &&
             !op->hasTrait<nd::ReadsPosition>() && !nd::namesDim(op, dim) &&
             llvm::all_of(op->getOperands(),
                          [&](Value v) { return isKnownOutside(v); });
  }
  isKnown[value] = result;
  return result;
}

/// Whether the value, which is known outside, differs from entry to entry.
bool LoopSplit::isStackedOutside(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return loop.getTie(argument).kind == nd::TieKind::StackedOperand;
  return llvm::any_of(value.getDefiningOp()->getOperands(),
                      [&](Value v) { return isStackedOutside(v); });
}

/// The value for all entries, computed before the loop.
Value LoopSplit::getOutside(Value value) {
  if (Value known = outside.lookupOrNull(value))
    return known;
  Value made;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    made = loop.getTie(argument).operand;
  } else {
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      getOutside(operand);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(loop);
    made = rewriter.clone(*op, outside)->getResult(0);
    if (isStackedOutside(value))
      made.setType(nd::getStackedType(nd::getTensorType(value), loop.getDim(),
                                      loop.getSize()));
  }
  outside.map(value, made);
  return made;
}

//===----------------------------------------------------------------------===//
// Before the loop
//===----------------------------------------------------------------------===//

/// The elements of the operands that are the same in each iteration: an
/// iteration reads them again.
double LoopSplit::countWeights(nd::EinsumOp product) {
  double elements = 0;
  for (Value operand : product.getInputs())
    if (!varies(operand))
      elements += countElements(operand);
  return elements;
}

/// Whether exactly one operand of the product differs from entry to entry.
static bool hasOneStack(nd::EinsumOp product,
                        llvm::function_ref<bool(Value)> isStack) {
  return product.getInputs().size() > 1 &&
         llvm::count_if(product.getInputs(), isStack) == 1;
}

void LoopSplit::moveBefore() {
  for (Operation &op :
       llvm::make_early_inc_range(loop.getBlock().without_terminator())) {
    auto product = dyn_cast<nd::EinsumOp>(op);
    if (!product || !llvm::all_of(product.getInputs(), [&](Value operand) {
          return isKnownOutside(operand);
        }))
      continue;
    if (!hasOneStack(product, [&](Value v) { return varies(v); }) ||
        2 * countElements(product.getResult()) > countWeights(product))
      continue;
    Value result = product.getResult();
    isKnown[result] = true;
    Value stack = getOutside(result);
    BlockArgument entry;
    rewriter.modifyOpInPlace(
        loop, [&] { entry = nd::getStackedArgument(loop, stack); });
    rewriter.replaceOp(product, entry);
    isKnown.clear();
    outside.clear();
  }
}

//===----------------------------------------------------------------------===//
// Behind the loop
//===----------------------------------------------------------------------===//

/// Enters the products with what they need, unless they cannot leave.
void LoopSplit::add(Leaving leaving, std::vector<Leaving> &found) {
  for (const Product &product : leaving.products)
    for (Value operand : product.op->getOperands()) {
      if (isKnownOutside(operand))
        continue;
      if (nd::getTensorType(operand).hasDim(dim.getValue()))
        return; // a whole operand
      if (!nd::findStackedResult(loop, operand))
        leaving.missing.insert(operand);
    }
  found.push_back(std::move(leaving));
}

/// The product that the value is, and that nothing else uses; null if it is
/// something else.
LoopSplit::Product LoopSplit::getProduct(Value value) {
  auto cast = value.getDefiningOp<nd::CastOp>();
  Value made = cast ? cast->getOperand(0) : value;
  auto product = made.getDefiningOp<nd::EinsumOp>();
  if (!product || !made.hasOneUse() || !value.hasOneUse() ||
      product.getInputs().size() < 2)
    return {};
  return {product, cast};
}

/// Whether the summand is a product that differs from entry to entry, or a sum
/// of such, which nothing else uses.
bool LoopSplit::collectProducts(Value summand,
                                SmallVectorImpl<Product> &products) {
  if (Product product = getProduct(summand); product.op) {
    products.push_back(product);
    return llvm::any_of(product.op.getInputs(),
                        [&](Value operand) { return varies(operand); });
  }
  auto sum = summand.getDefiningOp<nd::AddOp>();
  return sum && summand.hasOneUse() &&
         llvm::all_of(sum->getOperands(), [&](Value operand) {
           return operand.getType() == summand.getType() &&
                  collectProducts(operand, products);
         });
}

/// A sum of products that starts at zero: each iteration reads and writes it.
void LoopSplit::addSum(unsigned carried, std::vector<Leaving> &found) {
  auto addition = dyn_cast_or_null<nd::AddOp>(
      nd::findAddition(loop, carried).getOperation());
  if (!addition || !nd::isConstantOf(loop.getCarried()[carried], 0))
    return;
  BlockArgument total = loop.getBlock().getArgument(carried);
  Value summand = addition->getOperand(addition->getOperand(0) == total);
  Leaving leaving = {{}, carried, true, 2 * countElements(summand), {}};
  if (collectProducts(summand, leaving.products))
    add(std::move(leaving), found);
}

/// What only later ops need of a product of an entry and weights.
void LoopSplit::addStacked(unsigned result, std::vector<Leaving> &found) {
  Product product = getProduct(loop.getYield()->getOperand(result));
  if (product.op && hasOneStack(product.op, [&](Value v) { return varies(v); }))
    add({{product}, result, false, countWeights(product.op), {}}, found);
}

/// The values to stack such that products leave: stacks are written once and
/// read once, and no iteration moves more for them than it saves. A product
/// leaves if all that it needs is stacked.
llvm::SetVector<Value>
LoopSplit::chooseStacks(const std::vector<Leaving> &found) {
  llvm::MapVector<Value, double> saved;
  for (const Leaving &each : found)
    for (Value value : each.missing)
      saved[value] += each.saved / double(each.missing.size());
  llvm::SetVector<Value> stacks;
  for (auto [value, elements] : saved)
    if (2 * countElements(value) <= elements)
      stacks.insert(value);
  // Not all that a product needs may be worth it.
  stacks.remove_if([&](Value value) {
    return llvm::none_of(found, [&](const Leaving &each) {
      return each.missing.contains(value) &&
             llvm::all_of(each.missing,
                          [&](Value v) { return stacks.contains(v); });
    });
  });
  return stacks;
}

/// Computes the product behind the loop, for all entries or of all.
Value LoopSplit::putBehind(const Product &product, const Leaving &leaving) {
  nd::EinsumOp op = product.op;
  SmallVector<Value> operands;
  for (Value operand : op.getInputs())
    operands.push_back(isKnownOutside(operand)
                           ? getOutside(operand)
                           : nd::findStackedResult(loop, operand));
  SmallVector<Attribute> reduced(op.getReduced().getValue());
  TensorType type = op.getType();
  if (leaving.isSum)
    reduced.push_back(dim);
  else
    type = nd::getStackedType(type, loop.getDim(), loop.getSize());
  auto made = nd::EinsumOp::create(rewriter, op.getLoc(), type, operands,
                                   rewriter.getArrayAttr(reduced));
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  if (!product.cast)
    return made;
  auto cast = nd::CastOp::create(rewriter, product.cast->getLoc(),
                                 loop->getResult(leaving.result).getType(),
                                 made.getResult());
  cast->setDiscardableAttrs(product.cast->getDiscardableAttrDictionary());
  return cast;
}

/// The sum has the name and the class of the loop's result.
void LoopSplit::putBehind(const Leaving &leaving) {
  OpResult result = loop->getResult(leaving.result);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(loop);
  Value sum;
  for (const Product &product : leaving.products) {
    Value each = putBehind(product, leaving);
    sum =
        sum ? nd::AddOp::create(rewriter, each.getLoc(), sum, each).getResult()
            : each;
  }
  if (DictionaryAttr known = loop.getResultAttributes(leaving.result))
    for (NamedAttribute each : known)
      sum.getDefiningOp()->setAttr(each.getName(), each.getValue());
  rewriter.replaceAllUsesWith(result, sum);
}

void LoopSplit::moveBehind() {
  std::vector<Leaving> found;
  for (unsigned i = 0; i < loop.getNumResults(); ++i) {
    if (loop->getResult(i).use_empty())
      continue;
    if (i < loop.getCarriedCount())
      addSum(i, found);
    else
      addStacked(i, found);
  }
  const llvm::SetVector<Value> stacks = chooseStacks(found);
  llvm::erase_if(found, [&](const Leaving &each) {
    return each.saved <= 0 || !llvm::all_of(each.missing, [&](Value value) {
             return stacks.contains(value);
           });
  });
  if (found.empty())
    return;
  if (!stacks.empty())
    loop = nd::addStackedResults(rewriter, loop, stacks.getArrayRef());
  for (const Leaving &each : found)
    putBehind(each);
}

namespace {
struct SplitLoops : impl::SplitLoopsBase<SplitLoops> {
  using SplitLoopsBase::SplitLoopsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<nd::ScanOp> loops;
    getOperation().walk([&](nd::ScanOp loop) {
      if (!loop.getConditional() && !loop.getMicroBatches() &&
          loop.getSize() > 1)
        loops.push_back(loop);
    });
    for (nd::ScanOp loop : loops) {
      LoopSplit split(rewriter, loop);
      split.moveBefore();
      split.moveBehind();
    }
  }
};
} // namespace

} // namespace meshc::steps
