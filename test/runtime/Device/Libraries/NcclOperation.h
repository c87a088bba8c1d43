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
#include <list>
#include <map>
#include <memory>
#include <set>
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

/// A message on its way.
struct Message {
  std::vector<char> bytes;
  bool isRegistered; ///< the memory that it comes from
  bool isReceived = false;
};
/// By sender and receiver, in the order of the sends.
using Mail = std::map<std::pair<int, int>, std::list<std::shared_ptr<Message>>>;

/// An operation of one member that only sends and receives. Members without a
/// message take no part: the first send to a member matches its first receive
/// ("Point-to-point communication" of NCCL's manual).
class MessageOperation {
public:
  MessageOperation(std::vector<Call> calls, int index, int gpu)
      : calls(std::move(calls)), index(index), gpu(gpu),
        isReceived(this->calls.size(), false) {}

  /// Sends, and receives what has come. Whether all messages, those sent too,
  /// are received.
  bool run(Mail &mail);

private:
  void send(Mail &mail);
  void receive(Mail &mail);

  std::vector<Call> calls;
  int index, gpu;
  bool isBegun = false;
  std::vector<bool> isReceived; ///< by call
  std::vector<std::shared_ptr<Message>> sent;
};

/// The calls of member `index` of `size`: their buffers belong to its GPU and
/// do not overlap, except in place. `find` says where they are in memory that
/// the group knows, which is noted in the calls.
void checkBuffers(std::vector<Call> &brought, int size, int index,
                  const std::function<int64_t(const void *, int64_t)> &find);

/// Whether the call is one of all members: no send and no receive.
bool isCollective(const Call &call);

/// Once all members have come.
void runOperation(GroupOperation &operation, int size);

} // namespace meshc::fake

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_NCCLOPERATION_H
