//===- Misfits.h - files that do not fit a program -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_MISFITS_H
#define MESHC_RUNTIME_CHECKPOINT_MISFITS_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Checkpoint/NameMap.h"
#include "runtime/Checkpoint/WeightFiles.h"

#include <set>
#include <string>
#include <vector>

namespace meshc::runtime {

/// Appends to `problems` the tensors of the files that are not in `used`, the
/// names of those from which parameters are read. The state of a training, in
/// its checkpoint, and tensors that `map` (or null) ignores are no problem.
void listExtra(const WeightFiles &files, const MeshcProgram &program,
               const std::set<std::string> &used, const NameMap *map,
               std::vector<std::string> &problems);

/// Throws Failure(Checkpoint) if there are `problems`: names the first ones,
/// and ends with `hint`.
void refuseMisfits(const WeightFiles &files, const MeshcProgram &program,
                   const std::vector<std::string> &problems,
                   const std::string &hint = "");

/// Says how parameters are read from files of other tools; empty if `train`
/// wrote the file. `used` are the names of the tensors that parameters have.
std::string hintAtMap(const WeightFiles &files,
                      const std::set<std::string> &used);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_MISFITS_H
