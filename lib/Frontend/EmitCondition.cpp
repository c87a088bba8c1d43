//===- EmitCondition.cpp - loops that end early ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// for steps { … } while condition. [L4.16] The loop carries its condition, and
/// the number of the last iteration if values are stacked: entries of
/// iterations that did not run are unspecified in an nd.scan, and 0 in the
/// language.
///
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmitLoop.h"

#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Frontend/Emitter.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

/// The first of the carried values; before the loop it is true.
void LoopEmitter::carryCondition(Loop &loop) {
  nd::ValueBuilder build(emitter.builder, emitter.locate(loop.span));
  loop.carry({{}, loop.span}, build.scalar(emitter.builder.getI1Type(), 1));
}

/// At the end of the body; null after an error.
Value LoopEmitter::emitCondition(const Loop &loop) {
  const syntax::Expr &text = *loop.statement.condition;
  Value condition = emitter.emitTensor(text);
  if (!condition)
    return {};
  nd::TensorType type = nd::getTensorType(condition);
  if (type.getRank() == 0 && type.getElementType().isSignlessInteger(1))
    return condition;
  syntax::Diagnostic &wrong = emitter.error(
      text.span, "the condition of a loop must be a scalar i1, got " +
                     describe(type) +
                     (type.getRank() ? "; reduce it, as in sum(…) > 0"
                                     : "; compare it, as in … > 0"));
  emitter.noteOrigin(wrong, text.span);
  wrong.note(loop.span, "the loop is here");
  return {};
}

/// Makes the number of the last iteration the last of the carried values.
/// Returns what the body yields for it; null after an error.
Value LoopEmitter::carryNumber(Loop &loop) {
  bool ok = emitter.checkIndexable(loop.dim.getName(), loop.span);
  Value number =
      ok ? emitter.emitIteration(loop, emitter.builder.getI32Type(), loop.span)
         : Value();
  OpBuilder::InsertionGuard guard(emitter.builder);
  emitter.builder.setInsertionPointToEnd(emitter.blockAround(loop));
  nd::ValueBuilder build(emitter.builder, emitter.locate(loop.span));
  loop.carry({{}, loop.span}, build.scalar(emitter.builder.getI32Type(), 0));
  return number;
}

/// The stacked entries, 0 where the iteration did not run. `last`: the number
/// of the one that ran last.
Value LoopEmitter::maskEntries(const Loop &loop, Value last, Value stacked) {
  Value numbers = loop.iterations.lookup(emitter.builder.getI32Type());
  if (!numbers)
    return stacked; // after an error
  nd::ValueBuilder build(emitter.builder, emitter.locate(loop.span));
  auto order =
      loop.statement.isBackwards ? nd::Predicate::Ge : nd::Predicate::Le;
  Value ran = build.compare(order, numbers, last);
  Value zero = build.scalar(stacked, 0);
  Value masked = build.make<nd::SelectOp>(ran, stacked, zero);
  if (StringAttr name = nd::TensorAttributes::of(stacked).getName())
    nd::setName(masked.getDefiningOp(), name);
  for (Value each : {ran, zero, masked}) {
    emitter.markRecomputed(each.getDefiningOp());
    masks.push_back(each.getDefiningOp());
  }
  return masked;
}

/// What nobody uses after a loop is not stored. [L4.7]
void LoopEmitter::dropUnusedMasks() {
  for (Operation *op : llvm::reverse(masks))
    if (op->use_empty())
      op->erase();
  masks.clear();
}
