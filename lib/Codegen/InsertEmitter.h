//===- InsertEmitter.h - entries replaced in a table ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels that return the result of one insert op, on every target. The table
/// consists of rows along the dim of the indices; each is a unit of work. A
/// kernel whose result lies where its table does touches the replaced entries
/// alone; otherwise it copies the table first.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_INSERTEMITTER_H
#define MESHC_LIB_CODEGEN_INSERTEMITTER_H

#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/RowEmitter.h"

namespace meshc::codegen {

/// The form of such a kernel.
struct InsertShape {
  nd::InsertOpInterface op;
  /// Has lanes only if the rows of a vector share their indices.
  Rows rows;
  /// The kernel's input that is the table; nothing if the kernel computes it.
  std::optional<unsigned> tableInput;
  /// Loops over the dims of the indices that the table lacks.
  llvm::SmallVector<Loop> updates;

  /// Reports an error if the kernel's body has another form.
  static llvm::FailureOr<InsertShape> of(exec::KernelOp kernel);
};

/// Emits such a kernel.
class InsertEmitter final : public RowEmitter {
public:
  InsertEmitter(const InsertShape &shape, KernelElements &emitter)
      : RowEmitter(shape.rows, emitter), shape(shape) {}

private:
  void emitRow(const nd::ElementIndex &row) override;
  void emitCopy(const nd::ElementIndex &row);
  void emitUpdate(nd::ElementIndex index);

  InsertShape shape;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_INSERTEMITTER_H
