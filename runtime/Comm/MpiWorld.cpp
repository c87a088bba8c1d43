//===- MpiWorld.cpp - ranks as processes that mpirun started --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/MpiWorld.h"

#include "runtime/Comm/Bootstrap.h"
#include "runtime/Comm/LauncherGuard.h"
#include "runtime/Comm/MpiLibrary.h"
#include "runtime/Comm/MpiTransport.h"
#include "runtime/Comm/StartWatch.h"

#include <algorithm>
#include <cstdio>
#include <thread>

using namespace meshc::runtime;

namespace {

/// The rank that reports a failure ends the job; others wait this long for it.
constexpr auto graceForReport = std::chrono::seconds(5);

class MpiBootstrap final : public Bootstrap {
public:
  explicit MpiBootstrap(const MeshcMpi &mpi) : mpi(mpi) {}
  int rank() const override { return mpi.rank(); }
  int size() const override { return mpi.size(); }
  void allGather(const void *own, size_t bytes, void *all) override {
    if (int error = mpi.allGather(own, bytes, all))
      throw CommunicationError(-1, std::string("the ranks cannot meet: ") +
                                       mpi.describe(error));
  }

private:
  const MeshcMpi &mpi;
};

class MpiWorld final : public World {
public:
  MpiWorld(const MeshcMpi &mpi, const MpiLaunch &launch,
           std::unique_ptr<LauncherGuard> guard, bool oneHost,
           int threadsPerRank, double timeoutSeconds)
      : mpi(mpi), guard(std::move(guard)), ranks(mpi.size()) {
    if (launch.size && launch.size != ranks)
      throw CommunicationError(
          -1, "the launcher started " + std::to_string(launch.size) +
                  " processes, and the MPI library of the plugin sees " +
                  std::to_string(ranks) +
                  ": they belong to different MPI installations");
    MpiBootstrap bootstrap(mpi);
    HostConnection host =
        connectHost(bootstrap, threadsPerRank, timeoutSeconds);
    const std::vector<int> &hosts = host.shape.hosts;
    int hostCount = *std::max_element(hosts.begin(), hosts.end()) + 1;
    several = hostCount > 1;
    if (several && oneHost)
      throw CommunicationError(
          0,
          "'--comm shm' is for ranks of one host, and these are on " +
              std::to_string(hostCount) + "; use '--comm mpi'",
          bootstrap.rank() != 0);
    std::unique_ptr<Transport> transport = std::move(host.transport);
    if (several)
      transport = std::make_unique<MpiTransport>(
          mpi, std::unique_ptr<SharedTransport>(
                   static_cast<SharedTransport *>(transport.release())));
    communicator = std::make_unique<TransportCommunicator>(
        host.shape, std::move(transport));
  }

  int size() const override { return ranks; }
  const char *kind() const override { return several ? "mpi" : "shm"; }

  void run(const std::function<void(Communicator &)> &body) override {
    try {
      body(*communicator);
    } catch (const CommunicationError &error) {
      if (error.isSecond())
        throw RankFailure(error.rank(), error.what(), nullptr, true);
      throwFailure(error.rank() >= 0 ? error.rank() : communicator->rank(),
                   error.what());
    } catch (const std::exception &error) {
      throwFailure(communicator->rank(), error.what());
    } catch (...) {
      throwFailure(communicator->rank(), "an exception of unknown type");
    }
  }

  void finish(int code) override {
    std::fflush(nullptr);
    if (code == 0) {
      communicator.reset();
      mpi.finish();
      guard->release();
      return;
    }
    guard.reset();
    if (!isReporter)
      std::this_thread::sleep_for(graceForReport);
    mpi.abort(code);
  }

private:
  [[noreturn]] void throwFailure(int faulty, const std::string &message) {
    isReporter = communicator->fail(message);
    throw RankFailure(faulty, message, std::current_exception(),
                      /*second=*/!isReporter);
  }

  const MeshcMpi &mpi;
  std::unique_ptr<LauncherGuard> guard;
  int ranks;
  bool several = false;
  bool isReporter = false;
  std::unique_ptr<TransportCommunicator> communicator;
};

} // namespace

std::unique_ptr<World> meshc::runtime::openMpiWorld(const MpiLaunch &launch,
                                                    bool oneHost,
                                                    int threadsPerRank,
                                                    double timeoutSeconds) {
  auto guard = std::make_unique<LauncherGuard>();
  StartWatch watch(launch, timeoutSeconds);
  return std::make_unique<MpiWorld>(openMpi(), launch, std::move(guard),
                                    oneHost, threadsPerRank, timeoutSeconds);
}
