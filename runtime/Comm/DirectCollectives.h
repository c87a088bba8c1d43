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

#include <atomic>

namespace meshc::runtime {

/// What the ranks of a world whose memory all of them can reach know of the use
/// of one another's buffers. A rank that fails gives its memory back, so it
/// must not leave a collective while others use its buffers, and nobody is to
/// begin with them afterwards. Who fails says so and then looks who is at work;
/// who begins says so and then looks whether someone failed: one sees the
/// other.
class BufferUse {
public:
  /// Before this rank uses buffers of others. False: a rank has failed, and
  /// none may be used.
  bool begin() {
    ++users;
    if (!failed)
      return true;
    --users;
    return false;
  }
  /// This rank uses buffers of others no more.
  void end() { --users; }
  /// This rank fails. Returns when none uses buffers of others any more, which
  /// is soon: who does so waits for nobody.
  void fail();

private:
  std::atomic<int> users{0};
  std::atomic<bool> failed{false};
};

/// Runs `collective` among ranks that are threads of one process. They tell
/// each other where their buffers are and read peers' buffers without a copy
/// between. An all-reduce writes the slice that a rank reduces to all peers at
/// once: every element is read once and written once per rank, which is the
/// least that the memory must do. What is thrown leaves it when no peer uses
/// this rank's buffers any more.
void runDirectly(Exchange &exchange, BufferUse &use, const Group &group,
                 const MeshcCollective &collective, void *const *send,
                 void *const *recv);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_DIRECTCOLLECTIVES_H
