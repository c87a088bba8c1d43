//===- RunEntry.h - one launch, without exceptions --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For tests of the compiler, which is built without exceptions.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_RUNENTRY_H
#define MESHC_TEST_GPU_PTX_RUNENTRY_H

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace meshc::ptx {

/// A module and the GPU that runs its entries.
class Program {
public:
  explicit Program(std::string text, uint64_t seed = 0);
  ~Program();

  struct Launch {
    uint32_t blocks = 1, threads = 1;
    /// The values of the entry's parameters, all addresses.
    std::vector<void *> parameters;
    /// The memory that the entry may access: its beginning and its bytes.
    std::vector<std::pair<void *, uint64_t>> memory;
  };
  /// Runs an entry. Returns what the interpreter found, or "".
  std::string run(const std::string &entry, const Launch &launch);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_RUNENTRY_H
