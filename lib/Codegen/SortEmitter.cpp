//===- SortEmitter.cpp - the order of entries along rows ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/SortEmitter.h"
#include "lib/Codegen/SoleOp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace meshc::codegen {

FailureOr<SortShape> SortShape::of(exec::KernelOp kernel) {
  SortShape shape;
  shape.op = getSoleOp<nd::SortOpInterface>(kernel);
  if (failed(verifyStandsAlone(kernel, shape.op)))
    return failure();
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  Value input = shape.op->getOperand(0), result = shape.op->getResult(0);
  shape.entries = getLocalSize(input, shape.op.getDimAttr(), mesh);
  shape.chosen = getLocalSize(result, shape.op.getIntoAttr(), mesh);
  auto order = cast<ArrayAttr>(kernel.getOutputOrders()[0]);
  for (auto dim : order.getAsRange<StringAttr>()) {
    if (dim == shape.op.getIntoAttr()) {
      shape.points.push_back({{shape.op.getDimAttr()}, shape.entries});
    } else if (int64_t size = getLocalSize(result, dim, mesh); size > 1) {
      shape.rows.push_back({{dim}, size});
      shape.points.push_back({{dim}, size});
    }
  }
  return shape;
}

int64_t SortEmitter::count(ArrayRef<Loop> loops) {
  int64_t product = 1;
  for (const Loop &loop : loops)
    product *= loop.size;
  return product;
}

//===----------------------------------------------------------------------===//
// Parts of code
//===----------------------------------------------------------------------===//

Value SortEmitter::constant(Type type, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}

Value SortEmitter::isBefore(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}

Value SortEmitter::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}

Value SortEmitter::add(Value a, int64_t b) {
  return arith::AddIOp::create(builder, loc, a, emitter.getIndexConstant(b));
}

void SortEmitter::emitIf(Value condition, llvm::function_ref<void()> then) {
  auto branch =
      scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  KernelElements::Scope scope(emitter);
  then();
}

SortEmitter::Values
SortEmitter::emitIf(Value condition, TypeRange types,
                    llvm::function_ref<Values()> then,
                    llvm::function_ref<Values()> otherwise) {
  auto branch = scf::IfOp::create(builder, loc, types, condition,
                                  /*withElseRegion=*/true);
  auto fill = [&](Block *block, llvm::function_ref<Values()> code) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(block);
    KernelElements::Scope scope(emitter);
    scf::YieldOp::create(builder, loc, code());
  };
  fill(branch.thenBlock(), then);
  fill(branch.elseBlock(), otherwise);
  return Values(branch.getResults());
}

/// The position in the row that the number says, along `loops`.
nd::ElementIndex SortEmitter::makeRow(ArrayRef<Loop> loops, Value number) {
  nd::ElementIndex index;
  for (Value tensor : std::initializer_list<Value>{shape.op->getOperand(0),
                                                   shape.op->getResult(0)})
    for (nd::DimAttr dim : nd::getTensorType(tensor).getDims())
      index.dims[dim.getName().str()] = {emitter.getIndexConstant(0), false};
  setIndices(index, loops, number, /*hasLanes=*/false);
  return index;
}

/// A whole number (i32) that is larger where the float is, with NaN last and
/// one zero: those of positive floats are in the order of their bits.
Value SortEmitter::orderFloat(Value element) {
  Type i32 = builder.getI32Type();
  Value bits = arith::BitcastOp::create(builder, loc, i32, element);
  auto isBits = [&](arith::CmpIPredicate predicate, Value a, int64_t b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, constant(i32, b));
  };
  constexpr int64_t negativeZero = INT32_MIN, infinity = 0x7f800000;
  Value size =
      arith::AndIOp::create(builder, loc, bits, constant(i32, INT32_MAX));
  bits = arith::SelectOp::create(
      builder, loc, isBits(arith::CmpIPredicate::eq, bits, negativeZero),
      constant(i32, 0), bits);
  Value negated =
      arith::XOrIOp::create(builder, loc, bits, constant(i32, INT32_MAX));
  Value ordered = arith::SelectOp::create(
      builder, loc, isBits(arith::CmpIPredicate::slt, bits, 0), negated, bits);
  return arith::SelectOp::create(
      builder, loc, isBits(arith::CmpIPredicate::sgt, size, infinity),
      constant(i32, INT32_MAX), ordered);
}

/// A whole number (i32) that is larger where the entry of the row comes later.
Value SortEmitter::getOrdered(Value entry) {
  nd::ElementIndex place = row;
  place.dims[shape.op.getDimAttr().str()] = {entry, false};
  Value key = emitter.getElement(shape.op->getOperand(0), place);
  if (isa<FloatType>(key.getType()))
    key = orderFloat(key);
  if (shape.op.getDescending())
    key = arith::XOrIOp::create(builder, loc, key,
                                constant(builder.getI32Type(), -1));
  return key;
}

/// The number (i64) by which an entry of the row is compared.
Value SortEmitter::getKey(Value entry) {
  Value key = getOrdered(entry);
  Type i64 = builder.getI64Type();
  key = arith::ShLIOp::create(builder, loc,
                              arith::ExtSIOp::create(builder, loc, i64, key),
                              constant(i64, 32));
  Value index = arith::IndexCastOp::create(builder, loc, i64, entry);
  return arith::OrIOp::create(builder, loc, key, index);
}

Value SortEmitter::loadEntry(Value slot) {
  nd::ElementIndex place = row;
  place.dims[shape.op.getIntoAttr().str()] = {slot, false};
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    emitter.load(emitter.getOutput(0), place));
}

void SortEmitter::storeEntry(Value slot, Value entry) {
  nd::ElementIndex place = row;
  place.dims[shape.op.getIntoAttr().str()] = {slot, false};
  emitter.store(
      0, arith::IndexCastOp::create(builder, loc, builder.getI32Type(), entry),
      place);
}

//===----------------------------------------------------------------------===//
// Rows by heaps
//===----------------------------------------------------------------------===//

/// The child of a slot of the heap that comes last, its entry, and whether it
/// comes behind the key.
SortEmitter::Values SortEmitter::chooseChild(Value slot, Value end, Value key) {
  Type index = builder.getIndexType(), i64 = builder.getI64Type();
  Value left = add(arith::AddIOp::create(builder, loc, slot, slot), 1);
  auto choose = [&]() -> Values {
    Value entry = loadEntry(left), leftKey = getKey(entry);
    Value right = add(left, 1);
    Values chosen = emitIf(
        isBelow(right, end), {index, index, i64},
        [&]() -> Values {
          Value other = loadEntry(right), otherKey = getKey(other);
          Value isLeft = isBefore(otherKey, leftKey);
          auto select = [&](Value a, Value b) -> Value {
            return arith::SelectOp::create(builder, loc, isLeft, a, b);
          };
          return {select(left, right), select(entry, other),
                  select(leftKey, otherKey)};
        },
        [&]() -> Values { return {left, entry, leftKey}; });
    return {chosen[0], chosen[1], isBefore(key, chosen[2])};
  };
  return emitIf(isBelow(left, end), {index, index, builder.getI1Type()}, choose,
                [&]() -> Values {
                  return {slot, slot, constant(builder.getI1Type(), 0)};
                });
}

/// Puts the entry into the heap of the slots below `end`, at `slot` or below
/// it, and moves up what comes behind it.
void SortEmitter::sink(Value slot, Value end, Value entry) {
  Value key = getKey(entry);
  Type index = builder.getIndexType();
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange{index, index, index}, ValueRange{slot},
      [&](OpBuilder &, Location, ValueRange current) {
        KernelElements::Scope scope(emitter);
        Values child = chooseChild(current[0], end, key);
        scf::ConditionOp::create(builder, loc, child[2],
                                 ValueRange{current[0], child[0], child[1]});
      },
      [&](OpBuilder &, Location, ValueRange moved) {
        KernelElements::Scope scope(emitter);
        storeEntry(moved[0], moved[2]);
        scf::YieldOp::create(builder, loc, moved[1]);
      });
  storeEntry(loop.getResult(0), entry);
}

void SortEmitter::emitRows(Value begin, Value end) {
  emitFor(begin, end, 1, {}, [&](Value number, ArrayRef<Value>) {
    row = makeRow(shape.rows, number);
    emitRow();
    return Values();
  });
}

void SortEmitter::emitRow() {
  Value zero = emitter.getIndexConstant(0);
  Value chosen = emitter.getIndexConstant(shape.chosen);
  auto forEach = [&](int64_t low, int64_t high,
                     llvm::function_ref<void(Value)> code) {
    emitFor(emitter.getIndexConstant(low), emitter.getIndexConstant(high), 1,
            {}, [&](Value number, ArrayRef<Value>) {
              code(number);
              return Values();
            });
  };
  auto countDown = [&](Value number, int64_t from) -> Value {
    return arith::SubIOp::create(builder, loc, emitter.getIndexConstant(from),
                                 number);
  };
  forEach(0, shape.chosen, [&](Value entry) { storeEntry(entry, entry); });
  forEach(0, shape.chosen / 2, [&](Value number) {
    Value slot = countDown(number, shape.chosen / 2 - 1);
    sink(slot, chosen, loadEntry(slot));
  });
  forEach(shape.chosen, shape.entries, [&](Value entry) {
    Value isChosen = isBefore(getKey(entry), getKey(loadEntry(zero)));
    emitIf(isChosen, [&] { sink(zero, chosen, entry); });
  });
  forEach(0, shape.chosen - 1, [&](Value number) {
    Value end = countDown(number, shape.chosen - 1);
    Value entry = loadEntry(end);
    storeEntry(end, loadEntry(zero));
    sink(zero, end, entry);
  });
}

//===----------------------------------------------------------------------===//
// Entries by counting
//===----------------------------------------------------------------------===//

void SortEmitter::emitPoint(Value number, bool mayBeBeyond) {
  auto code = [&] {
    row = makeRow(shape.points, number);
    emitCount();
  };
  if (mayBeBeyond)
    emitIf(isBelow(number, emitter.getIndexConstant(getPoints())), code);
  else
    code();
}

void SortEmitter::emitCount() {
  Value zero = emitter.getIndexConstant(0);
  Value entry = row.at(shape.op.getDimAttr()).base;
  Value key = getKey(entry);
  Values before =
      emitFor(zero, emitter.getIndexConstant(shape.entries), 1, zero,
              [&](Value other, ArrayRef<Value> before) -> Values {
                Value counts =
                    arith::ExtUIOp::create(builder, loc, builder.getI32Type(),
                                           isBefore(getKey(other), key));
                Value one = arith::IndexCastOp::create(
                    builder, loc, builder.getIndexType(), counts);
                return {arith::AddIOp::create(builder, loc, before[0], one)};
              });
  emitIf(isBelow(before[0], emitter.getIndexConstant(shape.chosen)),
         [&] { storeEntry(before[0], entry); });
}

} // namespace meshc::codegen
