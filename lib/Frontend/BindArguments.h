//===- BindArguments.h - the arguments of a function's call -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_BINDARGUMENTS_H
#define MESHC_FRONTEND_BINDARGUMENTS_H

#include "lib/Frontend/OpEmitter.h"

namespace meshc::frontend {

class Emitter;

/// Gives the arguments of a call to the names of its function.
class ArgumentBinder {
public:
  explicit ArgumentBinder(Emitter &emitter) : emitter(emitter) {}

  /// The argument of a call for each of the function's; null where its default
  /// applies.
  using Matching = llvm::SmallVector<const syntax::Argument *>;

  /// Nothing after an error. [L4.14]
  std::optional<Matching> match(const syntax::FunctionDeclaration &function,
                                const syntax::CallExpr &call);
  /// Binds all arguments of the call `at` in `callee`; false after an error.
  bool bind(const Callee &called, const Matching &matching, syntax::Span at,
            Scope &callee);

private:
  bool checkMissing(const syntax::FunctionDeclaration &function,
                    const syntax::CallExpr &call, const Matching &matching);
  bool bindArgument(const syntax::TensorDeclaration &declared,
                    const syntax::Expr &value, Scope &callee);
  bool bindDefault(const syntax::TensorDeclaration &declared, Scope &callee);
  bool bindFunction(const syntax::TensorDeclaration &declared,
                    const syntax::Expr &value, Scope &callee);

  Emitter &emitter;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_BINDARGUMENTS_H
