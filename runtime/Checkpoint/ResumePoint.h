//===- ResumePoint.h - where a run goes on ----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the checkpoint from which a resumed run continues.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_RESUMEPOINT_H
#define MESHC_RUNTIME_CHECKPOINT_RESUMEPOINT_H

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Device/Rank.h"

#include <optional>
#include <string>

namespace meshc::runtime {

struct ResumePoint {
  std::string path; ///< of the file
  RunState state;
  /// What was wrong with the newer generations, on rank 0; empty if this is the
  /// newest.
  std::string damage;
};

/// The newest generation of checkpoint `path` (Generations.h) whose checksums
/// are right. Rank 0 looks for it; the other ranks take the same generation of
/// their `path`, which they must compare. All ranks call it. Null if no
/// generation exists. Throws Failure(Checkpoint) if none is intact.
std::optional<ResumePoint> findResumePoint(const std::string &path,
                                           const Rank &rank);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_RESUMEPOINT_H
