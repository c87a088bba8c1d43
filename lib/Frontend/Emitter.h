//===- Emitter.h - tree to nd IR --------------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder. The emitter checks an expression and builds its op
/// in one walk. It rejects everything that a verifier would reject, with the
/// place and the terms of the text. A failed expression yields an Operand that
/// is not ok(); its users report no further error.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMITTER_H
#define MESHC_FRONTEND_EMITTER_H

#include "lib/Frontend/EmitLoop.h"
#include "lib/Frontend/EmitParameter.h"
#include "lib/Frontend/OpEmitter.h"
#include "lib/Frontend/SuspectDims.h"

namespace meshc::frontend {

/// Emits expressions, calls and statements at the current place.
class Emitter : public OpEmitter {
public:
  /// Bounds that keep small texts from causing unbounded work. [L4.5]
  static constexpr unsigned maxCallDepth = 64;
  static constexpr unsigned maxExpressionDepth = 1024;

  using OpEmitter::OpEmitter;

  /// The value of an expression in the current scope.
  Operand emit(const syntax::Expr &expr);
  /// The same as a tensor; a number becomes a scalar of `elementType`
  /// (default: f32). Null after an error.
  mlir::Value emitTensor(const syntax::Expr &expr,
                         mlir::Type elementType = nullptr);
  /// The statements of the function `name`; the values that it returns. [L4.2]
  llvm::SmallVector<Operand> emitBody(const syntax::Body &body,
                                      const syntax::Name &name);
  /// A statement of the model, a function or a loop; functions handle their
  /// 'return' themselves.
  void emitStatement(const syntax::Statement &statement);
  /// Warns of functions that nothing calls. To be called at the end.
  void warnUncalled();

  LoopEmitter loopEmitter{*this};
  ParameterNames parameterNames{*this};
  SuspectDims suspects{*this};

private:
  // EmitExpression.cpp
  Operand emitName(const syntax::Name &name);
  Operand rejectName(const syntax::Name &name);
  const syntax::Name *findTensorName(std::string_view name) const;
  void rejectUnknown(const syntax::Name &name);
  Operand emitUnary(const syntax::Expr &expr, const syntax::UnaryExpr &unary);
  Operand emitBinary(const syntax::Expr &expr,
                     const syntax::BinaryExpr &binary);
  Operand emitPower(mlir::Value base, const Operand &exponent,
                    const syntax::BinaryExpr &binary);
  Operand emitArithmetic(const syntax::BinaryExpr &binary,
                         llvm::MutableArrayRef<Operand> operands);
  Operand emitEntry(const syntax::Expr &expr, const syntax::EntryExpr &entry);
  std::optional<int64_t> entryIndex(const syntax::EntryExpr &entry,
                                    nd::TensorType type, mlir::StringAttr dim);
  Operand emitMember(const syntax::MemberExpr &member);
  Operand emitCall(const syntax::Expr &expr, const syntax::CallExpr &call);
  llvm::SmallVector<Operand> emitBuiltin(const Builtin &builtin,
                                         const syntax::Expr &expr,
                                         const syntax::CallExpr &call,
                                         llvm::ArrayRef<syntax::Name> names);

  // EmitFunction.cpp
  llvm::SmallVector<Operand> emitFunction(const Callee &callee,
                                          const syntax::Expr &expr,
                                          const syntax::CallExpr &call,
                                          llvm::ArrayRef<syntax::Name> names);
  llvm::SmallVector<Operand> emitSeveral(const syntax::Expr &expr,
                                         llvm::ArrayRef<syntax::Name> names);
  bool checkResultCount(std::string_view function, size_t count,
                        syntax::Span at, llvm::ArrayRef<syntax::Name> names,
                        std::optional<syntax::Span> end);
  bool checkResultCount(const syntax::FunctionDeclaration &function,
                        const syntax::CallExpr &call,
                        llvm::ArrayRef<syntax::Name> names);
  bool mayInline(const syntax::FunctionDeclaration &function,
                 const syntax::CallExpr &call);
  void skip(const syntax::Statement &statement);
  void assign(const syntax::AssignStatement &statement);
  void assign(const syntax::Name &target, Operand result);

  std::set<const syntax::FunctionDeclaration *> calledFunctions;
  unsigned expressionDepth = 0;
};

/// The last statement of a body, if it is a return that could be parsed; else
/// null.
const syntax::Statement *findReturn(const syntax::Body &body);

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMITTER_H
