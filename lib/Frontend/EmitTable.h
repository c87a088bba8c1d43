//===- EmitTable.h - literal tables of numbers ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMITTABLE_H
#define MESHC_FRONTEND_EMITTABLE_H

#include "lib/Frontend/OpEmitter.h"

namespace meshc::frontend {

class Emitter;

/// The ops of a table of numbers.
class TableEmitter {
public:
  explicit TableEmitter(Emitter &emitter) : emitter(emitter) {}

  /// The value of the table. [L5.17]
  Operand emit(const syntax::Expr &expr, const syntax::TableExpr &table);

private:
  llvm::SmallVector<nd::DimAttr> makeDims(const syntax::TableExpr &table);
  llvm::SmallVector<mlir::Value> makeEntries(const syntax::TableExpr &table,
                                             mlir::Type elementType);
  mlir::Value makeIndex(llvm::ArrayRef<nd::DimAttr> dims, syntax::Span at);

  Emitter &emitter;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMITTABLE_H
