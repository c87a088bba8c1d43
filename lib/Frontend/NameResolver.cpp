//===- NameResolver.cpp - what the names of the text mean -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/NameResolver.h"

#include "lib/Frontend/Syntax/Spelling.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

StringAttr NameResolver::resolveDim(const syntax::Name &name) {
  const DimArgument *argument =
      scope ? scope->findDimArgument(name.text) : nullptr;
  if (!argument && isImported())
    return rejectImportedDim(name);
  std::string_view text = argument ? argument->name : name.text;
  if (declarations.dims.count(text))
    return builder.getStringAttr(StringRef(text));
  if (declarations.incomplete.dims || lostDims.count(text))
    return {};
  // A call may name a dim that the function introduces; if it does not, the
  // call is wrong.
  if (argument)
    rejectUnknownDim({argument->name, argument->place}, argument->scope);
  else
    rejectUnknownDim(name, scope);
  return {};
}

/// Reports that there is no such dim; `around` are the names at that place.
void NameResolver::rejectUnknownDim(const syntax::Name &name, Scope *around) {
  std::string_view near;
  std::string hint = hintAtDim(name.text, declarations.dimNames(), near);
  bool isValue = around && around->findValue(name.text);
  if (isValue)
    hint = "; " + quote(name.text) + " is a value here, not a dim";
  syntax::Diagnostic &unknown =
      error(name.span, "unknown dim " + quote(name.text) + hint);
  llvm::SaveAndRestore there(scope, around);
  if (isValue)
    noteOrigin(unknown, name.span);
  else
    noteDim(unknown, near);
}

std::string NameResolver::hintAtDim(std::string_view name,
                                    const std::vector<std::string_view> &dims,
                                    std::string_view &near) const {
  std::vector<std::string_view> declared;
  for (std::string_view dim : dims)
    if (!isIntroduced(dim))
      declared.push_back(dim);
  near = syntax::nearestName(name, declared);
  if (!near.empty())
    return syntax::didYouMean(name, declared);
  near = syntax::nearestName(name, dims);
  if (near.empty())
    return "";
  return "; an operation introduces " + quote(near) +
         ", which may be the one that is misspelled";
}

/// [L10.3]
StringAttr NameResolver::rejectImportedDim(const syntax::Name &name) {
  std::vector<std::string_view> known;
  for (const Scope *each = scope; each; each = each->parent)
    for (const auto &entry : each->dims)
      known.push_back(entry.first);
  std::string hint = syntax::didYouMean(name.text, known);
  if (hint.empty())
    hint = "; an imported file knows only the dims that its functions are "
           "given, add 'dim " +
           std::string(name.text) + "' to the arguments";
  error(name.span, "unknown dim " + quote(name.text) + hint);
  return {};
}

StringAttr NameResolver::introduceDim(const syntax::Name &name, int64_t size) {
  if (isImported() && !scope->findDimArgument(name.text))
    return rejectImportedDim(name);
  std::string_view text = scope ? scope->findDim(name.text) : name.text;
  StringAttr dim = builder.getStringAttr(StringRef(text));
  if (!checkNotLooped(dim, name.span) ||
      !declarations.introduceDim({text, name.span}, size))
    return {};
  return dim;
}

bool NameResolver::canIntroduce(StringRef name, int64_t size) const {
  auto known = declarations.dims.find(std::string_view(name));
  return !findLoop(name) &&
         (known == declarations.dims.end() || known->second.size == size);
}

bool NameResolver::isKnownDim(const syntax::Name &name) const {
  const DimArgument *argument =
      scope ? scope->findDimArgument(name.text) : nullptr;
  if (!argument && isImported())
    return false;
  return declarations.dims.count(argument ? argument->name : name.text);
}

bool NameResolver::isIntroduced(std::string_view dim) const {
  auto known = declarations.dims.find(dim);
  return known != declarations.dims.end() && !known->second.isDeclared;
}

int64_t NameResolver::dimSize(StringAttr dim) const {
  return declarations.dims.at(std::string_view(dim.getValue())).size;
}

nd::DimAttr NameResolver::declaredDim(const syntax::Name &name) {
  StringAttr dim = resolveDim(name);
  return dim ? nd::DimAttr::get(builder.getContext(), dim.getValue(),
                                dimSize(dim))
             : nd::DimAttr();
}

bool NameResolver::checkNotLooped(StringAttr dim, syntax::Span at) {
  if (!findLoop(dim.getValue()))
    return true;
  noteLoop(error(at, "no tensor can get dim " + quote(dim.getValue()) +
                         " inside a loop over it; use another dim"),
           dim.getValue());
  return false;
}

bool NameResolver::checkIndexable(StringAttr dim, syntax::Span at) {
  constexpr int64_t most = int64_t(1) << 31;
  int64_t size = dimSize(dim);
  if (size < most)
    return true;
  noteDim(error(at, "dim " + quote(dim.getValue()) + " has " +
                        std::to_string(size) + " entries, and i32 numbers " +
                        std::to_string(most - 1) + "; split it"),
          dim.getValue());
  return false;
}

//===----------------------------------------------------------------------===//
// Types and values
//===----------------------------------------------------------------------===//

Type NameResolver::resolveType(const syntax::Name &name) {
  std::vector<std::pair<std::string_view, Type>> types = {
      {"f32", builder.getF32Type()},
      {"bf16", builder.getBF16Type()},
      {"f16", builder.getF16Type()},
      {"i32", builder.getI32Type()},
      {"i1", builder.getI1Type()}};
  for (auto [text, type] : types)
    if (text == name.text)
      return type;
  error(name.span, "unknown type " + quote(name.text) +
                       "; types are f32, bf16, f16, i32 and i1");
  return {};
}

bool NameResolver::isKnownValue(const syntax::Name &name) const {
  return (scope && scope->findValue(name.text)) ||
         file().constants.count(name.text);
}

void NameResolver::rejectUnusable(const syntax::Name &name) {
  for (const Scope *each = scope; each; each = each->parent)
    if (auto problem = each->problems.find(name.text);
        problem != each->problems.end()) {
      noteName(error(name.span, problem->second), name.text);
      break;
    }
}

bool NameResolver::declare(const syntax::Name &name) {
  auto [entry, isNew] = declared.insert({name.text, name.span});
  if (!isNew) {
    error(name.span, quote(name.text) + " is already declared")
        .note(entry->second, "first declared here");
    return false;
  }
  if (auto constant = declarations.constants.find(name.text);
      constant != declarations.constants.end()) {
    error(name.span, quote(name.text) + " is already declared")
        .note(constant->second.span, "a constant of that name is declared "
                                     "here");
    return false;
  }
  return true;
}

const Operand *NameResolver::findModelValue(const syntax::Name &name) {
  auto found = scope->values.find(name.text);
  if (found != scope->values.end())
    return &found->second;
  std::vector<std::string_view> names;
  for (const auto &entry : scope->values)
    names.push_back(entry.first);
  syntax::Diagnostic &unknown =
      error(name.span, "model " + quote(declarations.model->name.text) +
                           " has no value " + quote(name.text) +
                           syntax::didYouMean(name.text, names))
          .note(declarations.model->name.span, "the model is declared here");
  noteName(unknown, syntax::nearestName(name.text, names));
  return nullptr;
}

bool NameResolver::checkModel(const syntax::Name &name) {
  const syntax::Name &model = declarations.model->name;
  if (name.text == model.text)
    return true;
  error(name.span, "unknown model " + quote(name.text) +
                       syntax::didYouMean(name.text, {model.text}))
      .note(model.span, "the model is declared here");
  return false;
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

void NameResolver::noteOrigin(syntax::Diagnostic &diagnostic,
                              syntax::Span at) const {
  noteName(diagnostic, sources.text(at));
}

void NameResolver::noteName(syntax::Diagnostic &diagnostic,
                            std::string_view name) const {
  if (scope)
    if (std::optional<syntax::Span> place = scope->findPlace(name)) {
      diagnostic.note(*place,
                      quote(name) + " is defined here" +
                          (scope->isCarriedNumber(name)
                               ? ", a number that the loop carries as f32"
                               : ""));
      return;
    }
  if (auto constant = file().constants.find(name);
      constant != file().constants.end())
    diagnostic.note(constant->second.span, quote(name) + " is declared here");
}

void NameResolver::noteOrigins(syntax::Diagnostic &diagnostic,
                               ArrayRef<syntax::Span> operands) const {
  std::set<std::string_view> seen;
  for (syntax::Span operand : operands)
    if (seen.insert(sources.text(operand)).second)
      noteOrigin(diagnostic, operand);
}

void NameResolver::noteDim(syntax::Diagnostic &diagnostic,
                           StringRef dim) const {
  auto known = declarations.dims.find(std::string_view(dim));
  if (known == declarations.dims.end())
    return;
  const syntax::DimInfo &info = known->second;
  diagnostic.note(info.span,
                  "dim " + quote(dim) +
                      (info.isDeclared ? " is declared" : " is introduced") +
                      " here with size " + std::to_string(info.size));
}
