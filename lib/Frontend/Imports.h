//===- Imports.h - the files that a model imports -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_IMPORTS_H
#define MESHC_FRONTEND_IMPORTS_H

#include "lib/Frontend/Syntax/Module.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem/UniqueID.h"

#include <memory>

namespace llvm {
class SourceMgr;
}

namespace meshc::frontend {

/// Reads the files that a program imports, and those that they import, each
/// once. They live as long as this. [L10]
class Imports {
public:
  /// Files import one another at most this deep. [L10.5]
  static constexpr size_t maxDepth = 64;

  /// `folders` are those of modules, in the order of the search. Texts are
  /// added to both sets.
  Imports(llvm::SourceMgr &manager, syntax::SourceSet &sources,
          syntax::Diagnostics &diagnostics, llvm::ArrayRef<std::string> folders)
      : manager(manager), sources(sources), diagnostics(diagnostics),
        folders(folders) {}

  /// Fills the imports of the model's file, whose path is `path`.
  void read(const syntax::Program &program, llvm::StringRef path,
            syntax::Module &module);

private:
  /// A file that is imported somewhere.
  struct File {
    File(syntax::Diagnostics &diagnostics) : module(diagnostics) {}
    syntax::Program program;
    syntax::Module module;
  };
  void readAll(const syntax::Program &program, llvm::StringRef path,
               syntax::Module &module);
  syntax::Module *readOne(const syntax::Import &import,
                          llvm::StringRef importer);
  std::optional<std::string> findFile(const syntax::Import &import,
                                      llvm::StringRef importer);
  std::string describeSearch(const syntax::Import &import) const;
  bool mayRead(const syntax::Import &import, llvm::sys::fs::UniqueID file);
  std::optional<uint32_t> addText(const std::string &path, syntax::Span at);

  llvm::SourceMgr &manager;
  syntax::SourceSet &sources;
  syntax::Diagnostics &diagnostics;
  llvm::ArrayRef<std::string> folders;
  std::map<llvm::sys::fs::UniqueID, std::unique_ptr<File>> files;
  /// The files being read, each imported by the one before it.
  std::vector<llvm::sys::fs::UniqueID> open;
};

/// Reports the functions of a file that have the name of one of the language's
/// own. [L4.1]
void rejectBuiltinNames(const syntax::Module &module,
                        syntax::Diagnostics &diagnostics);

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_IMPORTS_H
