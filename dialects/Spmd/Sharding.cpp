//===- Sharding.cpp - shardings of a tensor and how they differ -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Sharding.h"

using namespace mlir;

namespace meshc::spmd {

using nd::DimAttr;
using nd::MeshAttr;
using nd::TensorType;

ArrayRef<StringAttr> getAxesOf(TensorType type, llvm::StringRef dim) {
  DimAttr attr = type.getDim(dim);
  return attr ? attr.getAxes() : ArrayRef<StringAttr>();
}

/// `type` with other axes on one dim, unchecked.
static TensorType replaceAxes(TensorType type, llvm::StringRef dim,
                              ArrayRef<StringAttr> axes) {
  llvm::SmallVector<DimAttr> dims(type.getDims());
  DimAttr &attr = dims[type.getDimIndex(dim)];
  attr = DimAttr::get(type.getContext(), attr.getName(), attr.getSize(), axes);
  return TensorType::get(type.getElementType(), dims, type.getPartialKind(),
                         type.getPartialAxes());
}

TensorType addAxes(TensorType type, llvm::StringRef dim,
                   ArrayRef<StringAttr> axes) {
  if (!type.hasDim(dim))
    return {};
  AxisList used = getUsedAxes(type), all(getAxesOf(type, dim));
  for (StringAttr axis : axes) {
    if (llvm::is_contained(used, axis))
      return {};
    used.push_back(axis);
    all.push_back(axis);
  }
  return replaceAxes(type, dim, all);
}

TensorType dropAxes(TensorType type, llvm::StringRef dim,
                    ArrayRef<StringAttr> axes) {
  ArrayRef<StringAttr> present = getAxesOf(type, dim);
  if (present.size() < axes.size() ||
      present.take_back(axes.size()) != ArrayRef(axes))
    return {};
  return replaceAxes(type, dim, present.drop_back(axes.size()));
}

TensorType dropPartial(TensorType type, ArrayRef<StringAttr> axes) {
  AxisList rest;
  for (StringAttr axis : type.getPartialAxes())
    if (!llvm::is_contained(axes, axis))
      rest.push_back(axis);
  if (rest.size() + axes.size() != type.getPartialAxes().size())
    return {};
  return type.withPartial(type.getPartialKind(), rest);
}

bool areInMeshOrder(ArrayRef<StringAttr> axes, MeshAttr mesh) {
  int64_t last = -1;
  for (StringAttr axis : axes) {
    int64_t index = mesh.getAxisIndex(axis.getValue());
    if (index <= last)
      return false;
    last = index;
  }
  return true;
}

AxisList getUsedAxes(TensorType type) {
  AxisList axes(type.getPartialAxes());
  for (DimAttr dim : type.getDims())
    axes.append(dim.getAxes().begin(), dim.getAxes().end());
  return axes;
}

AxisList getNames(ArrayAttr names) {
  AxisList list;
  for (auto name : names.getAsRange<StringAttr>())
    list.push_back(name);
  return list;
}

} // namespace meshc::spmd
