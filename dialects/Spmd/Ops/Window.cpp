//===- Window.cpp - entries at other places along cut dims ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Ops/WindowBlocks.h"
#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/VirtualRanks.h"
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

LogicalResult verifyAlike(Operation *op, StringRef dim, bool mayBeWhole) {
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
    bool isWhole = mayBeWhole && getAxesOf(tensor, dim).empty();
    TensorType like =
        isWhole ? dropAxes(result, dim, getAxesOf(result, dim)) : result;
    if (!tensor.hasDim(dim) || resize(tensor, dim, result.getSize(dim)) != like)
      return op->emitOpError() << "changes more than the size of dim '" << dim
                               << "': " << tensor << " and " << result;
    if (!areEquidistant(tensor, dim, mesh))
      return op->emitOpError() << "needs blocks at equal distances along dim '"
                               << dim << "', got " << tensor;
  }
  return success();
}

int64_t getOffsetOf(const HostTensor &operand, ArrayRef<int64_t> index,
                    int64_t along, int64_t at) {
  int64_t offset = 0;
  for (auto [i, stride] : llvm::enumerate(operand.getStrides()))
    offset += stride * (static_cast<int64_t>(i) == along ? at : index[i]);
  return offset;
}

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
  if (failed(verifyAlike(*this, getDim(), /*mayBeWhole=*/!getRepeat())))
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
      size_t owner =
          getAxesOf(from, getDim()).empty() ? rank : group[entry / size];
      const HostTensor &source = *operands[owner][operand];
      element = source.data[getOffsetOf(source, index, along, entry % size)];
    };
    nd::forEachIndex(here.getCounts(type), {target.getStrides()}, take);
  }
  return results;
}

} // namespace meshc::spmd
