//===- Machine.h - what a machine attains ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The machine model: figures of a machine that hosts the ranks of a program.
/// Rates are *attained* ones, by large calls, rather than the peaks of a data
/// sheet.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COST_MACHINE_H
#define MESHC_LIB_COST_MACHINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace meshc::cost {

/// What connects a rank to others: the α-β model (Hockney, Parallel Computing
/// 20, 1994).
struct Link {
  double latency = 0;   ///< α: seconds per message
  double bandwidth = 0; ///< β: bytes/s that a rank sends in a collective
};

/// Figures by element type, as in {"f32", 1e12}. "f32" is always there; it also
/// stands for types that are not.
using Rates = std::map<std::string, double>;

/// A machine consists of equal *nodes*. A rank computes on a *device*: a GPU of
/// its node, or processor cores if `nodeCores` is set.
struct Machine {
  std::string name;
  std::string source; ///< where the figures come from; may be empty
  /// At most so many ranks of a program are on one node, in the order of their
  /// numbers.
  int64_t nodeRanks = 1;
  /// 0: each rank has a device of its own. Otherwise the ranks of a node divide
  /// so many cores, and all rates below are of one core.
  int64_t nodeCores = 0;
  /// Bytes/s that the devices of a node attain together; 0: no common limit.
  double nodeMemory = 0;
  Rates products; ///< FLOP/s of matrix products
  Rates kernels;  ///< additions and multiplications/s of generated kernels
  /// Elementary functions, divisions and square roots/s of generated kernels.
  double functions = 0;
  /// Steps/s of a sort: on a core, from parent to child of a heap; on a GPU,
  /// of the threads that sort one long row, from entry to entry.
  double sorting = 0;
  double memory = 0; ///< bytes/s, read and written
  /// Bytes of a cache that the ranks of a node share; 0: none. Contents that a
  /// call finds there have `cacheMemory` bytes/s.
  double cacheBytes = 0, cacheMemory = 0;
  double launch = 0; ///< seconds per call of a kernel or product
  /// Seconds that a call takes to begin and end on several cores of a rank. A
  /// call that is done sooner on one core runs there.
  double threadStart = 0;
  /// The share of the cores' rates that several cores of a rank attain in a
  /// call: above 0, at most 1. The call lasts until the slowest of them is
  /// done.
  double threadEfficiency = 1;
  Link node;    ///< between ranks of one node
  Link network; ///< between ranks of several nodes
  /// The share of a collective's time in which the device also computes: 0 if a
  /// collective occupies the rank until it has ended, 1 if it takes nothing
  /// from computations.
  double overlap = 0;
};

/// The machines that meshc knows by name, the host first.
llvm::ArrayRef<Machine> getPresets();

/// "'host', 'h100', 'h100-ib'"
std::string getPresetNames();

/// Reads a machine from JSON text (docs/machines.md describes the fields).
/// `file` names the text in errors. The error names the field, what was found
/// and what was expected; of text that is not JSON, the line and the column.
llvm::Expected<Machine> readMachine(llvm::StringRef text, llvm::StringRef file);

/// The preset of this name, or the machine that the file of this name
/// describes. The error says which presets there are if there is neither.
llvm::Expected<Machine> findMachine(llvm::StringRef nameOrFile);

/// JSON text that readMachine reads to an equal machine.
std::string writeMachine(const Machine &machine);

} // namespace meshc::cost

#endif // MESHC_LIB_COST_MACHINE_H
