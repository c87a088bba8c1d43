//===- Module.cpp - the declarations of one file --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Module.h"

#include "lib/Frontend/Syntax/Parse.h"
#include "lib/Frontend/Syntax/Spelling.h"

using namespace meshc::syntax;

namespace {

template <typename Map>
void appendKeys(const Map &map, std::vector<std::string_view> &names) {
  for (const auto &entry : map)
    names.push_back(entry.first);
}

/// The place and the word of a declaration that an imported file cannot have.
struct Foreign {
  Span span;
  std::string_view word;
};

std::optional<Foreign> findForeign(const Declaration &declaration) {
  if (const auto *dims = std::get_if<DimDeclaration>(&declaration))
    return dims->dims.empty()
               ? std::nullopt
               : std::optional(Foreign{dims->dims.front().name.span, "dim"});
  if (const auto *mesh = std::get_if<MeshDeclaration>(&declaration))
    return Foreign{mesh->span, "mesh"};
  if (const auto *layout = std::get_if<LayoutDeclaration>(&declaration))
    return Foreign{layout->span, "layout"};
  if (const auto *model = std::get_if<ModelDeclaration>(&declaration))
    return Foreign{model->name.span, "model"};
  if (const auto *train = std::get_if<TrainDeclaration>(&declaration))
    return Foreign{train->span, "train"};
  if (const auto *generate = std::get_if<GenerateDeclaration>(&declaration))
    return Foreign{generate->span, "generate"};
  return std::nullopt;
}

} // namespace

/// [L10.2]
void Module::collectImported(const Program &whole) {
  program = &whole;
  incomplete = whole.incomplete;
  for (const Declaration &declaration : whole.declarations) {
    if (const auto *list = std::get_if<ConstantDeclaration>(&declaration))
      collectConstants(list->constants);
    else if (const auto *function =
                 std::get_if<FunctionDeclaration>(&declaration))
      collectFunction(*function);
    else if (std::optional<Foreign> foreign = findForeign(declaration))
      diagnostics.error(
          foreign->span,
          "an imported file declares functions and constants only, got " +
              quote(foreign->word) +
              (foreign->word == "dim"
                   ? "; pass dims to its functions, which take them by 'dim d'"
                   : "; move it to the model's file"));
  }
}

/// [L2.4], [L10.2]
bool Module::isNewName(const Name &name) {
  std::optional<Span> earlier = findPlace(name.text);
  if (earlier)
    diagnostics.error(name.span, quote(name.text) + " is already declared")
        .note(*earlier, "first declared here");
  return !earlier;
}

const Expr *Module::findValue(const Definition &definition) const {
  return definition.value.get();
}

std::optional<Constant> Module::valueOf(const Definition &definition) {
  const Expr *value = findValue(definition);
  return value ? evaluate(*value, *this, diagnostics) : std::nullopt;
}

/// [L2.1]
void Module::collectConstants(const std::vector<Definition> &list) {
  for (const Definition &definition : list)
    if (isNewName(definition.name))
      constants[definition.name.text] = {
          valueOf(definition).value_or(Constant::whole(1)),
          definition.name.span};
}

/// [L4.1]
void Module::collectFunction(const FunctionDeclaration &function) {
  auto [entry, isNew] = functions.insert({function.name.text, &function});
  if (!isNew)
    diagnostics
        .error(function.name.span,
               "function " + quote(function.name.text) + " is already declared")
        .note(entry->second->name.span, "first declared here");
}

std::optional<Span> Module::findPlace(std::string_view name) const {
  auto found = constants.find(name);
  return found == constants.end() ? std::nullopt
                                  : std::optional(found->second.span);
}

std::vector<std::string_view> Module::declaredNames() const {
  std::vector<std::string_view> names;
  appendKeys(constants, names);
  return names;
}

void Module::noteDeclaration(Diagnostic &diagnostic,
                             std::string_view name) const {
  if (std::optional<Span> place = findPlace(name))
    diagnostic.note(*place, quote(name) + " is declared here");
}

const Name *Module::findLater(std::string_view name) const {
  for (const Declaration &declaration : program->declarations) {
    const std::vector<Definition> *list = nullptr;
    if (const auto *dims = std::get_if<DimDeclaration>(&declaration))
      list = &dims->dims;
    else if (const auto *lets = std::get_if<ConstantDeclaration>(&declaration))
      list = &lets->constants;
    else
      continue;
    for (const Definition &definition : *list)
      if (definition.name.text == name)
        return &definition.name;
  }
  return nullptr;
}

std::optional<Constant> Module::constant(const Name &name) {
  if (auto found = constants.find(name.text); found != constants.end())
    return found->second.value;
  if (incomplete.dims)
    return std::nullopt;
  std::vector<std::string_view> names = declaredNames();
  const Name *later = findLater(name.text);
  Diagnostic &unknown = diagnostics.error(
      name.span, "no constant or dim " + quote(name.text) +
                     " is declared before this" +
                     (later ? "" : didYouMean(name.text, names)));
  if (later)
    unknown.note(later->span, "it is declared here; move it up");
  else
    noteDeclaration(unknown, nearestName(name.text, names));
  return std::nullopt;
}

std::optional<Constant> Module::dimSize(const Name &name) {
  diagnostics.error(name.span, "constants of an imported file know no dims, "
                               "got size(" +
                                   std::string(name.text) +
                                   "); compute it in a function that takes "
                                   "the dim");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Names of imported files
//===----------------------------------------------------------------------===//

const Module *Module::resolveImport(const Name &name) {
  if (auto found = imports.find(name.text); found != imports.end())
    return found->second.module;
  if (incomplete.imports)
    return nullptr;
  std::vector<std::string_view> names;
  appendKeys(imports, names);
  std::string hint = didYouMean(name.text, names);
  if (hint.empty())
    hint = "; a file is imported by 'import " + std::string(name.text) + "'";
  Diagnostic &unknown =
      diagnostics.error(name.span, "unknown module " + quote(name.text) + hint);
  if (auto near = imports.find(nearestName(name.text, names));
      near != imports.end())
    unknown.note(near->second.span, quote(near->first) + " is imported here");
  return nullptr;
}

/// Reports that a file has no function or constant of that name.
void Module::rejectMember(const Module &module, const Name &moduleName,
                          const Name &name, bool isCalled) {
  std::string full =
      std::string(moduleName.text) + "." + std::string(name.text);
  if (auto found = module.constants.find(name.text);
      found != module.constants.end()) {
    diagnostics.error(name.span, quote(full) + " is a constant, not a function")
        .note(found->second.span, "declared here");
    return;
  }
  if (auto found = module.functions.find(name.text);
      found != module.functions.end()) {
    diagnostics
        .error(name.span,
               quote(full) + " is a function; call it: " + full + "(…)")
        .note(found->second->name.span, "declared here");
    return;
  }
  if (isCalled ? module.incomplete.functions : module.incomplete.dims)
    return;
  std::vector<std::string_view> names;
  if (isCalled)
    appendKeys(module.functions, names);
  else
    appendKeys(module.constants, names);
  std::string_view near = nearestName(name.text, names);
  Diagnostic &unknown = diagnostics.error(
      name.span, "module " + quote(moduleName.text) + " has no " +
                     (isCalled ? "function " : "constant ") + quote(name.text) +
                     didYouMean(name.text, names));
  if (auto found = module.functions.find(near);
      isCalled && found != module.functions.end())
    unknown.note(found->second->name.span, quote(near) + " is declared here");
  else
    module.noteDeclaration(unknown, near);
}

const FunctionDeclaration *Module::memberFunction(const Name &moduleName,
                                                  const Name &name) {
  const Module *module = resolveImport(moduleName);
  if (!module)
    return nullptr;
  auto found = module->functions.find(name.text);
  if (found != module->functions.end())
    return found->second;
  rejectMember(*module, moduleName, name, /*isCalled=*/true);
  return nullptr;
}

std::optional<Constant> Module::member(const Name &moduleName,
                                       const Name &name) {
  // A constant with a member is a mistake of another kind.
  if (!imports.count(moduleName.text) && findPlace(moduleName.text)) {
    Span point = {name.span.source, moduleName.span.end, name.span.end};
    noteDeclaration(
        diagnostics.error(point, describeMember(moduleName.text, name.text,
                                                /*isCall=*/false)),
        moduleName.text);
    return std::nullopt;
  }
  const Module *module = resolveImport(moduleName);
  if (!module)
    return std::nullopt;
  auto found = module->constants.find(name.text);
  if (found != module->constants.end())
    return found->second.value;
  rejectMember(*module, moduleName, name, /*isCalled=*/false);
  return std::nullopt;
}
