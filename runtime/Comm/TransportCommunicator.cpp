//===- TransportCommunicator.cpp - a communicator on messages -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/TransportCommunicator.h"

#include "runtime/Base/StandardStreams.h"
#include "runtime/Comm/StagedCollectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sstream>

using namespace meshc::runtime;

namespace {

/// Between threads, shorter collectives go through slots: those are done when
/// this rank's peers have arrived, without waiting until the peers are done
/// too.
constexpr uint64_t directBytes = 16384;

void runStaged(Exchange &exchange, const Group &group,
               const MeshcCollective &collective,
               const CollectiveStreams &streams) {
  auto reduction = static_cast<MeshcReduction>(collective.reduction);
  switch (collective.kind) {
  case MESHC_ALL_REDUCE:
    return allReduce(exchange, group, reduction, streams.send[0],
                     streams.recv[0]);
  case MESHC_REDUCE_SCATTER:
    return reduceScatter(exchange, group, reduction, streams.send,
                         streams.recv[0]);
  case MESHC_ALL_GATHER:
    return allGather(exchange, group, streams.send[0], streams.recv);
  case MESHC_ALL_TO_ALL:
    return allToAll(exchange, group, streams.send, streams.recv,
                    streams.longest);
  case MESHC_PERMUTE:
    return permute(exchange, group, getSenderOf(collective, group),
                   getReceiverOf(collective, group), streams.send[0],
                   streams.recv[0]);
  }
}

const char *collectiveName(uint8_t kind) {
  switch (kind) {
  case MESHC_ALL_REDUCE:
    return "all_reduce";
  case MESHC_REDUCE_SCATTER:
    return "reduce_scatter";
  case MESHC_ALL_GATHER:
    return "all_gather";
  case MESHC_ALL_TO_ALL:
    return "all_to_all";
  case MESHC_PERMUTE:
    return "permute";
  }
  return "unknown collective";
}

/// "rank 3", "ranks 1, 3".
std::string listRanks(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

} // namespace

TransportCommunicator::TransportCommunicator(
    WorldShape worldShape, std::unique_ptr<Transport> transport)
    : shape(std::move(worldShape)), transport(std::move(transport)) {
  all.ranks.resize(shape.hosts.size());
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  all.index = shape.rank;
  this->transport->setStallReport([this](const Stall &stall,
                                         const std::vector<int> &silent,
                                         double limitSeconds) {
    reportStall(stall, silent, limitSeconds);
  });
  severalHosts =
      std::any_of(shape.hosts.begin(), shape.hosts.end(),
                  [&](int host) { return host != shape.hosts.front(); });
}

void TransportCommunicator::run(const MeshcCollective &collective,
                                const Group &group, void *const *send,
                                void *const *recv) {
  if (collective.kind > MESHC_PERMUTE)
    throw Failure(ExitCode::Internal, "collective kind " +
                                          std::to_string(collective.kind) +
                                          " is not one that the runtime knows");
  CollectiveStreams streams =
      makeStreams(collective, group, group.index, send, recv);
  MessageHeader header;
  header.kind = collective.kind;
  header.type = collective.type;
  header.reduction = collective.reduction;
  header.axes = collective.axes;
  header.site = collective.site;
  header.ranks = group.size();
  header.bytes = streams.sendSize * elementBytes(streams.send[0].type());
  inExchange(header, [&](Exchange &exchange) {
    const std::optional<Hierarchy> &hierarchy = hierarchyOf(group);
    if (shape.bufferUse && group.size() > 1 && header.bytes > directBytes)
      runDirectly(exchange, *shape.bufferUse, group, collective, send, recv);
    else if (hierarchy && collective.kind != MESHC_ALL_TO_ALL &&
             collective.kind != MESHC_PERMUTE)
      runHierarchically(exchange, *hierarchy, collective, streams);
    else
      runStaged(exchange, group, collective, streams);
  });
}

/// In round r, every rank notifies the one 2^r places on that it has heard from
/// 2^r ranks.
void TransportCommunicator::barrier() {
  MessageHeader header;
  header.kind = MessageHeader::Barrier;
  header.ranks = size();
  inExchange(header, [&](Exchange &exchange) {
    for (int distance = 1; distance < size(); distance *= 2) {
      int next = (rank() + distance) % size();
      int previous = (rank() - distance + size()) % size();
      exchange.expect(previous);
      exchange.begin();
      exchange.post(next, 0, 0, 0);
      exchange.await(previous, 0);
      exchange.release(previous);
    }
  });
}

/// Sends down a binomial tree. Places are counted from the root; the parent of
/// a place is the place without its lowest bit.
void TransportCommunicator::broadcast(void *data, size_t bytes, int root) {
  MessageHeader header;
  header.kind = MessageHeader::Broadcast;
  header.site = root;
  header.ranks = size();
  header.bytes = bytes;
  inExchange(header, [&](Exchange &exchange) {
    int place = (rank() - root + size()) % size();
    int lowest = place ? place & -place : size();
    int parent = (place - lowest + root + size()) % size();
    size_t limit = exchange.capacity(1);
    for (size_t begin = 0; begin == 0 || begin < bytes; begin += limit) {
      char *piece = static_cast<char *>(data) + begin;
      size_t n = std::min(limit, bytes - begin);
      if (place) {
        exchange.expect(parent);
        std::memcpy(piece, exchange.await(parent, n), n);
        exchange.release(parent);
      }
      bool filled = false;
      for (int bit = 1; bit < lowest && place + bit < size(); bit *= 2) {
        if (!filled) {
          exchange.begin();
          std::memcpy(exchange.content(0, n), piece, n);
          filled = true;
        }
        exchange.post((place + bit + root) % size(), 0, n, n);
      }
    }
  });
}

void TransportCommunicator::send(const void *data, size_t bytes, int to) {
  MessageHeader header;
  header.kind = MessageHeader::PointToPoint;
  header.bytes = bytes;
  inExchange(header, [&](Exchange &exchange) {
    size_t limit = exchange.capacity(1);
    for (size_t begin = 0; begin == 0 || begin < bytes; begin += limit) {
      size_t n = std::min(limit, bytes - begin);
      exchange.begin();
      if (n) // an empty message may have a null address
        std::memcpy(exchange.content(0, n),
                    static_cast<const char *>(data) + begin, n);
      exchange.post(to, 0, n, n);
    }
  });
}

void TransportCommunicator::receive(void *data, size_t bytes, int from) {
  MessageHeader header;
  header.kind = MessageHeader::PointToPoint;
  header.bytes = bytes;
  inExchange(header, [&](Exchange &exchange) {
    size_t limit = exchange.capacity(1);
    for (size_t begin = 0; begin == 0 || begin < bytes; begin += limit) {
      size_t n = std::min(limit, bytes - begin);
      exchange.expect(from);
      const auto *content = exchange.await(from, n);
      if (n)
        std::memcpy(static_cast<char *>(data) + begin, content, n);
      exchange.release(from);
    }
  });
}

bool TransportCommunicator::fail(const std::string &message) noexcept {
  return transport->fail(message);
}

template <class Work>
void TransportCommunicator::inExchange(const MessageHeader &header, Work work) {
  Exchange exchange(*transport, header);
  current = &header;
  try {
    work(exchange);
    transport->settle();
    noteProgress();
  } catch (const WaitBroken &broken) {
    throwBroken(broken, header);
  } catch (const WrongCollective &wrong) {
    throw CommunicationError(
        wrong.rank, "ranks are in different collectives: rank " +
                        std::to_string(rank()) + " in " + describe(header) +
                        ", rank " + std::to_string(wrong.rank) + " in " +
                        describe(wrong.got));
  }
}

void TransportCommunicator::throwBroken(const WaitBroken &broken,
                                        const MessageHeader &header) const {
  std::string who = "rank " + std::to_string(broken.rank);
  switch (broken.cause) {
  case WaitBroken::Cause::RankFailed:
    throw CommunicationError(broken.rank, who + " failed: " + broken.message,
                             true);
  case WaitBroken::Cause::Died:
    throw CommunicationError(broken.rank,
                             "the process of " + who + " ended while rank " +
                                 std::to_string(rank()) + " waited for it in " +
                                 describe(header));
  case WaitBroken::Cause::Transport:
    throw CommunicationError(broken.rank, "the connection to " + who +
                                              " broke in " + describe(header) +
                                              ": " + broken.message);
  case WaitBroken::Cause::Stalled:
    throw CommunicationError(broken.rank,
                             describe(broken.stall, broken.silent));
  }
}

/// "rank 1 has made no progress for 10 s: rank 0 waits for rank 2, rank 2 for
/// rank 1, in all_reduce of 40 bytes among 4 ranks at gpt.mesh:14:13 (…)"
std::string
TransportCommunicator::describe(const Stall &stall,
                                const std::vector<int> &silent) const {
  std::ostringstream text;
  if (stall.isCircle)
    text << "ranks have waited for one another";
  else
    text << listRanks(silent) << (silent.size() == 1 ? " has" : " have")
         << " made no progress";
  text << " for " << stall.seconds << " s: rank " << stall.chain[0]
       << " waits for rank " << stall.chain[1];
  for (size_t i = 2; i < stall.chain.size(); ++i)
    text << ", rank " << stall.chain[i - 1] << " for rank " << stall.chain[i];
  text << ", in " << (current ? describe(*current) : "a collective");
  return text.str();
}

void TransportCommunicator::reportStall(const Stall &stall,
                                        const std::vector<int> &silent,
                                        double limitSeconds) const {
  std::ostringstream text;
  text << programName() << ": warning: " << describe(stall, silent);
  if (limitSeconds > 0)
    text << "; the run ends after " << limitSeconds << " s (MESHC_TIMEOUT)";
  printError(text.str() + '\n');
}

std::string TransportCommunicator::describe(const MessageHeader &header) const {
  std::string size = std::to_string(header.bytes) + " bytes";
  switch (header.kind) {
  case MessageHeader::Barrier:
    return "a barrier of all ranks";
  case MessageHeader::Broadcast:
    return "a broadcast of " + size + " from rank " +
           std::to_string(header.site);
  case MessageHeader::PointToPoint:
    return "a transfer of " + size + " between two ranks";
  default:
    return std::string(collectiveName(header.kind)) + " of " + size +
           " among " + std::to_string(header.ranks) + " ranks at " +
           describeSite(header.site);
  }
}

const std::optional<Hierarchy> &
TransportCommunicator::hierarchyOf(const Group &group) {
  static const std::optional<Hierarchy> none;
  if (!severalHosts)
    return none;
  auto found = hierarchies.find(group.ranks);
  if (found == hierarchies.end())
    found = hierarchies.emplace(group.ranks, findHierarchy(group, shape.hosts))
                .first;
  return found->second;
}
