//===- Lowering.h - what the ways to LLVM IR share ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_LOWERING_H
#define MESHC_LIB_CODEGEN_LOWERING_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace meshc::codegen {

/// Loads the dialects of kernels and their lowerings on all targets into the
/// context, together with their translations. Call it once, before any code is
/// emitted.
void loadCodegenDialects(mlir::MLIRContext &context);

/// Lowers structured loops and branches to blocks, in place.
llvm::LogicalResult lowerLoops(mlir::ModuleOp kernels);

/// Patterns from the arith, cf, math, ub and vector dialects to LLVM's.
void populateCommonLowering(mlir::LLVMTypeConverter &converter,
                            mlir::RewritePatternSet &patterns);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_LOWERING_H
