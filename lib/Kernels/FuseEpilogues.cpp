//===- FuseEpilogues.cpp - products and what follows them, in one call ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "lib/Kernels/EpilogueMasks.h"
#include "lib/Kernels/Passes.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-fuse-epilogues"

using namespace mlir;

namespace meshc::kernels {

using exec::canSumFactor;
using exec::EpiloguePattern;
using exec::getMaskBytes;
using exec::ResultMatrix;

#define GEN_PASS_DEF_FUSEEPILOGUES
#include "lib/Kernels/Passes.h.inc"

namespace {
/// Rewrites the block of a function or of a loop.
class EpilogueFuser {
public:
  explicit EpilogueFuser(Block &block)
      : block(block), mesh(nd::MeshAttr::of(block.getParentOp())),
        builder(block.getParentOp()) {}

  void run();

private:
  struct Parts {
    exec::ProductOp product; ///< without an epilogue
    exec::FusionOp fusion;
    const EpilogueTraits &epilogue;
    SmallVector<unsigned> inputs; ///< of the fusion, as exec.product has them
    bool keepsArgument = false;   ///< the fusion gets a second result
  };

  void fuseActivation(exec::FusionOp fusion);
  void fuseGradient(exec::FusionOp fusion);
  void fuseBiasGradient(exec::FusionOp fusion);
  bool isColumnVector(Value value, const ResultMatrix &matrix) const;
  bool passArgumentOn(exec::FusionOp fusion, const EpiloguePattern &pattern,
                      SmallVectorImpl<OpOperand *> &readers);
  void readArgument(OpOperand &use, Value bias, Value argument);
  exec::ProductOp findProductOf(Value summed, ArrayRef<StringAttr> dims,
                                exec::FusionOp reader, unsigned &operand);
  exec::ProductOp build(const Parts &parts);

  Block &block;
  nd::MeshAttr mesh;
  OpBuilder builder;
  bool hasChanged = false;
};
} // namespace

static exec::Order orderOf(Value value) {
  return exec::getOrder(value).value_or(exec::Order());
}

/// The product that computes the value, if it has no epilogue yet and may have
/// one: of tensors of one type. Null otherwise.
static exec::ProductOp findPlainProduct(Value value) {
  auto product = value.getDefiningOp<exec::ProductOp>();
  return product && !product.getEpilogue() &&
                 nd::getTensorType(value).getElementType() ==
                     nd::getTensorType(product.getInputs().front())
                         .getElementType()
             ? product
             : exec::ProductOp();
}

/// The fusion with its inputs in another order, of its own block's arguments or
/// values; `argument`, a value inside, becomes a second result where not null.
static exec::FusionOp cloneFusion(OpBuilder &builder, exec::FusionOp fusion,
                                  ArrayRef<unsigned> inputs, ValueRange values,
                                  Value argument) {
  Block &body = fusion.getBody().front();
  SmallVector<Type> types(fusion.getResultTypes());
  if (argument)
    types.push_back(argument.getType());
  auto clone = exec::FusionOp::create(builder, fusion.getLoc(), types, values,
                                      fusion.getPlan());
  Block &block = clone.getBody().emplaceBlock();
  IRMapping mapping;
  for (unsigned input : inputs) {
    Value old = body.getArgument(input);
    mapping.map(old, block.addArgument(old.getType(), old.getLoc()));
  }
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  for (Operation &op : body)
    inner.clone(op, mapping);
  if (argument) {
    auto yield = cast<exec::YieldOp>(block.getTerminator());
    yield.getValuesMutable().append(mapping.lookup(argument));
  }
  return clone;
}

/// The product with the fusion as its epilogue. The caller drops both.
exec::ProductOp EpilogueFuser::build(const Parts &parts) {
  exec::ProductOp plain = parts.product;
  nd::EinsumOp einsum = plain.getEinsum();
  exec::FusionOp fusion = parts.fusion;
  bool keepsProduct = parts.epilogue.keepsProduct();
  // The sums of a factor need no more than the product does.
  builder.setInsertionPoint(keepsProduct ? plain.getOperation()
                                         : fusion.getOperation());
  SmallVector<Value> operands(plain.getInputs());
  Value argument;
  SmallVector<Type> types;
  SmallVector<exec::Order> orders;
  auto addResult = [&](Type type, Value ordered) {
    types.push_back(type);
    orders.push_back(orderOf(ordered));
  };
  if (keepsProduct)
    addResult(einsum.getType(), einsum);
  else
    for (unsigned input : ArrayRef(parts.inputs).drop_front())
      operands.push_back(fusion.getInputs()[input]);
  for (Value result : fusion.getResults())
    addResult(result.getType(), result);
  if (parts.keepsArgument) {
    argument = EpiloguePattern::of(fusion)->argument;
    addResult(argument.getType(), einsum);
  }
  auto product = exec::ProductOp::create(
      builder,
      FusedLoc::get(builder.getContext(), {plain.getLoc(), fusion.getLoc()}),
      types, operands,
      exec::EpilogueAttr::get(builder.getContext(),
                              exec::getEpilogue(parts.epilogue)),
      /*mask=*/false);
  exec::setOrders(product, orders);
  LDBG() << "product with the epilogue " << parts.epilogue.name << " at "
         << product.getLoc();
  Block &body = product.getBody().emplaceBlock();
  for (Value operand : operands)
    body.addArgument(operand.getType(), operand.getLoc());
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  auto innerEinsum = cast<nd::EinsumOp>(inner.clone(*einsum));
  innerEinsum->setOperands(body.getArguments().take_front(2));
  SmallVector<Value> values;
  if (keepsProduct) {
    bool isA = parts.epilogue.operand == EpilogueOperand::A;
    values.push_back(body.getArgument(isA ? 0 : 1));
  } else {
    values.push_back(innerEinsum);
    llvm::append_range(values, body.getArguments().drop_front(2));
  }
  exec::FusionOp innerFusion =
      cloneFusion(inner, fusion, parts.inputs, values, argument);
  SmallVector<Value> yielded(innerFusion.getResults());
  if (keepsProduct)
    yielded.insert(yielded.begin(), innerEinsum);
  exec::setOrders(innerFusion, ArrayRef(orders).drop_front(keepsProduct));
  exec::YieldOp::create(inner, product.getLoc(), yielded);
  hasChanged = true;
  return product;
}

bool EpilogueFuser::isColumnVector(Value value,
                                   const ResultMatrix &matrix) const {
  return orderOf(value) == matrix.columnDims &&
         nd::getTensorType(value).getLocalElementCount(mesh) == matrix.columns;
}

//===----------------------------------------------------------------------===//
// Bias and activations
//===----------------------------------------------------------------------===//

/// Whether all others that read c do nothing with it but add the same bias, so
/// that they can read the sum instead.
bool EpilogueFuser::passArgumentOn(exec::FusionOp fusion,
                                   const EpiloguePattern &pattern,
                                   SmallVectorImpl<OpOperand *> &readers) {
  Value c = fusion.getInputs()[pattern.product];
  Value bias = fusion.getInputs()[*pattern.other];
  for (OpOperand &use : c.getUses()) {
    auto reader = dyn_cast<exec::FusionOp>(use.getOwner());
    if (!reader)
      return false;
    if (reader == fusion)
      continue;
    BlockArgument inside =
        reader.getBody().front().getArgument(use.getOperandNumber());
    for (Operation *user : inside.getUsers()) {
      auto sum = dyn_cast<nd::AddOp>(user);
      if (!sum || sum.getType() != c.getType())
        return false;
      Value other = sum->getOperand(sum->getOperand(0) == inside ? 1 : 0);
      auto argument = dyn_cast<BlockArgument>(other);
      if (!argument || reader.getInputs()[argument.getArgNumber()] != bias)
        return false;
    }
    readers.push_back(&use);
  }
  return true;
}

/// The fusion reads c + bias where it read c. Each input of a fusion is another
/// value, so that no other of `readers` is a use by the same one.
void EpilogueFuser::readArgument(OpOperand &use, Value bias, Value argument) {
  auto reader = cast<exec::FusionOp>(use.getOwner());
  Block &body = reader.getBody().front();
  BlockArgument inside = body.getArgument(use.getOperandNumber());
  use.set(argument);
  for (Operation *sum : llvm::make_early_inc_range(inside.getUsers())) {
    sum->getResult(0).replaceAllUsesWith(inside);
    sum->erase();
  }
  for (unsigned index = body.getNumArguments(); index-- > 0;)
    if (reader.getInputs()[index] == bias &&
        body.getArgument(index).use_empty()) {
      body.eraseArgument(index);
      reader->eraseOperand(index);
    }
}

/// Whether the fusion also stores what its activation is applied to, as in the
/// body of a loop that stacks it for the gradient.
static bool storesArgument(exec::FusionOp fusion,
                           const EpiloguePattern &pattern) {
  Operation *yield = fusion.getBody().front().getTerminator();
  return fusion.getNumResults() == 2 && pattern.argument &&
         yield->getOperand(1) == pattern.argument &&
         orderOf(fusion.getResult(1)) == orderOf(fusion.getResult(0));
}

void EpilogueFuser::fuseActivation(exec::FusionOp fusion) {
  auto pattern = EpiloguePattern::of(fusion);
  if (!pattern || !pattern->epilogue.isActivation())
    return;
  bool mayKeep = pattern->epilogue.mayKeepArgument();
  if (fusion.getNumResults() != 1 &&
      (!mayKeep || !storesArgument(fusion, *pattern)))
    return;
  Value c = fusion.getInputs()[pattern->product];
  exec::ProductOp plain = findPlainProduct(c);
  if (!plain || orderOf(fusion.getResult(0)) != orderOf(c))
    return;
  auto matrix = ResultMatrix::of(plain.getEinsum());
  if (!matrix)
    return;
  Value bias = pattern->other ? fusion.getInputs()[*pattern->other] : Value();
  if (bias && !isColumnVector(bias, *matrix))
    return;
  SmallVector<OpOperand *> readers;
  bool isShared = !c.hasOneUse();
  if (isShared && (!mayKeep || fusion.getNumResults() != 1 ||
                   (bias && !passArgumentOn(fusion, *pattern, readers))))
    return;
  SmallVector<unsigned> inputs = {pattern->product};
  if (bias)
    inputs.push_back(*pattern->other);
  exec::ProductOp product =
      build({plain, fusion, pattern->epilogue, inputs, isShared});
  for (auto [old, result] :
       llvm::zip(fusion.getResults(), product.getResults()))
    old.replaceAllUsesWith(result);
  fusion.erase();
  for (OpOperand *use : readers)
    readArgument(*use, bias, product.getResult(1));
  if (isShared)
    c.replaceAllUsesWith(product.getResult(1));
  plain.erase();
}

//===----------------------------------------------------------------------===//
// Gradients of activations
//===----------------------------------------------------------------------===//

void EpilogueFuser::fuseGradient(exec::FusionOp fusion) {
  auto pattern = EpiloguePattern::of(fusion);
  if (!pattern || fusion.getNumResults() != 1 ||
      !pattern->epilogue.isGradient())
    return;
  Value c = fusion.getInputs()[pattern->product];
  Value other = fusion.getInputs()[*pattern->other];
  exec::ProductOp plain = findPlainProduct(c);
  exec::Order order = orderOf(fusion.getResult(0));
  if (!plain || !c.hasOneUse() || orderOf(c) != order ||
      orderOf(other) != order)
    return;
  auto matrix = ResultMatrix::of(plain.getEinsum());
  if (!matrix)
    return;
  bool readsMask = pattern->epilogue.readsMask();
  // In narrow results the mask's rows are mostly empty.
  constexpr int64_t worthwhile = 8;
  if (readsMask && getMaskBytes(*matrix) * worthwhile >
                       nd::getTensorType(other).getLocalBytes(mesh))
    return;
  if (readsMask) {
    exec::ProductOp forward = findMaskWriter(other, pattern->epilogue.function);
    if (!forward || !(ResultMatrix::of(forward.getEinsum()) == matrix))
      return;
  }
  exec::ProductOp product = build({plain,
                                   fusion,
                                   pattern->epilogue,
                                   {pattern->product, *pattern->other},
                                   false});
  if (readsMask) {
    Value mask = getMask(other, pattern->epilogue.function, *matrix);
    product.getInputsMutable().append(mask);
    product.setMask(true);
    product.getBody().front().addArgument(mask.getType(), mask.getLoc());
  }
  fusion.getResult(0).replaceAllUsesWith(product.getResult(0));
  fusion.erase();
  plain.erase();
}

//===----------------------------------------------------------------------===//
// Gradients of biases
//===----------------------------------------------------------------------===//

/// Whether `from` is needed, directly or not, for `to`.
static bool reaches(Operation *from, Operation *to) {
  llvm::SmallDenseSet<Operation *> seen;
  SmallVector<Operation *> stack = {from};
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val();
    if (op == to)
      return true;
    for (Operation *user : op->getUsers())
      if (seen.insert(user).second)
        stack.push_back(user);
  }
  return false;
}

/// A product that sums over exactly `dims` with the value as its `operand`, and
/// does not need what `reader` makes.
exec::ProductOp EpilogueFuser::findProductOf(Value summed,
                                             ArrayRef<StringAttr> dims,
                                             exec::FusionOp reader,
                                             unsigned &operand) {
  for (OpOperand &use : summed.getUses()) {
    auto plain = dyn_cast<exec::ProductOp>(use.getOwner());
    if (!plain || plain.getEpilogue() ||
        plain.getInputs()[0] == plain.getInputs()[1])
      continue;
    nd::EinsumOp einsum = plain.getEinsum();
    exec::ProductDims product = exec::ProductDims::of(einsum);
    if (!product.batch.empty() || product.k.size() != dims.size() ||
        !llvm::all_of(dims,
                      [&](StringAttr dim) {
                        return llvm::is_contained(product.k, dim);
                      }) ||
        nd::getTensorType(einsum.getResult()).getElementType() !=
            nd::getTensorType(summed).getElementType() ||
        !canSumFactor(einsum, use.getOperandNumber()) || reaches(reader, plain))
      continue;
    operand = use.getOperandNumber();
    return plain;
  }
  return {};
}

/// Of a sum that is a kernel of its own: only there is a launch less.
void EpilogueFuser::fuseBiasGradient(exec::FusionOp fusion) {
  auto pattern = EpiloguePattern::of(fusion);
  if (!pattern || !pattern->epilogue.sumsFactor() ||
      fusion.getNumResults() != 1)
    return;
  Value summed = fusion.getInputs()[pattern->product];
  Value sum = fusion.getResult(0);
  if (orderOf(sum) != exec::restrictOrder(orderOf(summed), exec::getDims(sum)))
    return;
  unsigned operand = 0;
  exec::ProductOp plain =
      findProductOf(summed, fusion.getPlan().getReduce(), fusion, operand);
  if (!plain)
    return;
  const EpilogueTraits *epilogue =
      findEpilogue(operand == 0 ? EpilogueOperand::A : EpilogueOperand::B,
                   pattern->epilogue.function, pattern->epilogue.result);
  exec::ProductOp product = build({plain, fusion, *epilogue, {0}, false});
  plain.getResult(0).replaceAllUsesWith(product.getResult(0));
  sum.replaceAllUsesWith(product.getResult(1));
  fusion.erase();
  plain.erase();
}

void EpilogueFuser::run() {
  auto forEachFusion = [&](void (EpilogueFuser::*fuse)(exec::FusionOp)) {
    for (exec::FusionOp fusion :
         llvm::to_vector(block.getOps<exec::FusionOp>()))
      (this->*fuse)(fusion);
  };
  // Activations first: gradients look for them.
  forEachFusion(&EpilogueFuser::fuseActivation);
  forEachFusion(&EpilogueFuser::fuseGradient);
  forEachFusion(&EpilogueFuser::fuseBiasGradient);
  // Nothing that is fused needs what comes of it (passArgumentOn, reaches).
  if (hasChanged && !sortTopologically(&block))
    block.getParentOp()->emitError("products and what follows them need one "
                                   "another");
}

namespace {
struct FuseEpilogues : impl::FuseEpiloguesBase<FuseEpilogues> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!exec::isForGpus(function->getParentOfType<ModuleOp>()))
      return;
    for (Block *block : nd::getBlocks(function))
      EpilogueFuser(*block).run();
  }
};
} // namespace

} // namespace meshc::kernels
