//===- Numbers.h - the types of elements ------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_NUMBERS_H
#define MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_NUMBERS_H

#include <cstdint>

namespace meshc::fake {

/// Of elements of a MeshcType.
int64_t bytesOf(uint8_t type);
double widen(uint8_t type, const void *place);
void narrow(uint8_t type, double value, void *place);

} // namespace meshc::fake

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_NUMBERS_H
