//===- BufferElements.cpp - numbers in buffers ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/BufferElements.h"
#include "runtime/Base/Float16.h"
#include <cstring>

using namespace mlir;

namespace meshc::codegen {

int64_t getBytes(Type elementType) {
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}

double readElement(const char *place, Type type) {
  if (type.isF32()) {
    float value;
    std::memcpy(&value, place, 4);
    return value;
  }
  if (type.isInteger(32)) {
    int32_t value;
    std::memcpy(&value, place, 4);
    return value;
  }
  if (type.isInteger(1))
    return *place;
  uint16_t bits;
  std::memcpy(&bits, place, 2);
  return type.isBF16() ? runtime::floatFromBf16(bits)
                       : runtime::floatFromF16(bits);
}

void writeElement(char *place, Type type, double number) {
  if (type.isF32()) {
    auto value = static_cast<float>(number);
    std::memcpy(place, &value, 4);
  } else if (type.isInteger(32)) {
    auto value = static_cast<int32_t>(number);
    std::memcpy(place, &value, 4);
  } else if (type.isInteger(1)) {
    *place = number != 0;
  } else {
    auto value = static_cast<float>(number);
    uint16_t bits = type.isBF16() ? runtime::bf16FromFloat(value)
                                  : runtime::f16FromFloat(value);
    std::memcpy(place, &bits, 2);
  }
}

void forEachPlace(
    const nd::HostTensor &tensor, exec::BufferType buffer, nd::MeshAttr mesh,
    llvm::function_ref<void(int64_t number, int64_t place)> visit) {
  SmallVector<int64_t> memory;
  for (nd::DimAttr dim : tensor.type.getDims())
    memory.push_back(buffer.getStride(dim.getName().getValue(), mesh));
  nd::forEachIndex(tensor.sizes, {tensor.getStrides(), memory},
                   [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
                     visit(offsets[0], offsets[1]);
                   });
}

} // namespace meshc::codegen
