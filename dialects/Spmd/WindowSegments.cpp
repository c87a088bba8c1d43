//===- WindowSegments.cpp - what a window takes from where ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/WindowSegments.h"

namespace meshc::spmd {

bool WindowSegments::isWidening(int64_t resultBlock) const {
  return repeat && list.size() == 1 && list[0].at == 0 &&
         list[0].size == resultBlock && repeat->at == resultBlock;
}

bool WindowSegments::isNarrowing(int64_t operandBlock) const {
  return repeat && list.size() == 1 && list[0].from >= 0 &&
         list[0].size <= operandBlock - list[0].from &&
         repeat->from == operandBlock;
}

} // namespace meshc::spmd
