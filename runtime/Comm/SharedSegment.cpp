//===- SharedSegment.cpp - memory that the ranks of a host share ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/SharedSegment.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Comm/Communicator.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

constexpr size_t failureBytes = 1088;
static_assert(failureBytes % alignof(MemberState) == 0);
static_assert(sizeof(FailureRecord) <= failureBytes);
static_assert(std::atomic<uint32_t>::is_always_lock_free);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

size_t queueOffset(int members) {
  return failureBytes + members * sizeof(MemberState);
}
size_t seenOffset(int members) {
  return queueOffset(members) +
         static_cast<size_t>(members) * members * sizeof(MessageQueue);
}
size_t slotOffset(int members, int seenCount) {
  size_t end = seenOffset(members) + seenCount * sizeof(SeenPulse);
  return (end + 4095) / 4096 * 4096;
}

/// Memory that the system refuses is no failure of the connection.
CommunicationError noRoomFor(const std::string &action) {
  const Failure failure = tooLittleMemory(action);
  return CommunicationError(-1, failure.what(), false, failure.code());
}

CommunicationError segmentError(const std::string &what,
                                const std::string &name, size_t bytes,
                                int error) {
  if (error == ENOMEM)
    return noRoomFor(what + " " + std::to_string(bytes) +
                     " bytes of shared memory");
  return CommunicationError(
      -1, "cannot " + what + " " + std::to_string(bytes) +
              " bytes of shared memory '/dev/shm" + name +
              "': " + std::strerror(error) +
              (error == ENOSPC ? "; enlarge /dev/shm (in a container: "
                                 "--shm-size) or start fewer ranks"
                               : ""));
}

/// Maps memory of `file`, or private memory if that is negative. The caller
/// keeps the file.
std::shared_ptr<void> mapBytes(int file, size_t bytes) {
  int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (base == MAP_FAILED)
    return nullptr;
  return {base, [bytes](void *memory) { munmap(memory, bytes); }};
}

} // namespace

size_t SharedSegment::bytes(int memberCount, size_t slotBytes, int seenCount) {
  return slotOffset(memberCount, seenCount) +
         memberCount * slotCount * slotBytes;
}

SharedSegment::SharedSegment(std::shared_ptr<void> memory, int memberCount,
                             size_t slotBytes, int seenCount)
    : memory(std::move(memory)), count(memberCount), bytesOfSlot(slotBytes),
      countSeen(seenCount) {}

SharedSegment SharedSegment::inProcess(int memberCount, size_t slotBytes) {
  size_t size = bytes(memberCount, slotBytes, 0);
  std::shared_ptr<void> memory = mapBytes(-1, size);
  if (!memory)
    throw noRoomFor("map " + std::to_string(size) + " bytes of memory for " +
                    std::to_string(memberCount) + " ranks");
  return SharedSegment(memory, memberCount, slotBytes, 0);
}

SharedSegment SharedSegment::create(const std::string &name, int memberCount,
                                    size_t slotBytes, int seenCount) {
  size_t size = bytes(memberCount, slotBytes, seenCount);
  int file =
      shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    throw segmentError("make", name, size, errno);
  // Reserves the memory now, so that a full /dev/shm is an error here and not a
  // SIGBUS later.
  int error = posix_fallocate(file, 0, static_cast<off_t>(size));
  std::shared_ptr<void> memory;
  if (!error) {
    memory = mapBytes(file, size);
    error = memory ? 0 : errno;
  }
  close(file);
  if (error) {
    unlink(name);
    throw segmentError("reserve", name, size, error);
  }
  return SharedSegment(memory, memberCount, slotBytes, seenCount);
}

SharedSegment SharedSegment::open(const std::string &name, int memberCount,
                                  size_t slotBytes, int seenCount) {
  size_t size = bytes(memberCount, slotBytes, seenCount);
  int file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0600);
  if (file < 0)
    throw segmentError("open", name, size, errno);
  std::shared_ptr<void> memory = mapBytes(file, size);
  int error = errno;
  close(file);
  if (!memory)
    throw segmentError("map", name, size, error);
  return SharedSegment(memory, memberCount, slotBytes, seenCount);
}

std::shared_ptr<void> SharedSegment::openBoard(const std::string &name,
                                               size_t size) {
  int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return nullptr;
  std::shared_ptr<void> memory;
  if (posix_fallocate(file, 0, static_cast<off_t>(size)) == 0)
    memory = mapBytes(file, size);
  close(file);
  return memory;
}

void SharedSegment::unlink(const std::string &name) {
  shm_unlink(name.c_str());
}

std::string SharedSegment::uniqueName() {
  std::random_device random;
  return "/meshc-" + std::to_string(getpid()) + "-" + std::to_string(random()) +
         std::to_string(random());
}

FailureRecord &SharedSegment::failure() const {
  return *static_cast<FailureRecord *>(memory.get());
}

MemberState &SharedSegment::member(int m) const {
  return reinterpret_cast<MemberState *>(static_cast<char *>(memory.get()) +
                                         failureBytes)[m];
}

MessageQueue &SharedSegment::queue(int from, int to) const {
  auto *first = reinterpret_cast<MessageQueue *>(
      static_cast<char *>(memory.get()) + queueOffset(count));
  return first[static_cast<size_t>(from) * count + to];
}

SeenPulse &SharedSegment::seen(int rank) const {
  return reinterpret_cast<SeenPulse *>(static_cast<char *>(memory.get()) +
                                       seenOffset(count))[rank];
}

char *SharedSegment::slots(int m) const {
  return static_cast<char *>(memory.get()) + slotOffset(count, countSeen) +
         static_cast<size_t>(m) * slotCount * bytesOfSlot;
}
