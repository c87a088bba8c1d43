//===- ControlOps.h - branches, calls and moves -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_CONTROLOPS_H
#define MESHC_TEST_GPU_PTX_CONTROLOPS_H

#include "test/gpu/ptx/Thread.h"

/// Handlers that decoding chooses itself. Each names the fields that it reads.
namespace meshc::ptx {

/// Op::target.
const Op *runBranch(const Op *op, uint64_t *frame, Thread &thread);
/// Op::target if the predicate s[0] is true, or false.
const Op *runBranchIf(const Op *op, uint64_t *frame, Thread &thread);
const Op *runBranchUnless(const Op *op, uint64_t *frame, Thread &thread);
/// Op::table, with `immediate` entries, at index s[0].
const Op *runIndexedBranch(const Op *op, uint64_t *frame, Thread &thread);
/// Skips the next op unless the predicate s[0] equals `immediate`.
const Op *runGuard(const Op *op, uint64_t *frame, Thread &thread);
/// Op::callee. `immediate` points to a CallCopies.
const Op *runCall(const Op *op, uint64_t *frame, Thread &thread);
/// Returns to the caller, or ends the thread.
const Op *runReturn(const Op *op, uint64_t *frame, Thread &thread);
const Op *runExit(const Op *op, uint64_t *frame, Thread &thread);
const Op *runTrap(const Op *op, uint64_t *frame, Thread &thread);

/// d = s[0], all bits.
const Op *runMove(const Op *op, uint64_t *frame, Thread &thread);
/// d = the parts in the slots of `list`, `count` of them, the first one in the
/// low bits; `immediate` is the bits of a part.
const Op *runPack(const Op *op, uint64_t *frame, Thread &thread);
/// The other way: s[0] to the slots of `list`; slot 0 stands for none.
const Op *runUnpack(const Op *op, uint64_t *frame, Thread &thread);
/// d = s[0] + immediate, an address in the generic space.
const Op *runToGeneric(const Op *op, uint64_t *frame, Thread &thread);
/// d = s[0] - immediate, which must be in the window that begins there.
const Op *runFromGeneric(const Op *op, uint64_t *frame, Thread &thread);

/// The bytes that a call copies: arguments to the callee's parameters, then
/// results back. All are offsets into frames.
struct CallCopies {
  struct Range {
    uint64_t from, to, bytes;
  };
  std::vector<Range> arguments, results;
};

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_CONTROLOPS_H
