//===- SignalStack.h - where threads handle signals -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_SIGNALSTACK_H
#define MESHC_RUNTIME_BASE_SIGNALSTACK_H

namespace meshc::runtime {

/// Gives the calling thread a stack of its own for signal handlers that are
/// installed with SA_ONSTACK, until it ends.
///
/// Each thread that computes needs one. The generated code of oneDNN, up to
/// version 3.11, lets the stack pointer point into memory of the heap during
/// f32 products (https://github.com/uxlfoundation/oneDNN/issues/4845). On the
/// ordinary stack, the kernel would store the registers, for the handler's
/// return, over whatever lies below.
void useSignalStack();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_SIGNALSTACK_H
