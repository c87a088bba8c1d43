//===- FailingProgram.cpp - a program whose rank 1 fails ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// comm_failing throw|kill|stop|sleep|apart|endless, for mpi_failures.sh. Ends
/// as compiled programs do: one message, by the rank that reports the failure.
///
//===----------------------------------------------------------------------===//
#include "runtime/Comm/World.h"

#include <csignal>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

using namespace meshc::runtime;

namespace {

const MeshcSite sites[] = {{"gpt.mesh:14:13", "all_reduce of 'h' over tensor"},
                           {"gpt.mesh:20:3", "all_reduce of 'loss'"}};

void reduceAt(Communicator &communicator, uint32_t site) {
  std::vector<float> values(1000, 1);
  MeshcCollectiveItem item{1, 1000, 1, 1000};
  MeshcCollective collective{};
  collective.axes = 1;
  collective.site = site;
  collective.itemCount = 1;
  collective.items = &item;
  void *data = values.data();
  MeshView mesh({communicator.size()}, communicator.rank());
  communicator.run(collective, mesh.group(1), &data, &data);
}

void failAs(const std::string &how, Communicator &communicator) {
  static MeshcProgram program{};
  program.siteCount = 2;
  program.sites = sites;
  communicator.setProgram(&program);
  do
    reduceAt(communicator, 0);
  while (how == "endless");
  bool fails = communicator.rank() == 1;
  if (fails && how == "throw")
    throw Failure(ExitCode::Data, "no file 'x.idx'");
  if (fails && how == "kill")
    raise(SIGKILL);
  if (fails && how == "stop")
    raise(SIGSTOP);
  if (fails && how == "sleep")
    sleep(20);
  reduceAt(communicator, fails && how == "apart" ? 1 : 0);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::unique_ptr<World> world;
  try {
    world = openWorld(withEnvironment({}));
    world->run(
        [&](Communicator &communicator) { failAs(argv[1], communicator); });
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
