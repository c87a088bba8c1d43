//===- NcclOperation.h - what one operation of NCCL does --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_NCCLOPERATION_H
#define MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_NCCLOPERATION_H

#include "meshc/RuntimeAbi.h"

#include <functional>
#include <map>
#include <vector>

namespace meshc::fake {

enum class Kind { AllReduce, ReduceScatter, AllGather, Send, Receive };

struct Call {
  Kind kind;
  const void *send;
  void *receive;
  int64_t bytes; ///< of a block
  int peer;
  MeshcType type;
  MeshcReduction reduction;
  /// The buffers' places in their registered memory; `unregistered` otherwise.
  int64_t sendPlace = unregistered, receivePlace = unregistered;
  static constexpr int64_t unregistered = -1;
};

/// Each member's contribution to one operation of a group.
struct GroupOperation {
  std::map<int, std::vector<Call>> calls; ///< by member
  std::map<int, int> gpus;
  bool done = false;
};

/// The calls of member `index` of `size`: their buffers belong to its GPU and
/// do not overlap, except in place. `find` says where they are in memory that
/// the group knows, which is noted in the calls.
void checkBuffers(std::vector<Call> &brought, int size, int index,
                  const std::function<int64_t(const void *, int64_t)> &find);

/// Once all members have come.
void runOperation(GroupOperation &operation, int size);

} // namespace meshc::fake

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_NCCLOPERATION_H
