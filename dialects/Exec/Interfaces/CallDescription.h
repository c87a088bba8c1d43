//===- CallDescription.h - what reports say of an op ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_INTERFACES_CALLDESCRIPTION_H
#define MESHC_DIALECTS_EXEC_INTERFACES_CALLDESCRIPTION_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace meshc::exec {

/// A matrix product c[m,n] = a[m,k]·b[k,n], `batch` times.
struct ProductDescription {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  mlir::Value a, c;
  /// Buffers that the call reads and writes if the library does the epilogue,
  /// which then needs no memory for the product itself, unless it is a result.
  llvm::SmallVector<mlir::Value> reads, writes;
  llvm::StringRef epilogue; ///< empty: none
};

struct CallDescription {
  /// "kernel", "product", "collective", "wait", "loop" or "while"
  llvm::StringRef kind;
  std::string name; ///< of a kernel or collective, as reports show it
  /// Where the call comes from; the first that is a place in a file counts.
  llvm::SmallVector<mlir::Location> locations;
  std::optional<ProductDescription> product = std::nullopt;
};

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_INTERFACES_CALLDESCRIPTION_H
