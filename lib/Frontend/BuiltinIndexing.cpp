//===- BuiltinIndexing.cpp - elements at computed places ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/NormalizationOps.h"
#include "lib/Frontend/Builtins.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

/// Indices are i32 and lack the dim that they index.
static bool checkIndices(Call &call, unsigned i, Value indices,
                         StringAttr dim) {
  nd::TensorType type = nd::getTensorType(indices);
  if (!isOf(type.getElementType(), Integers)) {
    call.fail(i, "indices are i32, got " + describe(type) +
                     "; cast(…, i32) makes them so");
    return false;
  }
  if (!type.hasDim(dim.getValue()))
    return true;
  call.fail(i, "indices along dim " + quote(dim.getValue()) +
                   " cannot have that dim themselves; rename it in one of the "
                   "operands");
  return false;
}

/// table[dim = indices], as one op of table and indices.
static Operand emitIndexed(Call &call, Value table, Value indices,
                           StringAttr dim, IntegerAttr ignored = {}) {
  if (!checkIndices(call, 1, indices, dim) ||
      !call.emitter.checkIndexable(dim,
                                   call.size() > 2 ? call.place(2) : call.span))
    return {};
  nd::TensorType type = nd::getTensorType(table);
  nd::TensorType all =
      call.emitter.unite({table, indices}, {call.place(0), call.place(1)},
                         type.getElementType(), call.span);
  if (!all)
    return {};
  SmallVector<NamedAttribute> attributes = {call.attribute("dim", dim)};
  if (ignored)
    attributes.push_back(call.attribute("ignored", ignored));
  return Operand::of(call.create(call.builtin.op, {table, indices},
                                 all.withoutDims(dim), attributes));
}

/// gather(table, indices[, d]): without d, the first dim of the table's
/// declaration. [L5.7]
static Operand emitGather(Call &call) {
  Operand table = call.operand(0);
  Value indices = call.tensor(1, call.emitter.builder.getI32Type());
  if (!table.ok() || !indices)
    return {};
  if (!table.value)
    return call.fail(0, "'gather' takes a tensor, got a number");
  if (call.size() == 3) {
    StringAttr dim = call.dim(2, table.value);
    return dim ? emitIndexed(call, table.value, indices, dim) : Operand();
  }
  if (table.order.empty()) {
    call.emitter.noteOrigin(
        call.emitter.error(
            call.ast.callee.span,
            "say which dim is indexed: gather(table, indices, dim); only for a "
            "parameter, an input or an argument declared with dims it is the "
            "first one declared"),
        call.place(0));
    return {};
  }
  return emitIndexed(call, table.value, indices,
                     call.emitter.builder.getStringAttr(table.order.front()));
}

/// The number of the targets that do not count; null after an error.
static IntegerAttr emitIgnored(Call &call, unsigned i) {
  std::optional<syntax::Constant> value = call.number(i);
  if (!value)
    return {};
  if (value->isInteger && llvm::isInt<32>(value->integer))
    return call.emitter.builder.getI64IntegerAttr(value->integer);
  call.fail(i, "expected a whole number of 32 bits, as targets are, got " +
                   syntax::describeNotWhole(*value));
  return {};
}

/// cross_entropy(logits, targets, d[, ignore = number])
static Operand emitCrossEntropy(Call &call) {
  Value logits = call.tensorOf(0, Floats);
  Value targets = call.tensor(1, call.emitter.builder.getI32Type());
  StringAttr dim = logits ? call.dim(2, logits) : StringAttr();
  if (!dim || !targets)
    return {};
  IntegerAttr ignored = call.size() > 3 ? emitIgnored(call, 3) : IntegerAttr();
  if (call.size() > 3 && !ignored)
    return {};
  return emitIndexed(call, logits, targets, dim, ignored);
}

/// one_hot(indices, d[, type])
static Operand emitOneHot(Call &call) {
  Value indices = call.tensor(0, call.emitter.builder.getI32Type());
  StringAttr dim = indices ? call.newDim(1) : StringAttr();
  Type elementType = call.emitter.builder.getF32Type();
  if (call.size() > 2)
    elementType = call.type(2);
  if (!dim || !elementType || !checkIndices(call, 0, indices, dim) ||
      !call.emitter.checkIndexable(dim, call.place(1)))
    return {};
  SmallVector<nd::DimAttr> dims(nd::getTensorType(indices).getDims());
  dims.push_back(nd::DimAttr::get(dim.getContext(), dim.getValue(),
                                  call.emitter.dimSize(dim)));
  return Operand::of(
      call.create(call.builtin.op, indices,
                  call.emitter.makeType(elementType, dims, call.span),
                  call.attribute("dim", dim)));
}

ArrayRef<Builtin> frontend::indexingBuiltins() {
  static const Builtin table[] = {
      {"gather", "gather(table, indices, dim)", 2, 3, emitGather,
       nd::GatherOp::getOperationName()},
      {.name = "cross_entropy",
       .usage = "cross_entropy(logits, targets, dim, ignore = number)",
       .minArguments = 3,
       .maxArguments = 4,
       .emit = emitCrossEntropy,
       .op = nd::CrossEntropyOp::getOperationName(),
       .setting = "ignore"},
      {"one_hot", "one_hot(indices, dim, type)", 2, 3, emitOneHot,
       nd::OneHotOp::getOperationName()},
  };
  return table;
}
