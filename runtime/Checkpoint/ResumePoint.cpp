//===- ResumePoint.cpp - where a run goes on ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/ResumePoint.h"

#include "runtime/Base/Failure.h"
#include "runtime/Checkpoint/Checksums.h"
#include "runtime/Checkpoint/Generations.h"

using namespace meshc::runtime;

/// Rank 0's search: the number of the generation, or -1 if there is none. Sets
/// what was wrong with those before it.
static int findIntact(const std::string &path, std::string &damage) {
  const std::vector<int> generations = listGenerations(path);
  if (generations.empty())
    return -1;
  if (generations.front() != 0)
    damage = "checkpoint '" + path + "' is missing";
  for (int generation : generations)
    try {
      SafetensorsFile file(generationPath(path, generation));
      readRunState(file);
      verifyFile(file);
      return generation;
    } catch (const Failure &failure) {
      damage += (damage.empty() ? "" : "; ") + std::string(failure.what());
    }
  throw Failure(ExitCode::Checkpoint, damage);
}

std::optional<ResumePoint>
meshc::runtime::findResumePoint(const std::string &path, const Rank &rank) {
  ResumePoint point;
  int generation = -1;
  if (rank.mesh.rank() == 0)
    generation = findIntact(path, point.damage);
  rank.communicator->broadcast(&generation, sizeof(generation), 0);
  if (generation < 0)
    return std::nullopt;
  point.path = generationPath(path, generation);
  point.state = readRunState(SafetensorsFile(point.path));
  return point;
}
