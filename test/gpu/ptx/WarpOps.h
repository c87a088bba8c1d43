//===- WarpOps.h - what threads do together ---------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_WARPOPS_H
#define MESHC_TEST_GPU_PTX_WARPOPS_H

#include "test/gpu/ptx/Thread.h"

namespace meshc::ptx {

/// Executes shfl.sync, vote.sync, redux.sync or bar.warp.sync for lanes of a
/// warp that all wait at one, and moves them past it. `first` is the warp's
/// first thread, and `members` has a bit for each of the lanes. Fails if their
/// masks or instructions differ.
void executeForWarp(Thread *first, uint32_t members);

/// Executes bar.sync or bar.red for a block whose threads all wait at a
/// barrier. Fails if they wait at different ones, or if a warp has diverged.
void executeForBlock(Block &block);

/// The handler of an instruction of warps or blocks with so many operands; null
/// if the opcode is none. Sets the widths of result (0: none) and operands, and
/// `how` the handler executes it, Op::immediate.
Handler findWarpHandler(const std::string &opcode, size_t operands,
                        Widths &widths, int64_t &how);

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_WARPOPS_H
