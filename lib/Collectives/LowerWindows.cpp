//===- LowerWindows.cpp - slices of cut dims as an exchange of halos ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Collectives/Windows.h"
#include "llvm/Support/DebugLog.h"
#include <map>

#define DEBUG_TYPE "meshc-lower-windows"

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_LOWERWINDOWS
#include "lib/Collectives/Passes.h.inc"

using nd::Segment;
using nd::TensorType;
using spmd::WindowOp;

namespace {
/// Entries of a rank's block that another rank receives.
struct Halo {
  int64_t low, end;
  WindowOp first;   ///< of those that need some of them, in the block
  Value value = {}; ///< null until one of them asks for it
};

/// What windows of one value need of one other rank moves once, where they need
/// the same entries or neighbours. So shifts by one, two and three entries send
/// three entries.
class SharedHalos {
public:
  /// The value's owner, the dim, and from how many ranks behind.
  using Key = std::tuple<Block *, void *, void *, int64_t>;

  void add(const Key &key, int64_t low, int64_t end, WindowOp window);
  /// Unites what overlaps or touches.
  void unite();
  Halo &get(const Key &key, int64_t low);

private:
  std::map<Key, llvm::SmallVector<Halo, 2>> halos;
};

/// Builds what one window becomes.
class WindowLowering {
public:
  WindowLowering(WindowOp op, SharedHalos &halos)
      : op(op), builder(op), mesh(nd::MeshAttr::of(op)),
        type(nd::getTensorType(op.getResult())),
        axes(spmd::getAxesOf(type, op.getDim())),
        segments(op.getWindowSegments()), halos(halos) {}

  /// Says which entries of other ranks the window needs.
  void collect();
  LogicalResult run();

private:
  /// An operand of the join.
  struct Part {
    Value value;
    int64_t origin, step, first, end;
    int64_t size; ///< entries of its block
    spmd::RoundAttr round = {};
  };

  int64_t getBlockSize(Value value) {
    TensorType known = nd::getTensorType(value);
    return known.getLocalSize(known.getDimIndex(op.getDim()), mesh);
  }
  int64_t getShift(const reshard::WindowPiece &piece) const {
    int64_t ranks = mesh.getProduct(axes);
    return (ranks - piece.distance) % ranks;
  }
  SharedHalos::Key getKey(Value operand, const reshard::WindowPiece &piece) {
    return {op->getBlock(), operand.getAsOpaquePointer(),
            const_cast<void *>(op.getDimAttr().getAsOpaquePointer()),
            getShift(piece)};
  }
  Value makePiece(WindowOp at, Value operand, int64_t low, int64_t size,
                  spmd::RoundAttr round);
  Value makePermute(WindowOp at, Value sent, int64_t shift,
                    spmd::RoundAttr round);
  Value take(WindowOp at, Value operand, int64_t low, int64_t size);
  Value take(Value operand, const reshard::WindowPiece &piece) {
    return take(op, operand, piece.low, piece.size);
  }
  Value permute(WindowOp at, Value operand, const reshard::WindowPiece &piece,
                int64_t low, int64_t size);
  Halo receive(Value operand, const reshard::WindowPiece &piece);
  Part getPart(const reshard::WindowPiece &piece);
  Part getRoundPart(const reshard::WindowPiece &piece);
  Part getWideningPart(const reshard::WindowPiece &piece);
  Part getNarrowingPart(const reshard::WindowPiece &piece);
  static void addPart(const Part &part, llvm::SmallVector<Part> &parts);
  bool isOperand();

  WindowOp op;
  OpBuilder builder;
  nd::MeshAttr mesh;
  TensorType type;
  ArrayRef<StringAttr> axes;
  spmd::WindowSegments segments;
  SharedHalos &halos;
  /// With repetitions, pieces that two segments need move once.
  std::map<std::tuple<void *, int64_t, int64_t, int64_t>, Value> received;
};
} // namespace

void SharedHalos::add(const Key &key, int64_t low, int64_t end,
                      WindowOp window) {
  halos[key].push_back({low, end, window});
}

void SharedHalos::unite() {
  for (auto &[key, list] : halos) {
    std::stable_sort(
        list.begin(), list.end(),
        [](const Halo &a, const Halo &b) { return a.low < b.low; });
    llvm::SmallVector<Halo, 2> united;
    for (const Halo &halo : list) {
      if (united.empty() || united.back().end < halo.low) {
        united.push_back(halo);
        continue;
      }
      Halo &last = united.back();
      last.end = std::max(last.end, halo.end);
      if (halo.first->isBeforeInBlock(last.first))
        last.first = halo.first;
    }
    list = united;
  }
}

Halo &SharedHalos::get(const Key &key, int64_t low) {
  llvm::SmallVector<Halo, 2> &list = halos.find(key)->second;
  return *llvm::find_if(list, [&](const Halo &halo) {
    return halo.low <= low && low < halo.end;
  });
}

/// A piece of the operand's blocks, before the window `at`.
Value WindowLowering::makePiece(WindowOp at, Value operand, int64_t low,
                                int64_t size, spmd::RoundAttr round) {
  OpBuilder before(at);
  return spmd::PieceOp::create(
      before, at.getLoc(),
      spmd::PieceOp::getPiece(nd::getTensorType(operand), op.getDim(), size,
                              mesh),
      op.getDimAttr(), before.getI64IntegerAttr(low), round,
      before.getI64IntegerAttr(size), operand);
}

/// What this rank receives of `sent`, by a shift or in a round.
Value WindowLowering::makePermute(WindowOp at, Value sent, int64_t shift,
                                  spmd::RoundAttr round) {
  OpBuilder before(at);
  ArrayAttr order = before.getArrayAttr(
      llvm::SmallVector<Attribute>(axes.begin(), axes.end()));
  auto permute =
      spmd::PermuteOp::create(before, at.getLoc(), TypeRange(sent.getType()),
                              order, order, shift, round, sent);
  spmd::copyCause(at, permute);
  return permute->getResult(0);
}

/// Entries of a rank's own block, before the window `at`.
Value WindowLowering::take(WindowOp at, Value operand, int64_t low,
                           int64_t size) {
  if (size == getBlockSize(operand) &&
      nd::getTensorType(operand).isEven(type.getDimIndex(op.getDim()), mesh))
    return operand;
  return makePiece(at, operand, low, size, {});
}

/// Entries of the piece's rank, on this rank, for the window `at`.
Value WindowLowering::permute(WindowOp at, Value operand,
                              const reshard::WindowPiece &piece, int64_t low,
                              int64_t size) {
  LDBG() << at.getLoc() << ": rank p receives " << size
         << " entries from rank p + " << piece.distance;
  return makePermute(at, take(at, operand, low, size), getShift(piece), {});
}

/// What this rank has received of the piece's rank, with the piece in it.
Halo WindowLowering::receive(Value operand, const reshard::WindowPiece &piece) {
  if (segments.repeat) {
    Value &known = received[{operand.getAsOpaquePointer(), getShift(piece),
                             piece.low, piece.size}];
    if (!known)
      known = permute(op, operand, piece, piece.low, piece.size);
    return {piece.low, piece.low + piece.size, op, known};
  }
  Halo &halo = halos.get(getKey(operand, piece), piece.low);
  if (!halo.value)
    halo.value =
        permute(halo.first, operand, piece, halo.low, halo.end - halo.low);
  return halo;
}

void WindowLowering::collect() {
  if (segments.repeat || isOperand())
    return;
  auto known = plan(op, op.getInputs(), segments);
  if (!known)
    return; // `run` says why
  for (const reshard::WindowPiece &piece : known->pieces)
    if (piece.distance != 0)
      halos.add(
          getKey(op.getInputs()[segments.list[piece.segment].operand], piece),
          piece.low, piece.low + piece.size, op);
}

/// What the join takes from the piece. Of its own block, a rank needs no copy.
WindowLowering::Part
WindowLowering::getPart(const reshard::WindowPiece &piece) {
  if (piece.round)
    return getRoundPart(piece);
  const Segment &segment = segments.list[piece.segment];
  if (segments.isWidening(getBlockSize(op.getResult())))
    return getWideningPart(piece);
  if (segments.repeat)
    return getNarrowingPart(piece);
  Value operand = op.getInputs()[segment.operand];
  int64_t block = getBlockSize(operand);
  bool isWhole =
      spmd::getAxesOf(nd::getTensorType(operand), op.getDim()).empty();
  int64_t step = isWhole ? 0 : block;
  Halo part = piece.distance == 0 ? Halo{0, block, op, operand}
                                  : receive(operand, piece);
  return {part.value,
          segment.at - segment.from + piece.distance * step + part.low,
          step,
          segment.at,
          segment.at + segment.size,
          part.end - part.low};
}

/// What a rank receives in a round.
WindowLowering::Part
WindowLowering::getRoundPart(const reshard::WindowPiece &piece) {
  const Segment &segment = segments.list[piece.segment];
  Value operand = op.getInputs()[segment.operand];
  auto round = spmd::RoundAttr::get(op.getContext(), *piece.round);
  LDBG() << op.getLoc() << ": " << piece.size << " entries move in " << round;
  Value sent = makePiece(op, operand, /*low=*/0, piece.size, round);
  return {makePermute(op, sent, /*shift=*/0, round),
          0,
          0,
          segment.at,
          segment.at + segment.size,
          piece.size,
          round};
}

/// Of a widened block, wherever it is: the entry of the piece is known from
/// that of the table. What lies beyond the table may come from anywhere.
WindowLowering::Part
WindowLowering::getWideningPart(const reshard::WindowPiece &piece) {
  const Segment &segment = segments.list[piece.segment];
  Value operand = op.getInputs()[segment.operand];
  int64_t block = getBlockSize(operand);
  bool isOwn = piece.distance == 0;
  return {isOwn ? operand : receive(operand, piece).value,
          piece.distance * block - segment.from + (isOwn ? 0 : piece.low),
          segments.getWideningStep(block),
          0,
          type.getSize(op.getDim()),
          isOwn ? block : piece.size};
}

/// Of another rank's widened block, the part that belongs here; the first and
/// the last ranks have no such others.
WindowLowering::Part
WindowLowering::getNarrowingPart(const reshard::WindowPiece &piece) {
  const Segment &segment = segments.list[piece.segment];
  Value operand = op.getInputs()[segment.operand];
  int64_t ranks = mesh.getProduct(axes), block = getBlockSize(op.getResult());
  int64_t step = segments.repeat->at;
  return {piece.distance == 0 ? take(operand, piece)
                              : receive(operand, piece).value,
          segment.at - segment.from + piece.distance * step + piece.low,
          step,
          std::max<int64_t>(0, -piece.distance) * block,
          (ranks - std::max<int64_t>(0, piece.distance)) * block,
          piece.size};
}

/// Adds the part, or makes another one longer that goes on in it.
void WindowLowering::addPart(const Part &part, llvm::SmallVector<Part> &parts) {
  for (Part &other : parts)
    if (!part.round && other.value == part.value &&
        other.origin == part.origin && other.step == part.step &&
        other.end == part.first) {
      other.end = part.end;
      return;
    }
  parts.push_back(part);
}

/// Whether the window is all of its operand.
bool WindowLowering::isOperand() {
  const Segment &first = segments.list[0];
  bool isAll = segments.repeat
                   ? segments.isWidening(getBlockSize(op.getResult())) &&
                         segments.repeat->at == segments.repeat->from
                   : first.size == type.getSize(op.getDim());
  return isAll && segments.list.size() == 1 && first.at == first.from &&
         op.getInputs()[first.operand].getType() == type;
}

LogicalResult WindowLowering::run() {
  if (isOperand()) {
    op.replaceAllUsesWith(op.getInputs()[segments.list[0].operand]);
    op.erase();
    return success();
  }
  auto known = plan(op, op.getInputs(), segments);
  if (!known)
    return op.emitError("needs entries of too many ranks for an exchange of "
                        "halos along dim '")
           << op.getDim() << "' of " << type << "; gather the dim";
  llvm::SmallVector<Part> parts;
  for (const reshard::WindowPiece &piece : known->pieces)
    addPart(getPart(piece), parts);
  if (parts.empty()) { // repetitions, all of them beyond operand or result
    auto none = nd::ConstantOp::create(builder, op.getLoc(), type,
                                       op.getFill().convertToDouble());
    op.replaceAllUsesWith(none.getResult());
    op.erase();
    return success();
  }
  // The last one is the easiest to take.
  std::stable_sort(
      parts.begin(), parts.end(),
      [](const Part &a, const Part &b) { return a.size < b.size; });
  llvm::SmallVector<int64_t> places;
  llvm::SmallVector<Attribute> rounds;
  llvm::SmallVector<Value> values;
  for (const Part &part : parts) {
    places.append({part.origin, part.step, part.first, part.end});
    rounds.push_back(part.round ? Attribute(part.round)
                                : builder.getUnitAttr());
    values.push_back(part.value);
  }
  bool hasRounds = llvm::any_of(rounds, llvm::IsaPred<spmd::RoundAttr>);
  auto join = spmd::JoinOp::create(
      builder, op.getLoc(), type, op.getDimAttr(),
      builder.getDenseI64ArrayAttr(places),
      hasRounds ? builder.getArrayAttr(rounds) : ArrayAttr(),
      isFilled(op, segments) ? op.getFillAttr() : FloatAttr(), values);
  join->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  spmd::removeCause(join);
  op.replaceAllUsesWith(join.getResult());
  op.erase();
  return success();
}

namespace {
struct LowerWindows : impl::LowerWindowsBase<LowerWindows> {
  void runOnOperation() override {
    llvm::SmallVector<WindowOp> windows;
    getOperation().walk([&](WindowOp op) { windows.push_back(op); });
    SharedHalos halos;
    for (WindowOp op : windows)
      if (!op->use_empty())
        WindowLowering(op, halos).collect();
    halos.unite();
    for (WindowOp op : llvm::reverse(windows))
      if (op->use_empty())
        op.erase();
      else if (failed(WindowLowering(op, halos).run()))
        return signalPassFailure();
  }
};
} // namespace

} // namespace meshc::collectives
