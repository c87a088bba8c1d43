//===- ReductionAvx2.cpp - reductions for x86-64-v3 -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/ReductionLoops.h"

namespace {
struct Avx2 {};
} // namespace

meshc::runtime::ReductionLoop
meshc::runtime::findAvx2Loop(const ReductionKind &kind) {
  return ReductionLoops<Avx2>::find(kind);
}

meshc::runtime::CopyLoop meshc::runtime::avx2CopyLoop() {
  return ReductionLoops<Avx2>::copy;
}
