//===- Dims.h - how reports describe the dims of tensors --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REPORT_DIMS_H
#define MESHC_LIB_REPORT_DIMS_H

#include "dialects/Nd/NdInterfaces.h"
#include "lib/Report/Report.h"

namespace meshc::report {

/// The mesh's axes: `[{"axis": "data", "size": 2}, …]`.
Json describeMesh(nd::MeshAttr mesh);

/// The dims of a tensor in the given order, each with its whole size and the
/// axes that cut it, outermost first:
/// `[{"dim": "i", "size": 64, "axes": ["data"]}, …]`.
Json describeDims(nd::TensorType type, llvm::ArrayRef<mlir::StringAttr> order);

} // namespace meshc::report

#endif // MESHC_LIB_REPORT_DIMS_H
