//===- EmitLoop.cpp - loops over a dim ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmitLoop.h"

#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/RecomputeBlock.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Frontend/Emitter.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

void frontend::visitAssigned(
    ArrayRef<syntax::Statement> statements,
    llvm::function_ref<void(const syntax::Name &, bool isParam)> visit) {
  for (const syntax::Statement &statement : statements)
    if (const auto *assignment =
            std::get_if<syntax::AssignStatement>(&statement.node))
      for (const syntax::TensorDeclaration &target : assignment->targets)
        visit(target.name, false);
    else if (const auto *param =
                 std::get_if<syntax::ParamStatement>(&statement.node))
      visit(param->tensor.name, true);
    else if (const auto *loop =
                 std::get_if<syntax::ForStatement>(&statement.node))
      visitAssigned(loop->body, visit);
    else if (const auto *block =
                 std::get_if<syntax::RecomputeStatement>(&statement.node))
      visitAssigned(block->body, visit);
}

/// The dim of a loop that may be here; null after an error. [L4.6]
nd::DimAttr LoopEmitter::checkLoop(const syntax::Statement &statement) {
  const auto &loop = std::get<syntax::ForStatement>(statement.node);
  nd::DimAttr dim =
      loop.dim.text.empty() ? nd::DimAttr() : emitter.declaredDim(loop.dim);
  if (!dim)
    return {};
  StringRef name = dim.getName().getValue();
  if (const Loop *outer = emitter.findLoop(name)) {
    emitter
        .error(loop.dim.span,
               "a loop over " + quote(name) +
                   " is inside a loop over the same dim; rename the "
                   "dim of the tensors that it runs over")
        .note(outer->span, "the loop around it is here");
    return {};
  }
  if (loop.body.empty()) {
    emitter.error(statement.span,
                  "the loop over " + quote(name) +
                      " is empty; it needs an assignment or a 'param'");
    return {};
  }
  if (emitter.loops.size() >= maxLoopDepth) {
    emitter
        .error(statement.span,
               "loops nest more than " + std::to_string(maxLoopDepth) + " deep")
        .note(emitter.loops.front()->span, "the outermost loop is here");
    return {};
  }
  return emitter.countOperation(statement.span) ? dim : nd::DimAttr();
}

/// The first assignment of each name, in the order of the text; nested loops
/// included.
static std::vector<syntax::Name>
findAssigned(const std::vector<syntax::Statement> &body) {
  std::vector<syntax::Name> names;
  std::set<std::string_view> known;
  visitAssigned(body, [&](const syntax::Name &name, bool isParam) {
    if (!isParam && known.insert(name.text).second)
      names.push_back(name);
  });
  return names;
}

/// [L4.6]
void LoopEmitter::emit(const syntax::Statement &statement) {
  const auto &text = std::get<syntax::ForStatement>(statement.node);
  nd::DimAttr dim = checkLoop(statement);
  if (!dim) {
    // Do not report uses of the names, too.
    visitAssigned(text.body, [&](const syntax::Name &name, bool) {
      emitter.scope->values[name.text] = {};
    });
    return;
  }
  Loop loop(text, statement.span, dim, findAssigned(text.body), *emitter.scope);
  if (text.condition)
    carryCondition(loop);
  carryValues(loop);
  LoopResults results;
  {
    OpBuilder::InsertionGuard guard(emitter.builder);
    emitter.builder.setInsertionPointToEnd(loop.body);
    emitter.scope = &loop.scope;
    emitter.loops.push_back(&loop);
    emitter.parameterNames.enter(dim.getName().getValue(), statement.span);
    for (const syntax::Statement &each : text.body)
      emitter.emitStatement(each);
    results = emitYield(loop, text.condition ? emitCondition(loop) : Value());
    emitter.parameterNames.leave();
    emitter.loops.pop_back();
    emitter.scope = emitter.scope->parent;
  }
  emitScan(loop, results);
}

/// Makes the names that exist before the loop and are assigned inside carried
/// values. [L4.7]
void LoopEmitter::carryValues(Loop &loop) {
  for (const syntax::Name &name : loop.assigned) {
    const Operand *known = emitter.scope->findValue(name.text);
    if (!known)
      continue;
    syntax::Span place =
        emitter.scope->findPlace(name.text).value_or(name.span);
    Operand initial = emitter.capture(*known, place);
    loop.scope.values[name.text] = {};
    if (initial.constant)
      initial = Operand::of(emitter.materialize(
          *initial.constant, emitter.builder.getF32Type(), place));
    if (!initial.value)
      continue;
    nd::TensorType type = nd::getTensorType(initial.value);
    if (!type.hasDim(loop.dimName())) {
      loop.carry(name, initial.value);
      continue;
    }
    syntax::Diagnostic &stacked =
        emitter.error(name.span, "the loop over " + quote(loop.dimName()) +
                                     " cannot carry " + quote(name.text) +
                                     ", which has that dim: " + describe(type) +
                                     "; use another name inside the loop");
    emitter.noteName(stacked, name.text);
    stacked.note(loop.span, "the loop is here");
  }
}

/// How a carried value that starts as a number starts as a tensor of `type`.
static std::string describeStart(const syntax::Constant &number,
                                 nd::TensorType type) {
  std::string start = syntax::toString(number);
  if (!type.getElementType().isF32())
    start = "cast(" + start + ", " + describe(type.getElementType()) + ")";
  if (type.getRank() == 0)
    return start;
  start = "broadcast(" + start;
  for (nd::DimAttr dim : type.getDims())
    start += ", " + dim.getName().str();
  return start + ")";
}

/// The value of a carried name for the next iteration; null after an error.
/// [L4.7]
Value LoopEmitter::findNext(const Loop &loop, unsigned index) {
  const syntax::Name &name = loop.carriedNames[index];
  nd::TensorType type = nd::getTensorType(loop.carried[index]);
  Operand last = loop.scope.values.at(name.text);
  syntax::Span place = loop.scope.findPlace(name.text).value_or(name.span);
  if (last.constant)
    last = Operand::of(
        emitter.materialize(*last.constant, type.getElementType(), place));
  if (!last.value)
    return {};
  nd::TensorType next = nd::getTensorType(last.value);
  if (next == type)
    return last.value;
  const Scope &outside = *loop.scope.parent;
  const Operand &before = *outside.findValue(name.text);
  syntax::Diagnostic &changed = emitter.error(
      place, "the loop carries " + quote(name.text) + " as " + describe(type) +
                 ", but assigns " + describe(next) + describeSizes(next, type) +
                 "; " +
                 (before.constant
                      ? "start it as " + describeStart(*before.constant, next)
                      : "use another name inside the loop"));
  if (std::optional<syntax::Span> start = outside.findPlace(name.text))
    changed.note(*start, quote(name.text) + " is defined here");
  changed.note(loop.span, "the loop is here");
  return {};
}

/// Ends the body. Returns the names that have results, and what the body yields
/// for each: the carried ones, then those stacked over the iterations.
LoopEmitter::LoopResults LoopEmitter::emitYield(Loop &loop, Value condition) {
  LoopResults results, stacked;
  for (unsigned i = 0; i < loop.carriedNames.size(); ++i) {
    const syntax::Name &name = loop.carriedNames[i];
    results.push_back(
        {name, name.text.empty() ? condition : findNext(loop, i)});
  }
  for (const syntax::Name &name : loop.assigned) {
    Value last = loop.scope.values[name.text].value;
    if (!last || loop.isCarried(name.text))
      continue;
    SmallVector<nd::DimAttr> dims(nd::getTensorType(last).getDims());
    dims.push_back(loop.dim);
    if (!emitter.countElements(dims)) {
      loop.scope.problems[name.text] =
          "the values of " + quote(name.text) + " stacked over " +
          quote(loop.dimName()) + " have more than 2**60 elements";
      continue;
    }
    stacked.push_back({name, last});
  }
  if (loop.statement.condition && !stacked.empty())
    results.push_back({{}, carryNumber(loop)});
  llvm::append_range(results, stacked);
  SmallVector<Value> yielded;
  for (auto [index, result] : llvm::enumerate(results))
    yielded.push_back(result.second ? result.second
                                    : Value(loop.body->getArgument(index)));
  nd::YieldOp::create(emitter.builder, emitter.locate(loop.span), yielded);
  return results;
}

/// Gives the names of the body their meaning after the loop. [L4.7]
void LoopEmitter::emitScan(Loop &loop, const LoopResults &results) {
  for (const auto &[name, operand] : loop.scope.values) {
    // Numbers and parameters are the same in each iteration.
    bool isSame = operand.constant || !loop.isAssigned(name);
    emitter.scope->values[name] = isSame ? operand : Operand();
    if (std::optional<syntax::Span> place = loop.scope.findPlace(name))
      emitter.scope->places[name] = *place;
  }
  emitter.scope->problems.insert(loop.scope.problems.begin(),
                                 loop.scope.problems.end());
  if (results.empty())
    return;
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  for (auto [name, yielded] : results) {
    unsigned index = types.size();
    types.push_back(index < loop.carried.size()
                        ? loop.carried[index].getType()
                        : nd::getStackedType(nd::getTensorType(yielded),
                                             loop.dimName(),
                                             loop.dim.getSize()));
    NamedAttrList list;
    if (!name.text.empty())
      nd::setName(list, emitter.builder.getStringAttr(StringRef(name.text)));
    attributes.push_back(list.getDictionary(emitter.builder.getContext()));
  }
  auto scan = nd::ScanOp::create(
      emitter.builder, emitter.locate(loop.span), types, loop.dimName(),
      loop.dim.getSize(), loop.statement.isBackwards,
      loop.statement.condition != nullptr,
      /*micro_batches=*/false, emitter.builder.getArrayAttr(attributes),
      loop.carried, loop.stacked, loop.whole);
  scan.getRegion().takeBody(loop.region);
  emitter.markRecomputed(scan);
  for (OpResult result : scan->getResults()) {
    auto [name, yielded] = results[result.getResultNumber()];
    bool isStacked = result.getResultNumber() >= loop.carried.size();
    Value value = result;
    if (isStacked && scan.getConditional())
      value = maskEntries(loop, scan.getResult(loop.carried.size() - 1), value);
    if (!name.text.empty())
      emitter.scope->values[name.text] =
          yielded ? Operand::of(value) : Operand();
  }
}

//===----------------------------------------------------------------------===//
// Blocks of a body that gradients compute again
//===----------------------------------------------------------------------===//

/// [L4.11] Marks the ops of the block. It has no scope of its own.
void LoopEmitter::emitRecompute(const syntax::Statement &statement) {
  const auto &block = std::get<syntax::RecomputeStatement>(statement.node);
  if (block.body.empty())
    emitter.error(statement.span, "the block is empty; it needs an assignment");
  if (emitter.loops.empty())
    emitter.error(statement.span,
                  "'recompute' outside of a loop; it chooses what a "
                  "loop stores for its gradient");
  std::optional<int64_t> unused;
  std::optional<int64_t> &current =
      emitter.loops.empty() ? unused : emitter.loops.back()->recomputeBlock;
  // A block within a block belongs to it.
  llvm::SaveAndRestore inBlock(current, current ? current : recomputeCount++);
  for (const syntax::Statement &each : block.body)
    emitter.emitStatement(each);
}

//===----------------------------------------------------------------------===//
// Results that nobody uses
//===----------------------------------------------------------------------===//

/// Replaces the op by one without the stacked results that have no use.
static nd::ScanOp dropUnusedResults(nd::ScanOp scan) {
  llvm::BitVector arguments(scan.getBlock().getNumArguments(), true);
  llvm::BitVector results(scan->getNumResults(), true);
  for (OpResult result : scan->getResults().drop_front(scan.getCarriedCount()))
    if (result.use_empty())
      results.reset(result.getResultNumber());
  if (results.all())
    return scan;
  IRRewriter rewriter(scan.getContext());
  return nd::keepTies(rewriter, scan, arguments, results);
}

/// Removes the stacked results that nobody uses, and loops whose results nobody
/// uses. Users come first, so that what only they used goes too. [L4.7]
static void dropUnusedResults(Block &block) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(block.getOperations()))) {
    auto scan = dyn_cast<nd::ScanOp>(op);
    if (!scan)
      continue;
    if (scan.use_empty())
      scan.erase();
    else
      dropUnusedResults(dropUnusedResults(scan).getBlock());
  }
}

void LoopEmitter::finish() {
  dropUnusedMasks();
  dropUnusedResults(*emitter.modelBody);
}
