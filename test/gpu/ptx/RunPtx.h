//===- RunPtx.h - small PTX programs for tests ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_RUNPTX_H
#define MESHC_TEST_GPU_PTX_RUNPTX_H

#include "test/gpu/ptx/Machine.h"

namespace meshc::ptx {

/// The result of an opcode that works on registers alone, for operands as bits.
/// The instruction is written, parsed and executed by one thread.
uint64_t compute(const std::string &opcode, std::vector<uint64_t> operands);
/// The same on floats.
float computeFloat(const std::string &opcode, std::vector<float> operands);

uint32_t bitsOf(float value);
float floatOf(uint64_t bits);

/// A module with one entry, `k`, that has the parameters `out` and `in` and
/// this body. Declared are %p<16>, %h<16>, %r<32>, %d<32> of 1, 16, 32 and 64
/// bits; %d0 and %d1 hold `out` and `in`, %r0 %tid.x, and %r1 %ctaid.x.
/// `declarations` come before the entry.
std::string makeModule(const std::string &body,
                       const std::string &declarations = "");

/// Memory of 1024 words each for `out` and `in`; `in` holds 0, 1, 2 …
struct Words {
  std::vector<uint32_t> out = std::vector<uint32_t>(1024, 0xdeadbeef);
  std::vector<uint32_t> in = std::vector<uint32_t>(1024);
  Words();
};

/// Runs such a module. Throws Fault.
Words run(const std::string &module, uint32_t blocks = 1, uint32_t threads = 1,
          uint64_t seed = 1);

/// The message of the fault, or "" if there is none.
std::string getFault(const std::string &module, uint32_t blocks = 1,
                     uint32_t threads = 1, uint64_t seed = 1);

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_RUNPTX_H
