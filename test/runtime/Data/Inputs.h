//===- Inputs.h - programs that are inputs alone ----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DATA_INPUTS_H
#define MESHC_TEST_RUNTIME_DATA_INPUTS_H

#include "meshc/RuntimeAbi.h"

#include <cstdint>
#include <vector>

namespace meshc::test {

/// A program of inputs on one rank.
struct Inputs {
  std::vector<std::vector<MeshcDim>> dims;
  std::vector<MeshcTensor> tensors;
  MeshcProgram program = {};

  void add(const char *name, MeshcType type, std::vector<int64_t> sizes) {
    dims.emplace_back();
    int64_t stride = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      dims.back().insert(dims.back().begin(),
                         {"d", sizes[i], sizes[i], stride, 0, nullptr});
      stride *= sizes[i];
    }
    MeshcTensor tensor = {};
    tensor.name = name;
    tensor.role = MESHC_INPUT;
    tensor.type = static_cast<uint8_t>(type);
    tensor.rank = static_cast<uint32_t>(sizes.size());
    tensors.push_back(tensor);
  }
  const MeshcProgram &make() {
    for (size_t i = 0; i < tensors.size(); ++i)
      tensors[i].dims = dims[i].data();
    program.name = "model";
    program.tensors = tensors.data();
    program.tensorCount = static_cast<uint32_t>(tensors.size());
    return program;
  }
};

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_DATA_INPUTS_H
