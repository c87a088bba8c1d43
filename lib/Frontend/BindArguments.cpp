//===- BindArguments.cpp - the arguments of a function's call -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/BindArguments.h"

#include "lib/Frontend/DeclaredTypes.h"
#include "lib/Frontend/EmissionOrder.h"
#include "lib/Frontend/Emitter.h"
#include "lib/Frontend/FindCallee.h"
#include "lib/Frontend/Syntax/Spelling.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::Argument;
using syntax::quote;
using syntax::TensorDeclaration;

/// "1 argument", "2 to 3 arguments": how many a function takes.
static std::string describeCount(const syntax::FunctionDeclaration &function) {
  size_t most = function.arguments.size();
  size_t least =
      llvm::count_if(function.arguments, [](const TensorDeclaration &declared) {
        return !declared.defaultValue;
      });
  return (least == most ? "" : std::to_string(least) + " to ") +
         std::to_string(most) + (most == 1 ? " argument" : " arguments");
}

/// "; 'b' and 'c' are missing": the arguments without a value, the first ones
/// by name.
static std::string listMissing(ArrayRef<const TensorDeclaration *> missing) {
  constexpr size_t shown = 3;
  std::string text = "; ";
  for (auto [index, each] : llvm::enumerate(missing.take_front(shown))) {
    if (index > 0)
      text += index + 1 == missing.size() ? " and " : ", ";
    text += quote(each->name.text);
  }
  if (missing.size() > shown)
    text += " and " + std::to_string(missing.size() - shown) + " more";
  return text + (missing.size() == 1 ? " is missing" : " are missing");
}

/// Whether each argument without a default value is given.
bool ArgumentBinder::checkMissing(const syntax::FunctionDeclaration &function,
                                  const syntax::CallExpr &call,
                                  const Matching &matching) {
  bool isNamed = llvm::any_of(call.arguments, [](const Argument &argument) {
    return argument.kind == Argument::Kind::Named;
  });
  SmallVector<const TensorDeclaration *> missing;
  for (auto [declared, argument] : llvm::zip(function.arguments, matching))
    if (!argument && !declared.defaultValue)
      missing.push_back(&declared);
  if (missing.empty())
    return true;
  std::string name = quote(function.name.text);
  if (isNamed)
    emitter
        .error(call.callee.span, "function " + name + " needs argument " +
                                     quote(missing.front()->name.text))
        .note(missing.front()->name.span, "declared here");
  else
    emitter
        .error(call.callee.span, "function " + name + " takes " +
                                     describeCount(function) + ", got " +
                                     std::to_string(call.arguments.size()) +
                                     listMissing(missing))
        .note(function.name.span, "declared here");
  return false;
}

std::optional<ArgumentBinder::Matching>
ArgumentBinder::match(const syntax::FunctionDeclaration &function,
                      const syntax::CallExpr &call) {
  Matching matching(function.arguments.size());
  const Argument *named = nullptr;
  for (auto [index, argument] : llvm::enumerate(call.arguments)) {
    size_t place = index;
    if (argument.kind == Argument::Kind::Named) {
      std::vector<std::string_view> names;
      for (const TensorDeclaration &declared : function.arguments)
        names.push_back(declared.name.text);
      place = llvm::find(names, argument.key.text) - names.begin();
      named = &argument;
      if (place == names.size()) {
        emitter
            .error(argument.key.span,
                   "function " + quote(function.name.text) +
                       " has no argument " + quote(argument.key.text) +
                       syntax::didYouMean(argument.key.text, names))
            .note(function.name.span, "declared here");
        return std::nullopt;
      }
    } else if (named) {
      emitter
          .error(argument.span,
                 "an argument without a name cannot follow one with "
                 "a name")
          .note(named->span, "named here");
      return std::nullopt;
    } else if (place >= matching.size()) {
      emitter
          .error(call.callee.span, "function " + quote(function.name.text) +
                                       " takes " + describeCount(function) +
                                       ", got " +
                                       std::to_string(call.arguments.size()))
          .note(function.name.span, "declared here");
      return std::nullopt;
    }
    if (matching[place]) {
      emitter.error(argument.span, quote(argument.key.text) + " is given twice")
          .note(matching[place]->span, "first given here");
      return std::nullopt;
    }
    matching[place] = &argument;
  }
  return checkMissing(function, call, matching) ? std::optional(matching)
                                                : std::nullopt;
}

/// Binds `fn f` to the function that the call names. [L4.13]
bool ArgumentBinder::bindFunction(const TensorDeclaration &declared,
                                  const syntax::Expr &value, Scope &callee) {
  const auto *member = std::get_if<syntax::MemberExpr>(&value.node);
  const syntax::Name *name = member ? &member->name : value.asName();
  if (!name) {
    emitter
        .error(value.span, "argument " + quote(declared.name.text) +
                               " is a function; name one, without a call")
        .note(declared.name.span, "declared here");
    return false;
  }
  Callee found = CalleeFinder(emitter).find(
      member ? std::optional(member->module) : std::nullopt, *name);
  callee.functions[declared.name.text] = found;
  return found.builtin || found.function;
}

/// Evaluates an argument in the caller's scope and binds it in `callee`.
bool ArgumentBinder::bindArgument(const TensorDeclaration &declared,
                                  const syntax::Expr &value, Scope &callee) {
  if (declared.kind == TensorDeclaration::Kind::Function)
    return bindFunction(declared, value, callee);
  if (declared.kind == TensorDeclaration::Kind::Tensor) {
    Operand operand = emitter.emit(value);
    callee.values[declared.name.text] = operand;
    callee.places[declared.name.text] = declared.name.span;
    return operand.ok();
  }
  const syntax::Name *name = value.asName();
  if (!name) {
    emitter
        .error(value.span,
               "argument " + quote(declared.name.text) + " is a dim; name one")
        .note(declared.name.span, "declared here");
    return false;
  }
  // The function may introduce it. [L4.3]
  const DimArgument *outer = emitter.scope->findDimArgument(name->text);
  if (!outer && emitter.isImported())
    return bool(emitter.resolveDim(*name));
  callee.dims[declared.name.text] =
      outer ? *outer : DimArgument{name->text, name->span, emitter.scope};
  return true;
}

/// Binds an argument to its default, whose names are those of the function's
/// file. [L4.14]
bool ArgumentBinder::bindDefault(const TensorDeclaration &declared,
                                 Scope &callee) {
  const syntax::Expr &value = *declared.defaultValue;
  if (declared.kind == TensorDeclaration::Kind::Function) {
    llvm::SaveAndRestore inFile(emitter.scope, &callee);
    return bindFunction(declared, value, callee);
  }
  std::optional<syntax::Constant> number =
      syntax::evaluate(value, *callee.module, emitter.diagnostics);
  callee.values[declared.name.text] = number ? Operand::of(*number) : Operand();
  callee.places[declared.name.text] = declared.name.span;
  return number.has_value();
}

/// Binds all arguments of the call `at` in `callee`; false after an error.
bool ArgumentBinder::bind(const Callee &called, const Matching &matching,
                          syntax::Span at, Scope &callee) {
  SmallVector<const syntax::Expr *> values;
  for (const Argument *argument : matching)
    values.push_back(argument ? argument->value.get() : nullptr);
  SmallVector<bool> isEarly = findEarly(emitter, values);
  bool ok = true;
  for (auto [declared, value, isFirst] :
       llvm::zip(called.function->arguments, values, isEarly))
    if (isFirst)
      ok &= bindArgument(declared, *value, callee);
  for (auto [declared, argument, isDone] :
       llvm::zip(called.function->arguments, matching, isEarly)) {
    if (isDone)
      continue;
    if (!argument) {
      ok &= bindDefault(declared, callee);
    } else if (argument->value) {
      ok &= bindArgument(declared, *argument->value, callee);
    } else {
      emitter
          .error(argument->span, "argument " + quote(declared.name.text) +
                                     " must be an expression")
          .note(declared.name.span, "declared here");
      ok = false;
    }
  }
  if (!ok)
    return false;
  // Declared dims may be the function's own `dim d`, and its errors are at the
  // call's argument, without a note of the call.
  Scope *caller = emitter.scope;
  llvm::SaveAndRestore inCallee(emitter.scope, &callee);
  for (auto [declared, argument] :
       llvm::zip(called.function->arguments, matching)) {
    if (declared.kind != TensorDeclaration::Kind::Tensor)
      continue;
    Operand &operand = callee.values[declared.name.text];
    ok &= DeclaredTypes(emitter).check("argument", declared, operand,
                                       argument ? argument->value->span
                                                : declared.defaultValue->span,
                                       *caller);
    // The default's text may be in another file, but its value is the call's.
    if (!argument && operand.value)
      operand.value.setLoc(emitter.locate(at));
  }
  return ok;
}
