//===- RunPtx.cpp - small PTX programs for tests --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/RunPtx.h"
#include "test/gpu/ptx/Op.h"

#include <algorithm>
#include <numeric>

namespace meshc::ptx {

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float floatOf(uint64_t bits) {
  auto low = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}

Words::Words() { std::iota(in.begin(), in.end(), 0u); }

std::string makeModule(const std::string &body,
                       const std::string &declarations) {
  return ".version 7.8\n.target sm_90\n.address_size 64\n" + declarations +
         "\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
         ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<32>;\n"
         ".reg .b64 %d<32>;\n"
         "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in];\n"
         "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n" +
         body + "\nret;\n}\n";
}

Words run(const std::string &text, uint32_t blocks, uint32_t threads,
          uint64_t seed) {
  Words words;
  HostMemory memory;
  memory.add(words.out.data(), words.out.size() * 4);
  memory.add(words.in.data(), words.in.size() * 4);
  Module module(text);
  uint32_t *addresses[] = {words.out.data(), words.in.data()};
  void *parameters[] = {&addresses[0], &addresses[1]};
  Machine machine(seed);
  machine.mostInstructions = 1 << 22;
  machine.launch(module, "k", {blocks, threads, 0}, parameters, memory);
  return words;
}

std::string getFault(const std::string &module, uint32_t blocks,
                     uint32_t threads, uint64_t seed) {
  try {
    run(module, blocks, threads, seed);
  } catch (const Fault &fault) {
    return fault.what();
  }
  return "";
}

/// The name of register `number` of that width.
static std::string nameRegister(unsigned bits, size_t number) {
  const char *kinds[] = {"%p", "%h", "%r", "%d"};
  int kind = bits == 1 ? 0 : bits <= 16 ? 1 : bits == 32 ? 2 : 3;
  return kinds[kind] + std::to_string(number);
}

uint64_t compute(const std::string &opcode, std::vector<uint64_t> operands) {
  const unsigned *widths = getOpcodes().at(opcode).widths;
  std::string body;
  for (size_t i = 0; i < operands.size(); ++i) {
    unsigned bits = widths[i + 1];
    std::string name = nameRegister(bits, 5 + i);
    if (bits == 1)
      body +=
          "setp.ne.b32 " + name + ", " + std::to_string(operands[i]) + ", 0;\n";
    else
      body += "mov.b" + std::to_string(std::max(bits, 16u)) + " " + name +
              ", " + std::to_string(operands[i]) + ";\n";
  }
  std::string result = nameRegister(widths[0], 3);
  body += opcode + " " + result;
  for (size_t i = 0; i < operands.size(); ++i)
    body += ", " + nameRegister(widths[i + 1], 5 + i);
  body += ";\n";
  if (widths[0] == 1)
    body += "selp.u32 %r20, 1, 0, %p3; st.global.u32 [%d0], %r20;";
  else if (widths[0] <= 16)
    body += "st.global.u16 [%d0], %h3;";
  else
    body +=
        "st.global.u" + std::to_string(widths[0]) + " [%d0], " + result + ";";
  Words words = run(makeModule(body));
  uint64_t value = 0;
  unsigned bytes = widths[0] == 1 ? 4 : std::max(widths[0] / 8, 1u);
  std::memcpy(&value, words.out.data(), bytes);
  return value;
}

float computeFloat(const std::string &opcode, std::vector<float> operands) {
  std::vector<uint64_t> bits;
  for (float operand : operands)
    bits.push_back(bitsOf(operand));
  return floatOf(compute(opcode, bits));
}

} // namespace meshc::ptx
