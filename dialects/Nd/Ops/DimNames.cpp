//===- DimNames.cpp - lists of dim names, and what is wrong with them -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace meshc::nd {

SmallVector<StringAttr> getNames(ArrayAttr names) {
  return llvm::map_to_vector(names,
                             [](Attribute a) { return cast<StringAttr>(a); });
}

bool namesDim(Operation *op, StringAttr dim) {
  bool names = false;
  for (NamedAttribute attribute : op->getAttrs())
    if (!attribute.getName().getValue().contains('.'))
      attribute.getValue().walk(
          [&](StringAttr name) { names |= name.getValue() == dim.getValue(); });
  return names;
}

std::string listDims(TensorType type) {
  if (type.getRank() == 0)
    return "none";
  return llvm::join(llvm::map_range(type.getDims(),
                                    [](DimAttr dim) {
                                      return "'" + dim.getName().str() + "'";
                                    }),
                    ", ");
}

StringAttr namePart(TensorType type, StringAttr dim, StringRef part) {
  std::string name = (dim.getValue() + "." + part).str();
  while (type.hasDim(name))
    name += "_";
  return StringAttr::get(dim.getContext(), name);
}

LogicalResult checkNumbered(std::optional<Location> location, StringRef op,
                            DimAttr dim) {
  constexpr int64_t largest = std::numeric_limits<int32_t>::max();
  if (dim.getSize() <= largest)
    return success();
  return emitOptionalError(location, op, ": dim '", dim.getName().getValue(),
                           "' has ", dim.getSize(),
                           " entries, and i32 numbers ", largest,
                           "; split it (split) or make it smaller");
}

LogicalResult reportMissingDim(std::optional<Location> location, StringRef op,
                               StringAttr dim, TensorType type) {
  return emitOptionalError(location, op, ": the operand has no dim '",
                           dim.getValue(), "'; its dims are ", listDims(type));
}

LogicalResult verifyDistinct(std::optional<Location> location, StringRef op,
                             ArrayRef<StringAttr> names) {
  llvm::SmallSet<StringRef, 4> seen;
  for (StringAttr name : names)
    if (!seen.insert(name.getValue()).second)
      return emitOptionalError(location, op, ": dim '", name.getValue(),
                               "' is named twice; name it once");
  return success();
}

LogicalResult reportTakenDim(std::optional<Location> location, StringRef op,
                             StringAttr name) {
  return emitOptionalError(location, op, ": the result would have two dims '",
                           name.getValue(),
                           "'; choose a name that the operand does not have");
}

} // namespace meshc::nd
