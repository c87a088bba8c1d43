//===- DistinctFiles.h - files that a run must not mix up -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A run writes several files and reads others. A file that it writes must not
/// be any of the others, under whatever name.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_DISTINCTFILES_H
#define MESHC_RUNTIME_COMMANDS_DISTINCTFILES_H

#include <string>
#include <vector>

namespace meshc::runtime {

/// A file that an option names or adds to those that it names.
struct NamedFile {
  std::string option; ///< "--log"
  std::string path;
  bool isWritten;
};

/// Throws Failure(Usage) if a file that is written is also that of another
/// option in `files`, by device and inode, so links count. Files that do not
/// exist yet are compared by folder and name. Pipes and devices such as
/// /dev/null may be shared.
void checkDistinct(const std::vector<NamedFile> &files);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_DISTINCTFILES_H
