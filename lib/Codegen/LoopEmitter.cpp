//===- LoopEmitter.cpp - loops over scalars and vectors -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/LoopEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace meshc::codegen {

LoopEmitter::Values LoopEmitter::emitFor(Value low, Value high, int64_t step,
                                         ArrayRef<Value> carried, Body body) {
  auto loop = scf::ForOp::create(builder, loc, low, high,
                                 emitter.getIndexConstant(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  KernelElements::Scope scope(emitter);
  Values arguments(loop.getRegionIterArgs());
  Values next = body(loop.getInductionVar(), arguments);
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, next);
  return Values(loop.getResults());
}

/// The value, where it is a constant.
static std::optional<int64_t> getConstant(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantIndexOp>())
    return constant.value();
  return std::nullopt;
}

LoopEmitter::Values LoopEmitter::emitLanes(Value low, Value high, int64_t size,
                                           int64_t unroll,
                                           ArrayRef<Value> carried,
                                           LaneBody body) {
  int64_t lanes = emitter.getLanes();
  Values values(carried);
  // Each loop goes as far as whole steps of `width` entries go; `high` is at
  // `size` or at a multiple of every width.
  auto advance = [&](int64_t vectors, int64_t width, bool isVector) {
    Value end = high;
    if (width > 1 && size % width != 0) {
      Value rest = arith::RemUIOp::create(
          builder, loc, arith::SubIOp::create(builder, loc, high, low),
          emitter.getIndexConstant(width));
      end = arith::SubIOp::create(builder, loc, high, rest);
      if (auto first = getConstant(low), last = getConstant(high);
          first && last)
        end = emitter.getIndexConstant(*last - (*last - *first) % width);
    }
    values = emitFor(
        low, end, width, values, [&](Value base, ArrayRef<Value> arguments) {
          SmallVector<Value> bases{base};
          for (int64_t vector = 1; vector < vectors; ++vector)
            bases.push_back(arith::AddIOp::create(
                builder, loc, base, emitter.getIndexConstant(vector * lanes)));
          return body(bases, isVector, arguments);
        });
    low = end;
  };
  int64_t rest = size;
  if (unroll > 1 && rest >= unroll * lanes) {
    advance(unroll, unroll * lanes, true);
    rest %= unroll * lanes;
  }
  if (rest >= lanes && lanes > 1) {
    advance(1, lanes, true);
    rest %= lanes;
  }
  if (rest != 0)
    advance(1, 1, false);
  return values;
}

void LoopEmitter::setIndex(nd::ElementIndex &index, const Loop &loop,
                           Value base, bool hasLanes) {
  for (StringAttr dim : loop.dims)
    index.dims[dim.str()] = {emitter.getIndexConstant(0), false};
  index.dims[loop.dims.back().str()] = {base, hasLanes};
}

void LoopEmitter::enterIfElsewhere(unsigned input) {
  Value isElsewhere = LLVM::ICmpOp::create(
      builder, loc, LLVM::ICmpPredicate::ne, emitter.getInput(input).pointer,
      emitter.getOutput(0).pointer);
  auto branch =
      scf::IfOp::create(builder, loc, isElsewhere, /*withElse=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
}

void LoopEmitter::emitEntries(
    ArrayRef<Loop> loops, nd::TensorType tensor, const nd::ElementIndex &index,
    llvm::function_ref<void(const nd::ElementIndex &)> body) {
  if (loops.empty())
    return body(index);
  const Loop &loop = loops.front();
  Value count = emitter.getEntryCount(tensor, loop.dims.back().getValue());
  emitFor(emitter.getIndexConstant(0), count, 1, {},
          [&](Value base, ArrayRef<Value>) {
            nd::ElementIndex inner = index;
            setIndex(inner, loop, base, /*hasLanes=*/false);
            emitEntries(loops.drop_front(), tensor, inner, body);
            return Values();
          });
}

Value LoopEmitter::takeOff(Value &number, int64_t size) {
  Value count = emitter.getIndexConstant(size);
  Value rest = arith::RemUIOp::create(builder, loc, number, count);
  number = arith::DivUIOp::create(builder, loc, number, count);
  return rest;
}

void LoopEmitter::setIndices(nd::ElementIndex &index, ArrayRef<Loop> loops,
                             Value number, bool hasLanes) {
  for (size_t loop = loops.size(); loop-- > 0;) {
    bool isLast = loop + 1 == loops.size();
    int64_t lanes = isLast && hasLanes ? emitter.getLanes() : 1;
    Value digit =
        loop == 0 ? number : takeOff(number, loops[loop].size / lanes);
    if (lanes != 1)
      digit = arith::MulIOp::create(builder, loc, digit,
                                    emitter.getIndexConstant(lanes));
    setIndex(index, loops[loop], digit, lanes != 1);
  }
}

} // namespace meshc::codegen
