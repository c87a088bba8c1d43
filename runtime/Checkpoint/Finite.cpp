//===- Finite.cpp - finding values that are not finite --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Finiteness.h"
#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Device/Device.h"

using namespace meshc::runtime;

const MeshcTensor *meshc::runtime::findNotFinite(const Rank &rank) {
  for (uint32_t i = 0; i < rank.program->tensorCount; ++i) {
    const MeshcTensor &tensor = rank.program->tensors[i];
    if (tensor.role == MESHC_PARAMETER &&
        classify(*rank.program, tensor, rank.mesh.coords().data(),
                 rank.device->read(tensor)))
      return &tensor;
  }
  return nullptr;
}
