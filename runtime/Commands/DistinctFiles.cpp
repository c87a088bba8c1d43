//===- DistinctFiles.cpp - files that a run must not mix up ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/DistinctFiles.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/FollowLinks.h"

#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <tuple>

using namespace meshc::runtime;
namespace fs = std::filesystem;

/// Device, inode and, for a file that does not exist yet, its name in the
/// folder with these.
using Identity = std::tuple<dev_t, ino_t, std::string>;

/// Null for files that any number of writers may share, and if the folder does
/// not exist.
static std::optional<Identity> identify(fs::path path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
      return std::nullopt;
    return Identity(status.st_dev, status.st_ino, "");
  }
  path = followLinks(path.string());
  if (!path.has_filename()) // "folder/"
    path = path.parent_path();
  fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (stat(folder.c_str(), &status) != 0)
    return std::nullopt;
  return Identity(status.st_dev, status.st_ino, path.filename().string());
}

void meshc::runtime::checkDistinct(const std::vector<NamedFile> &files) {
  std::vector<std::optional<Identity>> identities;
  for (const NamedFile &file : files)
    identities.push_back(identify(file.path));
  for (size_t i = 0; i < files.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (files[i].option != files[j].option && identities[i] &&
          identities[i] == identities[j] &&
          (files[i].isWritten || files[j].isWritten))
        throw Failure(ExitCode::Usage,
                      "'" + files[j].option + "' and '" + files[i].option +
                          "' are the same file: '" + files[j].path + "'" +
                          (files[i].path == files[j].path
                               ? ""
                               : " and '" + files[i].path + "'") +
                          "; give each a file of its own");
}
