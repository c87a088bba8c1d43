//===- PrefixEmitter.h - sums along rows, entry by entry ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels that return the result of one prefix op, on every target: each row
/// is walked once, and its sum so far is stored at each entry. Rows are
/// independent.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_PREFIXEMITTER_H
#define MESHC_LIB_CODEGEN_PREFIXEMITTER_H

#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/RowEmitter.h"

namespace meshc::codegen {

/// The form of such a kernel.
struct PrefixShape {
  nd::PrefixOpInterface op;
  Rows rows;

  /// Reports an error if the kernel's body has another form.
  static llvm::FailureOr<PrefixShape> of(exec::KernelOp kernel);
};

/// Emits such a kernel.
class PrefixEmitter final : public RowEmitter {
public:
  PrefixEmitter(const PrefixShape &shape, KernelElements &emitter)
      : RowEmitter(shape.rows, emitter), op(shape.op) {}

private:
  void emitRow(const nd::ElementIndex &row) override;
  Values emitEntries(const nd::ElementIndex &row, mlir::Value first,
                     int64_t count, mlir::Value sum);

  nd::PrefixOpInterface op;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_PREFIXEMITTER_H
