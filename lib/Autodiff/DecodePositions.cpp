//===- DecodePositions.cpp - a step of generation -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Autodiff/Passes.h"
#include "lib/Autodiff/PositionDecoder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::autodiff {

#define GEN_PASS_DEF_DECODEPOSITIONS
#include "lib/Autodiff/Passes.h.inc"

namespace {
/// Replaces the function that computes the logits of all positions.
class StepRewriter {
public:
  StepRewriter(func::FuncOp old, nd::GenerateOp generate)
      : old(old), generate(generate), context(old.getContext()),
        builder(context) {}

  LogicalResult run();

private:
  LogicalResult findTokens();
  void addArguments();
  void add(SmallVector<DictionaryAttr> &list, StringAttr name,
           nd::TensorRole role, ArrayRef<Attribute> order);
  void finish(ArrayRef<DecodingCache> caches, Value logits);

  func::FuncOp old, function;
  nd::GenerateOp generate;
  MLIRContext *context;
  OpBuilder builder;
  BlockArgument tokens;
  SmallVector<Attribute> texts; ///< the dims of the tokens of one position
  Value token, position;
  SmallVector<DictionaryAttr> arguments, results;
};
} // namespace

LogicalResult StepRewriter::findTokens() {
  for (BlockArgument argument : old.getArguments()) {
    auto known = nd::TensorAttributes::of(argument);
    if (known.hasRole(nd::TensorRole::Input) &&
        known.getName() == generate.getTokensAttr())
      tokens = argument;
  }
  if (!tokens || !nd::getTensorType(tokens).hasDim(generate.getPositions()) ||
      old.getNumResults() != 1)
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

/// All parameters, the tokens of a position and the position.
void StepRewriter::addArguments() {
  builder.setInsertionPoint(old);
  function = func::FuncOp::create(builder, old.getLoc(), old.getName(),
                                  builder.getFunctionType({}, {}));
  Block &block = *function.addEntryBlock();
  for (BlockArgument argument : old.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!nd::TensorAttributes::of(argument).hasRole(nd::TensorRole::Parameter))
      continue;
    block.addArgument(argument.getType(), argument.getLoc());
    arguments.push_back(old.getArgAttrDict(number));
  }
  nd::TensorType type = nd::getTensorType(tokens);
  token = block.addArgument(type.withoutDims(generate.getPositionsAttr()),
                            tokens.getLoc());
  add(arguments, generate.getTokensAttr(), nd::TensorRole::Token, texts);
  position = block.addArgument(
      nd::TensorType::get(builder.getI32Type(), ArrayRef<nd::DimAttr>()),
      generate.getLoc());
  add(arguments, builder.getStringAttr("position"), nd::TensorRole::Position,
      {});
}

void StepRewriter::finish(ArrayRef<DecodingCache> caches, Value logits) {
  Block &block = function.getBody().front();
  builder.setInsertionPointToEnd(&block);
  SmallVector<Value> values;
  for (const DecodingCache &cache : caches) {
    add(arguments, cache.name, nd::TensorRole::Cache, cache.order);
    add(results, cache.name, nd::TensorRole::Cache, cache.order);
    values.push_back(cache.updated);
  }
  Location loc = old.getBody().front().getTerminator()->getLoc();
  values.push_back(nd::ValueBuilder(builder, generate.getLoc())
                       .castTo(logits, builder.getF32Type()));
  SmallVector<Attribute> order(texts);
  order.push_back(generate.getVocabAttr());
  add(results, generate.getLogitsAttr(), nd::TensorRole::Logits, order);
  func::ReturnOp::create(builder, loc, values);
  function.setFunctionType(builder.getFunctionType(
      block.getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
}

LogicalResult StepRewriter::run() {
  if (failed(findTokens()))
    return failure();
  StringAttr positions = generate.getPositionsAttr();
  PositionDims varying(old, tokens, positions);
  addArguments();
  LogicalResult done = failure();
  {
    Block &block = function.getBody().front();
    PositionDecoder decoder(block, position, positions, varying);
    unsigned next = 0;
    for (BlockArgument argument : old.getArguments())
      if (nd::TensorAttributes::of(argument).hasRole(nd::TensorRole::Parameter))
        decoder.define(argument, {}, block.getArgument(next++));
    decoder.define(tokens, positions, token);
    FailureOr<Value> logits = decoder.get(
        old.getBody().front().getTerminator()->getOperand(0), positions);
    auto caches = succeeded(logits) ? decoder.finish()
                                    : FailureOr<ArrayRef<DecodingCache>>();
    done = caches;
    if (succeeded(done))
      finish(*caches, *logits);
  }
  if (failed(done)) {
    function.erase();
    return failure();
  }
  nd::setPositions(old->getParentOfType<ModuleOp>(),
                   nd::getTensorType(tokens).getSize(generate.getPositions()));
  old.erase();
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
    auto step = module.lookupSymbol<func::FuncOp>("generate_step");
    if (!step || step.isDeclaration()) {
      generates.front().emitError() << "there is no function 'generate_step'";
      return signalPassFailure();
    }
    if (failed(StepRewriter(step, generates.front()).run()))
      signalPassFailure();
  }
};
} // namespace

} // namespace meshc::autodiff
