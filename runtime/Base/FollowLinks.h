//===- FollowLinks.h - where links lead -------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_FOLLOWLINKS_H
#define MESHC_RUNTIME_BASE_FOLLOWLINKS_H

#include <string>

namespace meshc::runtime {

/// The path of the file that opening `path` for writing would create or empty:
/// its real path if it exists, otherwise the end of the links that begin at
/// `path`. Links that lead back to themselves have no end: one of them is
/// returned.
std::string followLinks(const std::string &path);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_FOLLOWLINKS_H
