//===- mesh-opt.cpp - meshc's passes, one at a time -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// As mlir-opt, for meshc's dialects and passes: reads MLIR text, runs the
/// passes that the command line names, prints the result.
///
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/DebugOutput.h"
#include "lib/Pipeline/Pipeline.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

static llvm::cl::list<std::string> debugOnly(
    "debug-only", llvm::cl::CommaSeparated, llvm::cl::value_desc("passes"),
    llvm::cl::desc("Print the decisions of these passes on standard error "
                   "(debug builds only)"),
    llvm::cl::callback([](const std::string &) {
      if (std::string error = meshc::enableDebugOutput(debugOnly);
          !error.empty()) {
        llvm::errs() << "mesh-opt: error: --debug-only: " << error << "\n";
        std::exit(1);
      }
    }));

int main(int argc, char **argv) {
  mlir::DialectRegistry dialects;
  meshc::registerDialects(dialects);
  meshc::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "meshc's passes over MLIR text\n", dialects));
}
