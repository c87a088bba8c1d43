//===- DirectCollectives.h - collectives in one address space ----*- C++
//-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_DIRECTCOLLECTIVES_H
#define MESHC_RUNTIME_COMM_DIRECTCOLLECTIVES_H

#include "runtime/Comm/Exchange.h"
#include "runtime/Comm/Stream.h"

namespace meshc::runtime {

/// Runs `collective` among ranks that are threads of one process. They tell
/// each other where their buffers are and read peers' buffers without a copy
/// between. An all-reduce writes the slice that a rank reduces to all peers at
/// once: every element is read once and written once per rank, which is the
/// least that the memory must do.
void runDirectly(Exchange &exchange, const Group &group,
                 const MeshcCollective &collective, void *const *send,
                 void *const *recv);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_DIRECTCOLLECTIVES_H
