//===- ModelPlaces.cpp - the lines of the model that ops come from --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/ModelPlaces.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace meshc::nd {

SmallVector<FileLineColLoc> getModelPlaces(Location location) {
  SmallVector<FileLineColLoc> places;
  location->walk([&](Location part) {
    if (auto place = dyn_cast<FileLineColLoc>(part))
      places.push_back(place);
    return WalkResult::advance();
  });
  if (places.empty())
    return places;
  // A callee comes before its caller, and the outermost caller is the model.
  StringAttr model = places.back().getFilename();
  llvm::erase_if(places, [&](FileLineColLoc place) {
    return place.getFilename() != model;
  });
  return places;
}

} // namespace meshc::nd
