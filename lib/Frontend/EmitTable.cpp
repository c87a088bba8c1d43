//===- EmitTable.cpp - literal tables of numbers --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A table is a chain of selections by the indices along its dims. These are
/// pointwise ops, so that a table may be cut like any tensor, without
/// communication.
///
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmitTable.h"

#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "lib/Frontend/Emitter.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

/// The dims of a table, with the sizes that its lists have; empty after an
/// error.
SmallVector<nd::DimAttr>
TableEmitter::makeDims(const syntax::TableExpr &table) {
  SmallVector<nd::DimAttr> dims;
  for (auto [name, size] : llvm::zip(table.dims, table.sizes)) {
    emitter.suspects.warnOfLookalike(name, size, nd::TensorType());
    StringAttr dim = emitter.introduceDim(name, size);
    if (!dim)
      return {};
    auto attribute =
        nd::DimAttr::get(emitter.builder.getContext(), dim.getValue(), size);
    if (auto *first = llvm::find(dims, attribute); first != dims.end()) {
      emitter.error(name.span, "dim " + quote(name.text) + " is given twice")
          .note(table.dims[first - dims.begin()].span, "first given here");
      return {};
    }
    dims.push_back(attribute);
  }
  return dims;
}

/// The entries of a table as scalars; empty after an error.
SmallVector<Value> TableEmitter::makeEntries(const syntax::TableExpr &table,
                                             Type elementType) {
  SmallVector<Value> entries;
  std::map<double, Value> known;
  bool ok = true;
  for (const syntax::ExprPtr &expr : table.entries) {
    Operand entry = emitter.emit(*expr);
    if (entry.value)
      emitter.noteOrigin(
          emitter.error(expr->span, "the entries of a table are numbers known "
                                    "at compile time"),
          expr->span);
    ok &= entry.constant.has_value();
    if (!entry.constant)
      continue;
    Value &value = known[entry.constant->real];
    if (!value)
      value = emitter.materialize(*entry.constant, elementType, expr->span);
    ok &= bool(value);
    entries.push_back(value);
  }
  return ok ? entries : SmallVector<Value>();
}

/// The number of the entry, row-major, at each place of a table.
Value TableEmitter::makeIndex(ArrayRef<nd::DimAttr> dims, syntax::Span at) {
  Type i32 = emitter.builder.getI32Type();
  Value index;
  for (nd::DimAttr dim : dims) {
    Value along = emitter.create(nd::IotaOp::getOperationName(), at, {},
                                 emitter.makeType(i32, dim, at));
    if (!index) {
      index = along;
      continue;
    }
    nd::TensorType before = nd::getTensorType(index);
    SmallVector<nd::DimAttr> both(before.getDims());
    both.push_back(dim);
    Value size =
        emitter.materialize(syntax::Constant::whole(dim.getSize()), i32, at);
    Value rows = emitter.create(nd::MulOp::getOperationName(), at,
                                {index, size}, before);
    index = emitter.create(nd::AddOp::getOperationName(), at, {rows, along},
                           emitter.makeType(i32, both, at));
  }
  return index;
}

/// [[1, 2], [3, 4]] over (row, column). [L5.17]
Operand TableEmitter::emit(const syntax::Expr &expr,
                           const syntax::TableExpr &table) {
  Type elementType = table.type ? emitter.resolveType(*table.type)
                                : Type(emitter.builder.getF32Type());
  if (!elementType)
    return {};
  SmallVector<nd::DimAttr> dims = makeDims(table);
  SmallVector<Value> entries =
      dims.empty() ? SmallVector<Value>() : makeEntries(table, elementType);
  Value index = entries.empty() ? Value() : makeIndex(dims, expr.span);
  if (!index)
    return {};
  nd::TensorType type = nd::getTensorType(index).withElementType(elementType);
  nd::TensorType truth = type.withElementType(emitter.builder.getI1Type());
  NamedAttribute equal = emitter.builder.getNamedAttr(
      "predicate",
      nd::PredicateAttr::get(emitter.builder.getContext(), nd::Predicate::Eq));
  Value value = emitter.create(nd::BroadcastOp::getOperationName(), expr.span,
                               entries.back(), type);
  for (size_t i = entries.size() - 1; i-- > 0 && value;) {
    if (entries[i] == entries.back())
      continue;
    Value number = emitter.materialize(syntax::Constant::whole(int64_t(i)),
                                       emitter.builder.getI32Type(), expr.span);
    Value isHere = emitter.create(nd::CompareOp::getOperationName(), expr.span,
                                  {index, number}, truth, equal);
    value = isHere ? emitter.create(nd::SelectOp::getOperationName(), expr.span,
                                    {isHere, entries[i], value}, type)
                   : Value();
  }
  return value ? Operand::of(value) : Operand();
}
