//===- PtxCode.cpp - PTX that the fake GPU has loaded ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PtxCode.h"
#include "FakeCuda.h"

#include <cstring>

using namespace meshc;
using namespace meshc::fake;

namespace {

/// What a kernel on a GPU can access.
class GpuMemory : public ptx::Memory {
public:
  explicit GpuMemory(int number) : gpu(number) {}
  bool find(uint64_t address, ptx::Region &region) override {
    void *host = nullptr;
    if (!findBlock(address, gpu, region.begin, region.bytes, host))
      return false;
    region.host = static_cast<unsigned char *>(host);
    return true;
  }

private:
  int gpu;
};

uint64_t getSeed() {
  return static_cast<uint64_t>(setting("FAKE_CUDA_SEED", 1));
}

/// Ends the process where the interpreter finds something.
template <class Action> void check(const Action &action) {
  try {
    action();
  } catch (const ptx::Fault &fault) {
    violate(fault.what());
  }
}

} // namespace

bool PtxCode::isText(const void *image) {
  const char *text = static_cast<const char *>(image);
  return text[0] == '/' || text[0] == '.';
}

PtxCode::PtxCode(const char *text) : machine(getSeed()) {
  check([&] { module = std::make_unique<ptx::Module>(text); });
}

std::function<void(int)> PtxCode::bind(const std::string &entry,
                                       const ptx::Grid &grid,
                                       void **parameters) {
  using Bytes = std::vector<unsigned char>;
  auto values = std::make_shared<std::vector<Bytes>>();
  for (const ptx::FunctionText &function : module->getText().functions)
    if (function.isEntry && function.name == entry)
      for (const ptx::Variable &parameter : function.parameters) {
        const auto *value = static_cast<const unsigned char *>(*parameters++);
        values->emplace_back(value, value + parameter.bytes);
      }
  // What a first launch would find should not wait for it.
  check([&] { module->getEntry(entry); });
  return [this, entry, grid, values](int gpu) {
    std::vector<void *> addresses;
    for (Bytes &value : *values)
      addresses.push_back(value.data());
    GpuMemory memory(gpu);
    check([&] {
      machine.launch(*module, entry, grid, addresses.data(), memory);
    });
  };
}
