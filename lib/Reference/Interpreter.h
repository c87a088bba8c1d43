//===- Interpreter.h - programs run by their reference semantics ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The oracle: runs a function of nd, spmd and exec.fusion ops on any number of
/// virtual ranks in one process, op by op, all ranks in lockstep. It does not
/// depend on particular ops: local ops run through nd::NamedOpInterface, ops
/// between ranks through spmd::SpmdOpInterface.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_INTERPRETER_H
#define MESHC_LIB_REFERENCE_INTERPRETER_H

#include "dialects/Nd/Interfaces/HostTensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace meshc::reference {

class RoundingNoise;

/// One value on all ranks: its block on each, by rank.
using RankTensors = std::vector<nd::HostTensor>;

/// Inputs of a run that are not part of the program.
struct RunOptions {
  uint64_t seed = 0;
  int64_t step = 0;
  /// Round every result to its element type; off, floats stay doubles, so that
  /// two orders of summation differ by some 1e-16 only.
  bool roundToType = true;
  /// Where not null: adds random errors to results. Of one rank only, as
  /// replicas would get different ones.
  RoundingNoise *noise = nullptr;
};

/// Runs `function` on all ranks of `mesh` (the empty mesh: one rank; types are
/// then whole). `arguments` and the results: one entry per argument (result),
/// with a block of the argument's (result's) type for each rank. Fails, with an
/// error on the op, where an op has no reference semantics or breaks the
/// promise of its type.
llvm::FailureOr<std::vector<RankTensors>>
interpret(mlir::FunctionOpInterface function, nd::MeshAttr mesh,
          std::vector<RankTensors> arguments, const RunOptions &options);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_INTERPRETER_H
