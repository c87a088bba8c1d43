//===- ModelPlaces.cpp - the lines of the model that ops come from --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/ModelPlaces.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace meshc::nd {

/// The place of the outermost call, which is in the model's file; null if the
/// location has no file.
static FileLineColLoc getOutermostPlace(Location location) {
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return getOutermostPlace(call.getCaller());
  if (auto name = dyn_cast<NameLoc>(location))
    return getOutermostPlace(name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      if (FileLineColLoc place = getOutermostPlace(part))
        return place;
    return {};
  }
  return dyn_cast<FileLineColLoc>(location);
}

SmallVector<FileLineColLoc> getModelPlaces(Location location) {
  FileLineColLoc outermost = getOutermostPlace(location);
  SmallVector<FileLineColLoc> places;
  if (!outermost)
    return places;
  // Visits each place once, although many parts may have it in common, and a
  // callee before its caller.
  location->walk([&](Location part) {
    auto place = dyn_cast<FileLineColLoc>(part);
    if (place && place.getFilename() == outermost.getFilename())
      places.push_back(place);
    return WalkResult::advance();
  });
  return places;
}

} // namespace meshc::nd
