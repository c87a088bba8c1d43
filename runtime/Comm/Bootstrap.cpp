//===- Bootstrap.cpp - how processes find each other ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/Bootstrap.h"

#include "runtime/Comm/Leftovers.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

/// A line of text that every rank shares with every other.
struct Note {
  char text[320] = {};

  Note() = default;
  explicit Note(const std::string &from) {
    std::memcpy(text, from.data(), std::min(from.size(), sizeof(text) - 1));
  }
};

std::vector<std::string> exchangeNotes(Bootstrap &bootstrap,
                                       const std::string &own) {
  Note note(own);
  std::vector<Note> all(bootstrap.size());
  bootstrap.allGather(&note, sizeof(note), all.data());
  std::vector<std::string> texts;
  for (const Note &each : all)
    texts.emplace_back(each.text);
  return texts;
}

/// What keeps a rank from the start.
struct Trouble {
  ExitCode code = ExitCode::Success; ///< success: nothing
  std::string message;
};

/// Ends the start on all ranks if one of them has a problem; that one reports
/// it.
void checkTroubles(Bootstrap &bootstrap, const Trouble &own) {
  std::vector<std::string> troubles = exchangeNotes(
      bootstrap,
      own.code == ExitCode::Success
          ? ""
          : std::to_string(static_cast<int>(own.code)) + ' ' + own.message);
  for (int rank = 0; rank < bootstrap.size(); ++rank) {
    const std::string &trouble = troubles[rank];
    if (!trouble.empty())
      throw CommunicationError(rank, trouble.substr(trouble.find(' ') + 1),
                               rank != bootstrap.rank(),
                               static_cast<ExitCode>(std::stoi(trouble)));
  }
}

std::string linkTarget(const char *path) {
  char text[256];
  ssize_t length = readlink(path, text, sizeof(text));
  return length > 0 ? std::string(text, length) : std::string();
}

} // namespace

Bootstrap::~Bootstrap() = default;

std::string meshc::runtime::hostIdentity() {
  char name[128] = {};
  gethostname(name, sizeof(name) - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws,
               boot);
  struct stat shm{};
  stat("/dev/shm", &shm);
  return std::string(name) + " " + boot + " " +
         linkTarget("/proc/self/ns/net") + " " +
         linkTarget("/proc/self/ns/pid") + " " + std::to_string(shm.st_dev);
}

size_t meshc::runtime::slotBytesFor(int ranks) {
  constexpr size_t usual = size_t(1) << 17, page = 4096;
  size_t leastPerPeer = 256;
  return std::max(usual, (ranks * leastPerPeer + page - 1) / page * page);
}

HostConnection meshc::runtime::connectHost(Bootstrap &bootstrap,
                                           int threadsPerRank,
                                           double timeoutSeconds) {
  int rank = bootstrap.rank(), size = bootstrap.size();
  HostConnection connection;
  connection.shape.rank = rank;
  connection.shape.hosts.clear();
  std::map<std::string, int> numbers;
  for (const std::string &identity : exchangeNotes(bootstrap, hostIdentity()))
    connection.shape.hosts.push_back(
        numbers.emplace(identity, numbers.size()).first->second);
  std::vector<int> locals;
  for (int other = 0; other < size; ++other)
    if (connection.shape.hosts[other] == connection.shape.hosts[rank])
      locals.push_back(other);
  int count = static_cast<int>(locals.size());
  int self = static_cast<int>(std::find(locals.begin(), locals.end(), rank) -
                              locals.begin());

  std::optional<SharedSegment> segment;
  int seenCount = count < size ? size : 0;
  std::string name = SharedSegment::uniqueName();
  Trouble trouble;
  auto attempt = [&](auto make) {
    try {
      segment = make();
    } catch (const CommunicationError &error) {
      trouble = {error.code(), error.what()};
    }
  };
  if (self == 0) {
    removeLeftovers();
    attempt([&] {
      return SharedSegment::create(name, count, slotBytesFor(size), seenCount);
    });
  }
  checkTroubles(bootstrap, trouble);
  name = exchangeNotes(bootstrap, name)[locals[0]];
  if (self != 0)
    attempt([&] {
      return SharedSegment::open(name, count, slotBytesFor(size), seenCount);
    });
  std::vector<char> opened(size);
  char done = 1;
  bootstrap.allGather(&done, 1, opened.data());
  if (self == 0)
    SharedSegment::unlink(name);
  checkTroubles(bootstrap, trouble);

  connection.transport = std::make_unique<SharedTransport>(
      *segment, locals, self,
      WaitPolicy::forRanks(count, threadsPerRank, timeoutSeconds),
      /*processes=*/true);
  return connection;
}
