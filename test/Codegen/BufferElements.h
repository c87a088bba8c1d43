//===- BufferElements.h - numbers in buffers --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_CODEGEN_BUFFERELEMENTS_H
#define MESHC_TEST_CODEGEN_BUFFERELEMENTS_H

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/NdInterfaces.h"

namespace meshc::codegen {

/// Bytes of an element in a buffer.
int64_t getBytes(mlir::Type elementType);

/// The number at that place. Types: f32, bf16, f16, i32 and i1.
double readElement(const char *place, mlir::Type type);

/// Stores a number there, rounded to the type.
void writeElement(char *place, mlir::Type type, double number);

/// Calls `visit` with each element's number in the reference's order and its
/// place in a buffer of that memory order.
void forEachPlace(
    const nd::HostTensor &tensor, exec::BufferType buffer, nd::MeshAttr mesh,
    llvm::function_ref<void(int64_t number, int64_t place)> visit);

} // namespace meshc::codegen

#endif // MESHC_TEST_CODEGEN_BUFFERELEMENTS_H
