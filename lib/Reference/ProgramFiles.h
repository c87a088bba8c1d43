//===- ProgramFiles.h - files that a compiled program reads and writes ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// NPY data, safetensors checkpoints and JSON logs (docs/running.md), as far as
/// a comparison with a compiled program needs them.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_PROGRAMFILES_H
#define MESHC_LIB_REFERENCE_PROGRAMFILES_H

#include "dialects/Nd/Interfaces/HostTensor.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace meshc::reference {

/// Writes `batches`, tensors of one type and not empty, one after another along
/// the first dim of `order` (the names of all dims) as an array in NPY's
/// format, version 1.0, in C order: floats as f32, i32, and i1 as b1.
llvm::Error writeExamples(llvm::StringRef path,
                          llvm::ArrayRef<nd::HostTensor> batches,
                          mlir::ArrayAttr order);

/// The type of a tensor in a checkpoint and its dims in the file's order.
struct StoredTensor {
  nd::TensorType type;
  mlir::ArrayAttr order;
};

/// Reads these tensors from a checkpoint. The error names a tensor that is
/// missing or has another type or shape.
llvm::Expected<llvm::StringMap<nd::HostTensor>>
readCheckpoint(llvm::StringRef path,
               const llvm::StringMap<StoredTensor> &tensors);

/// The numbers of a log's lines by name; what is null in the file is NaN.
llvm::Expected<std::vector<llvm::StringMap<double>>>
readLog(llvm::StringRef path);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_PROGRAMFILES_H
