//===- Shapes.h - the values of a model -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `meshc --shapes`: the inputs, parameters and values of a model with their
/// dims, before anything is derived from it or cut.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REPORT_SHAPES_H
#define MESHC_LIB_REPORT_SHAPES_H

#include "lib/Report/Report.h"

namespace meshc::report {

/// The values of the program after the phase parse, in its order:
///
///   {"values": [{
///     "name": "h",            as the text calls it; "" for a part of an
///                             expression
///     "kind": "value",        or "input", "parameter"
///     "op": "add",            what computes it; "" for inputs and parameters
///     "type": "f32",
///     "dims": [{"dim": "batch", "size": 8}, …],
///     "elements": 512,
///     "bytes": 2048,          of the whole tensor; of one iteration in a loop
///     "location": "m.mesh:4:7",
///     "loops": ["layers"]     the loops around it, outermost first
///   }, …]}
///
/// Numbers that are known when the program is compiled are left out.
Json listShapes(mlir::ModuleOp module);

/// The same as a table.
void printShapes(const Json &shapes, llvm::raw_ostream &out);

} // namespace meshc::report

#endif // MESHC_LIB_REPORT_SHAPES_H
