//===- Agreement.h - what all ranks of a run must share ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks that are separate processes can be started with different programs,
/// options or files. They compare these before the first step, since such a run
/// would compute something that nobody asked for.
///
/// Options are compared unless their declaration (Options.cpp) says otherwise.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_AGREEMENT_H
#define MESHC_RUNTIME_COMMANDS_AGREEMENT_H

#include "runtime/Comm/Communicator.h"

#include <string>
#include <vector>

namespace meshc::runtime {

class Dataset;

/// Something that must be the same on all ranks.
struct Agreed {
  std::string name;  ///< as messages call it: "'--steps'", "the program"
  std::string value; ///< what is compared
  std::string shown; ///< the value as messages show it; empty: `value`
  /// How to make the values equal; empty: by the same program, options and
  /// data.
  std::string remedy = {};
  /// If ranks give several remedies, the one with the least number is shown.
  int64_t order = 0;
};

/// Compares what each rank holds; all ranks call it. Returns the same text on
/// all of them: empty if they agree, and otherwise a message that names the
/// difference, the ranks and their values. A name that a rank does not list has
/// the value "not given" there. Names are unique within a rank's list. Throws
/// CommunicationError.
std::string findDisagreement(Communicator &communicator,
                             const std::vector<Agreed> &own);

/// Whether the ranks agree on `own`, as in findDisagreement. If not, rank 0
/// prints the difference, as an error of `program`.
bool agreeOn(Communicator &communicator, const std::string &program,
             const std::vector<Agreed> &own);

/// The executable of this process, identified by the hash of its file.
Agreed agreedProgram(const std::string &modelName);

/// On which instructions and libraries the bits of a rank's products depend, on
/// the host. Throws Failure(Device) if oneDNN cannot be opened.
std::vector<Agreed> agreedArithmetic();

/// The same on GPUs: of which kind the rank's is (Device::gpuKind).
std::vector<Agreed> agreedGpu(const std::string &kind);

/// The contents of each file of `data`, identified by size and samples, and
/// what of a corpus an input receives. `option`: "--data" or "--eval-data".
std::vector<Agreed> agreedData(const std::string &option, const Dataset &data);

/// The contents of the file at `path`, identified by size and samples. Throws
/// Failure(Checkpoint) if it cannot be read.
Agreed agreedCheckpoint(const std::string &path);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_AGREEMENT_H
