//===- DecodePositions.cpp - the steps of generation ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "dialects/Nd/StepNames.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Steps/Generation/PositionDecoder.h"
#include "lib/Steps/Generation/WholeBatch.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::steps {

#define GEN_PASS_DEF_DECODEPOSITIONS
#include "lib/Steps/Passes.h.inc"

namespace {
/// The function that computes the logits of all positions, and what it is
/// given.
struct WholeText {
  func::FuncOp function;
  nd::GenerateOp generate;
  BlockArgument tokens = {};
  SmallVector<Attribute> texts = {}; ///< the dims of one position's tokens

  LogicalResult findTokens();
  Value getLogits() {
    return function.getBody().front().getTerminator()->getOperand(0);
  }
};

/// Derives a function from that of all positions.
class StepRewriter {
public:
  /// For the positions of `block`, a dim that no tensor of the text has; for
  /// one position if `block` is null.
  StepRewriter(const WholeText &text, const PositionDims &varying,
               nd::DimAttr block)
      : text(text), generate(text.generate), varying(varying), block(block),
        context(generate.getContext()), builder(context) {}

  /// Adds the function to the module; null after an error. Without logits, it
  /// only fills the caches.
  func::FuncOp run(nd::Step step, bool hasLogits);

private:
  void addArguments(StringRef name);
  Value makeNumbers();
  void add(SmallVector<DictionaryAttr> &list, StringAttr name,
           nd::TensorRole role, ArrayRef<Attribute> order);
  void finish(ArrayRef<DecodingCache> caches, Value logits);

  WholeText text;
  nd::GenerateOp generate;
  const PositionDims &varying;
  nd::DimAttr block;
  func::FuncOp function;
  MLIRContext *context;
  OpBuilder builder;
  Value tokens, position; ///< arguments
  SmallVector<DictionaryAttr> arguments, results;
};
} // namespace

LogicalResult WholeText::findTokens() {
  for (BlockArgument argument : function.getArguments()) {
    auto known = nd::TensorAttributes::of(argument);
    if (known.hasRole(nd::TensorRole::Input) &&
        known.getName() == generate.getTokensAttr())
      tokens = argument;
  }
  if (!tokens || !nd::getTensorType(tokens).hasDim(generate.getPositions()) ||
      function.getNumResults() != 1)
    return generate.emitError()
           << "'generate_step' must compute the logits from '"
           << generate.getTokens() << "', which has dim '"
           << generate.getPositions() << "'";
  for (Attribute dim : nd::TensorAttributes::of(tokens).getOrder())
    if (dim != generate.getPositionsAttr())
      texts.push_back(dim);
  return success();
}

void StepRewriter::add(SmallVector<DictionaryAttr> &list, StringAttr name,
                       nd::TensorRole role, ArrayRef<Attribute> order) {
  NamedAttrList attributes;
  nd::setName(attributes, name);
  nd::setRole(attributes, context, role);
  nd::setOrder(attributes, ArrayAttr::get(context, order));
  list.push_back(attributes.getDictionary(context));
}

/// All parameters, the tokens of the positions and the first position.
void StepRewriter::addArguments(StringRef name) {
  func::FuncOp whole = text.function;
  builder.setInsertionPoint(whole);
  function = func::FuncOp::create(builder, whole.getLoc(), name,
                                  builder.getFunctionType({}, {}));
  Block &body = *function.addEntryBlock();
  for (BlockArgument argument : whole.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!nd::TensorAttributes::of(argument).hasRole(nd::TensorRole::Parameter))
      continue;
    body.addArgument(argument.getType(), argument.getLoc());
    arguments.push_back(whole.getArgAttrDict(number));
  }
  SmallVector<Attribute> order(text.texts);
  if (block)
    order.push_back(block.getName());
  tokens =
      body.addArgument(getTypeAtPositions(nd::getTensorType(text.tokens),
                                          generate.getPositionsAttr(), block),
                       text.tokens.getLoc());
  // In the program's table, a block's tokens are another tensor.
  add(arguments,
      builder.getStringAttr(generate.getTokens() + (block ? ".block" : "")),
      nd::TensorRole::Token, order);
  position = body.addArgument(
      nd::TensorType::get(builder.getI32Type(), ArrayRef<nd::DimAttr>()),
      generate.getLoc());
  add(arguments, builder.getStringAttr("position"), nd::TensorRole::Position,
      {});
}

/// The numbers of the positions that the step computes.
Value StepRewriter::makeNumbers() {
  if (!block)
    return position;
  builder.setInsertionPointToEnd(&function.getBody().front());
  nd::ValueBuilder build(builder, generate.getLoc());
  Value numbers = build.make<nd::IotaOp>(
      nd::TensorType::get(builder.getI32Type(), {block}));
  return build.make<nd::AddOp>(position, numbers);
}

void StepRewriter::finish(ArrayRef<DecodingCache> caches, Value logits) {
  Block &body = function.getBody().front();
  builder.setInsertionPointToEnd(&body);
  SmallVector<Value> values;
  for (const DecodingCache &cache : caches) {
    add(arguments, cache.name, nd::TensorRole::Cache, cache.order);
    add(results, cache.name, nd::TensorRole::Cache, cache.order);
    values.push_back(cache.updated);
  }
  if (logits) {
    values.push_back(nd::ValueBuilder(builder, generate.getLoc())
                         .castTo(logits, builder.getF32Type()));
    SmallVector<Attribute> order(text.texts);
    order.push_back(generate.getVocabAttr());
    add(results, generate.getLogitsAttr(), nd::TensorRole::Logits, order);
  }
  func::ReturnOp::create(builder, text.getLogits().getLoc(), values);
  function.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
}

func::FuncOp StepRewriter::run(nd::Step step, bool hasLogits) {
  addArguments(nd::getStepName(step));
  StringAttr positions = generate.getPositionsAttr();
  bool isDone = false;
  {
    Block &body = function.getBody().front();
    PositionDecoder decoder(body, makeNumbers(), positions, block, varying);
    unsigned next = 0;
    for (BlockArgument argument : text.function.getArguments())
      if (nd::TensorAttributes::of(argument).hasRole(nd::TensorRole::Parameter))
        decoder.define(argument, {}, body.getArgument(next++));
    decoder.define(text.tokens, positions, tokens);
    FailureOr<Value> logits = decoder.get(text.getLogits(), positions);
    auto caches = succeeded(logits) ? decoder.finish()
                                    : FailureOr<ArrayRef<DecodingCache>>();
    isDone = succeeded(caches);
    if (isDone)
      finish(*caches, hasLogits ? *logits : Value());
  }
  if (isDone)
    return function;
  function.erase();
  return {};
}

/// The positions that a step of the prompt computes at once: products with so
/// many rows run near their peak rate, and a short prompt leaves few of them
/// unused.
static constexpr int64_t promptBlock = 64;

/// The dim of these positions. The language has no names with a dot.
static nd::DimAttr getPromptBlock(nd::GenerateOp generate, int64_t positions) {
  return nd::DimAttr::get(generate.getContext(),
                          (generate.getPositions() + ".block").str(),
                          std::min(promptBlock, positions));
}

/// Whether a loop over the positions is among the ops: its iterations come one
/// after the other.
static bool hasRecurrence(func::FuncOp function, const PositionDims &varying) {
  return function
      .walk([&](nd::ScanOp scan) {
        return varying.isOverPositions(scan) ? WalkResult::interrupt()
                                             : WalkResult::advance();
      })
      .wasInterrupted();
}

/// What generation needs, training must need, too.
static LogicalResult checkTrained(func::FuncOp step) {
  auto module = step->getParentOfType<ModuleOp>();
  auto evaluate = nd::findStep(module, nd::Step::Eval);
  llvm::DenseSet<StringAttr> unused;
  for (BlockArgument argument :
       evaluate ? evaluate.getArguments() : Block::BlockArgListType())
    if (argument.use_empty())
      unused.insert(nd::TensorAttributes::of(argument).getName());
  for (BlockArgument argument : step.getArguments()) {
    auto known = nd::TensorAttributes::of(argument);
    if (known.hasRole(nd::TensorRole::Parameter) && !argument.use_empty() &&
        unused.contains(known.getName()))
      return emitError(argument.getLoc())
             << "generation needs parameter '" << known.getName().getValue()
             << "', which training does not compute with, so that it would "
                "never be trained; a function that declares parameters has its "
                "own ones in each operand of in_generation, so pass it the "
                "parameters";
  }
  return success();
}

/// How many times as large the whole batch of `eval_step` is as the batch of
/// the tokens, which is that of the model: a micro-batch. `texts` is its dim.
static int64_t countMicroBatches(ModuleOp module, BlockArgument tokens,
                                 StringAttr texts) {
  auto known = nd::TensorAttributes::of(tokens);
  auto evaluate = nd::findStep(module, nd::Step::Eval);
  for (BlockArgument argument :
       evaluate ? evaluate.getArguments() : Block::BlockArgListType())
    if (nd::TensorAttributes::of(argument).getName() == known.getName())
      return nd::getTensorType(argument).getSize(texts.getValue()) /
             nd::getTensorType(tokens).getSize(texts.getValue());
  return 1;
}

/// Makes steps of micro-batches those of whole batches, if all of them can be.
static void makeWhole(ArrayRef<func::FuncOp> steps, StringAttr texts,
                      int64_t count) {
  SmallVector<WholeBatch> batches;
  for (func::FuncOp step : steps)
    for (BlockArgument argument : step.getArguments())
      if (nd::TensorAttributes::of(argument).hasRole(nd::TensorRole::Token))
        batches.emplace_back(step, argument, texts);
  for (const WholeBatch &batch : batches)
    if (Operation *obstacle = batch.getObstacle()) {
      obstacle->emitWarning()
          << "generation goes on with a micro-batch of texts at once instead "
             "of the whole batch, since this operation depends on the size of "
             "dim '"
          << texts.getValue() << "'";
      return;
    }
  for (WholeBatch &batch : batches)
    batch.multiply(count);
}

static LogicalResult deriveSteps(func::FuncOp function,
                                 nd::GenerateOp generate) {
  auto module = function->getParentOfType<ModuleOp>();
  WholeText text{function, generate};
  if (failed(text.findTokens()))
    return failure();
  PositionDims varying(function, text.tokens, generate.getPositionsAttr());
  int64_t positions =
      nd::getTensorType(text.tokens).getSize(generate.getPositions());
  func::FuncOp step = StepRewriter(text, varying, {})
                          .run(nd::Step::Generate, /*hasLogits=*/true);
  if (!step || failed(checkTrained(step)))
    return failure();
  // Without caches, no position needs those before it.
  bool hasCaches = step.getNumResults() > 1;
  SmallVector<func::FuncOp> steps = {step};
  if (hasCaches && positions > 1 && !hasRecurrence(function, varying)) {
    steps.push_back(
        StepRewriter(text, varying, getPromptBlock(generate, positions))
            .run(nd::Step::Prefill, /*hasLogits=*/false));
    if (!steps.back())
      return failure();
  }
  auto texts = cast<StringAttr>(text.texts[0]);
  if (int64_t count = countMicroBatches(module, text.tokens, texts); count > 1)
    makeWhole(steps, texts, count);
  nd::setPositions(module, positions);
  function.erase();
  generate.erase();
  return success();
}

namespace {
struct DecodePositions : impl::DecodePositionsBase<DecodePositions> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto generates = llvm::to_vector(module.getOps<nd::GenerateOp>());
    if (generates.empty())
      return;
    auto step = nd::findStep(module, nd::Step::Generate);
    if (!step || step.isDeclaration()) {
      generates.front().emitError() << "there is no function 'generate_step'";
      return signalPassFailure();
    }
    if (failed(deriveSteps(step, generates.front())))
      signalPassFailure();
  }
};
} // namespace

} // namespace meshc::steps
