//===- ProgramFixture.h - programs of texts, for tests ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_REFERENCE_PROGRAMFIXTURE_H
#define MESHC_TEST_REFERENCE_PROGRAMFIXTURE_H

#include "dialects/Nd/NdOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

namespace meshc::reference {

/// A number of the environment.
inline uint64_t getNumber(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A test that reads the texts of models. Errors go to `errors`.
class ProgramFixture : public testing::Test {
protected:
  ProgramFixture() { renewContext(); }

  /// Frees what the context holds of earlier programs: types, attributes and
  /// the plans of planners, several megabytes for each. There must be no
  /// module.
  void renewContext() {
    handler.reset();
    context.emplace();
    context->disableMultithreading();
    context->loadDialect<nd::NdDialect, spmd::SpmdDialect,
                         mlir::func::FuncDialect>();
    handler.emplace(&*context, [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        errors += diagnostic.str() + "\n";
      return mlir::success();
    });
  }

  using AddPasses = void (*)(mlir::OpPassManager &);
  bool runPasses(mlir::ModuleOp module, llvm::ArrayRef<AddPasses> phases) {
    mlir::PassManager passes(&*context);
    for (AddPasses add : phases)
      add(passes);
    return mlir::succeeded(passes.run(module));
  }

  /// The model of the text; null after errors.
  mlir::OwningOpRef<mlir::ModuleOp>
  parseText(const std::string &text, const ModelOverrides &overrides = {}) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, "random.mesh"),
        llvm::SMLoc());
    return parseModel(sources, *context, overrides);
  }

  /// Its step functions; null after errors.
  mlir::OwningOpRef<mlir::ModuleOp>
  parse(const std::string &text, const ModelOverrides &overrides = {}) {
    auto module = parseText(text, overrides);
    if (module && !runPasses(*module, {addSteps}))
      module = nullptr;
    return module;
  }

  static void addSteps(mlir::OpPassManager &passes) {
    steps::addStepsPasses(passes, recompute);
  }

  /// What the phase `steps` does about residuals of loops.
  static inline auto recompute = steps::Recompute::Cheap;

  std::optional<mlir::MLIRContext> context;
  std::optional<mlir::ScopedDiagnosticHandler> handler;
  std::string errors;
};

} // namespace meshc::reference

#endif // MESHC_TEST_REFERENCE_PROGRAMFIXTURE_H
