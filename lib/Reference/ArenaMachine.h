//===- ArenaMachine.h - scheduled programs run by their meaning -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The oracle for the output of the schedule phase: runs the exec.func ops of a
/// program on virtual ranks, each with its own arena. Kernels use the reference
/// semantics of their ops; products and collectives follow RuntimeAbi.h. Bytes
/// that were never written are NaN, and so is scratch memory before and after
/// its product.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_ARENAMACHINE_H
#define MESHC_LIB_REFERENCE_ARENAMACHINE_H

#include "dialects/Exec/Exec.h"
#include "lib/Reference/Interpreter.h"

namespace meshc::reference {

class ArenaMachine {
public:
  /// When a collective takes effect; it may run from its op to its wait.
  enum class Collectives { AtTheirOp, AtTheirWait };
  /// How a product with an epilogue runs: with its kernel after the product, or
  /// by the table of MeshcEpilogueKind, as a library does it.
  enum class Epilogues { ByKernel, ByTable };

  /// Arenas of `exec.arena_bytes` for all ranks of the module's mesh.
  ArenaMachine(mlir::ModuleOp module, const RunOptions &options,
               Collectives collectives = Collectives::AtTheirOp,
               Epilogues epilogues = Epilogues::ByKernel);

  /// Writes and reads a tensor of the program's table on all ranks.
  void store(exec::TensorOp tensor, const RankTensors &blocks);
  RankTensors load(exec::TensorOp tensor) const;
  /// Runs one function on all ranks, op by op. Fails, with an error, on any op
  /// except launch, gemm, collective and wait.
  mlir::LogicalResult run(exec::FuncOp function);

private:
  /// One rank's memory: an element is kept, as a double, at its first byte.
  using Memory = std::vector<double>;

  nd::HostTensor read(int64_t rank, exec::BufferType type,
                      int64_t offset) const;
  void write(int64_t rank, exec::BufferType type, int64_t offset,
             const nd::HostTensor &tensor);
  nd::HostTensor read(int64_t rank, mlir::Value buffer) const;
  void write(int64_t rank, mlir::Value buffer, const nd::HostTensor &tensor);
  void runKernel(llvm::StringRef name, mlir::ValueRange inputBuffers,
                 mlir::ValueRange outputBuffers);
  void spoilScratch(exec::GemmOp gemm);
  void runGemm(exec::GemmOp gemm);
  void runEpilogue(exec::GemmOp gemm);
  void finish(exec::GemmOp gemm, Memory &memory);
  void sumFactor(exec::GemmOp gemm, Memory &memory);
  mlir::LogicalResult runCollective(exec::CollectiveOp collective);

  mlir::ModuleOp module;
  bool lateCollectives, epiloguesByTable;
  nd::EvaluationContext context;
  std::vector<Memory> arenas;
};

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_ARENAMACHINE_H
