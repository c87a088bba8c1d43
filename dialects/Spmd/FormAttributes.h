//===- FormAttributes.h - parts of the text of plans ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_FORMATTRIBUTES_H
#define MESHC_DIALECTS_SPMD_FORMATTRIBUTES_H

#include "dialects/Spmd/SpmdOps.h"

namespace meshc::spmd {

/// `{data, tensor}`
mlir::ParseResult parseAxes(mlir::AsmParser &parser, AxisList &axes);
void printAxes(mlir::AsmPrinter &printer,
               llvm::ArrayRef<mlir::StringAttr> axes);

/// `[batch {data}] sum {tensor} f32`: what stands between the angle brackets of
/// a #spmd.form.
mlir::FailureOr<FormAttr> parseForm(mlir::AsmParser &parser);
void printForm(mlir::AsmPrinter &printer, FormAttr form);

/// Several of them, in parentheses and with commas.
mlir::ParseResult parseForms(mlir::AsmParser &parser,
                             llvm::SmallVectorImpl<FormAttr> &forms);
void printForms(mlir::AsmPrinter &printer, llvm::ArrayRef<FormAttr> forms);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_FORMATTRIBUTES_H
