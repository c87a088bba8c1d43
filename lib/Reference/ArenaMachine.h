//===- ArenaMachine.h - scheduled programs run by their meaning -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The oracle for the output of the schedule phase: runs the exec.func ops of a
/// program on virtual ranks, each with its own arena
/// (dialects/Exec/Interfaces/Arenas.h), by the reference semantics of their
/// ops.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_ARENAMACHINE_H
#define MESHC_LIB_REFERENCE_ARENAMACHINE_H

#include "dialects/Exec/Exec.h"
#include "lib/Reference/Interpreter.h"

namespace meshc::reference {

class ArenaMachine {
public:
  using Collectives = exec::Arenas::Collectives;
  using Epilogues = exec::Arenas::Epilogues;

  ArenaMachine(mlir::ModuleOp module, const RunOptions &options,
               Collectives collectives = Collectives::AtTheirOp,
               Epilogues epilogues = Epilogues::ByKernel);

  /// Writes and reads a tensor of the program's table on all ranks.
  void store(exec::TensorOp tensor, const RankTensors &blocks);
  RankTensors load(exec::TensorOp tensor) const;
  /// Runs one function on all ranks, op by op.
  void run(exec::FuncOp function);

private:
  exec::Arenas arenas;
};

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_ARENAMACHINE_H
