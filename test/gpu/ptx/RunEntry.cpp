//===- RunEntry.cpp - one launch, without exceptions ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/RunEntry.h"
#include "test/gpu/ptx/Machine.h"

#include <optional>

namespace meshc::ptx {

struct Program::State {
  std::string text;
  Machine machine;
  std::optional<Module> module; ///< parsed for the first launch
};

Program::Program(std::string text, uint64_t seed)
    : state(new State{std::move(text), Machine(seed), {}}) {}

Program::~Program() = default;

std::string Program::run(const std::string &entry, const Launch &launch) {
  try {
    if (!state->module)
      state->module.emplace(state->text);
    HostMemory memory;
    for (const auto &[begin, bytes] : launch.memory)
      memory.add(begin, bytes);
    std::vector<void *> values = launch.parameters, addresses;
    for (void *&value : values)
      addresses.push_back(&value);
    state->machine.launch(*state->module, entry,
                          {launch.blocks, launch.threads, 0}, addresses.data(),
                          memory);
    return "";
  } catch (const Fault &fault) {
    return fault.what();
  }
}

} // namespace meshc::ptx
