//===- ModelPlaces.h - the lines of the model that ops come from ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_ND_MODELPLACES_H
#define MESHC_ND_MODELPLACES_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"

namespace meshc::nd {

/// The places within a location that are in the model's file, innermost first.
/// Those in imported files are left out, so that an op of an imported function
/// is placed at its call. Empty if the location has no file.
llvm::SmallVector<mlir::FileLineColLoc> getModelPlaces(mlir::Location location);

} // namespace meshc::nd

#endif // MESHC_ND_MODELPLACES_H
