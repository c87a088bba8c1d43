//===- Machine.h - a GPU that interprets PTX --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs PTX on the host, for tests, as NVIDIA's "Parallel Thread Execution ISA"
/// defines it. It knows the text alone: nothing of the compiler that wrote it.
///
/// A few blocks of a grid are in progress at a time; the next thread to run is
/// a random one of those that can, by a seed. A Fault is thrown, with the line
/// and the instruction, for
///
/// - text that is not PTX, or an unknown opcode or modifier;
/// - an operand whose register does not have the width of the type;
/// - a register that is read although nothing can have written it;
/// - an access out of bounds or not aligned, or a write to constant memory;
/// - a data race between threads of a block or between blocks (Accesses.h);
/// - `ld.global.nc` of memory that the grid writes;
/// - a barrier that not all threads reach, or threads of a warp that wait at
///   different barriers;
/// - a shuffle whose lanes have different masks, of a lane that is not in its
///   own mask, or from a lane that does not take part;
/// - division by zero, and a grid that does not end.
///
/// Shared memory that no thread has written holds bytes 0xff. Local memory and
/// registers hold what other threads left.
///
/// Approximate instructions (ex2.approx and others) are computed in f64 and
/// rounded once, so they are within the ISA's bounds, but need not have a GPU's
/// bits.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_MACHINE_H
#define MESHC_TEST_GPU_PTX_MACHINE_H

#include "test/gpu/ptx/Syntax.h"

#include <memory>

namespace meshc::ptx {

struct Function;

/// A range of global memory.
struct Region {
  uint64_t begin = 0, bytes = 0; ///< addresses of the GPU
  unsigned char *host = nullptr; ///< where its bytes really are
  bool isConstant = false;
};

/// The global memory of a launch.
struct Memory {
  virtual ~Memory() = default;
  /// The region that has the address; returns false if there is none.
  virtual bool find(uint64_t address, Region &region) = 0;
};

/// Memory that consists of known ranges of the host, with the host's addresses.
class HostMemory : public Memory {
public:
  void add(void *begin, uint64_t bytes);
  bool find(uint64_t address, Region &region) override;

private:
  std::vector<Region> regions;
};

/// A module as a process has it loaded: its code, and its variables, which
/// persist between launches.
class Module {
public:
  /// Throws Fault.
  explicit Module(const std::string &text);
  ~Module();
  /// Whether there is an entry of that name.
  bool hasEntry(const std::string &name) const;
  /// The entry; decodes it when it is first asked for. Throws Fault.
  const Function &getEntry(const std::string &name);
  /// The same for a function that is called.
  const Function &getFunction(const std::string &name);
  const ModuleText &getText() const { return text; }
  const std::vector<Region> &getVariables() const { return variables; }

private:
  friend class Decoder;
  const Function &get(const std::string &name, bool isEntry);

  ModuleText text;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::vector<std::unique_ptr<unsigned char[]>> storage;
  std::vector<Region> variables;             ///< in the space .global or .const
  std::map<std::string, uint64_t> addresses; ///< of variables, in their space
  uint64_t sharedBytes = 0;
};

struct Grid {
  uint32_t blocks = 1, threads = 1; ///< along x
  uint64_t dynamicSharedBytes = 0;
};

/// A GPU. One host thread at a time may use it.
class Machine {
public:
  explicit Machine(uint64_t seed = 0);
  ~Machine();
  /// Runs a grid to its end. `parameters`: the address of each one's value.
  /// Throws Fault; memory then holds what was computed so far.
  void launch(Module &module, const std::string &entry, const Grid &grid,
              void *const *parameters, Memory &memory);
  /// Instructions that threads have executed so far.
  uint64_t getExecuted() const;
  /// A grid of more instructions is taken for one that does not end.
  uint64_t mostInstructions = uint64_t(1) << 36;

  struct State;

private:
  std::unique_ptr<State> state;
};

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_MACHINE_H
