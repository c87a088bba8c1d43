//===- MpiTransport.cpp - messages between hosts --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/MpiTransport.h"

#include <algorithm>

using namespace meshc::runtime;

MpiTransport::MpiTransport(const MeshcMpi &mpi,
                           std::unique_ptr<SharedTransport> shared)
    : mpi(mpi), local(std::move(shared)), pulses(mpi, *local) {
  local->setProgress([this] { return moveOn(); });
  // If the awaited rank is on this host, it requests the pulse itself.
  local->setPulseRequest([this](int rank, int awaited) {
    if (!local->has(awaited))
      pulses.request(rank, awaited);
  });
}

MpiTransport::~MpiTransport() = default;

void MpiTransport::check(int error, int peer) const {
  if (error)
    throw WaitBroken(WaitBroken::Cause::Transport, peer, mpi.describe(error));
}

char *MpiTransport::acquire() {
  slot = local->acquire();
  waitSent(sendings[local->currentSlot()]);
  return slot;
}

void MpiTransport::post(int peer, size_t offset, size_t bytes) {
  if (local->has(peer))
    return local->post(peer, offset, bytes);
  Sending sending;
  sending.peer = peer;
  check(mpi.send(slot + offset, bytes, peer, /*channel=*/0, &sending.request),
        peer);
  sendings[local->currentSlot()].push_back(sending);
}

void MpiTransport::expect(int peer) {
  if (local->has(peer))
    return;
  Receiving &receiving = receivings[peer];
  if (receiving.expected)
    return;
  // A whole slot, so that a message of another collective arrives and can be
  // reported. Its pages are allocated as they are written.
  if (!receiving.buffer)
    receiving.buffer.reset(new char[slotBytes()]);
  check(mpi.receive(receiving.buffer.get(), slotBytes(), peer,
                    /*channel=*/0, &receiving.request),
        peer);
  receiving.expected = true;
  receiving.done = false;
}

Message MpiTransport::await(int peer) {
  if (local->has(peer))
    return local->await(peer);
  expect(peer);
  Receiving &receiving = receivings[peer];
  local->wait(peer, [&] { return hasCome(peer, receiving); });
  return {receiving.buffer.get(), receiving.bytes};
}

void MpiTransport::release(int peer) {
  if (local->has(peer))
    return local->release(peer);
  receivings[peer].expected = false;
}

void MpiTransport::settle() {
  for (std::vector<Sending> &slot : sendings)
    waitSent(slot);
}

bool MpiTransport::hasCome(int peer, Receiving &receiving) {
  if (receiving.done)
    return true;
  int done = 0;
  check(mpi.test(&receiving.request, &done, &receiving.bytes), peer);
  receiving.done = done != 0;
  return receiving.done;
}

bool MpiTransport::isSent(Sending &sending) {
  if (sending.done)
    return true;
  int done = 0;
  check(mpi.test(&sending.request, &done, nullptr), sending.peer);
  sending.done = done != 0;
  return sending.done;
}

void MpiTransport::waitSent(std::vector<Sending> &slot) {
  for (Sending &sending : slot)
    local->wait(sending.peer, [&] { return isSent(sending); });
  slot.clear();
}

/// A single test of any request progresses all of MPI's operations.
bool MpiTransport::moveOn() {
  for (auto &[peer, receiving] : receivings)
    if (receiving.expected && !receiving.done) {
      hasCome(peer, receiving);
      return true;
    }
  for (std::vector<Sending> &slot : sendings)
    for (Sending &sending : slot)
      if (!sending.done) {
        isSent(sending);
        return true;
      }
  return false;
}
