//===- OpPage.h - the page about the ops of nd ----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_DESCRIBE_OPS_OPPAGE_H
#define MESHC_TOOLS_DESCRIBE_OPS_OPPAGE_H

#include "mlir/IR/BuiltinOps.h"
#include "tools/describe-ops/OpRecord.h"

namespace meshc {

/// The ops of one .td file.
struct OpFamily {
  std::string title; ///< the file's name without its ending
  std::vector<OpRecord> ops;
};

/// The page in Markdown. `examples` has a function with the name of each op
/// that computes tensors; its last op but the return is of that kind, and those
/// before it make its operands. Fails, with an error that names the op, if a
/// function is missing or there is none of its name among the ops.
mlir::FailureOr<std::string> writeOpPage(llvm::ArrayRef<OpFamily> families,
                                         mlir::ModuleOp examples);

} // namespace meshc

#endif // MESHC_TOOLS_DESCRIBE_OPS_OPPAGE_H
