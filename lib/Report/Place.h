//===- Place.h - how reports name places and types ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REPORT_PLACE_H
#define MESHC_LIB_REPORT_PLACE_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include <string>

namespace meshc::report {

/// "gpt.mesh:14:13": the innermost place within the location that is in the
/// model's file; "" if it has none.
std::string getPlace(mlir::Location location);

/// "f32"
std::string getTypeName(mlir::Type type);

} // namespace meshc::report

#endif // MESHC_LIB_REPORT_PLACE_H
