//===- Dump.h - a program between two phases, as text ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_DUMP_H
#define MESHC_LIB_PIPELINE_DUMP_H

#include "lib/Report/Report.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

namespace meshc {

/// What a compilation knows beside the program. A dump holds it in attributes
/// of the module, so that the compilation can go on from there.
struct DumpState {
  std::string phase = "parse"; ///< the last one that the program went through
  report::Json targets = {};  ///< report::findTargets of the model; may be null
  report::Json indices = {};  ///< report::findIndices, likewise
  report::Json ignored = {};  ///< report::findIgnored, likewise
  report::Json manifest = {}; ///< null before the collectives phase

  /// Makes the manifest, of a program after the collectives or kernels phase.
  void buildManifest(mlir::ModuleOp program);
};

/// The program as text with the places of the model's text. What is read back
/// compiles to the same program to the byte.
std::string printDump(mlir::ModuleOp program, const DumpState &state);

/// Takes the state from the attributes of a program that was read; they are
/// removed. A program without them is in the state after the parse phase.
/// Fails, with an error at the module, if printDump does not write such
/// attributes. A manifest that is absent is made again; after the schedule
/// phase that fails too.
mlir::FailureOr<DumpState> takeDumpState(mlir::ModuleOp program);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_DUMP_H
