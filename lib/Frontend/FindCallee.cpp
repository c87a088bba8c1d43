//===- FindCallee.cpp - the function that a call names --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/FindCallee.h"

#include "lib/Frontend/Builtins.h"
#include "lib/Frontend/Syntax/ForeignNames.h"
#include "lib/Frontend/Syntax/Parse.h"
#include "lib/Frontend/Syntax/Spelling.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

bool CalleeFinder::rejectValueMember(const syntax::Name &value,
                                     const syntax::Name &member, bool isCall) {
  if (names.file().imports.count(value.text) ||
      (!names.isKnownValue(value) && !names.isKnownDim(value)))
    return false;
  syntax::Span point = {member.span.source, value.span.end, member.span.end};
  names.noteName(names.error(point, syntax::describeMember(
                                        value.text, member.text, isCall)),
                 value.text);
  return true;
}

/// The function `name` of an imported file. [L10.3]
Callee CalleeFinder::findMember(const syntax::Name &module,
                                const syntax::Name &name) {
  if (rejectValueMember(module, name, /*isCall=*/true))
    return {};
  if (rejectForeignMember(module, name))
    return {};
  const syntax::FunctionDeclaration *function =
      names.file().memberFunction(module, name);
  if (!function)
    return {};
  return {nullptr, function, names.file().imports.at(module.text).module};
}

/// What the language has instead of a function of another framework, or of one
/// that is written in another way: `Softmax`. Empty if nothing is known of it.
std::string CalleeFinder::describeInstead(std::string_view name) const {
  auto nn = names.file().imports.find("nn");
  std::string text =
      syntax::describeForeign(name, nn != names.file().imports.end());
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
bool CalleeFinder::rejectForeignMember(const syntax::Name &module,
                                       const syntax::Name &name) {
  auto known = names.file().imports.find(module.text);
  bool isImported = known != names.file().imports.end();
  if (isImported ? !known->second.module ||
                       known->second.module->functions.count(name.text) ||
                       known->second.module->constants.count(name.text) ||
                       known->second.module->incomplete.functions
                 : names.file().incomplete.imports ||
                       !syntax::isForeignModule(module.text))
    return false;
  std::string instead = describeInstead(name.text);
  if (isImported && instead.empty())
    return false;
  if (instead.empty())
    instead = "functions of the language have no module before their name";
  names.error(isImported ? name.span : module.span,
              (isImported ? "module " + quote(module.text) +
                                " has no function " + quote(name.text)
                          : "there is no module " + quote(module.text)) +
                  "; " + instead);
  return true;
}

Callee CalleeFinder::find(const std::optional<syntax::Name> &module,
                          const syntax::Name &name) {
  if (module)
    return findMember(*module, name);
  if (const Callee *argument = names.scope->findFunction(name.text))
    return *argument;
  if (auto found = names.file().functions.find(name.text);
      found != names.file().functions.end())
    return {nullptr, found->second, &names.file()};
  if (const Builtin *builtin = findBuiltin(name.text))
    return {builtin, nullptr, nullptr};
  rejectCallee(name);
  return {};
}

/// Reports the name of a call that is no function.
void CalleeFinder::rejectCallee(const syntax::Name &name) {
  if (names.file().incomplete.functions)
    return;
  std::vector<std::string_view> known = builtinNames();
  for (const auto &entry : names.file().functions)
    known.push_back(entry.first);
  // Functions have short names: lerp is no erf, although only two letters
  // differ.
  constexpr size_t lettersPerEdit = 4;
  std::string_view nearest =
      syntax::nearestName(name.text, known, lettersPerEdit);
  const syntax::FunctionDeclaration *near = nullptr;
  std::string meant(nearest);
  if (auto own = names.file().functions.find(nearest);
      own != names.file().functions.end())
    near = own->second;
  // A function of that very name in an imported file is nearer.
  for (const auto &[import, info] : names.file().imports)
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
      names.error(name.span, "unknown function " + quote(name.text) + hint);
  if (near)
    unknown.note(near->name.span, quote(meant) + " is declared here");
  names.noteOrigin(unknown, name.span);
}
