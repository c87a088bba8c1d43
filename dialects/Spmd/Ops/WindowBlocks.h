//===- WindowBlocks.h - what ops on windows share ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_OPS_WINDOWBLOCKS_H
#define MESHC_DIALECTS_SPMD_OPS_WINDOWBLOCKS_H

#include "dialects/Spmd/SpmdOps.h"

namespace meshc::spmd {

/// Reports an error of the op unless its operands and its result differ in the
/// size of the dim alone, and some axis cuts it into blocks at equal distances.
/// With `mayBeWhole`, operands may also be whole along it.
mlir::LogicalResult verifyAlike(mlir::Operation *op, llvm::StringRef dim,
                                bool mayBeWhole);

/// Where an element is in a block of an operand: at `at` along dim `along`, by
/// number, and at `index`, that of the result, along the others.
int64_t getOffsetOf(const nd::HostTensor &operand,
                    llvm::ArrayRef<int64_t> index, int64_t along, int64_t at);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_OPS_WINDOWBLOCKS_H
