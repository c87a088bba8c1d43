//===- CallEmitter.h - code of one op of a step function ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Step functions are host code that calls include/meshc/RuntimeAbi.h, for
/// every target. An op defines its call (`emitCall`): the function, its
/// descriptor (a struct of that header) and its buffers. The emitter, which
/// lib/Codegen implements, is responsible for the function, addresses and
/// constants.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_INTERFACES_CALLEMITTER_H
#define MESHC_DIALECTS_EXEC_INTERFACES_CALLEMITTER_H

#include "dialects/Nd/NdTypes.h"
#include "meshc/RuntimeAbi.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class Value;
} // namespace llvm

namespace meshc::exec {

class BufferType;

/// Arguments of calls are values of LLVM's IR; ops only pass them on.
class CallEmitter {
public:
  virtual ~CallEmitter() = default;

  /// Calls a function of RuntimeAbi.h that returns nothing. Its first argument,
  /// the context, is added.
  virtual void call(llvm::StringRef function,
                    llvm::ArrayRef<llvm::Value *> arguments) = 0;

  /// A loop around the calls that `body` emits: `size` iterations, from number
  /// 0 on, or backwards from the last one.
  virtual void loop(int64_t size, bool backwards,
                    llvm::function_ref<void()> body) = 0;
  /// The calls that `body` emits, once, for one iteration of the loop that
  /// begins next.
  virtual void inIteration(int64_t iteration,
                           llvm::function_ref<void()> body) = 0;
  /// In a loop: the calls that `body` emits, for the next iteration of the
  /// innermost loop. The last iteration does not make them.
  virtual void inNextIteration(llvm::function_ref<void()> body) = 0;

  /// In a loop, behind all calls of the iteration: the innermost loop ends
  /// unless the i1 in the buffer is true (meshc_goes_on).
  virtual void endUnless(mlir::Value condition, const MeshcLoop &loop) = 0;

  /// Address of a buffer in the arena, in the current iteration.
  virtual llvm::Value *getAddress(mlir::Value buffer) = 0;
  /// A null pointer.
  virtual llvm::Value *getNull() = 0;
  /// Address of an array of the buffers' addresses. The arrays of the two
  /// numbers (0 and 1) may be arguments of the same call; the next call with an
  /// array of the same number overwrites it.
  virtual llvm::Value *fillArray(unsigned number, mlir::ValueRange buffers) = 0;
  /// Address of the program's MeshcKernel of this symbol.
  virtual llvm::Value *getKernel(llvm::StringRef symbol) = 0;

  /// Addresses of constants of RuntimeAbi.h.
  /// The field `cut` becomes that dim of the buffer, or null if it is empty.
  virtual llvm::Value *addDescriptor(const MeshcGemm &gemm, BufferType buffer,
                                     llvm::StringRef cut,
                                     nd::MeshAttr mesh) = 0;
  virtual llvm::Value *addDescriptor(MeshcEpilogueKind kind,
                                     llvm::StringRef kernel) = 0;
  /// Adds a site of the program, too, for this place with this text; the field
  /// `site` is ignored.
  virtual llvm::Value *addDescriptor(const MeshcCollective &collective,
                                     mlir::Location location,
                                     llvm::StringRef description) = 0;

  /// Remembers the descriptor of what an op begins, by the op's token. Null:
  /// it has none yet.
  virtual void setBegun(mlir::Value token, llvm::Value *descriptor) = 0;
  virtual llvm::Value *getBegun(mlir::Value token) = 0;
};

/// The MeshcType of an element type.
MeshcType getAbiType(mlir::Type elementType);
/// That of a buffer's elements.
MeshcType getAbiType(mlir::Value buffer);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_INTERFACES_CALLEMITTER_H
