//===- DirectCollectives.h - collectives in one address space ---*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_DIRECTCOLLECTIVES_H
#define MESHC_RUNTIME_COMM_DIRECTCOLLECTIVES_H

#include "runtime/Comm/Exchange.h"
#include "runtime/Comm/Stream.h"

#include <atomic>

namespace meshc::runtime {

/// Tracks the use of peers' buffers in a world whose ranks can all reach each
/// other's memory. A failing rank frees its memory, so it must not leave a
/// collective while others use its buffers, and nobody may start to use them
/// afterwards. A failing rank sets its flag and then checks who is at work; a
/// starting rank sets its flag and then checks whether someone failed. One of
/// the two sees the other.
class BufferUse {
public:
  /// Call this before using buffers of others. Returns false if a rank has
  /// failed; none may be used then.
  bool begin() {
    ++users;
    if (!failed)
      return true;
    --users;
    return false;
  }
  /// This rank no longer uses buffers of others.
  void end() { --users; }
  /// This rank fails. Returns once nobody uses buffers of others any more,
  /// which is soon, because those who do never wait.
  void fail();

private:
  std::atomic<int> users{0};
  std::atomic<bool> failed{false};
};

/// Runs `collective` among ranks that are threads of one process. They publish
/// the addresses of their buffers and read peers' buffers without an
/// intermediate copy. In an all-reduce, each rank writes the slice that it
/// reduces to all peers directly: every element is read once and written once
/// per rank, the least memory traffic possible. An exception leaves this
/// function only after no peer uses this rank's buffers any more.
void runDirectly(Exchange &exchange, BufferUse &use, const Group &group,
                 const MeshcCollective &collective, void *const *send,
                 void *const *recv);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_DIRECTCOLLECTIVES_H
