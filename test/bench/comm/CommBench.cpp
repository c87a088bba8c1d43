//===- CommBench.cpp - all-reduce beside MPI's and beside memcpy ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prints the time of an all-reduce of floats by size: best and median of many.
///
///     comm_bench --ranks 2          ranks as threads
///     mpirun -n 2 comm_bench        shared memory, and MPI_Allreduce beside it
///
/// `--bytes N` measures that size alone.
///
/// `memcpy` is one rank's copy of the same size while all ranks copy: the floor
/// is one to two of them, since each rank must read its own and its peers'
/// values and write the result.
///
//===----------------------------------------------------------------------===//
#include "PeerAllReduce.h"

#include "runtime/Comm/World.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

using namespace meshc::runtime;

namespace {

struct Times {
  double best, median; ///< microseconds
};

Times measure(Communicator &communicator, int64_t bytes,
              const std::function<void()> &work) {
  int repeats = bytes > (8 << 20) ? 15 : bytes > (1 << 18) ? 100 : 1000;
  std::vector<double> times;
  for (int i = 0; i < repeats + 2; ++i) {
    communicator.barrier();
    auto start = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - start;
    if (i >= 2)
      times.push_back(took.count());
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

void benchmark(Communicator &communicator, const char *kind,
               const std::vector<int64_t> &sizes) {
  bool prints = communicator.rank() == 0;
  if (prints)
    std::printf("all_reduce of f32 among %d ranks (%s); microseconds, best and "
                "median\n%12s %20s %20s %20s %10s\n",
                communicator.size(), kind, "bytes", "meshc", "MPI_Allreduce",
                "memcpy", "MPI/meshc");
  MeshView mesh({communicator.size()}, communicator.rank());
  for (int64_t bytes : sizes) {
    int64_t n = bytes / 4;
    std::vector<float> send(n, 1.0f), recv(n);
    MeshcCollectiveItem item{1, n, 1, 1, n, 1};
    MeshcCollective collective{};
    collective.axes = 1;
    collective.itemCount = 1;
    collective.items = &item;
    void *from = send.data(), *to = recv.data();
    Times ours = measure(communicator, bytes, [&] {
      communicator.run(collective, mesh.group(1), &from, &to);
    });
    Times copy =
        measure(communicator, bytes, [&] { std::memcpy(to, from, bytes); });
    Times peer{0, 0};
    if (peerIsThere())
      peer = measure(communicator, bytes,
                     [&] { peerAllReduce(send.data(), recv.data(), n); });
    if (prints)
      std::printf("%12ld %10.1f %9.1f %10.1f %9.1f %10.1f %9.1f %10.2f\n",
                  static_cast<long>(bytes), ours.best, ours.median, peer.best,
                  peer.median, copy.best, copy.median,
                  peer.median / ours.median);
  }
}

} // namespace

int main(int argc, char **argv) {
  WorldOptions options;
  std::vector<int64_t> sizes{4,       1024,    16384,    65536,    262144,
                             1048576, 2600000, 16000000, 100000000};
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--ranks") == 0)
      options.ranks = std::atoi(argv[i + 1]);
    else if (std::strcmp(argv[i], "--bytes") == 0)
      sizes = {std::atol(argv[i + 1])};
  try {
    std::unique_ptr<World> world = openWorld(withEnvironment(options));
    world->run([&](Communicator &communicator) {
      benchmark(communicator, world->kind(), sizes);
    });
    world->finish(0);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "comm_bench: error: %s\n", error.what());
    return 1;
  }
  return 0;
}
