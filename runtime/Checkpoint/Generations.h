//===- Generations.h - earlier checkpoints of a run -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The checkpoints that a run leaves beside FILE, its newest one: FILE.1 is the
/// one before, FILE.2 the one before that, and so on.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_GENERATIONS_H
#define MESHC_RUNTIME_CHECKPOINT_GENERATIONS_H

#include <string>
#include <vector>

namespace meshc::runtime {

/// Makes room for a new `path` when `count` ≥ 1 generations are kept, itself
/// included. Gives the file the further name "PATH.1" and moves each earlier
/// generation to the next number, up to the first free one; if none is free,
/// the oldest is lost. `path` exists throughout. Throws Failure(Checkpoint) if
/// a number cannot be given, or belongs to a file that is not a checkpoint.
void shiftGenerations(const std::string &path, int count);

/// Throws Failure(Checkpoint) if shiftGenerations() would meet a file that is
/// not a checkpoint.
void checkGenerations(const std::string &path, int count);

/// The numbers of the existing generations of `path`, the newest first; 0 is
/// `path` itself. If `path` is a link, they lie beside its target.
std::vector<int> listGenerations(const std::string &path);

/// The file name of a generation.
std::string generationPath(const std::string &path, int number);

/// The file name of the best checkpoint of a run that writes `path`.
std::string bestCheckpointPath(const std::string &path);

/// Whether both names refer to the same file, or are equal.
bool isSameFile(const std::string &a, const std::string &b);

/// Whether the open file begins like a checkpoint of meshc.
bool beginsAsCheckpoint(int descriptor);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_GENERATIONS_H
