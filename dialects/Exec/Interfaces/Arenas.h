//===- Arenas.h - the memory of virtual ranks -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The state on which the reference semantics of exec ops operate
/// (`StepOpInterface::run`): one arena for each virtual rank. Bytes that were
/// never written are NaN, and so is scratch memory before and after its use.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_INTERFACES_ARENAS_H
#define MESHC_DIALECTS_EXEC_INTERFACES_ARENAS_H

#include "dialects/Exec/Interfaces/Accesses.h"
#include "dialects/Nd/Interfaces/HostTensor.h"
#include <deque>
#include <functional>

namespace meshc::exec {

class BufferType;

class Arenas {
public:
  /// When a collective takes effect; it may run from its op to its wait.
  enum class Collectives { AtTheirOp, AtTheirWait };
  /// How a product with an epilogue runs: with its kernel after the product, or
  /// by the table of MeshcEpilogueKind, as a library does it.
  enum class Epilogues { ByKernel, ByTable };
  /// One rank's memory: an element is kept, as a double, at its first byte.
  using Memory = std::vector<double>;

  /// Arenas of `exec.arena_bytes` for all ranks of the module's mesh.
  /// `context`: seed, step and rounding; the rest is filled in.
  Arenas(mlir::ModuleOp module, const nd::EvaluationContext &context,
         Collectives collectives, Epilogues epilogues);

  int64_t getRankCount() const { return memories.size(); }
  Memory &getMemory(int64_t rank) { return memories[rank]; }
  const Memory &getMemory(int64_t rank) const { return memories[rank]; }
  const std::vector<Memory> &getMemories() const { return memories; }
  const nd::EvaluationContext &getContext() const { return context; }
  Epilogues getEpilogues() const { return epilogues; }

  nd::HostTensor read(int64_t rank, BufferType type, int64_t offset) const;
  void write(int64_t rank, BufferType type, int64_t offset,
             const nd::HostTensor &tensor);
  /// Byte offset of a buffer, in the current iteration.
  int64_t getOffset(mlir::Value buffer) const;

  /// Runs `body` for each iteration of a loop: from number 0 on, or backwards
  /// from the last one.
  void loop(int64_t size, bool backwards, llvm::function_ref<void()> body);
  /// Runs `body` for one iteration of a loop that has not begun.
  void inIteration(int64_t iteration, llvm::function_ref<void()> body);
  /// In a loop: runs `body` for the next iteration of the innermost one; not
  /// in the last iteration.
  void inNextIteration(llvm::function_ref<void()> body);

  /// In a loop: the current iteration of the innermost one is its last unless
  /// the i1 in the buffer is true. The ranks agree on it.
  void endUnless(mlir::Value condition);

  /// Runs a kernel on all ranks.
  void runKernel(const KernelUse &use);
  /// Leaves NaN in the piece, on all ranks.
  void spoil(ArenaPiece piece);
  /// Runs what an op begins, at once or when its token is awaited, in the
  /// iteration in which it began.
  void begin(mlir::Value token, std::function<void()> effect);
  /// Of what began first and still runs under the token; nothing if nothing
  /// does.
  void await(mlir::Value token);

private:
  mlir::ModuleOp module;
  nd::EvaluationContext context;
  Collectives collectives;
  Epilogues epilogues;
  std::vector<Memory> memories;
  using Iterations = llvm::SmallVector<int64_t>;
  struct Begun {
    mlir::Value token;
    std::function<void()> effect;
    Iterations iterations; ///< in which it began
  };
  std::deque<Begun> begun; ///< and not awaited, in order
  /// Of a loop that runs.
  struct Range {
    int64_t last, direction;
    bool hasEnded = false; ///< before the last iteration
  };
  llvm::SmallVector<Range> loops; ///< the outermost first
  Iterations iterations;          ///< likewise
};

/// Bytes of one element in memory.
int64_t getElementBytes(nd::TensorType type);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_INTERFACES_ARENAS_H
