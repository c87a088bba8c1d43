//===- Window.cpp - windows of cut dims, and what they become -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/SpmdOps.h"
#include "dialects/Spmd/VirtualRanks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

#define GET_OP_CLASSES
#include "dialects/Spmd/Ops/Window.cpp.inc"

using namespace mlir;

namespace meshc::spmd {

using nd::EvaluationContext;
using nd::HostTensor;
using nd::MeshAttr;
using nd::TensorType;

void SpmdDialect::registerWindow() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Spmd/Ops/Window.cpp.inc"
      >();
}

/// The type with another size of the dim.
static TensorType resize(TensorType type, StringRef dim, int64_t size) {
  SmallVector<nd::DimAttr> dims(type.getDims());
  nd::DimAttr &attr = dims[type.getDimIndex(dim)];
  attr =
      nd::DimAttr::get(type.getContext(), attr.getName(), size, attr.getAxes());
  return TensorType::get(type.getElementType(), dims, type.getPartialKind(),
                         type.getPartialAxes());
}

/// Operands and result differ in the size of the dim alone, and some axis cuts
/// it into blocks at equal distances.
static LogicalResult verifyAlike(Operation *op, StringRef dim) {
  auto result = cast<TensorType>(op->getResult(0).getType());
  MeshAttr mesh = MeshAttr::of(op);
  if (op->getNumOperands() == 0)
    return op->emitOpError("needs at least one operand");
  if (getAxesOf(result, dim).empty())
    return op->emitOpError()
           << "needs a dim '" << dim << "' that is cut, got " << result;
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes())) {
    auto tensor = cast<TensorType>(type);
    if (!tensor.hasDim(dim) ||
        resize(tensor, dim, result.getSize(dim)) != result)
      return op->emitOpError() << "changes more than the size of dim '" << dim
                               << "': " << tensor << " and " << result;
    if (!areEquidistant(tensor, dim, mesh))
      return op->emitOpError() << "needs blocks at equal distances along dim '"
                               << dim << "', got " << tensor;
  }
  return success();
}

/// `type` with `index` along the dim, and all else as in the result: where the
/// element is in a block of an operand.
static int64_t getOffsetOf(const HostTensor &operand, ArrayRef<int64_t> index,
                           int64_t along, int64_t at) {
  int64_t offset = 0;
  for (auto [i, stride] : llvm::enumerate(operand.getStrides()))
    offset += stride * (static_cast<int64_t>(i) == along ? at : index[i]);
  return offset;
}

//===----------------------------------------------------------------------===//
// WindowOp
//===----------------------------------------------------------------------===//

WindowSegments WindowOp::getWindowSegments() {
  WindowSegments segments;
  for (ArrayRef<int64_t> rest = getSegments(); rest.size() >= 4;
       rest = rest.drop_front(4))
    segments.list.push_back(
        {static_cast<unsigned>(rest[0]), rest[1], rest[2], rest[3]});
  if (auto repeat = getRepeat())
    segments.repeat = {(*repeat)[0], (*repeat)[1]};
  return segments;
}

/// The numbers of a segment that repeats are those of 32-bit entries, and its
/// repetitions do not overlap.
static LogicalResult verifyRepeat(WindowOp op) {
  ArrayRef<int64_t> repeat = *op.getRepeat(), segment = op.getSegments();
  if (repeat.size() != 2 || segment.size() != 4 || op.getNumOperands() != 1)
    return op.emitOpError("needs one operand, one segment and two numbers to "
                          "repeat it");
  for (int64_t number : llvm::concat<const int64_t>(repeat, segment))
    if (number < std::numeric_limits<int32_t>::min() ||
        number > std::numeric_limits<int32_t>::max())
      return op.emitOpError("has a number that exceeds 32 bits: ") << number;
  if (segment[0] != 0 || segment[3] < 1 || repeat[0] < segment[3])
    return op.emitOpError()
           << "has a segment [" << segment
           << "] that overlaps itself when it repeats after " << repeat[0]
           << " entries, has no entries, or is not of its "
              "operand";
  auto getBlock = [&](Value value) {
    return getBlockSize(nd::getTensorType(value), op.getDim(),
                        MeshAttr::of(op));
  };
  if (!op.getWindowSegments().canBeLowered(getBlock(op.getInputs()[0]),
                                           getBlock(op.getResult())))
    return op.emitOpError()
           << "repeats the segment [" << segment << "] by [" << repeat
           << "]: that neither widens the blocks of the operand to those of "
              "the result, nor takes a part of each block of the operand";
  if (nd::getTensorType(op.getResult()).isPartial() && !op.getFill().isZero())
    return op.emitOpError("fills a partial sum with a value that would be "
                          "counted once per rank");
  return success();
}

LogicalResult WindowOp::verify() {
  if (failed(verifyAlike(*this, getDim())))
    return failure();
  if (getRepeat())
    return verifyRepeat(*this);
  auto result = cast<TensorType>(getType());
  int64_t end = 0, count = 0;
  if (getSegments().empty() || getSegments().size() % 4 != 0)
    return emitOpError("needs four numbers for each segment, and at least one "
                       "segment");
  for (const nd::Segment &segment : getWindowSegments().list) {
    auto isWithin = [&](int64_t start, TensorType type) {
      return start >= 0 && segment.size > 0 &&
             segment.size <= type.getSize(getDim()) - start;
    };
    if (segment.operand >= getNumOperands() || segment.at < end ||
        !isWithin(segment.at, result) ||
        !isWithin(segment.from,
                  cast<TensorType>(getInputs()[segment.operand].getType())))
      return emitOpError() << "has a segment [" << segment.operand << ", "
                           << segment.at << ", " << segment.from << ", "
                           << segment.size
                           << "] that overlaps the one before it or does not "
                              "lie within operand and result";
    end = segment.at + segment.size;
    count += segment.size;
  }
  if (result.isPartial() && count < result.getSize(getDim()) &&
      !getFill().isZero())
    return emitOpError("fills a partial sum with a value that would be counted "
                       "once per rank");
  return success();
}

/// Finds where entry `at` of the result comes from: the number of an operand
/// and an entry of it, which may lie beyond the operand if the segment repeats.
/// Nothing if no segment has the entry.
static std::optional<std::pair<unsigned, int64_t>>
findOrigin(const WindowSegments &segments, int64_t at, int64_t ranks) {
  for (const nd::Segment &segment : segments.list) {
    Repeat repeat = segments.repeat.value_or(Repeat());
    int64_t number =
        repeat.at ? llvm::divideFloorSigned(at - segment.at, repeat.at) : 0;
    int64_t within = at - segment.at - number * repeat.at;
    if (number >= 0 && number < ranks && within >= 0 && within < segment.size)
      return std::pair(segment.operand,
                       segment.from + number * repeat.from + within);
  }
  return std::nullopt;
}

SmallVector<SmallVector<HostTensor>>
WindowOp::evaluateAll(ArrayRef<SmallVector<const HostTensor *>> operands,
                      const EvaluationContext &context) {
  MeshAttr mesh = context.mesh;
  auto type = cast<TensorType>(getType());
  int64_t along = type.getDimIndex(getDim());
  ArrayRef<StringAttr> axes = getAxesOf(type, getDim());
  double fill =
      context.round(getFill().convertToDouble(), type.getElementType());
  WindowSegments segments = getWindowSegments();
  int64_t ranks = mesh.getProduct(axes);
  SmallVector<SmallVector<HostTensor>> results(operands.size());
  for (size_t rank = 0; rank < results.size(); ++rank) {
    EvaluationContext here = context;
    here.coordinates = mesh.getCoordinates(static_cast<int64_t>(rank));
    HostTensor &target = results[rank].emplace_back(context.makeTensor(type));
    SmallVector<int64_t> group =
        getGroup(static_cast<int64_t>(rank), axes, mesh);
    int64_t first = here.getOffset(type, getDim());
    auto take = [&](ArrayRef<int64_t> index, ArrayRef<int64_t> offsets) {
      double &element = target.data[offsets[0]];
      element = fill;
      auto origin = findOrigin(segments, first + index[along], ranks);
      if (!origin)
        return;
      auto [operand, entry] = *origin;
      TensorType from = operands[rank][operand]->type;
      if (entry < 0 || entry >= from.getSize(getDim())) {
        element = nd::getSpoiledValue(from.getElementType());
        return;
      }
      int64_t size = operands[rank][operand]->sizes[along];
      const HostTensor &source = *operands[group[entry / size]][operand];
      element = source.data[getOffsetOf(source, index, along, entry % size)];
    };
    nd::forEachIndex(here.getCounts(type), {target.getStrides()}, take);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// PieceOp
//===----------------------------------------------------------------------===//

TensorType PieceOp::getPiece(TensorType input, StringRef dim, int64_t size,
                             MeshAttr mesh) {
  return resize(input, dim, size * mesh.getProduct(getAxesOf(input, dim)));
}

LogicalResult PieceOp::verify() {
  auto input = cast<TensorType>(getInput().getType());
  MeshAttr mesh = MeshAttr::of(*this);
  if (!input.hasDim(getDim()))
    return emitOpError() << "needs a dim '" << getDim() << "', got " << input;
  int64_t block = input.getLocalSize(input.getDimIndex(getDim()), mesh);
  auto low = static_cast<int64_t>(getLow());
  auto size = static_cast<int64_t>(getSize());
  if (low < 0 || size < 1 || low > block || size > block - low)
    return emitOpError() << "takes " << size << " entries from " << low
                         << " of blocks of " << block;
  TensorType expected = getPiece(input, getDim(), size, mesh);
  if (getType() != expected)
    return emitOpError() << "gives its result type " << expected << ", got "
                         << getType();
  return success();
}

SmallVector<HostTensor> PieceOp::evaluate(ArrayRef<const HostTensor *> operands,
                                          const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  SmallVector<int64_t> from(result.sizes.size(), 0), to = from;
  from[result.type.getDimIndex(getDim())] = static_cast<int64_t>(getLow());
  copyBox(*operands[0], from, result, to, result.sizes);
  return {std::move(result)};
}

LogicalResult PieceOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                     SmallVectorImpl<Value> &) {
  return emitOpError("is made after the gradients and has none");
}

nd::PartitionRule PieceOp::getPartitionRule() {
  return nd::getRuleByNames(*this, getDim());
}

nd::OpCost PieceOp::getCost() { return nd::getPartCost(*this); }

Value PieceOp::emitElement(nd::ElementEmitter &emitter,
                           const nd::ElementIndex &index) {
  nd::ElementIndex inner = index;
  nd::DimIndex &at = inner.dims[getDim().str()];
  if (at.lanes &&
      !supportsLanes(getDim(), emitter.getLanes(), emitter.getMesh()))
    return {};
  Value low = arith::ConstantIndexOp::create(emitter.builder, emitter.loc,
                                             static_cast<int64_t>(getLow()));
  at.base = arith::AddIOp::create(emitter.builder, emitter.loc, at.base, low);
  return emitter.getElement(getInput(), inner);
}

bool PieceOp::supportsLanes(StringRef dim, int64_t lanes, MeshAttr) {
  return dim != getDim() || static_cast<int64_t>(getLow()) % lanes == 0;
}

nd::OperandDim PieceOp::getOperandDim(unsigned, StringRef dim) {
  auto name = StringAttr::get(getContext(), dim);
  return dim == getDim() ? nd::OperandDim::other(name)
                         : nd::OperandDim::same(name);
}

//===----------------------------------------------------------------------===//
// JoinOp
//===----------------------------------------------------------------------===//

namespace {
/// Of an operand of a join: four of the numbers in `places`.
struct Place {
  int64_t origin, step, first, end;
};
} // namespace

static Place getPlace(JoinOp op, size_t operand) {
  ArrayRef<int64_t> numbers = op.getPlaces().slice(4 * operand, 4);
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

LogicalResult JoinOp::verify() {
  if (failed(verifyAlike(*this, getDim())))
    return failure();
  if (getPlaces().size() != 4 * static_cast<size_t>(getNumOperands()))
    return emitOpError() << "needs four numbers for each operand, got "
                         << getPlaces().size() << " for " << getNumOperands()
                         << " operands";
  for (size_t i = 0; i < getNumOperands(); ++i)
    if (getPlace(*this, i).step < 1)
      return emitOpError() << "needs steps of at least one entry, got "
                           << getPlace(*this, i).step;
  return success();
}

SmallVector<HostTensor> JoinOp::evaluate(ArrayRef<const HostTensor *> operands,
                                         const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  TensorType type = result.type;
  int64_t along = type.getDimIndex(getDim());
  int64_t first = context.getOffset(type, getDim());
  int64_t rank = first / result.sizes[along];
  double fill = getFill() ? context.round(getFill()->convertToDouble(),
                                          type.getElementType())
                          : 0;
  auto take = [&](ArrayRef<int64_t> index, ArrayRef<int64_t> offsets) {
    double &element = result.data[offsets[0]];
    element = fill;
    int64_t global = first + index[along];
    for (auto [number, operand] : llvm::enumerate(operands)) {
      Place place = getPlace(*this, number);
      int64_t at = global - place.origin - rank * place.step;
      if (at < 0 || at >= operand->sizes[along] || global < place.first ||
          global >= place.end)
        continue;
      element = operand->data[getOffsetOf(*operand, index, along, at)];
      return;
    }
  };
  nd::forEachIndex(context.getCounts(type), {result.getStrides()}, take);
  return {std::move(result)};
}

LogicalResult JoinOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                    SmallVectorImpl<Value> &) {
  return emitOpError("is made after the gradients and has none");
}

nd::PartitionRule JoinOp::getPartitionRule() {
  return nd::getRuleByNames(*this, getDim());
}

nd::OpCost JoinOp::getCost() { return nd::getElementwiseCost(*this, 0); }

namespace {
/// Emits one element of a join.
class JoinEmitter {
public:
  JoinEmitter(JoinOp op, nd::ElementEmitter &emitter,
              const nd::ElementIndex &index)
      : op(op), emitter(emitter), builder(emitter.builder), index(index),
        type(cast<TensorType>(op.getType())), base(index.at(op.getDim()).base),
        block(getBlockSize(type)) {}

  Value emit();

private:
  int64_t getBlockSize(TensorType of) {
    return of.getLocalSize(of.getDimIndex(op.getDim()), emitter.getMesh());
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, emitter.loc, value);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, int64_t b) {
    return arith::CmpIOp::create(builder, emitter.loc, predicate, a,
                                 constant(b));
  }
  Value both(Value a, Value b) {
    return a && b ? arith::AndIOp::create(builder, emitter.loc, a, b)
                  : (a ? a : b);
  }
  Value getIndexIn(const Place &place);
  Value getCondition(const Place &place, Value at, int64_t size);

  JoinOp op;
  nd::ElementEmitter &emitter;
  OpBuilder &builder;
  const nd::ElementIndex &index;
  TensorType type;
  Value base;
  int64_t block;
};
} // namespace

/// The entry of the operand's block, which may not exist. The rank's offsets
/// cancel out if the blocks that the operand is from are as large as those of
/// the result.
Value JoinEmitter::getIndexIn(const Place &place) {
  Value at =
      arith::SubIOp::create(builder, emitter.loc, base, constant(place.origin));
  if (place.step == block)
    return at;
  int64_t ranks = emitter.getMesh().getProduct(getAxesOf(type, op.getDim()));
  TensorType from = resize(type, op.getDim(), place.step * ranks);
  Value moved = arith::SubIOp::create(
      builder, emitter.loc, emitter.getGlobalOffset(type, op.getDim()),
      emitter.getGlobalOffset(from, op.getDim()));
  return arith::AddIOp::create(builder, emitter.loc, at, moved);
}

/// Whether the operand has the entry; null if it has all of them.
Value JoinEmitter::getCondition(const Place &place, Value at, int64_t size) {
  Value condition;
  bool isWithin = place.step == block && place.origin <= 0 &&
                  block - 1 - place.origin < size;
  if (!isWithin)
    condition = compare(arith::CmpIPredicate::ult, at, size);
  if (place.first <= 0 && place.end >= type.getSize(op.getDim()))
    return condition;
  Value global = arith::AddIOp::create(
      builder, emitter.loc, base, emitter.getGlobalOffset(type, op.getDim()));
  if (place.first > 0)
    condition = both(condition,
                     compare(arith::CmpIPredicate::sge, global, place.first));
  if (place.end < type.getSize(op.getDim()))
    condition =
        both(condition, compare(arith::CmpIPredicate::slt, global, place.end));
  return condition;
}

/// From the last operand to the first: each one overrules where it has the
/// entry.
Value JoinEmitter::emit() {
  Value element;
  for (size_t i = op.getNumOperands(); i-- > 0;) {
    Value operand = op.getInputs()[i];
    int64_t size = getBlockSize(nd::getTensorType(operand));
    Place place = getPlace(op, i);
    Value at = getIndexIn(place);
    nd::ElementIndex inner = index;
    Value atLeast =
        arith::MaxSIOp::create(builder, emitter.loc, at, constant(0));
    inner.dims[op.getDim().str()].base = arith::MinSIOp::create(
        builder, emitter.loc, atLeast, constant(size - 1));
    Value part = emitter.getElement(operand, inner);
    if (!part)
      return {};
    if (!element && op.getFill())
      element = emitter.constant(type.getElementType(),
                                 op.getFill()->convertToDouble(), part);
    Value condition = getCondition(place, at, size);
    element = element && condition
                  ? arith::SelectOp::create(builder, emitter.loc, condition,
                                            part, element)
                  : part;
  }
  return element;
}

Value JoinOp::emitElement(nd::ElementEmitter &emitter,
                          const nd::ElementIndex &index) {
  if (index.at(getDim()).lanes)
    return {};
  return JoinEmitter(*this, emitter, index).emit();
}

bool JoinOp::supportsLanes(StringRef dim, int64_t, MeshAttr) {
  return dim != getDim();
}

nd::OperandDim JoinOp::getOperandDim(unsigned, StringRef dim) {
  auto name = StringAttr::get(getContext(), dim);
  return dim == getDim() ? nd::OperandDim::other(name)
                         : nd::OperandDim::same(name);
}

} // namespace meshc::spmd
