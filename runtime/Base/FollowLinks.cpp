//===- FollowLinks.cpp - where links lead ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/FollowLinks.h"

#include <cstdlib>
#include <filesystem>

namespace fs = std::filesystem;

std::string meshc::runtime::followLinks(const std::string &path) {
  if (char *real = realpath(path.c_str(), nullptr)) {
    std::string target = real;
    std::free(real);
    return target;
  }
  constexpr int mostLinks = 40; // as Linux follows
  fs::path file = path;
  for (int links = 0; links < mostLinks; ++links) {
    std::error_code error;
    const fs::path target = fs::read_symlink(file, error);
    if (error)
      break;
    file = file.parent_path() / target;
  }
  return file.string();
}
