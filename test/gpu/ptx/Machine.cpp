//===- Machine.cpp - modules, memory and grids ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Machine.h"
#include "test/gpu/ptx/Decoder.h"

#include <algorithm>
#include <numeric>

namespace meshc::ptx {

static Opcodes makeOpcodes() {
  Opcodes all;
  addIntegerOpcodes(all);
  addBitOpcodes(all);
  addComparisonOpcodes(all);
  addFloatOpcodes(all);
  addHalfOpcodes(all);
  addIntegerConversions(all);
  addFloatConversions(all);
  return all;
}

void addOpcode(Opcodes &opcodes, std::initializer_list<const char *> name,
               Opcode opcode) {
  std::string full;
  for (const char *part : name)
    full += part;
  opcodes[full] = opcode;
}

const Opcodes &getOpcodes() {
  static const Opcodes all = makeOpcodes();
  return all;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

Module::Module(const std::string &source) : text(parseModule(source)) {
  for (const Variable &variable : text.variables) {
    if (variable.space == "shared")
      continue;
    // More than it needs, to align it; a byte at least, to have an address.
    uint64_t alignment = std::max<uint64_t>(variable.alignment, 16);
    storage.emplace_back(new unsigned char[variable.bytes + alignment]());
    auto place = reinterpret_cast<uint64_t>(storage.back().get());
    place = (place + alignment - 1) / alignment * alignment;
    auto *host = reinterpret_cast<unsigned char *>(place);
    std::copy(variable.initial.begin(), variable.initial.end(), host);
    variables.push_back(
        {place, variable.bytes, host, variable.space == "const"});
    addresses[variable.name] = place;
  }
}

Module::~Module() = default;

bool Module::hasEntry(const std::string &name) const {
  return std::any_of(text.functions.begin(), text.functions.end(),
                     [&](const FunctionText &function) {
                       return function.name == name && function.isEntry;
                     });
}

const Function &Module::get(const std::string &name, bool isEntry) {
  std::unique_ptr<Function> &known = functions[name];
  if (known)
    return *known;
  for (const FunctionText &function : text.functions)
    if (function.name == name && function.isEntry == isEntry &&
        !function.isDeclared)
      known = Decoder(*this, function).decode();
  if (!known)
    throw Fault("the module has no " +
                std::string(isEntry ? "entry" : "function") + " '" + name +
                "'");
  return *known;
}

const Function &Module::getEntry(const std::string &name) {
  return get(name, true);
}
const Function &Module::getFunction(const std::string &name) {
  return get(name, false);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void HostMemory::add(void *begin, uint64_t bytes) {
  regions.push_back({reinterpret_cast<uint64_t>(begin), bytes,
                     static_cast<unsigned char *>(begin), false});
}

static bool findIn(const std::vector<Region> &regions, uint64_t address,
                   Region &found) {
  for (const Region &region : regions)
    if (address - region.begin < region.bytes) {
      found = region;
      return true;
    }
  return false;
}

bool HostMemory::find(uint64_t address, Region &region) {
  return findIn(regions, address, region);
}

View &Launch::findView(Thread &thread, const Op *op, uint64_t address,
                       uint64_t bytes) {
  Region region;
  if (!findIn(variables, address, region) && !memory.find(address, region))
    fail(op, thread,
         "accesses address " + std::to_string(address) +
             ", which is in no memory");
  if (region.bytes - (address - region.begin) < bytes)
    fail(op, thread,
         "accesses " + std::to_string(bytes) + " bytes, " +
             std::to_string(address - region.begin) + " bytes behind the " +
             "beginning of memory that has " + std::to_string(region.bytes));
  uint64_t number = address / CellPage::bytes;
  std::unique_ptr<CellPage> &page = machine.pages[number];
  if (!page)
    page = std::make_unique<CellPage>();
  if (page->launch != machine.launches)
    page->clear(machine.launches);
  View &view = machine.views[number % machine.views.size()];
  view.begin = std::max(region.begin, number * CellPage::bytes);
  view.bytes =
      std::min(region.begin + region.bytes, (number + 1) * CellPage::bytes) -
      view.begin;
  view.host = region.host + (view.begin - region.begin);
  view.page = page.get();
  view.isConstant = region.isConstant;
  return view;
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

/// A few blocks are in progress, and advance in turns.
void Launch::run() {
  constexpr uint64_t mostAtOnce = 4;
  std::mt19937_64 &random = machine.random;
  while (machine.blocks.size() < mostAtOnce)
    machine.blocks.push_back(std::make_unique<Block>());
  uint64_t count = grid.blocks, started = 0;
  // A stride coprime to the count visits every block.
  uint64_t stride = 1 + random() % count, next = random() % count;
  while (std::gcd(stride, count) != 1)
    ++stride;
  std::vector<Block *> idle, running;
  for (uint64_t i = 0, most = 1 + random() % mostAtOnce; i < most; ++i)
    idle.push_back(machine.blocks[i].get());
  for (;;) {
    while (!idle.empty() && started < count) {
      idle.back()->begin(*this, static_cast<uint32_t>(next));
      next = (next + stride) % count;
      ++started;
      running.push_back(idle.back());
      idle.pop_back();
    }
    if (running.empty())
      return;
    std::swap(running[random() % running.size()], running.back());
    running.back()->advance();
    if (running.back()->isAtEnd()) {
      idle.push_back(running.back());
      running.pop_back();
    }
  }
}

Machine::Machine(uint64_t seed) : state(std::make_unique<State>()) {
  state->random.seed(seed);
}
Machine::~Machine() = default;

uint64_t Machine::getExecuted() const { return state->executed; }

static void checkGrid(const FunctionText &entry, const Grid &grid,
                      uint64_t sharedBytes) {
  constexpr uint64_t mostThreads = 1024, mostShared = 227 << 10;
  auto fail = [&](const std::string &what) {
    throw Fault("PTX line " + std::to_string(entry.line) + ": entry '" +
                entry.name + "' " + what);
  };
  if (grid.blocks == 0 || grid.threads == 0 || grid.threads > mostThreads)
    fail("is launched with " + std::to_string(grid.blocks) + " blocks of " +
         std::to_string(grid.threads) + " threads");
  if ((entry.threads && entry.threads != grid.threads) ||
      (entry.mostThreads && entry.mostThreads < grid.threads))
    fail("is launched with " + std::to_string(grid.threads) +
         " threads in a block, for which it was not compiled");
  if (sharedBytes > mostShared)
    fail("needs " + std::to_string(sharedBytes) + " bytes of shared memory");
}

void Machine::launch(Module &module, const std::string &name, const Grid &grid,
                     void *const *parameters, Memory &memory) {
  const Function &entry = module.getEntry(name);
  Launch launch{*state, entry, grid, memory, module.getVariables(), {}, {}};
  launch.sharedBytes =
      (entry.sharedBytes + grid.dynamicSharedBytes + 15) & ~uint64_t(15);
  checkGrid(*entry.text, grid, launch.sharedBytes);
  launch.mostInstructions = mostInstructions;
  launch.executedBefore = state->executed;
  ++state->launches;
  state->views.fill({});
  state->released.clear();
  launch.parameters.resize(entry.parameterBytes);
  for (const Variable &parameter : entry.text->parameters) {
    uint64_t at = entry.parameterOffsets.at(parameter.name) -
                  uint64_t(entry.parameterSlot) * 8;
    std::memcpy(launch.parameters.data() + at, *parameters++, parameter.bytes);
  }
  launch.begin = entry.begin;
  launch.begin[NtidX] = grid.threads;
  launch.begin[NctaidX] = grid.blocks;
  launch.begin[NtidY] = launch.begin[NtidZ] = 1;
  launch.begin[NctaidY] = launch.begin[NctaidZ] = 1;
  launch.run();
}

} // namespace meshc::ptx
