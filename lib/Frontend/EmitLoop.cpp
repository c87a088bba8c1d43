//===- EmitLoop.cpp - loops over a dim ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Emitter.h"

#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/RecomputeBlock.h"
#include "dialects/Nd/TensorAttributes.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

//===----------------------------------------------------------------------===//
// What the body uses of its surroundings
//===----------------------------------------------------------------------===//

Loop *Emitter::findLoop(StringRef dim) const {
  for (Loop *loop : llvm::reverse(loops))
    if (loop->dimName() == dim)
      return loop;
  return nullptr;
}

void Emitter::noteLoop(syntax::Diagnostic &diagnostic, StringRef dim) const {
  if (const Loop *loop = findLoop(dim))
    diagnostic.note(loop->span, "inside this loop over " + quote(dim) +
                                    " each tensor is its entry, without the "
                                    "dim");
}

bool Emitter::checkNotLooped(StringAttr dim, syntax::Span at) {
  if (!findLoop(dim.getValue()))
    return true;
  noteLoop(error(at, "no tensor can get dim " + quote(dim.getValue()) +
                         " inside a loop over it; use another dim"),
           dim.getValue());
  return false;
}

/// The block that has the loop.
Block *Emitter::blockAround(const Loop &loop) const {
  const auto *at = llvm::find(loops, &loop);
  for (auto [block, count] : llvm::reverse(gradientBlocks))
    if (loops.begin() + count == at)
      return block;
  return at == loops.begin() ? modelBody : (*std::prev(at))->body;
}

/// The value at the current place of one of any block around it.
Value Emitter::capture(Value value, syntax::Span at) {
  Block *owner = value.getParentBlock();
  const auto *loop = llvm::find_if(llvm::reverse(loops), [&](const Loop *loop) {
                       return loop->body == owner;
                     }).base();
  for (auto [block, count] : gradientBlocks)
    if (block == owner)
      loop = loops.begin() + count;
  for (; loop != loops.end(); ++loop) {
    nd::TensorType type = nd::getTensorType(value);
    StringRef dim = (*loop)->dimName();
    int64_t size = (*loop)->dim.getSize();
    if (type.hasDim(dim) && type.getSize(dim) != size) {
      syntax::Diagnostic &misfit = error(
          at, "dim " + quote(dim) + " has size " +
                  std::to_string(type.getSize(dim)) + " in " + describe(type) +
                  ", but the loop over it has " + std::to_string(size) +
                  " iterations; rename the dim before the loop");
      misfit.note((*loop)->span, "the loop is here");
      noteOrigin(misfit, at);
      return {};
    }
    value = (*loop)->capture(value);
  }
  return value;
}

Operand Emitter::capture(const Operand &operand, syntax::Span at) {
  if (!operand.value)
    return operand;
  Operand inside = operand;
  inside.value = capture(operand.value, at);
  if (!inside.value)
    return {};
  nd::TensorType type = nd::getTensorType(inside.value);
  llvm::erase_if(inside.order,
                 [&](StringRef dim) { return !type.hasDim(dim); });
  return inside;
}

Value Emitter::emitIteration(Loop &loop, Type elementType, syntax::Span at) {
  Value &numbers = loop.iterations[elementType];
  if (!numbers) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(blockAround(loop));
    numbers = create(nd::IotaOp::getOperationName(), at, {},
                     makeType(elementType, loop.dim, at));
  }
  return numbers ? capture(numbers, at) : Value();
}

std::optional<SmallVector<Value>> Emitter::emitIterations(syntax::Span at) {
  SmallVector<Value> numbers;
  for (Loop *loop : loops) {
    if (!checkIndexable(loop->dim.getName(), at))
      return std::nullopt;
    Value number = emitIteration(*loop, builder.getI32Type(), at);
    if (!number)
      return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Calls `visit` with each assignment of the statements, nested loops included.
static void
visitAssigned(ArrayRef<syntax::Statement> statements,
              function_ref<void(const syntax::Name &, bool isParam)> visit) {
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

/// Gives the names that a statement assigns no value, after an error that the
/// statement could only repeat.
void Emitter::skip(const syntax::Statement &statement) {
  visitAssigned(statement, [&](const syntax::Name &name, bool) {
    assign(name, Operand());
  });
}

/// The dim of a loop that may be here; null after an error. [L4.6]
nd::DimAttr Emitter::checkLoop(const syntax::Statement &statement) {
  const auto &loop = std::get<syntax::ForStatement>(statement.node);
  nd::DimAttr dim =
      loop.dim.text.empty() ? nd::DimAttr() : declaredDim(loop.dim);
  if (!dim)
    return {};
  StringRef name = dim.getName().getValue();
  if (const Loop *outer = findLoop(name)) {
    error(loop.dim.span, "a loop over " + quote(name) +
                             " is inside a loop over the same dim; rename the "
                             "dim of the tensors that it runs over")
        .note(outer->span, "the loop around it is here");
    return {};
  }
  if (loop.body.empty()) {
    error(statement.span, "the loop over " + quote(name) +
                              " is empty; it needs an assignment or a 'param'");
    return {};
  }
  if (loops.size() >= maxLoopDepth) {
    error(statement.span,
          "loops nest more than " + std::to_string(maxLoopDepth) + " deep")
        .note(loops.front()->span, "the outermost loop is here");
    return {};
  }
  return countOperation(statement.span) ? dim : nd::DimAttr();
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
void Emitter::emitLoop(const syntax::Statement &statement) {
  const auto &text = std::get<syntax::ForStatement>(statement.node);
  nd::DimAttr dim = checkLoop(statement);
  if (!dim) {
    // Do not report uses of the names, too.
    visitAssigned(text.body, [&](const syntax::Name &name, bool) {
      scope->values[name.text] = {};
    });
    return;
  }
  Loop loop(text, statement.span, dim, findAssigned(text.body), *scope);
  if (text.condition)
    carryCondition(loop);
  carryValues(loop);
  LoopResults results;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.body);
    scope = &loop.scope;
    loops.push_back(&loop);
    path.push_back({dim.getName().getValue(), statement.span, {}});
    for (const syntax::Statement &each : text.body)
      emitStatement(each);
    results = emitYield(loop, text.condition ? emitCondition(loop) : Value());
    path.pop_back();
    loops.pop_back();
    scope = scope->parent;
  }
  emitScan(loop, results);
}

/// Makes the names that exist before the loop and are assigned inside carried
/// values. [L4.7]
void Emitter::carryValues(Loop &loop) {
  for (const syntax::Name &name : loop.assigned) {
    const Operand *known = scope->findValue(name.text);
    if (!known)
      continue;
    syntax::Span place = scope->findPlace(name.text).value_or(name.span);
    Operand initial = capture(*known, place);
    loop.scope.values[name.text] = {};
    if (initial.constant)
      initial = Operand::of(
          materialize(*initial.constant, builder.getF32Type(), place));
    if (!initial.value)
      continue;
    nd::TensorType type = nd::getTensorType(initial.value);
    if (!type.hasDim(loop.dimName())) {
      loop.carry(name, initial.value);
      continue;
    }
    syntax::Diagnostic &stacked =
        error(name.span, "the loop over " + quote(loop.dimName()) +
                             " cannot carry " + quote(name.text) +
                             ", which has that dim: " + describe(type) +
                             "; use another name inside the loop");
    noteName(stacked, name.text);
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
Value Emitter::findNext(const Loop &loop, unsigned index) {
  const syntax::Name &name = loop.carriedNames[index];
  nd::TensorType type = nd::getTensorType(loop.carried[index]);
  Operand last = loop.scope.values.at(name.text);
  syntax::Span place = loop.scope.findPlace(name.text).value_or(name.span);
  if (last.constant)
    last =
        Operand::of(materialize(*last.constant, type.getElementType(), place));
  if (!last.value)
    return {};
  nd::TensorType next = nd::getTensorType(last.value);
  if (next == type)
    return last.value;
  const Scope &outside = *loop.scope.parent;
  const Operand &before = *outside.findValue(name.text);
  syntax::Diagnostic &changed = error(
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
Emitter::LoopResults Emitter::emitYield(Loop &loop, Value condition) {
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
    if (!countElements(dims)) {
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
  nd::YieldOp::create(builder, locate(loop.span), yielded);
  return results;
}

/// Gives the names of the body their meaning after the loop. [L4.7]
void Emitter::emitScan(Loop &loop, const LoopResults &results) {
  for (const auto &[name, operand] : loop.scope.values) {
    // Numbers and parameters are the same in each iteration.
    bool isSame = operand.constant || !loop.isAssigned(name);
    scope->values[name] = isSame ? operand : Operand();
    if (std::optional<syntax::Span> place = loop.scope.findPlace(name))
      scope->places[name] = *place;
  }
  scope->problems.insert(loop.scope.problems.begin(),
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
      nd::setName(list, builder.getStringAttr(StringRef(name.text)));
    attributes.push_back(list.getDictionary(builder.getContext()));
  }
  auto scan = nd::ScanOp::create(
      builder, locate(loop.span), types, loop.dimName(), loop.dim.getSize(),
      loop.statement.isBackwards, loop.statement.condition != nullptr,
      /*micro_batches=*/false, builder.getArrayAttr(attributes), loop.carried,
      loop.stacked, loop.whole);
  scan.getRegion().takeBody(loop.region);
  markRecomputed(scan);
  for (OpResult result : scan->getResults()) {
    auto [name, yielded] = results[result.getResultNumber()];
    bool isStacked = result.getResultNumber() >= loop.carried.size();
    Value value = result;
    if (isStacked && scan.getConditional())
      value = maskEntries(loop, scan.getResult(loop.carried.size() - 1), value);
    if (!name.text.empty())
      scope->values[name.text] = yielded ? Operand::of(value) : Operand();
  }
}

//===----------------------------------------------------------------------===//
// Blocks of a body that gradients compute again
//===----------------------------------------------------------------------===//

/// [L4.11] Marks the ops of the block. It has no scope of its own.
void Emitter::emitRecompute(const syntax::Statement &statement) {
  const auto &block = std::get<syntax::RecomputeStatement>(statement.node);
  if (block.body.empty())
    error(statement.span, "the block is empty; it needs an assignment");
  if (loops.empty())
    error(statement.span, "'recompute' outside of a loop; it chooses what a "
                          "loop stores for its gradient");
  std::optional<int64_t> unused;
  std::optional<int64_t> &current =
      loops.empty() ? unused : loops.back()->recomputeBlock;
  // A block within a block belongs to it.
  llvm::SaveAndRestore inBlock(current, current ? current : recomputeCount++);
  for (const syntax::Statement &each : block.body)
    emitStatement(each);
}

void Emitter::markRecomputed(Operation *op) const {
  if (!loops.empty() && loops.back()->recomputeBlock &&
      loops.back()->body == op->getBlock())
    nd::setRecomputeBlock(op, *loops.back()->recomputeBlock);
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

void Emitter::finishLoops() {
  dropUnusedMasks();
  dropUnusedResults(*modelBody);
}
