//===- Attention.cpp - scaled dot-product attention -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, partition rules, costs and gradients. AttentionReference.cpp has the
// reference semantics, AttentionFallback.cpp the primitive ops and the
// canonical form.
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/AttentionParts.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/Pointwise.h"
#include <cmath>

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Attention.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::registerAttention() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Attention.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Operands and dims
//===----------------------------------------------------------------------===//

template <typename Op> static AttentionScores getScores(Op op) {
  AttentionScores scores;
  scores.query = op.getQuery();
  scores.keys = op.getKeys();
  scores.values = op.getValues();
  scores.mask = op.getMask();
  scores.bias = op.getBias();
  scores.rowLabels = op.getRowLabels();
  scores.memoryLabels = op.getMemoryLabels();
  scores.key = op.getKeyAttr();
  scores.memory = op.getMemoryAttr();
  scores.position = op.getPositionAttr();
  scores.lowest = op.getLowest();
  scores.highest = op.getHighest();
  scores.distance = op.getDistanceAttr();
  scores.predicate = op.getPredicate();
  return scores;
}

AttentionScores AttentionScores::of(Operation *op) {
  if (auto forward = dyn_cast<AttentionOp>(op))
    return getScores(forward);
  return getScores(cast<AttentionGradientOp>(op));
}

bool AttentionScores::isRow(StringAttr dim) const {
  return dim != key && getTensorType(query).hasDim(dim.getValue());
}

int64_t AttentionScores::getLastPosition() const {
  return getTensorType(query).getSize(position.getValue()) - 1;
}

float AttentionScores::getScale() const {
  return 1 / std::sqrt(static_cast<double>(getTensorType(query).getSize(key)));
}

SmallVector<DimAttr> AttentionScores::getRows() const {
  SmallVector<DimAttr> rows;
  for (DimAttr dim : getTensorType(query).getDims())
    if (dim.getName() != key)
      rows.push_back(dim);
  return rows;
}

SmallVector<DimAttr> AttentionScores::getBiasGradientDims() const {
  SmallVector<DimAttr> dims = getRows();
  llvm::erase_if(dims, [&](DimAttr dim) { return dim.getName() == position; });
  dims.push_back(getTensorType(bias).getDim(distance));
  return dims;
}

SmallVector<DimAttr> AttentionScores::getValueDims() const {
  SmallVector<DimAttr> dims;
  for (DimAttr dim : getTensorType(values).getDims())
    if (dim.getName() != memory && !isRow(dim.getName()))
      dims.push_back(dim);
  return dims;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
/// Checks the operands of the scores, and reports at `location`.
class ScoresCheck {
public:
  ScoresCheck(std::optional<Location> location, StringRef op,
              const AttentionScores &scores)
      : location(location), op(op), scores(scores) {}

  LogicalResult run() const {
    return success(succeeded(checkNames()) && succeeded(checkDims()) &&
                   succeeded(checkTypes()) && succeeded(checkBand()) &&
                   succeeded(checkDistance()) && succeeded(checkLabels()));
  }

private:
  LogicalResult checkNames() const;
  LogicalResult checkDims() const;
  LogicalResult checkTypes() const;
  LogicalResult checkBand() const;
  LogicalResult checkDistance() const;
  LogicalResult checkLabels() const;
  LogicalResult checkExtra(Value extra, StringRef name) const;

  std::optional<Location> location;
  StringRef op;
  const AttentionScores &scores;
};
} // namespace

/// `key` is a dim of query and keys, `memory` of keys and values.
LogicalResult ScoresCheck::checkNames() const {
  for (auto [value, dim] :
       {std::pair(scores.query, scores.key), std::pair(scores.keys, scores.key),
        std::pair(scores.keys, scores.memory),
        std::pair(scores.values, scores.memory)})
    if (!getTensorType(value).hasDim(dim.getValue()))
      return reportMissingDim(location, op, dim, getTensorType(value));
  if (scores.key == scores.memory)
    return emitOptionalError(location, op, ": dim '", scores.key.getValue(),
                             "' cannot be both key and memory");
  if (getTensorType(scores.query).hasDim(scores.memory.getValue()))
    return emitOptionalError(
        location, op, ": the query must not have the memory's dim '",
        scores.memory.getValue(),
        "'; 'rename' gives the positions of keys and values another name");
  return checkNumbered(location, op,
                       getTensorType(scores.keys).getDim(scores.memory));
}

LogicalResult ScoresCheck::checkDims() const {
  for (DimAttr dim : getTensorType(scores.keys).getDims())
    if (dim.getName() != scores.key && dim.getName() != scores.memory &&
        !scores.isRow(dim.getName()))
      return emitOptionalError(location, op, ": the keys have dim '",
                               dim.getName().getValue(),
                               "', which the query lacks; its dims: ",
                               listDims(getTensorType(scores.query)));
  if (failed(checkExtra(scores.mask, "mask")) ||
      failed(checkExtra(scores.bias, "bias")))
    return failure();
  return success();
}

LogicalResult ScoresCheck::checkExtra(Value extra, StringRef name) const {
  if (!extra)
    return success();
  for (DimAttr dim : getTensorType(extra).getDims())
    if (dim.getName() != scores.memory && !scores.isRow(dim.getName()) &&
        (extra != scores.bias || dim.getName() != scores.distance))
      return emitOptionalError(
          location, op, ": the ", name, " has dim '", dim.getName().getValue(),
          "', which is neither the memory's nor a dim of the query but '",
          scores.key.getValue(), "'");
  return success();
}

LogicalResult ScoresCheck::checkTypes() const {
  Type type = getTensorType(scores.query).getElementType();
  if (failed(checkDomain(location, op, type, Domain::Float)))
    return failure();
  for (Value other : {scores.keys, scores.values, scores.bias})
    if (other && getTensorType(other).getElementType() != type)
      return emitOptionalError(
          location, op, ": query, keys, values and bias must have one type, ",
          "got ", type, " and ", getTensorType(other).getElementType(),
          "; 'cast' converts");
  if (!scores.mask)
    return success();
  return checkDomain(location, op, getTensorType(scores.mask).getElementType(),
                     Domain::Boolean);
}

LogicalResult ScoresCheck::checkBand() const {
  bool hasUse = scores.lowest || scores.highest || scores.distance;
  if (hasUse != bool(scores.position))
    return emitOptionalError(location, op,
                             ": a band needs 'position', and 'lowest' or "
                             "'highest'");
  if (!scores.position)
    return success();
  if (!scores.isRow(scores.position))
    return emitOptionalError(location, op, ": the band's position '",
                             scores.position.getValue(),
                             "' must be a dim of the query other than '",
                             scores.key.getValue(), "'");
  constexpr int64_t limit = int64_t{1} << 32;
  for (std::optional<int64_t> bound : {scores.lowest, scores.highest})
    if (bound && (*bound < -limit || *bound > limit))
      return emitOptionalError(location, op, ": the band's bound ", *bound,
                               " is beyond any index");
  return success();
}

LogicalResult ScoresCheck::checkDistance() const {
  if (!scores.distance)
    return success();
  TensorType bias = scores.bias ? getTensorType(scores.bias) : TensorType();
  int64_t size = getTensorType(scores.keys).getSize(scores.memory.getValue()) +
                 scores.getLastPosition();
  if (!bias || !bias.hasDim(scores.distance.getValue()) ||
      bias.hasDim(scores.memory.getValue()) ||
      bias.hasDim(scores.position.getValue()))
    return emitOptionalError(location, op, ": a bias by distance has dim '",
                             scores.distance.getValue(), "' instead of '",
                             scores.memory.getValue(), "' and '",
                             scores.position.getValue(), "'");
  if (bias.getSize(scores.distance.getValue()) != size)
    return emitOptionalError(
        location, op, ": dim '", scores.distance.getValue(), "' has ",
        bias.getSize(scores.distance.getValue()),
        " entries, and the differences of positions are ", size);
  return success();
}

LogicalResult ScoresCheck::checkLabels() const {
  bool hasLabels = scores.rowLabels && scores.memoryLabels && scores.predicate;
  if (!hasLabels)
    return scores.rowLabels || scores.memoryLabels || scores.predicate
               ? emitOptionalError(location, op,
                                   ": labels of the rows, labels of the memory "
                                   "and 'predicate' need each other")
               : success();
  if (failed(checkExtra(scores.rowLabels, "tensor of row labels")) ||
      failed(checkExtra(scores.memoryLabels, "tensor of memory labels")))
    return failure();
  for (DimAttr dim : getTensorType(scores.memoryLabels).getDims())
    if (!getTensorType(scores.keys).hasDim(dim.getName().getValue()))
      return emitOptionalError(
          location, op, ": the tensor of memory labels has dim '",
          dim.getName().getValue(), "', which the keys lack");
  if (getTensorType(scores.rowLabels).hasDim(scores.memory.getValue()))
    return emitOptionalError(location, op,
                             ": the tensor of row labels has the "
                             "memory's dim '",
                             scores.memory.getValue(), "'");
  for (Value labels : {scores.rowLabels, scores.memoryLabels})
    if (Type type = getTensorType(labels).getElementType();
        !type.isSignlessInteger(32))
      return emitOptionalError(location, op, ": labels must be i32, got ",
                               type);
  return success();
}

template <typename Op>
static FailureOr<AttentionScores> inferScores(std::optional<Location> location,
                                              typename Op::Adaptor adaptor,
                                              ValueRange operands) {
  StringRef name = getShortName<Op>();
  if (failed(uniteDims(location, name, operands)))
    return failure();
  AttentionScores scores = getScores(adaptor);
  if (failed(ScoresCheck(location, name, scores).run()))
    return failure();
  return scores;
}

/// The types of the output and of the sums, global.
static LogicalResult appendOutputTypes(std::optional<Location> location,
                                       const AttentionScores &scores,
                                       SmallVectorImpl<Type> &types) {
  SmallVector<DimAttr> rows = scores.getRows(), dims(rows);
  llvm::append_range(dims, scores.getValueDims());
  Type element = getTensorType(scores.query).getElementType();
  return success(
      succeeded(appendTensorType(location, element, dims, types)) &&
      succeeded(appendTensorType(
          location, Float32Type::get(element.getContext()), rows, types)));
}

LogicalResult
AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto scores = inferScores<AttentionOp>(location, adaptor, operands);
  if (failed(scores))
    return failure();
  return appendOutputTypes(location, *scores, types);
}

LogicalResult AttentionGradientOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto scores = inferScores<AttentionGradientOp>(location, adaptor, operands);
  SmallVector<Type> outputs;
  if (failed(scores) || failed(appendOutputTypes(location, *scores, outputs)))
    return failure();
  for (auto [value, type, name] :
       {std::tuple(adaptor.getOutput(), outputs[0], "output"),
        std::tuple(adaptor.getLogSums(), outputs[1], "sums"),
        std::tuple(adaptor.getGradient(), outputs[0], "gradient")})
    if (!haveSameGlobalType(value.getType(), type))
      return emitOptionalError(location, getShortName<AttentionGradientOp>(),
                               ": the ", name, " must be ", type, ", got ",
                               value.getType());
  for (Value value : {scores->query, scores->keys, scores->values})
    types.push_back(getTensorType(value).getGlobal());
  if (!adaptor.getOfBias())
    return success();
  if (!scores->distance)
    return emitOptionalError(location, getShortName<AttentionGradientOp>(),
                             ": 'of_bias' needs a bias by distance");
  return appendTensorType(location, Float32Type::get(context),
                          scores->getBiasGradientDims(), types);
}

//===----------------------------------------------------------------------===//
// Partition rules and costs
//===----------------------------------------------------------------------===//

/// All but the rows stays whole.
static PartitionRule getRule(Operation *op) {
  AttentionScores scores = AttentionScores::of(op);
  PartitionRule rule = getRuleByNames(op, scores.memory);
  makeWhole(rule, scores.key);
  if (scores.distance)
    makeWhole(rule, scores.distance);
  for (DimAttr dim : scores.getValueDims())
    makeWhole(rule, dim.getName());
  return rule;
}

PartitionRule AttentionOp::getPartitionRule() { return getRule(*this); }

/// A block of rows gives a part of the sums in gradients that lack these rows:
/// a cut of the query's sequence makes the gradients of keys and values
/// partial.
PartitionRule AttentionGradientOp::getPartitionRule() {
  PartitionRule rule = getRule(*this);
  for (Factor &factor : rule.factors)
    if (factor.effect == FactorEffect::Parallel &&
        llvm::is_contained(factor.resultDims, StringAttr()))
      factor.effect = FactorEffect::Reduce;
  return rule;
}

/// Entries of the scores along `position` and `memory` that a rank computes:
/// blocks of 64 rows and 64 entries of the memory in which the band allows
/// something. The runtime and the kernels for GPUs skip the others. Of the
/// ranks that have a part of the rows, the one with the most entries counts.
static double countBandEntries(const AttentionScores &scores, MeshAttr mesh) {
  constexpr int64_t block = 64, noBound = int64_t(1) << 40;
  TensorType query = getTensorType(scores.query);
  int64_t index = query.getDimIndex(scores.position.getValue());
  int64_t rows = query.getLocalSize(index, mesh);
  int64_t memory = getTensorType(scores.keys).getSize(scores.memory.getValue());
  int64_t lowest = scores.lowest.value_or(-noBound);
  int64_t highest = scores.highest.value_or(noBound);
  int64_t ranks = llvm::divideCeil(query.getDims()[index].getSize(),
                                   std::max<int64_t>(rows, 1));
  int64_t most = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t entries = 0;
    for (int64_t row = 0; row < rows; row += block) {
      int64_t count = std::min(block, rows - row), first = rank * rows + row;
      int64_t begin = std::clamp(first + lowest, int64_t(0), memory);
      int64_t end = std::clamp(first + count + highest, begin, memory);
      if (begin < end)
        entries +=
            count * (std::min<int64_t>(llvm::alignTo(end, block), memory) -
                     begin / block * block);
    }
    most = std::max(most, entries);
  }
  return static_cast<double>(most);
}

/// Entries of the scores that a rank computes. What a mask or labels allow is
/// known when the program runs.
static double countScores(const AttentionScores &scores, MeshAttr mesh) {
  TensorType query = getTensorType(scores.query),
             keys = getTensorType(scores.keys);
  double rows = query.getLocalElementCount(mesh) /
                static_cast<double>(query.getSize(scores.key));
  if (!scores.lowest && !scores.highest)
    return rows * static_cast<double>(
                      keys.getLocalSize(keys.getDimIndex(scores.memory), mesh));
  int64_t along =
      query.getLocalSize(query.getDimIndex(scores.position.getValue()), mesh);
  return rows / static_cast<double>(along) * countBandEntries(scores, mesh);
}

/// `withKey`, `withValue`: matrix products of the scores' size, each with the
/// key or the value dims. `ofScore`: what a score takes besides, in
/// exponentials of other kernels: one of its own, and passes over the block of
/// scores in a core's cache. Measured on a core with AVX-512 (Zen 4): 1.0 ns
/// forward and 1.4 to 2.0 ns backward.
static OpCost getProductsCost(Operation *op, double withKey, double withValue,
                              double ofScore) {
  AttentionScores scores = AttentionScores::of(op);
  MeshAttr mesh = MeshAttr::of(op);
  double key = getTensorType(scores.query).getSize(scores.key), value = 1;
  for (DimAttr dim : scores.getValueDims())
    value *= dim.getSize();
  double entries = countScores(scores, mesh);
  OpCost cost;
  cost.flops = 2 * entries * (withKey * key + withValue * value);
  cost.transcendentals = ofScore * entries;
  cost.bytes = getTrafficBytes(op);
  return cost;
}

OpCost AttentionOp::getCost() { return getProductsCost(*this, 1, 1, 6); }

// Scores, and the gradients of query and keys; the gradients of values and
// probabilities.
OpCost AttentionGradientOp::getCost() {
  return getProductsCost(*this, 3, 2, 9);
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> resultGrads,
                                         SmallVectorImpl<Value> &operandGrads) {
  if (resultGrads[1])
    return emitOpError("has no gradient of its logarithms of sums");
  Value gradient = resultGrads[0];
  if (!gradient)
    return success();
  auto op = AttentionGradientOp::create(
      builder, getLoc(), getQuery(), getKeys(), getValues(), getMask(),
      getBias(), getRowLabels(), getMemoryLabels(), getOutput(), getLogSums(),
      gradient, getKeyAttr(), getMemoryAttr(), getPositionAttr(),
      getLowestAttr(), getHighestAttr(), getDistanceAttr(), getPredicateAttr(),
      getDistanceAttr() ? builder.getUnitAttr() : UnitAttr());
  operandGrads[0] = op.getQueryGradient();
  operandGrads[1] = op.getKeysGradient();
  operandGrads[2] = op.getValuesGradient();
  if (!getBias())
    return success();
  // One that is not by distance is as large as the scores. It is computed
  // apart, and only if it is used.
  ValueBuilder build(builder, getLoc());
  AttentionParts parts(builder, getLoc(), AttentionScores::of(*this));
  Value ofBias =
      op.getBiasGradient()
          ? op.getBiasGradient()
          : parts.getScoreGradient(getOutput(), getLogSums(), gradient);
  TensorType type =
      getTensorType(getBias()).withElementType(builder.getF32Type());
  Value sum = build.broadcastTo(build.sumTo(ofBias, type), type);
  operandGrads[getMask() ? 4 : 3] =
      build.castTo(sum, getTensorType(getBias()).getElementType());
  return success();
}

LogicalResult AttentionGradientOp::buildGradient(OpBuilder &,
                                                 ArrayRef<Value> resultGrads,
                                                 SmallVectorImpl<Value> &) {
  if (llvm::all_of(resultGrads, [](Value gradient) { return !gradient; }))
    return success();
  return emitOpError("has no gradient");
}

SmallVector<HostTensor>
AttentionOp::evaluate(ArrayRef<const HostTensor *> operands,
                      const EvaluationContext &context) {
  return evaluateAttention(*this, operands, context);
}

SmallVector<HostTensor>
AttentionGradientOp::evaluate(ArrayRef<const HostTensor *> operands,
                              const EvaluationContext &context) {
  return evaluateAttention(*this, operands, context);
}

} // namespace meshc::nd
