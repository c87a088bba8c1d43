//===- Module.h - the declarations of one file ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_MODULE_H
#define MESHC_FRONTEND_SYNTAX_MODULE_H

#include "lib/Frontend/Syntax/Constant.h"

#include <map>

namespace meshc::syntax {

class Module;

/// A constant, its value and the place of its name.
struct ConstantInfo {
  Constant value;
  Span span;
};

/// A file by the name under which another one imports it; the module is null
/// if the file could not be read.
struct ImportInfo {
  Module *module = nullptr;
  Span span;
};

/// What one file declares: constants, functions and the files that it imports,
/// checked and evaluated. An imported file declares nothing else; Declarations
/// adds what the model's file declares besides. Maps are ordered by name, so
/// that everything built from them is deterministic. [L10.2]
class Module : public ConstantScope {
public:
  explicit Module(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  /// Collects the declarations of an imported file; its own imports must be
  /// known. Continues after errors, such as a declaration of a model.
  void collectImported(const Program &program);

  /// The file that this one imports as `name`; null after an error.
  const Module *resolveImport(const Name &name);
  /// The function `name` of an imported file; null after an error.
  const FunctionDeclaration *memberFunction(const Name &module,
                                            const Name &name);

  std::optional<Constant> constant(const Name &name) override;
  std::optional<Constant> dimSize(const Name &name) override;
  std::optional<Constant> member(const Name &module, const Name &name) override;
  void noteDeclaration(Diagnostic &diagnostic,
                       std::string_view name) const override;

  std::map<std::string_view, ConstantInfo> constants;
  std::map<std::string_view, const FunctionDeclaration *> functions;
  std::map<std::string_view, ImportInfo> imports;
  Incomplete incomplete;

protected:
  /// Where a constant (or dim, in the model's file) of that name is declared.
  virtual std::optional<Span> findPlace(std::string_view name) const;
  /// The names of all constants (and dims), for hints.
  virtual std::vector<std::string_view> declaredNames() const;
  /// The expression that gives a definition its value; null after an error.
  virtual const Expr *findValue(const Definition &definition) const;

  std::optional<Constant> valueOf(const Definition &definition);
  bool isNewName(const Name &name);
  void collectConstants(const std::vector<Definition> &list);
  void collectFunction(const FunctionDeclaration &function);

  Diagnostics &diagnostics;
  const Program *program = nullptr;

private:
  /// Where the whole file declares a dim or constant, read so far or not; null
  /// if it does not.
  const Name *findLater(std::string_view name) const;
  void rejectMember(const Module &module, const Name &moduleName,
                    const Name &name, bool isCalled);
};

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_MODULE_H
