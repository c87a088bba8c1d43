//===- Frontend.cpp - model text to nd IR ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Frontend.h"

#include "lib/Frontend/EmitModel.h"
#include "lib/Frontend/Emitter.h"
#include "lib/Frontend/Imports.h"
#include "lib/Frontend/Syntax/Parse.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace meshc {
namespace {

Location toLocation(const syntax::SourceSet &sources, syntax::Span span,
                    MLIRContext &context) {
  syntax::LineColumn at = sources.lineColumn(span);
  std::string_view name = sources[span.source].name();
  return FileLineColLoc::get(&context, StringRef(name), at.line, at.column);
}

/// Passes the collected diagnostics to MLIR's engine, in the order of the text.
/// The one that reports too many errors comes last.
void report(const syntax::Diagnostics &diagnostics,
            const syntax::SourceSet &sources, MLIRContext &context) {
  std::vector<const syntax::Diagnostic *> sorted;
  for (const syntax::Diagnostic &diagnostic : diagnostics.all())
    sorted.push_back(&diagnostic);
  // Diagnostics at one place keep the order in which they were found.
  auto key = [](const syntax::Diagnostic *diagnostic) {
    return std::tuple(diagnostic->span.source, diagnostic->span.begin,
                      diagnostic);
  };
  std::sort(sorted.begin(), sorted.end() - diagnostics.isFull(),
            [&](const auto *a, const auto *b) { return key(a) < key(b); });
  for (const syntax::Diagnostic *each : sorted) {
    const syntax::Diagnostic &diagnostic = *each;
    Location at = toLocation(sources, diagnostic.span, context);
    InFlightDiagnostic out = diagnostic.severity == syntax::Severity::Error
                                 ? emitError(at)
                                 : emitWarning(at);
    out << diagnostic.message;
    for (const syntax::Note &note : diagnostic.notes)
      out.attachNote(toLocation(sources, note.span, context)) << note.message;
  }
}

/// The texts of one run: the model's file first, then the command line's lists.
class Reader {
public:
  Reader(llvm::SourceMgr &manager) : manager(manager) {
    const llvm::MemoryBuffer *file =
        manager.getMemoryBuffer(manager.getMainFileID());
    sources.add(file->getBufferIdentifier().str(), file->getBuffer().str());
  }

  /// Adds a list of the command line to both sets of texts; returns its index.
  uint32_t add(const std::string &option, const std::string &text) {
    manager.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, option), llvm::SMLoc());
    return sources.add(option, text);
  }

  syntax::Overrides parse(const ModelOverrides &overrides,
                          syntax::Diagnostics &diagnostics) {
    syntax::Overrides parsed;
    parsed.isWholeBatch = overrides.isWholeBatch;
    if (overrides.mesh) {
      size_t before = diagnostics.all().size();
      parsed.mesh = syntax::parseDefinitionList(
          sources, add("<--mesh>", *overrides.mesh), diagnostics);
      parsed.isMeshIncomplete = diagnostics.all().size() > before;
    }
    if (overrides.layout)
      parsed.layout = syntax::parseLayoutList(
          sources, add("<--layout>", *overrides.layout), diagnostics);
    for (const auto &[index, values] : llvm::enumerate(overrides.values)) {
      // Source lines are looked up by the name of their text, so names are
      // unique.
      std::string number =
          overrides.values.size() > 1 ? " " + std::to_string(index + 1) : "";
      for (syntax::Definition &value : syntax::parseDefinitionList(
               sources, add("<--set" + number + ">", values), diagnostics))
        parsed.values.push_back(std::move(value));
    }
    return parsed;
  }

  syntax::SourceSet sources;

private:
  llvm::SourceMgr &manager;
};

} // namespace

OwningOpRef<ModuleOp> parseModel(llvm::SourceMgr &manager, MLIRContext &context,
                                 const ModelOverrides &overrides,
                                 llvm::ArrayRef<std::string> moduleFolders) {
  context.loadDialect<nd::NdDialect, func::FuncDialect>();
  Reader reader(manager);
  syntax::Diagnostics diagnostics;
  syntax::Program program =
      syntax::parseProgram(reader.sources, 0, diagnostics);
  syntax::Overrides parsed = reader.parse(overrides, diagnostics);
  frontend::Imports imports(manager, reader.sources, diagnostics,
                            moduleFolders);
  syntax::Declarations declarations(diagnostics);
  imports.read(program, reader.sources[0].name(), declarations);
  declarations.collect(program, parsed);
  frontend::Emitter emitter(reader.sources, diagnostics, declarations, context);
  OwningOpRef<ModuleOp> module = frontend::ModelEmitter(emitter).emitProgram();
  report(diagnostics, reader.sources, context);
  if (diagnostics.hasErrors())
    return nullptr;
  return module;
}

} // namespace meshc
