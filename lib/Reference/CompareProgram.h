//===- CompareProgram.h - a compiled program against the interpreter ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a compiled program by its own command line, as a user does, and
/// compares it with the interpreter.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_COMPAREPROGRAM_H
#define MESHC_LIB_REFERENCE_COMPAREPROGRAM_H

#include "lib/Reference/CompareSteps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::reference {

/// How a tensor that crosses the border of a step function is cut on ranks.
using ShardedTypes = llvm::StringMap<nd::TensorType>;

/// The types of a partitioned function's results by their names.
ShardedTypes getResultTypes(mlir::func::FuncOp partitioned);

struct CompiledProgram {
  std::string path;   ///< the executable
  std::string folder; ///< for files of the run
  nd::MeshAttr mesh;
  ShardedTypes state; ///< parameters and optimizer state, to name ranks
  /// Whether it may round bf16 and f16 at other places than each op's result:
  /// on several ranks, in the epilogues of GPU kernels, and in sums over the
  /// iterations of loops, which may be one op.
  bool rounds16Bit = false;
};

/// A tensor at one moment of the run, at the element that differs most in terms
/// of what rounding explains.
struct ProgramDifference {
  /// "initial", "step 1", "after 2", "eval", "eval of averages"
  std::string moment;
  std::string name;
  double got = 0, expected = 0;
  double allowed = 0;    ///< |got - expected| that rounding explains
  double scale = 0;      ///< largest finite magnitude that is expected
  int64_t nonFinite = 0; ///< elements that are not compared
  bool agrees = true;
  std::string element = {}; ///< "[b = 3, c = 1]"; empty for scalars
  int64_t rank = 0;         ///< the first rank that holds the element
  mlir::Location location;
};

/// Runs the program's initialization, two training steps on two batches of
/// random examples, and an evaluation of these, with its ranks as threads of
/// one process. Compares initial state, the metrics of each step, the state
/// after the steps, and the evaluation's metrics with `steps`, the functions
/// that the steps phase builds, before anything simplifies them. The
/// interpreter takes over the program's initial state for the steps, and the
/// state after them for the evaluation, so that a comparison is of one cause.
///
/// Allowed is four times the largest change that random rounding errors
/// (RoundingNoise.h) made in several runs of the interpreter, plus four units
/// of f32. Where they explain no difference, more runs are made, as an error
/// close to a jump (a tie of argmax, a rounding to bf16, the sign of a gradient
/// near 0) shows only in some (getRunCounts). A jump does not grow with the
/// error, so half of these runs have errors four times as large, and what they
/// change is allowed once.
/// Elements that are not finite in some run are not compared. If the loss is
/// not finite in the program and the interpreter, only the initial state is
/// compared; a warning says so, with the first value that is not finite.
///
/// Empty where the model has no `train`: nothing can be started then. Fails,
/// with an error, where the program ends with a code that the interpreter does
/// not explain, or writes other files than it should.
llvm::FailureOr<std::vector<ProgramDifference>>
compareProgram(mlir::ModuleOp steps, const CompiledProgram &program,
               const CompareOptions &options);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_COMPAREPROGRAM_H
