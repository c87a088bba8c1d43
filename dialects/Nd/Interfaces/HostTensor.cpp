//===- HostTensor.cpp - a tensor's values, for the reference --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/HostTensor.h"
#include "llvm/ADT/APFloat.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace meshc::nd {

HostTensor::HostTensor(TensorType type, MeshAttr mesh) : type(type) {
  int64_t count = 1;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    sizes.push_back(type.getLocalSize(i, mesh));
    count *= sizes.back();
  }
  data.assign(count, 0.0);
}

llvm::SmallVector<int64_t> HostTensor::getStrides() const {
  llvm::SmallVector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

int64_t HostTensor::getStrideOf(llvm::StringRef dim) const {
  int64_t index = type.getDimIndex(dim);
  return index < 0 ? 0 : getStrides()[index];
}

llvm::SmallVector<int64_t> HostTensor::getStridesAlong(TensorType other) const {
  llvm::SmallVector<int64_t> strides;
  for (DimAttr dim : other.getDims())
    strides.push_back(getStrideOf(dim.getName().getValue()));
  return strides;
}

int64_t EvaluationContext::getOffset(TensorType type,
                                     llvm::StringRef name) const {
  int64_t index = type.getDimIndex(name), offset = 0;
  for (auto [axis, step] : llvm::zip(type.getDims()[index].getAxes(),
                                     type.getBlockSteps(index, mesh)))
    offset += coordinates[mesh.getAxisIndex(axis)] * step;
  return offset;
}

int64_t EvaluationContext::getCount(TensorType type,
                                    llvm::StringRef name) const {
  int64_t index = type.getDimIndex(name);
  int64_t count = type.getDims()[index].getSize();
  for (auto [axis, step] : llvm::zip(type.getDims()[index].getAxes(),
                                     type.getBlockSteps(index, mesh))) {
    int64_t first = coordinates[mesh.getAxisIndex(axis)] * step;
    count = std::clamp<int64_t>(count - first, 0, step);
  }
  return count;
}

SmallVector<int64_t> EvaluationContext::getCounts(TensorType type) const {
  return llvm::map_to_vector(type.getDims(), [&](DimAttr dim) {
    return getCount(type, dim.getName().getValue());
  });
}

double getSpoiledValue(Type elementType) {
  if (isa<FloatType>(elementType))
    return std::numeric_limits<double>::quiet_NaN();
  return elementType.isSignlessInteger(1) ? 1
                                          : std::numeric_limits<int32_t>::max();
}

void EvaluationContext::spoilPadding(HostTensor &block) const {
  if (!block.type.hasPadding(mesh))
    return;
  double spoiled = getSpoiledValue(block.type.getElementType());
  SmallVector<int64_t> counts = getCounts(block.type);
  forEachIndex(block.sizes, {block.getStrides()},
               [&](ArrayRef<int64_t> index, ArrayRef<int64_t> offsets) {
                 for (auto [entry, count] : llvm::zip(index, counts))
                   if (entry >= count)
                     block.data[offsets[0]] = spoiled;
               });
}

HostTensor EvaluationContext::makeTensor(Type type) const {
  return HostTensor(cast<TensorType>(type), mesh);
}

double EvaluationContext::round(double value, Type elementType) const {
  if (!roundToType && isa<FloatType>(elementType))
    return value;
  return roundToElementType(value, elementType);
}

void forEachIndex(
    llvm::ArrayRef<int64_t> sizes,
    llvm::ArrayRef<llvm::SmallVector<int64_t>> strides,
    llvm::function_ref<void(llvm::ArrayRef<int64_t>, llvm::ArrayRef<int64_t>)>
        body) {
  if (llvm::is_contained(sizes, 0))
    return;
  llvm::SmallVector<int64_t> index(sizes.size(), 0);
  llvm::SmallVector<int64_t> offsets(strides.size(), 0);
  while (true) {
    body(index, offsets);
    size_t d = sizes.size();
    for (; d > 0; --d) {
      bool carries = ++index[d - 1] == sizes[d - 1];
      for (size_t t = 0; t < strides.size(); ++t)
        offsets[t] += carries ? -strides[t][d - 1] * (sizes[d - 1] - 1)
                              : strides[t][d - 1];
      if (!carries)
        break;
      index[d - 1] = 0;
    }
    if (d == 0)
      return;
  }
}

double roundToElementType(double value, Type elementType) {
  if (elementType.isF32())
    return static_cast<float>(value);
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    llvm::APFloat number(value);
    bool losesInfo;
    number.convert(floatType.getFloatSemantics(),
                   llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    number.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return number.convertToDouble();
  }
  if (elementType.isSignlessInteger(1))
    return value != 0;
  // Integers wrap modulo 2^32; products of two stay exact in 64 bits as long as
  // the op computes them there.
  return static_cast<int32_t>(
      static_cast<uint32_t>(static_cast<int64_t>(value)));
}

} // namespace meshc::nd
