//===- mesh-parse.cpp - the front end alone -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For tests of the front end, which need no other phase: reads a `.mesh` text
/// (or `.mlir`, for round trips) and prints the nd program. Exit code 1 after
/// errors.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "lib/Frontend/Frontend.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::desc("FILE"),
                                  cl::init("-"));
static cl::opt<std::string> mesh("mesh", cl::desc("axes: data=2,tensor=2"));
static cl::opt<std::string> layout("layout", cl::desc("rules: batch:data"));
static cl::list<std::string> values("set", cl::desc("sizes: batch=64"));
static cl::list<std::string> folders("I", cl::Prefix,
                                     cl::desc("folders of modules"));
static cl::opt<bool> locations("locations", cl::desc("print locations"));

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "prints a model's nd program\n");
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!file) {
    llvm::errs() << input << ": error: " << file.getError().message() << "\n";
    return 1;
  }
  MLIRContext context;
  context.loadDialect<meshc::nd::NdDialect, func::FuncDialect>();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module;
  if (StringRef(input).ends_with(".mlir")) {
    module = parseSourceFile<ModuleOp>(sources, &context);
  } else {
    meshc::ModelOverrides overrides;
    if (mesh.getNumOccurrences())
      overrides.mesh = mesh;
    if (layout.getNumOccurrences())
      overrides.layout = layout;
    overrides.values.assign(values.begin(), values.end());
    std::vector<std::string> searched(folders.begin(), folders.end());
    searched.push_back(meshc::findModuleFolder(argv[0]));
    module = meshc::parseModel(sources, context, overrides, searched);
    if (module && failed(verify(*module)))
      return 1;
  }
  if (!module)
    return 1;
  OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(true, /*prettyForm=*/false);
  module->print(llvm::outs(), flags);
  return 0;
}
