//===- Completion.cpp - values of meshc's options -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/meshc/Completion.h"
#include "lib/Frontend/Syntax/Parse.h"
#include "lib/Pipeline/Compile.h"
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <variant>

namespace meshc {

using Words = std::vector<std::string>;

namespace {
/// What a model declares.
struct ModelNames {
  Words dims, constants, axes;
};
} // namespace

static void append(Words &names,
                   const std::vector<syntax::Definition> &definitions) {
  for (const syntax::Definition &definition : definitions)
    names.emplace_back(definition.name.text);
}

/// The text may have errors.
static ModelNames readNames(const std::string &path) {
  syntax::SourceSet sources;
  syntax::Diagnostics diagnostics;
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  ModelNames names;
  if (text.size() > syntax::Source::maxBytes)
    return names;
  syntax::Program program = syntax::parseProgram(
      sources, sources.add(path, std::move(text)), diagnostics);
  for (const syntax::Declaration &declaration : program.declarations)
    if (auto *dims = std::get_if<syntax::DimDeclaration>(&declaration))
      append(names.dims, dims->dims);
    else if (auto *values =
                 std::get_if<syntax::ConstantDeclaration>(&declaration))
      append(names.constants, values->constants);
    else if (auto *mesh = std::get_if<syntax::MeshDeclaration>(&declaration))
      append(names.axes, mesh->axes);
  return names;
}

/// The names of a list such as data=2,tensor=4.
static Words listDefined(const std::string &text) {
  Words names;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');)
    names.push_back(item.substr(0, item.find('=')));
  return names;
}

/// The model among the words, and the axes of --mesh, which replace its own.
static ModelNames findNames(const Words &words) {
  ModelNames names;
  for (const std::string &word : words) {
    std::error_code error;
    if (std::filesystem::path(word).extension() == ".mesh" &&
        std::filesystem::is_regular_file(word, error))
      names = readNames(word);
  }
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i] == "--mesh" && i + 1 < words.size())
      names.axes = listDefined(words[i + 1]);
    else if (words[i].rfind("--mesh=", 0) == 0)
      names.axes = listDefined(words[i].substr(std::string("--mesh=").size()));
  return names;
}

/// Each name between `before` and `after`.
static Words surround(const Words &names, const std::string &before,
                      const std::string &after) {
  Words words;
  for (const std::string &name : names)
    words.push_back(before + name + after);
  return words;
}

/// The last rule of --layout: a dim, behind its scope, or axes.
static Words listRuleParts(const ModelNames &names, const std::string &begun) {
  std::string before = begun.substr(0, begun.rfind(',') + 1);
  std::string rule = begun.substr(before.size());
  size_t colon = rule.find(':');
  if (colon == std::string::npos)
    return surround(names.dims, before + rule.substr(0, rule.rfind('.') + 1),
                    ":");
  size_t start = rule.find_last_of(":?~+") + 1;
  return surround(names.axes, before + rule.substr(0, start), "");
}

static Words listPhases() {
  std::istringstream list(getPhaseNames());
  Words names;
  for (std::string name; std::getline(list >> std::ws, name, ',');)
    names.push_back(name);
  return names;
}

Words listOptionValues(const std::string &option, const Words &words,
                       const std::string &begun) {
  if (option == "--stop-after")
    return listPhases();
  if (option == "--machine")
    return begun.find('/') == std::string::npos ? getMachineNames() : Words();
  if (option == "--layout")
    return listRuleParts(findNames(words), begun);
  if (option == "--mesh")
    return surround(findNames(words).axes,
                    begun.substr(0, begun.rfind(',') + 1), "=");
  if (option != "--set")
    return {};
  ModelNames names = findNames(words);
  Words values = surround(names.dims, "", "=");
  for (std::string &constant : surround(names.constants, "", "="))
    values.push_back(std::move(constant));
  return values;
}

} // namespace meshc
