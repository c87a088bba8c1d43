//===- FailingProgram.cpp - a program whose rank 1 fails ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// comm_failing throw|kill|stop|sleep|apart|circle, for mpi_failures.sh, and
/// comm_failing endless|connect SIGN, for network_failure.sh. Ends as compiled
/// programs do: one message, by the rank that reports the failure.
///
//===----------------------------------------------------------------------===//
#include "runtime/Comm/World.h"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

using namespace meshc::runtime;

namespace {

const MeshcSite sites[] = {{"gpt.mesh:14:13", "all_reduce of 'h' over tensor"},
                           {"gpt.mesh:20:3", "all_reduce of 'loss'"}};

/// A collective of a mesh n × 2 among ranks that differ on `axes` (3: all).
void runAt(Communicator &communicator, uint32_t site,
           MeshcCollectiveKind kind = MESHC_ALL_REDUCE, uint32_t axes = 3) {
  std::vector<float> values(1000, 1), results(1000);
  int64_t entries = 1000 / communicator.size() * communicator.size();
  MeshcCollectiveItem item{1, entries, 1, 1, entries, 1};
  MeshcCollective collective{};
  collective.kind = kind;
  collective.axes = axes;
  collective.site = site;
  collective.itemCount = 1;
  collective.items = &item;
  void *from = values.data(), *to = results.data();
  MeshView mesh({communicator.size() / 2, 2}, communicator.rank());
  communicator.run(collective, mesh.group(axes), &from, &to);
}

void failAs(const std::string &how, Communicator &communicator) {
  runAt(communicator, 0);
  int rank = communicator.rank();
  bool fails = rank == 1;
  if (fails && how == "throw")
    throw Failure(ExitCode::Data, "no file 'x.idx'");
  if (fails && how == "kill")
    raise(SIGKILL);
  if (fails && how == "stop")
    raise(SIGSTOP);
  if (fails && how == "sleep")
    sleep(20);
  if (how == "circle") // 0 waits for 2, 2 for 3, 3 for 1, and 1 for 0
    runAt(communicator, 1, MESHC_ALL_REDUCE, rank == 0 || rank == 3 ? 1 : 2);
  runAt(communicator, fails && how == "apart" ? 1 : 0);
}

/// Reduces, and creates the file `sign` once all ranks do. To `connect`, waits
/// for the file `sign`.done, and goes on with the first messages between some
/// ranks of different hosts.
void failWithNetwork(const std::string &how, const std::string &sign,
                     Communicator &communicator) {
  for (int i = 0; i < 20; ++i)
    runAt(communicator, 0);
  if (communicator.rank() == 0)
    std::ofstream(sign) << "reducing";
  while (how == "endless")
    runAt(communicator, 0);
  while (access((sign + ".done").c_str(), F_OK) != 0)
    usleep(10000);
  runAt(communicator, 1, MESHC_ALL_TO_ALL);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  static MeshcProgram program{};
  program.siteCount = 2;
  program.sites = sites;
  std::unique_ptr<World> world;
  try {
    world = openWorld(withEnvironment({}));
    world->run([&](Communicator &communicator) {
      communicator.setProgram(&program);
      if (argc > 2)
        failWithNetwork(argv[1], argv[2], communicator);
      else
        failAs(argv[1], communicator);
    });
  } catch (const RankFailure &failure) {
    if (!failure.isSecond())
      std::fprintf(stderr, "error: rank %d failed: %s\n", failure.rank(),
                   failure.what());
    world->finish(static_cast<int>(failure.code()));
    return static_cast<int>(failure.code());
  } catch (const Failure &failure) {
    std::fprintf(stderr, "error: %s\n", failure.what());
    return static_cast<int>(failure.code());
  }
  world->finish(0);
  return 0;
}
