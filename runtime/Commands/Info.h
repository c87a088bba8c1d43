//===- Info.h - the command info --------------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_INFO_H
#define MESHC_RUNTIME_COMMANDS_INFO_H

#include "meshc/RuntimeAbi.h"

#include <ostream>
#include <string>

namespace meshc::runtime {

/// Writes how far the run is that wrote the checkpoint at `path`, and its best
/// evaluation. Throws Failure(Checkpoint).
void printRun(const std::string &path, std::ostream &out);

/// Writes a description of a program: mesh, arena, tensors with their dims and
/// the axes that cut them, and the places of collectives. With `json`, writes
/// the compiler's own report (the manifest) unchanged.
void printInfo(const MeshcProgram &program, bool json, std::ostream &out);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_INFO_H
