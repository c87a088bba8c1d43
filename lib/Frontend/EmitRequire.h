//===- EmitRequire.h - conditions on the arguments of a call ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMITREQUIRE_H
#define MESHC_FRONTEND_EMITREQUIRE_H

#include "lib/Frontend/OpEmitter.h"

namespace meshc::frontend {

class Emitter;

/// Judges requirements, when the program is compiled. [L4.17]
class RequireJudge {
public:
  explicit RequireJudge(Emitter &emitter) : emitter(emitter) {}

  /// Reports an error if the condition does not hold; the statements behind it
  /// are then skipped (Emission::isUnmet).
  void check(const syntax::Statement &statement);

private:
  /// What a condition comes to, and the part of it that decides if it is false.
  struct Verdict {
    bool holds;
    const syntax::Expr *blamed;
  };
  std::optional<Verdict> judge(const syntax::Expr &expr);
  std::optional<Verdict> judgeBoth(const syntax::Expr &expr,
                                   const syntax::BinaryExpr &binary);
  std::optional<Verdict> judgeComparison(const syntax::Expr &expr,
                                         const syntax::BinaryExpr &binary);
  std::optional<syntax::Constant> judgedNumber(const syntax::Expr &expr);
  std::string describeUnmet(const syntax::Expr &expr,
                            std::vector<syntax::Note> &notes);
  void reportUnmet(const syntax::RequireStatement &require, syntax::Span at,
                   const syntax::Expr &blamed);

  Emitter &emitter;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMITREQUIRE_H
