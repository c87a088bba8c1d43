//===- EmitFunction.cpp - functions are inlined ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Frontend/Builtins.h"
#include "lib/Frontend/Syntax/ForeignNames.h"
#include "lib/Frontend/Syntax/Parse.h"
#include "lib/Frontend/Syntax/Spelling.h"
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

/// Reports a member of what is a value or constant; false if it is neither.
bool Emitter::rejectValueMember(const syntax::Name &value,
                                const syntax::Name &member, bool isCall) {
  if (file().imports.count(value.text) ||
      (!isKnownValue(value) && !isKnownDim(value)))
    return false;
  syntax::Span point = {member.span.source, value.span.end, member.span.end};
  noteName(
      error(point, syntax::describeMember(value.text, member.text, isCall)),
      value.text);
  return true;
}

/// The function `name` of an imported file. [L10.3]
Callee Emitter::findMember(const syntax::Name &module,
                           const syntax::Name &name) {
  if (rejectValueMember(module, name, /*isCall=*/true))
    return {};
  if (rejectForeignMember(module, name))
    return {};
  const syntax::FunctionDeclaration *function =
      file().memberFunction(module, name);
  if (!function)
    return {};
  return {nullptr, function, file().imports.at(module.text).module};
}

/// What the language has instead of a function of another framework, or of one
/// that is written in another way: `Softmax`. Empty if nothing is known of it.
std::string Emitter::describeInstead(std::string_view name) const {
  auto nn = file().imports.find("nn");
  std::string text = syntax::describeForeign(name, nn != file().imports.end());
  if (!text.empty())
    return text;
  std::string folded = syntax::foldName(name);
  for (std::string_view known : builtinNames())
    if (syntax::foldName(known) == folded)
      return "write " + findBuiltin(StringRef(known))->usage.str();
  return {};
}

/// Reports torch.relu(…), and nn.relu(…) of a module that lacks it, if the
/// language has something for it.
bool Emitter::rejectForeignMember(const syntax::Name &module,
                                  const syntax::Name &name) {
  auto known = file().imports.find(module.text);
  bool isImported = known != file().imports.end();
  if (isImported
          ? !known->second.module ||
                known->second.module->functions.count(name.text) ||
                known->second.module->constants.count(name.text) ||
                known->second.module->incomplete.functions
          : file().incomplete.imports || !syntax::isForeignModule(module.text))
    return false;
  std::string instead = describeInstead(name.text);
  if (isImported && instead.empty())
    return false;
  if (instead.empty())
    instead = "functions of the language have no module before their name";
  error(isImported ? name.span : module.span,
        (isImported ? "module " + quote(module.text) + " has no function " +
                          quote(name.text)
                    : "there is no module " + quote(module.text)) +
            "; " + instead);
  return true;
}

/// The function of that name; neither kind after an error.
Callee Emitter::findCallee(const std::optional<syntax::Name> &module,
                           const syntax::Name &name) {
  if (module)
    return findMember(*module, name);
  if (const Callee *argument = scope->findFunction(name.text))
    return *argument;
  if (auto found = file().functions.find(name.text);
      found != file().functions.end())
    return {nullptr, found->second, &file()};
  if (const Builtin *builtin = findBuiltin(name.text))
    return {builtin, nullptr, nullptr};
  rejectCallee(name);
  return {};
}

/// Reports the name of a call that is no function.
void Emitter::rejectCallee(const syntax::Name &name) {
  if (file().incomplete.functions)
    return;
  std::vector<std::string_view> names = builtinNames();
  for (const auto &entry : file().functions)
    names.push_back(entry.first);
  std::string_view nearest = syntax::nearestName(name.text, names);
  const syntax::FunctionDeclaration *near = nullptr;
  std::string meant(nearest);
  if (auto own = file().functions.find(nearest); own != file().functions.end())
    near = own->second;
  // A function of that very name in an imported file is nearer.
  for (const auto &[import, info] : file().imports)
    if (info.module && info.module->functions.count(name.text)) {
      meant = std::string(import) + "." + std::string(name.text);
      near = info.module->functions.at(name.text);
    }
  std::string hint =
      meant.empty() ? "" : "; did you mean " + quote(meant) + "?";
  // What another framework calls so is meant rather than a similar name.
  if (std::string instead = describeInstead(name.text);
      !instead.empty() && (!near || near->name.text != name.text)) {
    hint = "; " + instead;
    near = nullptr;
  }
  syntax::Diagnostic &unknown =
      error(name.span, "unknown function " + quote(name.text) + hint);
  if (near)
    unknown.note(near->name.span, quote(meant) + " is declared here");
  noteOrigin(unknown, name.span);
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
  std::optional<Matching> matching = matchArguments(function, call);
  if (!matching || !checkResultCount(function, call, names))
    return none;
  Scope callee;
  callee.module = called.module;
  if (!bindArguments(called, *matching, expr.span, callee))
    return none;
  Location location = locate(expr.span);
  Scope *caller = scope;
  scope = &callee;
  llvm::SaveAndRestore unmet(isUnmet, false);
  frames.push_back({&function, location, call.callee.span});
  diagnostics.enter(call.callee.span,
                    "in this call of " + quote(function.name.text));
  path.push_back({function.name.text, call.callee.span, {}});
  SmallVector<Operand> results;
  if (function.gradient)
    results = emitWithGradient(function, expr.span);
  else
    results = emitBody(function.body, function.name);
  path.pop_back();
  diagnostics.leave();
  frames.pop_back();
  // What a call names, its function has introduced by now, unless it failed.
  bool ok =
      llvm::all_of(results, [](const Operand &each) { return each.ok(); });
  for (const auto &[name, dim] : callee.dims)
    if (ok)
      resolveDim({name, dim.place});
    else if (!declarations.dims.count(dim.name))
      lostDims.insert(dim.name);
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

/// The values of the expression for several names, which is a call of a
/// function; missing after an error. [L4.12]
SmallVector<Operand> Emitter::emitSeveral(const syntax::Expr &expr,
                                          ArrayRef<syntax::Name> names) {
  const auto *call = std::get_if<syntax::CallExpr>(&expr.node);
  Callee callee = call ? findCallee(call->module, call->callee) : Callee();
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
        !checkDeclared("value", target, value,
                       names.size() == 1 ? statement.value->span : name.span,
                       *scope))
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
