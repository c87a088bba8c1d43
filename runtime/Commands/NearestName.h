//===- NearestName.h - what a misspelt option may mean ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_NEARESTNAME_H
#define MESHC_RUNTIME_COMMANDS_NEARESTNAME_H

#include <string>
#include <vector>

namespace meshc::runtime {

/// The first of `names` with the fewest inserted, deleted and replaced
/// characters (Levenshtein's distance) from `name`. Empty if more than a third
/// of the name, and more than one character, differs.
std::string nearestName(const std::string &name,
                        const std::vector<std::string> &names);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_NEARESTNAME_H
