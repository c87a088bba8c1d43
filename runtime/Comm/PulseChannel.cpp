//===- PulseChannel.cpp - pulses of ranks on other hosts ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/PulseChannel.h"

#include "runtime/Comm/WatchTimes.h"

#include <vector>

using namespace meshc::runtime;

namespace {

constexpr int channel = 1;
/// A question is repeated this often, for this long after the last request.
constexpr auto timeBetweenQuestions = std::chrono::milliseconds(300);
constexpr auto interest = std::chrono::seconds(2);
/// Limit of messages in flight: beyond it the peer is not receiving.
constexpr size_t mostSending = 256;

} // namespace

PulseChannel::PulseChannel(const MeshcMpi &mpi, SharedTransport &local)
    : mpi(mpi), local(local), thread([this] { serve(); }) {}

PulseChannel::~PulseChannel() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stops = true;
  }
  stopped.notify_all();
  thread.join();
  // MPI may still read the messages in flight, so they are kept.
  if (!sending.empty())
    new std::list<Sending>(std::move(sending));
}

void PulseChannel::request(int rank, int awaited) {
  std::lock_guard<std::mutex> lock(mutex);
  Question &question = questions[rank];
  question.awaited = awaited;
  question.wanted = Clock::now();
}

void PulseChannel::serve() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopped.wait_for(lock, timeBetweenLooks, [&] { return stops; })) {
    lock.unlock();
    takeMessages();
    askWanted();
    sending.remove_if([&](Sending &one) {
      int done = 0;
      return mpi.test(&one.request, &done, nullptr) || done;
    });
    lock.lock();
  }
}

/// Errors are not reported here: a silent rank counts as making no progress.
void PulseChannel::takeMessages() {
  int from = -1;
  while (mpi.probe(channel, &from) == 0 && from >= 0) {
    Message message;
    uint64_t request = 0;
    int done = 0;
    if (mpi.receive(&message, sizeof(message), from, channel, &request))
      return;
    while (!done)
      if (mpi.test(&request, &done, nullptr))
        return;
    if (message.isAnswer) {
      local.notePulse(message.rank, message.pulse);
    } else {
      message.isAnswer = 1;
      message.pulse = local.pulseOf(message.rank);
      send(from, message);
    }
  }
}

void PulseChannel::askWanted() {
  std::vector<std::pair<int, Message>> due;
  {
    std::lock_guard<std::mutex> lock(mutex);
    Clock::time_point now = Clock::now();
    for (auto &[rank, question] : questions)
      if (now - question.wanted < interest &&
          now - question.asked > timeBetweenQuestions) {
        question.asked = now;
        Message message;
        message.rank = rank;
        due.emplace_back(question.awaited, message);
      }
  }
  for (auto &[to, message] : due)
    send(to, message);
}

void PulseChannel::send(int to, const Message &message) {
  if (sending.size() >= mostSending)
    return;
  sending.push_back({message});
  Sending &one = sending.back();
  if (mpi.send(&one.message, sizeof(one.message), to, channel, &one.request))
    sending.pop_back();
}
