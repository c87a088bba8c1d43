//===- NcclOperation.cpp - what one operation of NCCL does ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "NcclOperation.h"

#include "FakeCuda.h"
#include "Numbers.h"
#include "runtime/Comm/Reduction.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <optional>

using namespace meshc;
using namespace meshc::fake;

bool fake::isCollective(const Call &call) {
  return call.kind != Kind::Send && call.kind != Kind::Receive;
}

namespace {

std::vector<char> takeBytes(const void *from, int64_t bytes, int gpu) {
  std::vector<char> data(static_cast<size_t>(bytes));
  std::memcpy(data.data(), resolveDevice(from, data.size(), gpu), data.size());
  return data;
}

void putBytes(void *to, const char *from, int64_t bytes, int gpu) {
  auto size = static_cast<size_t>(bytes);
  std::memcpy(resolveDevice(to, size, gpu), from, size);
}

/// The `position`th collective of every member.
void runCollective(GroupOperation &operation, size_t position, int size) {
  const Call first = operation.calls[0][position];
  const bool gathers = first.kind == Kind::AllGather;
  const bool scatters = first.kind == Kind::ReduceScatter;
  std::vector<std::vector<char>> sent;
  for (int p = 0; p < size; ++p) {
    const Call &call = operation.calls[p][position];
    if (call.kind != first.kind || call.bytes != first.bytes ||
        call.type != first.type || call.reduction != first.reduction)
      violate("the members of an NCCL group call for different things");
    sent.push_back(takeBytes(call.send,
                             scatters ? size * call.bytes : call.bytes,
                             operation.gpus[p]));
  }
  std::vector<char> result;
  for (int p = 0; p < size; ++p) {
    if (gathers)
      result.insert(result.end(), sent[p].begin(), sent[p].end());
  }
  if (!gathers) {
    std::vector<const void *> sources;
    for (const std::vector<char> &data : sent)
      sources.push_back(data.data());
    // Of two at a time: what each rank adds to is rounded to the type.
    result = sent[0];
    void *destination = result.data();
    for (int p = 1; p < size; ++p) {
      const void *two[] = {result.data(), sources[p]};
      runtime::reduce(
          {first.reduction, first.type, first.type}, two, 2, &destination, 1,
          static_cast<int64_t>(result.size()) / bytesOf(first.type));
    }
  }
  for (int p = 0; p < size; ++p) {
    const Call &call = operation.calls[p][position];
    putBytes(call.receive, result.data() + (scatters ? p * call.bytes : 0),
             gathers ? size * call.bytes : call.bytes, operation.gpus[p]);
  }
}

/// All sends and receives: between two members, the first with the first.
void runMessages(GroupOperation &operation) {
  std::map<std::pair<int, int>, std::list<std::vector<char>>> mail;
  for (auto &[member, list] : operation.calls)
    for (const Call &call : list)
      if (call.kind == Kind::Send)
        mail[{member, call.peer}].push_back(
            takeBytes(call.send, call.bytes, operation.gpus[member]));
  for (auto &[member, list] : operation.calls)
    for (const Call &call : list) {
      if (call.kind != Kind::Receive)
        continue;
      auto &box = mail[{call.peer, member}];
      if (box.empty() || static_cast<int64_t>(box.front().size()) != call.bytes)
        violate("an NCCL receive has no send of its size");
      putBytes(call.receive, box.front().data(), call.bytes,
               operation.gpus[member]);
      box.pop_front();
    }
  for (const auto &entry : mail)
    if (!entry.second.empty())
      violate("an NCCL send has no receive");
}

/// Whether memory at this place of a group's registered memory is registered.
bool isRegistration(int64_t place) {
  const bool isKnown = place != Call::unregistered;
  if (!isKnown && setting("FAKE_NCCL_REGISTERED", 0))
    violate("an NCCL operation uses memory that is not registered");
  return isKnown;
}

/// "User Buffer Registration" of NCCL's manual: the buffers of all members are
/// registered or none is, and those of a collective have the same place in the
/// registered memory of each member.
void checkRegistrations(const GroupOperation &operation) {
  std::optional<bool> isRegistered;
  auto check = [&](const void *buffer, int64_t place) {
    if (!buffer)
      return;
    const bool isKnown = isRegistration(place);
    if (isRegistered.value_or(isKnown) != isKnown)
      violate("an NCCL operation mixes registered and other memory");
    isRegistered = isKnown;
  };
  std::vector<const Call *> first;
  for (const auto &[member, calls] : operation.calls) {
    size_t next = 0;
    for (const Call &call : calls) {
      check(call.send, call.sendPlace);
      check(call.receive, call.receivePlace);
      if (!isCollective(call))
        continue;
      if (member == 0)
        first.push_back(&call);
      else if (call.sendPlace != first[next]->sendPlace ||
               call.receivePlace != first[next]->receivePlace)
        violate("a collective of NCCL at other places of the registered "
                "memory of other members");
      ++next;
    }
  }
}

} // namespace

void fake::runOperation(GroupOperation &operation, int size) {
  size_t collectives = 0;
  std::map<int, std::vector<Call>> all = operation.calls;
  for (auto &[member, list] : operation.calls) {
    list.erase(std::remove_if(list.begin(), list.end(), isCollective),
               list.end());
    auto count = all[member].size() - list.size();
    if (member > 0 && count != collectives)
      violate("the members of an NCCL group call for different things");
    collectives = count;
  }
  runMessages(operation);
  operation.calls = all;
  checkRegistrations(operation);
  for (auto &entry : operation.calls)
    entry.second.erase(
        std::remove_if(entry.second.begin(), entry.second.end(),
                       [&](const Call &call) { return !isCollective(call); }),
        entry.second.end());
  for (size_t i = 0; i < collectives; ++i)
    runCollective(operation, i, size);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void MessageOperation::send(Mail &mail) {
  for (const Call &call : calls) {
    if (call.kind != Kind::Send)
      continue;
    auto message = std::make_shared<Message>();
    message->bytes = takeBytes(call.send, call.bytes, gpu);
    message->isRegistered = isRegistration(call.sendPlace);
    mail[{index, call.peer}].push_back(message);
    sent.push_back(message);
  }
}

void MessageOperation::receive(Mail &mail) {
  std::set<int> waiting; // peers, for an earlier receive
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call &call = calls[i];
    if (call.kind != Kind::Receive || isReceived[i] || waiting.count(call.peer))
      continue;
    auto &box = mail[{call.peer, index}];
    if (box.empty()) {
      waiting.insert(call.peer);
      continue;
    }
    Message &message = *box.front();
    if (static_cast<int64_t>(message.bytes.size()) != call.bytes)
      violate("an NCCL receive has no send of its size");
    if (message.isRegistered != isRegistration(call.receivePlace))
      violate("an NCCL operation mixes registered and other memory");
    putBytes(call.receive, message.bytes.data(), call.bytes, gpu);
    isReceived[i] = message.isReceived = true;
    box.pop_front();
  }
}

bool MessageOperation::run(Mail &mail) {
  if (!isBegun)
    send(mail);
  isBegun = true;
  receive(mail);
  for (size_t i = 0; i < calls.size(); ++i)
    if (calls[i].kind == Kind::Receive && !isReceived[i])
      return false;
  return std::all_of(sent.begin(), sent.end(),
                     [](const auto &message) { return message->isReceived; });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

namespace {

struct Range {
  const char *begin;
  int64_t bytes;
  bool isWritten;
};

bool overlap(const Range &a, const Range &b) {
  return a.bytes > 0 && b.bytes > 0 && a.begin < b.begin + b.bytes &&
         b.begin < a.begin + a.bytes;
}

/// The memory that a call reads and writes.
std::pair<Range, Range> rangesOf(const Call &call, int size) {
  const int64_t all = call.bytes * size;
  int64_t sends = call.kind == Kind::ReduceScatter ? all : call.bytes;
  int64_t receives = call.kind == Kind::AllGather ? all : call.bytes;
  if (call.kind == Kind::Send)
    receives = 0;
  if (call.kind == Kind::Receive)
    sends = 0;
  return {{static_cast<const char *>(call.send), sends, false},
          {static_cast<const char *>(call.receive), receives, true}};
}

bool isInPlace(const Call &call, int index) {
  const auto *sends = static_cast<const char *>(call.send);
  const auto *receives = static_cast<const char *>(call.receive);
  const int64_t own = index * call.bytes;
  return (call.kind == Kind::AllReduce && sends == receives) ||
         (call.kind == Kind::AllGather && sends == receives + own) ||
         (call.kind == Kind::ReduceScatter && receives == sends + own);
}

} // namespace

void fake::checkBuffers(
    std::vector<Call> &brought, int size, int index,
    const std::function<int64_t(const void *, int64_t)> &find) {
  std::vector<Range> ranges;
  for (Call &call : brought) {
    auto [sends, receives] = rangesOf(call, size);
    call.sendPlace = find(sends.begin, sends.bytes);
    call.receivePlace = find(receives.begin, receives.bytes);
    for (const Range &range : {sends, receives})
      if (range.bytes > 0)
        resolveDevice(range.begin, static_cast<uint64_t>(range.bytes),
                      self().gpu);
    if (overlap(sends, receives) && !isInPlace(call, index))
      violate("an NCCL call receives over what it sends");
    for (const Range &range : ranges)
      for (const Range &own : {sends, receives})
        if (overlap(range, own) && (range.isWritten || own.isWritten))
          violate("two calls of an NCCL operation write and use one place");
    ranges.insert(ranges.end(), {sends, receives});
  }
}
