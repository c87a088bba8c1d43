//===- EmitFunction.cpp - functions are inlined ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Frontend/BindArguments.h"
#include "lib/Frontend/Builtins.h"
#include "lib/Frontend/DeclaredTypes.h"
#include "lib/Frontend/EmitGradient.h"
#include "lib/Frontend/EmitModel.h"
#include "lib/Frontend/EmitRequire.h"
#include "lib/Frontend/FindCallee.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

/// [L4.4], [L4.5]
bool Emitter::mayInline(const syntax::FunctionDeclaration &function,
                        const syntax::CallExpr &call) {
  std::string name = quote(function.name.text);
  for (const Frame &frame : frames)
    if (frame.function == &function) {
      error(call.callee.span, "function " + name +
                                  " calls itself; functions are expanded at "
                                  "each call and cannot recur")
          .note(function.name.span, "declared here");
      return false;
    }
  if (frames.size() >= maxCallDepth) {
    error(call.callee.span,
          "calls nest more than " + std::to_string(maxCallDepth) + " deep");
    return false;
  }
  return countOperation(call.callee.span);
}

const syntax::Statement *frontend::findReturn(const syntax::Body &body) {
  if (body.statements.empty())
    return nullptr;
  const syntax::Statement &last = body.statements.back();
  const auto *returned = std::get_if<syntax::ReturnStatement>(&last.node);
  return returned && !returned->values.empty() ? &last : nullptr;
}

/// Whether a function that returns `count` values may be called for one value
/// in an expression, or for as many as there are names on the left. `at` is the
/// place of its name, `end` that of its return. [L4.12]
bool Emitter::checkResultCount(std::string_view function, size_t count,
                               syntax::Span at, ArrayRef<syntax::Name> names,
                               std::optional<syntax::Span> end) {
  size_t wanted = std::max<size_t>(names.size(), 1);
  if (count == wanted)
    return true;
  std::string returned =
      "function " + quote(function) + " returns " +
      (count == 1 ? "one value" : std::to_string(count) + " values");
  if (names.empty()) {
    std::string list = count == 2 ? "a, b" : count == 3 ? "a, b, c" : "a, b, …";
    returned += ", and one is expected here; take them apart in a statement "
                "of its own: " +
                list + " = " + std::string(function) + "(…)";
  } else {
    returned += ", but " + std::to_string(wanted) + " names are on the left";
    if (count < wanted)
      at = names[count].span;
  }
  syntax::Diagnostic &mismatch = error(at, returned);
  if (end)
    mismatch.note(*end, "the function returns here");
  return false;
}

/// The same of a function of a file.
bool Emitter::checkResultCount(const syntax::FunctionDeclaration &function,
                               const syntax::CallExpr &call,
                               ArrayRef<syntax::Name> names) {
  const syntax::Statement *end = findReturn(function.body);
  if (!end)
    return true; // an error of its own
  size_t count = std::get<syntax::ReturnStatement>(end->node).values.size();
  return checkResultCount(function.name.text, count, call.callee.span, names,
                          end->span);
}

/// The values of a call, one for each name on the left, or a single one for an
/// expression; missing after an error. [L4.4], [L4.12]
SmallVector<Operand> Emitter::emitFunction(const Callee &called,
                                           const syntax::Expr &expr,
                                           const syntax::CallExpr &call,
                                           ArrayRef<syntax::Name> names) {
  const syntax::FunctionDeclaration &function = *called.function;
  calledFunctions.insert(&function);
  SmallVector<Operand> none(std::max<size_t>(names.size(), 1));
  if (!mayInline(function, call))
    return none;
  ArgumentBinder binder(*this);
  auto matching = binder.match(function, call);
  if (!matching || !checkResultCount(function, call, names))
    return none;
  Scope callee;
  callee.module = called.module;
  if (!binder.bind(called, *matching, expr.span, callee))
    return none;
  Location location = locate(expr.span);
  Scope *caller = scope;
  scope = &callee;
  llvm::SaveAndRestore unmet(isUnmet, false);
  frames.push_back({&function, location, call.callee.span});
  diagnostics.enter(call.callee.span,
                    "in this call of " + quote(function.name.text));
  parameterNames.enter(function.name.text, call.callee.span);
  SmallVector<Operand> results;
  if (function.gradient)
    results = GradientEmitter(*this).emit(function, expr.span);
  else
    results = emitBody(function.body, function.name);
  parameterNames.leave();
  diagnostics.leave();
  frames.pop_back();
  // What a call names, its function has introduced by now, unless it failed.
  bool ok =
      llvm::all_of(results, [](const Operand &each) { return each.ok(); });
  for (const auto &[name, dim] : callee.dims)
    if (ok)
      resolveDim({name, dim.place});
    else if (!declarations.dims.count(dim.name))
      noteLost(dim.name);
  scope = caller;
  return results.size() == none.size() ? results : none;
}

/// [L4.2] Statements, and a return at the end.
SmallVector<Operand> Emitter::emitBody(const syntax::Body &body,
                                       const syntax::Name &name) {
  const syntax::Statement *last = nullptr;
  SmallVector<Operand> results;
  for (const syntax::Statement &statement : body.statements) {
    if (last) {
      error(statement.span, "nothing may follow 'return'")
          .note(last->span, "the function returns here");
      return {};
    }
    const auto *returned =
        std::get_if<syntax::ReturnStatement>(&statement.node);
    if (!returned) {
      emitStatement(statement);
      continue;
    }
    for (const syntax::ExprPtr &value : returned->values)
      results.push_back(isUnmet ? Operand() : emit(*value));
    last = &statement;
  }
  if (!last)
    error(name.span, "function " + quote(name.text) +
                         " returns nothing; end it with 'return'");
  return results;
}

/// A statement of the model, a function or a loop; functions handle their
/// 'return' themselves.
void Emitter::emitStatement(const syntax::Statement &statement) {
  if (isUnmet)
    return skip(statement);
  if (const auto *assignment =
          std::get_if<syntax::AssignStatement>(&statement.node))
    return assign(*assignment);
  if (const auto *param = std::get_if<syntax::ParamStatement>(&statement.node))
    return ParameterEmitter(*this).emit(*param);
  if (const auto *metric =
          std::get_if<syntax::MetricStatement>(&statement.node))
    return ModelEmitter(*this).emitMetric(*metric, statement.span);
  if (std::holds_alternative<syntax::ForStatement>(statement.node))
    return loopEmitter.emit(statement);
  if (std::holds_alternative<syntax::RecomputeStatement>(statement.node))
    return loopEmitter.emitRecompute(statement);
  if (std::holds_alternative<syntax::RequireStatement>(statement.node))
    return RequireJudge(*this).check(statement);
  if (scope->loop)
    error(statement.span, "'return' cannot be inside a loop; assign the value, "
                          "and return the name after the loop")
        .note(scope->loop->span, "the loop is here");
  else if (!frames.empty())
    error(statement.span, "'return' cannot be inside a block; return the name "
                          "after it");
  else
    error(statement.span, "a model does not return; name its results: metric "
                          "name = expression, and the loss in 'train'");
}

/// Gives the names that a statement assigns no value, after an error that the
/// statement could only repeat.
void Emitter::skip(const syntax::Statement &statement) {
  visitAssigned(statement, [&](const syntax::Name &name, bool) {
    assign(name, Operand());
  });
}

/// The values of the expression for several names, which is a call of a
/// function; missing after an error. [L4.12]
SmallVector<Operand> Emitter::emitSeveral(const syntax::Expr &expr,
                                          ArrayRef<syntax::Name> names) {
  const auto *call = std::get_if<syntax::CallExpr>(&expr.node);
  Callee callee =
      call ? CalleeFinder(*this).find(call->module, call->callee) : Callee();
  if (callee.function)
    return emitFunction(callee, expr, *call, names);
  if (callee.builtin && callee.builtin->emitAll)
    return emitBuiltin(*callee.builtin, expr, *call, names);
  std::string count = std::to_string(names.size());
  if (!call)
    noteOrigin(error(expr.span, count +
                                    " names are on the left, so the right "
                                    "side must be a call of a function "
                                    "that returns " +
                                    count + " values"),
               expr.span);
  else if (callee.builtin)
    error(names[1].span, quote(call->callee.text) + " returns one value, but " +
                             count + " names are on the left");
  return SmallVector<Operand>(names.size());
}

/// [L4.2], [L4.12] All values are computed before the first name changes.
void Emitter::assign(const syntax::AssignStatement &statement) {
  SmallVector<syntax::Name> names;
  for (const syntax::TensorDeclaration &target : statement.targets)
    names.push_back(target.name);
  SmallVector<Operand> values(names.size());
  if (statement.value && names.size() == 1)
    values[0] = emit(*statement.value);
  else if (statement.value)
    values = emitSeveral(*statement.value, names);
  std::map<std::string_view, syntax::Span> left;
  for (auto [target, value] : llvm::zip(statement.targets, values)) {
    const syntax::Name &name = target.name;
    auto [first, isNew] = left.insert({name.text, name.span});
    if (!isNew) {
      error(name.span, quote(name.text) + " is on the left twice; give each "
                                          "value a name of its own")
          .note(first->second, "first here");
      continue;
    }
    if (!target.dims)
      value.order.clear();
    if (value.ok() &&
        !DeclaredTypes(*this).check(
            "value", target, value,
            names.size() == 1 ? statement.value->span : name.span, *scope))
      value = Operand();
    assign(name, std::move(value));
  }
}

/// [L4.2], [L6.3] A name may be assigned again: x = x + 1.
void Emitter::assign(const syntax::Name &target, Operand result) {
  std::string_view name = target.text;
  if (auto constant = file().constants.find(name);
      constant != file().constants.end()) {
    error(target.span, quote(name) + " is a constant and cannot be assigned")
        .note(constant->second.span, "declared here");
    return;
  }
  tensorNames.push_back(target);
  if (Value computed = skipCustomGradient(result.value))
    if (Operation *op = computed.getDefiningOp();
        op && !isa<nd::ParameterOp, nd::ScanOp>(op) &&
        !nd::TensorAttributes::of(op).getName())
      nd::setName(op, builder.getStringAttr(StringRef(name)));
  scope->values[name] = std::move(result);
  scope->places[name] = target.span;
}

void Emitter::warnUncalled() {
  // After an error, calls may be missing.
  if (diagnostics.hasErrors())
    return;
  for (const auto &[name, function] : declarations.functions)
    if (!calledFunctions.count(function))
      diagnostics.warning(function->name.span,
                          "function " + quote(name) +
                              " is never called, so its body is unchecked");
}
