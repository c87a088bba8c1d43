//===- GpuScatterEmitter.cpp - adding at computed places, on a GPU --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuScatterEmitter.h"
#include "lib/Codegen/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace meshc::codegen {

/// Threads of a block, at most.
static constexpr int64_t threadsPerBlock = 256;
/// Places that a walker has at least where others could share them.
static constexpr int64_t leastPlaces = 4;
/// Sums that a walker takes of those that others have passed on.
static constexpr int64_t sumsPerWalker = 16;
/// Sums that are read before the first of them is added.
static constexpr int64_t sumsAtOnce = 4;
/// Names no entry: there are fewer.
static constexpr int64_t noName = INT32_MAX;

//===----------------------------------------------------------------------===//
// Which thread does what
//===----------------------------------------------------------------------===//

GpuScatterEmitter::GpuScatterEmitter(const ScatterShape &shape,
                                     KernelElements &emitter,
                                     const GpuOptions &options)
    : LoopEmitter(emitter), shape(shape) {
  for (const Loop &loop : shape.inner)
    innerCount *= loop.size;
  innerCount /= emitter.getLanes();
  columns = std::min<int64_t>(llvm::bit_ceil<uint64_t>(innerCount), warpSize);
  parts = llvm::divideCeil(innerCount, columns);
  map.points = parts * columns;
  for (const Loop &loop : shape.kept)
    map.points *= loop.size;
  for (const Loop &loop : shape.summed)
    map.steps *= loop.size;
  chooseMapping(options);
}

/// As many walkers as fill the GPU, if each has some places, or some entries of
/// those that must be written though no index names them.
void GpuScatterEmitter::chooseMapping(const GpuOptions &options) {
  map.pointsPerBlock = columns;
  int64_t work = map.steps;
  if (!shape.tableInput)
    work = std::max(work, shape.entries);
  while (map.getThreads() < warpSize ||
         (map.getThreads() < threadsPerBlock &&
          work > leastPlaces * map.members &&
          map.points * map.members < options.threadsToFill))
    map.members *= 2;
  constexpr int64_t maxSharers = 128;
  while (map.sharers < maxSharers &&
         map.getBlocks() * map.getThreads() < options.threadsToFill &&
         work >= 2 * options.leastSteps * map.getWorkers())
    map.sharers *= 2;
}

int64_t GpuScatterEmitter::getPieceLength() const {
  int64_t length = llvm::divideCeil(map.steps, map.getWorkers());
  return llvm::alignTo(
      length, std::min(sumsAtOnce, int64_t(llvm::bit_floor(uint64_t(length)))));
}

void GpuScatterEmitter::placeThread(Value point) {
  unit = point;
  column = takeOff(unit, columns);
  Value rest = unit, part = takeOff(rest, parts);
  setIndices(place, shape.kept, rest, false);
  Value number = add(scale(part, columns), column);
  if (innerCount % columns != 0) {
    isValid = isBelow(number, emitter.getIndexConstant(innerCount));
    number = arith::MinUIOp::create(builder, loc, number,
                                    emitter.getIndexConstant(innerCount - 1));
  }
  setIndices(place, shape.inner, number, true);
  firstIndex = arith::IndexCastOp::create(
      builder, loc, builder.getI32Type(),
      emitter.getGlobalOffset(nd::getTensorType(shape.op->getResult(0)),
                              shape.dim.getValue()));
}

void GpuScatterEmitter::emit(GpuGroup &threads) {
  group = &threads;
  placeThread(group->getPoint());
  emitOthers(group->getWorker());
  Rows ofBlocks, ofBlock;
  bool isShared = map.sharers > 1;
  if (isShared)
    ofBlocks = allocateGlobalRows(2 * map.sharers);
  const Rows *last = isShared ? &ofBlocks : nullptr;
  if (map.members == 1) {
    walk(getUpdates(), group->getWorker(), getPieceLength(), last,
         group->getSharer());
  } else {
    ofBlock = allocateRows(2 * map.members);
    walk(getUpdates(), group->getWorker(), getPieceLength(), &ofBlock,
         group->getMember());
    group->emitBarrier();
    combineRows(ofBlock, last, group->getSharer());
  }
  if (isShared)
    emitIf(group->emitIsLastBlock(),
           [&] { combineRows(ofBlocks, nullptr, {}); });
}

//===----------------------------------------------------------------------===//
// Parts of code
//===----------------------------------------------------------------------===//

Value GpuScatterEmitter::isEqual(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
}

Value GpuScatterEmitter::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}

Value GpuScatterEmitter::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value GpuScatterEmitter::add(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}

Value GpuScatterEmitter::scale(Value a, int64_t b) {
  return arith::MulIOp::create(builder, loc, a, emitter.getIndexConstant(b));
}

Value GpuScatterEmitter::constant(int64_t value) {
  return arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value GpuScatterEmitter::getZero() {
  return getIdentity(emitter, shape.op, emitter.getLanes() > 1);
}

void GpuScatterEmitter::emitIf(Value condition,
                               llvm::function_ref<void()> code) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  KernelElements::Scope scope(emitter);
  code();
}

//===----------------------------------------------------------------------===//
// Sums by entry
//===----------------------------------------------------------------------===//

/// The updates in the order of their indices.
GpuScatterEmitter::Sums GpuScatterEmitter::getUpdates() {
  auto locate = [this](Value number) {
    nd::ElementIndex index = place;
    if (Value order = shape.op.getOrder()) {
      for (nd::DimAttr dim : nd::getTensorType(order).getDims())
        if (!index.dims.count(dim.getName().str()))
          index.dims[dim.getName().str()] = {number, false};
      number = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                          emitter.getElement(order, index));
      // A row of padding may hold anything.
      if (nd::getTensorType(order).hasPadding(emitter.getMesh()))
        number = arith::MinUIOp::create(
            builder, loc, number, emitter.getIndexConstant(map.steps - 1));
    }
    index = place;
    setIndices(index, shape.summed, number, false);
    return index;
  };
  return {map.steps,
          [this, locate](Value number) {
            return emitter.getElement(shape.op.getIndices(), locate(number));
          },
          [this, locate](Value number) { return getUpdate(locate(number)); }};
}

/// Zeros in place of updates that do not exist. Their indices, which may be
/// anything, stay in the order: where one names an entry, it adds nothing.
Value GpuScatterEmitter::getUpdate(const nd::ElementIndex &index) {
  Value update = emitter.getElement(shape.op.getUpdates(), index);
  SmallVector<StringAttr> dims;
  for (const Loop &loop : shape.summed)
    dims.push_back(loop.dims.back());
  Value exists = getExistence(emitter, nd::getTensorType(shape.op.getIndices()),
                              dims, index);
  if (!exists)
    return update;
  Value zero = getZero();
  emitter.unify(update, zero);
  return select(exists, update, zero);
}

GpuScatterEmitter::Sums GpuScatterEmitter::getSums(const Rows &rows) {
  Type name = builder.getI32Type(), sum = getZero().getType();
  return {rows.count,
          [=, this](Value number) {
            return group->load(rows.names, name, getRow(rows, number),
                               rows.isGlobal);
          },
          [=, this](Value number) {
            Value row = getRow(rows, number);
            return group->load(rows.sums, sum, add(scale(row, columns), column),
                               rows.isGlobal);
          }};
}

Value GpuScatterEmitter::getRow(const Rows &rows, Value number) {
  return rows.first ? add(rows.first, number) : number;
}

/// In the block's memory.
GpuScatterEmitter::Rows GpuScatterEmitter::allocateRows(int64_t count) {
  Rows rows;
  rows.count = count;
  rows.names = group->allocate(count * int64_t(sizeof(int32_t)));
  rows.sums =
      group->allocate(count * columns * getSlotBytes(getZero().getType()));
  return rows;
}

/// For the blocks that share the unit.
GpuScatterEmitter::Rows GpuScatterEmitter::allocateGlobalRows(int64_t count) {
  Rows rows;
  int64_t all = count * map.getTeams();
  rows.count = count;
  rows.first = scale(unit, count);
  rows.isGlobal = true;
  rows.names = group->allocateGlobal("names", all * int64_t(sizeof(int32_t)));
  rows.sums = group->allocateGlobal(
      "sums", all * columns * getSlotBytes(getZero().getType()));
  return rows;
}

void GpuScatterEmitter::storeEnds(const Rows &rows, Value walker,
                                  const Ends &ends) {
  auto storeRow = [&](Value number, Value name, Value sum) {
    Value row = getRow(rows, number);
    emitIf(isEqual(column, emitter.getIndexConstant(0)),
           [&] { group->store(rows.names, name, row); });
    group->store(rows.sums, sum, add(scale(row, columns), column));
  };
  Value first = scale(walker, 2);
  storeRow(first, ends.firstName, ends.firstSum);
  storeRow(add(first, emitter.getIndexConstant(1)), ends.lastName,
           ends.lastSum);
}

//===----------------------------------------------------------------------===//
// Walkers
//===----------------------------------------------------------------------===//

/// The name of a sum; beyond the last one, no name, and the last one's number.
GpuScatterEmitter::NameAt GpuScatterEmitter::readName(const Sums &sums,
                                                      Value number) {
  Value last = emitter.getIndexConstant(sums.count - 1);
  Value inside = arith::MinUIOp::create(builder, loc, number, last);
  return {inside, select(isEqual(inside, number), sums.getName(inside),
                         constant(noName))};
}

/// Walker `walker` sums `length` of the sums. It passes its ends on to the rows
/// of `slot`, or stores them, too, if there are no rows: then it is alone.
void GpuScatterEmitter::walk(const Sums &sums, Value walker, int64_t length,
                             const Rows *into, Value slot) {
  Value begin = scale(walker, length);
  Value firstName = readName(sums, begin).name, zero = getZero();
  Value isFirst = arith::ConstantOp::create(
      builder, loc, builder.getBoolAttr(into != nullptr));
  int64_t step = std::min(sumsAtOnce, length & -length);
  Values carried = emitFor(
      emitter.getIndexConstant(0), emitter.getIndexConstant(length), step,
      {firstName, zero, isFirst, zero}, [&](Value base, ArrayRef<Value> args) {
        Values names, elements, next(args);
        for (int64_t i = 0; i < step; ++i) {
          Value number = add(add(begin, base), emitter.getIndexConstant(i));
          NameAt read = readName(sums, number);
          names.push_back(read.name);
          elements.push_back(sums.getSum(read.number));
          emitter.unify(elements.back(), zero);
        }
        for (auto [name, element] : llvm::zip(names, elements))
          next = addToRun(name, element, next);
        return next;
      });
  if (!into)
    return storeSum(carried[0], carried[1]);
  Ends ends{firstName, carried[3], carried[0], carried[1]};
  storeEnds(*into, slot, ends);
}

/// Adds to the current run, or begins another. Carried are the current run's
/// name and sum, whether it is the walker's first, and the sum of the first one
/// once it has ended.
GpuScatterEmitter::Values GpuScatterEmitter::addToRun(Value name, Value sum,
                                                      ArrayRef<Value> carried) {
  Value isSame = isEqual(name, carried[0]);
  Value isFirst = carried[2];
  Value isStored = arith::OrIOp::create(builder, loc, isSame, isFirst);
  Value yes =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  isStored = arith::XOrIOp::create(builder, loc, isStored, yes);
  emitIf(isStored, [&] { storeSum(carried[0], carried[1]); });
  Value more = combine(emitter, shape.op, carried[1], sum);
  Value endsFirst = arith::AndIOp::create(
      builder, loc, isFirst, arith::XOrIOp::create(builder, loc, isSame, yes));
  return {name, select(isSame, more, sum),
          arith::AndIOp::create(builder, loc, isFirst, isSame),
          select(endsFirst, carried[1], carried[3])};
}

/// The block's walkers, fewer and fewer, sum the rows. What is left goes to the
/// rows of `slot`, or is stored.
void GpuScatterEmitter::combineRows(Rows rows, const Rows *into, Value slot) {
  Value member = group->getMember();
  for (bool isEnd = false; !isEnd;) {
    int64_t walkers =
        std::clamp<int64_t>(rows.count / sumsPerWalker, 1, map.members);
    isEnd = walkers == 1;
    Rows next;
    if (!isEnd)
      next = allocateRows(2 * walkers);
    emitIf(isBelow(member, emitter.getIndexConstant(walkers)), [&] {
      walk(getSums(rows), member, rows.count / walkers, isEnd ? into : &next,
           isEnd ? slot : member);
    });
    if (!isEnd)
      group->emitBarrier();
    rows = next;
  }
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

void GpuScatterEmitter::store(Value entry, Value element) {
  auto code = [&] {
    nd::ElementIndex index = place;
    index.dims[shape.dim.str()] = {entry, false};
    if (Value table = shape.op.getTable()) {
      Value before = emitter.getElement(table, index);
      element = element ? combine(emitter, shape.op, before, element) : before;
    }
    emitter.store(0, element ? element : getZero(), index);
  };
  if (isValid)
    emitIf(isValid, code);
  else
    code();
}

/// Adds the sum of all updates to the entry, if it is one of the rank's.
void GpuScatterEmitter::storeSum(Value name, Value sum) {
  Value entry = arith::IndexCastOp::create(
      builder, loc, builder.getIndexType(),
      arith::SubIOp::create(builder, loc, name, firstIndex));
  emitIf(isBelow(entry, emitter.getIndexConstant(shape.entries)),
         [&] { store(entry, sum); });
}

/// The first place of the order whose index is not below `wanted`, by halving.
Value GpuScatterEmitter::findName(Value wanted) {
  Value zero = emitter.getIndexConstant(0), two = emitter.getIndexConstant(2);
  auto halvings = int64_t(llvm::Log2_64(map.steps)) + 1;
  Values range = emitFor(
      zero, emitter.getIndexConstant(halvings), 1,
      {zero, emitter.getIndexConstant(map.steps)},
      [&](Value, ArrayRef<Value> range) -> Values {
        Value middle =
            arith::DivUIOp::create(builder, loc, add(range[0], range[1]), two);
        Value isLess = arith::AndIOp::create(
            builder, loc, isBelow(range[0], range[1]),
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                  readName(getUpdates(), middle).name, wanted));
        return {
            select(isLess, add(middle, emitter.getIndexConstant(1)), range[0]),
            select(isLess, range[1], middle)};
      });
  return range[0];
}

/// The entries that no index names are the table's, or zeros; each walker has a
/// piece of them. In place they are there.
void GpuScatterEmitter::emitOthers(Value worker) {
  OpBuilder::InsertionGuard guard(builder);
  KernelElements::Scope scope(emitter);
  if (shape.tableInput)
    enterIfElsewhere(*shape.tableInput);
  int64_t length = llvm::divideCeil(shape.entries, map.getWorkers());
  Value all = emitter.getIndexConstant(shape.entries);
  auto clamp = [&](Value entry) -> Value {
    return arith::MinUIOp::create(builder, loc, entry, all);
  };
  auto getIndex = [&](Value entry) {
    return add(firstIndex, arith::IndexCastOp::create(
                               builder, loc, builder.getI32Type(), entry));
  };
  Value begin = clamp(scale(worker, length));
  Value end = clamp(add(begin, emitter.getIndexConstant(length)));
  Value name = readName(getUpdates(), findName(getIndex(begin))).name;
  emitFor(
      begin, end, 1, name, [&](Value entry, ArrayRef<Value> next) -> Values {
        Value index = getIndex(entry);
        auto branch =
            scf::IfOp::create(builder, loc, index.getType(),
                              isEqual(index, next[0]), /*withElse=*/true);
        OpBuilder::InsertionGuard inner(builder);
        auto fill = [&](Block *block, llvm::function_ref<Value()> code) {
          builder.setInsertionPointToStart(block);
          KernelElements::Scope scope(emitter);
          scf::YieldOp::create(builder, loc, code());
        };
        fill(branch.thenBlock(), [&] {
          return readName(getUpdates(), findName(add(index, constant(1)))).name;
        });
        fill(branch.elseBlock(), [&] {
          store(entry, {});
          return next[0];
        });
        return {branch.getResult(0)};
      });
}

} // namespace meshc::codegen
