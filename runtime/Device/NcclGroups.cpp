//===- NcclGroups.cpp - NCCL's groups of ranks ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/NcclGroups.h"

#include "runtime/Device/CudaLibrary.h"
#include "runtime/Device/Device.h"
#include "runtime/Device/EventWait.h"

#include <thread>

using namespace meshc::runtime;

NcclGroups::NcclGroups(const MeshcCuda &cuda, MeshcCudaRank *gpu,
                       const Rank &rank, double timeoutSeconds)
    : cuda(cuda), gpu(gpu), rank(rank), timeoutSeconds(timeoutSeconds) {
  int version = 0;
  if (const char *error = cuda.ncclLoad(&version))
    throw Failure(
        ExitCode::Device,
        std::string("a program of several ranks on GPUs needs NCCL: ") + error +
            "; install it where the loader finds it (LD_LIBRARY_PATH), or let "
            "ranks share a GPU as threads of one process");
  checkCuda(cuda.newEvent(gpu, &drained), "make an event");
  void *place = nullptr;
  checkCuda(cuda.allocateHost(gpu, sizeof(*reached), &place),
            "allocate pinned memory");
  reached = static_cast<uint32_t *>(place);
  *reached = 0;
}

void NcclGroups::close() {
  if (!reached)
    return;
  auto leave = [this](void *group) {
    if (cuda.ncclClose(group))
      leaveWork();
  };
  for (const auto &[group, ofGroup] : registrations)
    for (void *registration : ofGroup)
      if (cuda.ncclUnregister(group, registration))
        leaveWork();
  registrations.clear();
  for (const auto &entry : groups)
    if (entry.second != world)
      leave(entry.second);
  if (world)
    leave(world);
  groups.clear();
  world = nullptr;
  cuda.releaseHost(gpu, reached);
  reached = nullptr;
  cuda.dropEvent(gpu, drained);
}

void NcclGroups::fail(const std::string &what) const {
  uint32_t last = *static_cast<volatile uint32_t *>(reached);
  std::string where = current != UINT32_MAX
                          ? rank.communicator->describeSite(current)
                      : last ? rank.communicator->describeSite(last - 1)
                             : std::string();
  throw CommunicationError(-1, "rank " + std::to_string(rank.mesh.rank()) +
                                   (where.empty() ? "" : " at " + where) +
                                   ": " + what);
}

bool NcclGroups::isLate(Clock::time_point begin) const {
  std::chrono::duration<double> passed = Clock::now() - begin;
  return timeoutSeconds > 0 && passed.count() > timeoutSeconds;
}

void NcclGroups::mark() {
  checkCuda(cuda.mark(gpu, MESHC_CUDA_COMMUNICATION, reached, current + 1),
            "mark a collective");
}

void NcclGroups::expect(const char *error) const {
  if (error)
    fail(std::string("NCCL: ") + error);
}

void NcclGroups::check(bool late) const {
  int busy = 0;
  if (world)
    expect(cuda.ncclPoll(world, &busy));
  for (const auto &entry : groups)
    expect(cuda.ncclPoll(entry.second, &busy));
  if (late)
    fail("waited for the other ranks " + describePatience(timeoutSeconds));
}

void NcclGroups::settle(void *group, const std::string &what) {
  Clock::time_point begin = Clock::now();
  for (int busy = 1;;) {
    expect(cuda.ncclPoll(group, &busy));
    if (!busy)
      return;
    if (isLate(begin))
      fail(what + " took " + describePatience(timeoutSeconds));
    std::this_thread::yield();
  }
}

/// Waits until this rank has no collective in progress, neither its own nor one
/// in a graph, which the compute stream runs.
void NcclGroups::drain() {
  for (MeshcCudaStream stream :
       {MESHC_CUDA_COMMUNICATION, MESHC_CUDA_COMPUTE}) {
    checkCuda(cuda.record(gpu, drained, stream), "record an event");
    waitForEvent(cuda, gpu, drained, timeoutSeconds, "a collective",
                 [this](bool late) { check(late); });
  }
}

void NcclGroups::whileIdle(const std::function<void()> &action) {
  drain();
  rank.communicator->barrier();
  action();
  rank.communicator->barrier();
}

void *NcclGroups::openWorld() {
  char id[MESHC_CUDA_NCCL_ID_BYTES] = {};
  if (rank.mesh.rank() == 0)
    expect(cuda.ncclId(id));
  rank.communicator->broadcast(id, sizeof(id), 0);
  void *group = nullptr;
  expect(cuda.ncclOpen(gpu, id, rank.mesh.size(), rank.mesh.rank(), &group));
  settle(group, "meeting the other ranks");
  return group;
}

void *NcclGroups::find(uint32_t axes, const Group &group) {
  auto found = groups.find(axes);
  if (found != groups.end())
    return found->second;
  void *made = nullptr;
  whileIdle([&] {
    made = make(group);
    if (!registrations.try_emplace(made).second)
      return;
    for (const auto &[memory, bytes] : shared)
      registerMemory(made, memory, bytes);
  });
  return groups[axes] = made;
}

void NcclGroups::registerMemory(void *group, void *memory, uint64_t bytes) {
  void *registration = nullptr;
  expect(cuda.ncclRegister(group, memory, bytes, &registration));
  registrations[group].push_back(registration);
}

void NcclGroups::share(void *memory, uint64_t bytes) {
  shared.emplace_back(memory, bytes);
  for (const auto &entry : registrations)
    registerMemory(entry.first, memory, bytes);
}

void *NcclGroups::make(const Group &group) {
  if (!world)
    world = openWorld();
  if (group.size() == rank.mesh.size())
    return world;
  void *made = nullptr;
  expect(cuda.ncclSplit(gpu, world, group.ranks[0], group.index, &made));
  settle(world, "splitting the ranks into groups");
  settle(made, "splitting the ranks into groups");
  return made;
}
