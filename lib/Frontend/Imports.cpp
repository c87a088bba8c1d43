//===- Imports.cpp - the files that a model imports -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Imports.h"

#include "lib/Frontend/Builtins.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Frontend/Syntax/Parse.h"
#include "lib/Frontend/Syntax/Spelling.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

#include <algorithm>

using namespace meshc;
using namespace meshc::frontend;
using llvm::StringRef;
using syntax::quote;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static constexpr StringRef ending = ".mesh";

static std::string quotePath(std::string_view path) {
  return quote(path, path.size());
}

std::string meshc::findModuleFolder(StringRef tool) {
  static int anchor;
  std::string self = fs::getMainExecutable(tool.str().c_str(), &anchor);
  llvm::SmallString<256> folder(path::parent_path(path::parent_path(self)));
  path::append(folder, "share", "meshc");
  return folder.str().str();
}

void frontend::rejectBuiltinNames(const syntax::Module &module,
                                  syntax::Diagnostics &diagnostics) {
  for (const auto &[name, function] : module.functions)
    if (findBuiltin(name))
      diagnostics.error(function->name.span,
                        quote(name) + " is a function of the language; choose "
                                      "another name");
}

void Imports::read(const syntax::Program &program, StringRef path,
                   syntax::Module &module) {
  fs::UniqueID self;
  bool isFile = !fs::getUniqueID(path, self);
  if (isFile) // importing it would be a cycle
    open.push_back(self);
  readAll(program, path, module);
  open.clear();
}

void Imports::readAll(const syntax::Program &program, StringRef path,
                      syntax::Module &module) {
  for (const syntax::Declaration &declaration : program.declarations) {
    const auto *list = std::get_if<syntax::ImportDeclaration>(&declaration);
    if (!list)
      continue;
    for (const syntax::Import &import : list->imports) {
      syntax::Module *file = readOne(import, path);
      auto [entry, isNew] =
          module.imports.insert({import.name.text, {file, import.name.span}});
      if (!isNew)
        diagnostics
            .error(import.name.span,
                   "module " + quote(import.name.text) +
                       " is already imported; give this file another name: "
                       "import … as NAME")
            .note(entry->second.span, "first imported here");
    }
  }
}

/// What was searched for a module, and similar names there.
std::string Imports::describeSearch(const syntax::Import &import) const {
  std::vector<std::string> found;
  std::string searched;
  for (const std::string &folder : folders) {
    searched += (searched.empty() ? "" : ", ") + quotePath(folder);
    std::error_code error;
    for (fs::directory_iterator file(folder, error), end; file != end && !error;
         file.increment(error))
      if (path::extension(file->path()) == ending)
        found.push_back(path::stem(file->path()).str());
  }
  std::sort(found.begin(), found.end());
  std::string hint =
      syntax::didYouMean(import.file.text, {found.begin(), found.end()});
  if (!hint.empty())
    return hint;
  return folders.empty() ? "; no folder of modules is known"
                         : "; searched " + searched +
                               " (-I adds folders; a file of your own is "
                               "imported by its path in quotation marks)";
}

/// The path of an imported file; nothing after an error. [L10.4]
std::optional<std::string> Imports::findFile(const syntax::Import &import,
                                             StringRef importer) {
  if (import.isPath) {
    StringRef written(import.file.text);
    llvm::SmallString<256> file;
    if (!path::is_absolute(written))
      file = path::parent_path(importer);
    path::append(file, written);
    return file.str().str();
  }
  for (const std::string &folder : folders) {
    llvm::SmallString<256> file(folder);
    path::append(file, StringRef(import.file.text) + ending);
    if (fs::exists(file))
      return file.str().str();
  }
  diagnostics.error(import.file.span, "there is no module " +
                                          quote(import.file.text) +
                                          describeSearch(import));
  return std::nullopt;
}

/// Whether a file is not being read already, and not too deep. [L10.5]
bool Imports::mayRead(const syntax::Import &import, fs::UniqueID file) {
  if (std::find(open.begin(), open.end(), file) != open.end()) {
    // The notes of the imports on the way here show the cycle.
    diagnostics.error(import.file.span,
                      quote(import.file.text) +
                          " is being imported already; files cannot import "
                          "each other in a cycle");
    return false;
  }
  if (open.size() < maxDepth)
    return true;
  diagnostics.error(import.file.span, "imports nest more than " +
                                          std::to_string(maxDepth) + " deep");
  return false;
}

/// The text of a file, as one of the texts of this run; nothing after an error.
std::optional<uint32_t> Imports::addText(const std::string &path,
                                         syntax::Span at) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (std::error_code error = buffer.getError()) {
    diagnostics.error(at, "cannot read " + quotePath(path) + ": " +
                              error.message());
    return std::nullopt;
  }
  uint32_t source = sources.add(path, (*buffer)->getBuffer().str());
  manager.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  return source;
}

/// The file of an import; null after an error.
syntax::Module *Imports::readOne(const syntax::Import &import,
                                 StringRef importer) {
  syntax::Span at = import.file.span;
  std::optional<std::string> path = findFile(import, importer);
  if (!path)
    return nullptr;
  fs::UniqueID id;
  if (std::error_code error = fs::getUniqueID(*path, id)) {
    diagnostics.error(at, "cannot read " + quotePath(*path) + ": " +
                              error.message());
    return nullptr;
  }
  if (!mayRead(import, id))
    return nullptr;
  if (auto known = files.find(id); known != files.end())
    return &known->second->module;
  std::optional<uint32_t> source = addText(*path, at);
  if (!source)
    return nullptr;
  File &file = *(files[id] = std::make_unique<File>(diagnostics));
  open.push_back(id);
  diagnostics.enter(at, "imported here as " + quote(import.name.text));
  file.program = syntax::parseProgram(sources, *source, diagnostics);
  readAll(file.program, *path, file.module);
  file.module.collectImported(file.program);
  rejectBuiltinNames(file.module, diagnostics);
  diagnostics.leave();
  open.pop_back();
  return &file.module;
}
