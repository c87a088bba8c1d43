//===- Generations.h - earlier checkpoints of a run ------------*- C++ -*--===//
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

/// Makes room for a new `path` where `count` ≥ 1 generations are kept, itself
/// included: gives it the further name "PATH.1", and the generations before it
/// the next number, up to the first one that is free, or else the oldest is
/// lost. `path` is there at any time. Throws Failure(Checkpoint) where a number
/// cannot be given, or where it is a file that is no checkpoint.
void shiftGenerations(const std::string &path, int count);

/// Throws Failure(Checkpoint) where shiftGenerations() would meet a file that
/// is no checkpoint.
void checkGenerations(const std::string &path, int count);

/// The numbers of the generations of `path` that are there, the newest first; 0
/// is `path` itself. Where `path` is a link, those beside its target.
std::vector<int> listGenerations(const std::string &path);

/// The name of a generation.
std::string generationPath(const std::string &path, int number);

/// Whether both names are of the same file, or the same.
bool isSameFile(const std::string &a, const std::string &b);

/// Whether the open file begins as a checkpoint of meshc does.
bool beginsAsCheckpoint(int descriptor);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_GENERATIONS_H
