//===- ReorderCaches.h - caches that follow their texts ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_REORDERCACHES_H
#define MESHC_RUNTIME_COMMANDS_REORDERCACHES_H

#include "runtime/Device/Session.h"

#include <vector>

namespace meshc::runtime {

/// Gives text i, of those that the program generates at once, what the caches
/// have of text `parents[i]`. All ranks call it with the same parents. Where a
/// layout cuts the texts, ranks receive the blocks of the others.
void reorderCaches(Session &session, const std::vector<int32_t> &parents);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_REORDERCACHES_H
