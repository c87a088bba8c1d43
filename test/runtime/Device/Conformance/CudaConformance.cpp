//===- CudaConformance.cpp - GPUs against the host, where there are any ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs every kind of copy, matrix product, collective and step on GPUs against
/// what the host computes: ranks that share one GPU, and, where there are
/// enough, a GPU for each by NCCL. Needs the CUDA plugin and a driver, nothing
/// else; prints a table and
///
///     N passed, N failed, N skipped
///
/// Exit code: 0, 1 where something failed, 77 where there is no GPU.
///
//===----------------------------------------------------------------------===//
#include "Suite.h"

#include "runtime/Comm/World.h"
#include "runtime/Device/CudaLibrary.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshc;
using namespace meshc::test;
using namespace meshc::runtime;

namespace {

struct Counts {
  int passed = 0, failed = 0;
};

/// What the ranks found, by topic in the order of the cases.
struct Findings {
  std::mutex mutex;
  std::set<size_t> failed;
  std::vector<std::string> texts;
  size_t done = 0; ///< cases, of the first rank
};

/// Calls `body` in a process of its own, as a process that has used CUDA keeps
/// its choice of GPUs. Returns what it returned; not `ok` where it crashed.
template <class Body> Counts inChild(const Body &body, bool &ok) {
  int channel[2];
  Counts counts;
  ok = false;
  std::fflush(stdout);
  if (pipe(channel) != 0)
    return counts;
  pid_t child = fork();
  if (child == 0) {
    Counts own = body();
    std::fflush(stdout);
    ssize_t written = write(channel[1], &own, sizeof(own));
    std::_Exit(written == sizeof(own) ? 0 : 1);
  }
  close(channel[1]);
  ok = read(channel[0], &counts, sizeof(counts)) == sizeof(counts);
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ok &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return counts;
}

/// GPUs of the machine; 0, with the reason, where none can be used.
int findGpus() {
  bool ok = false;
  Counts counts = inChild(
      [] {
        Counts found;
        try {
          found.passed = countGpus();
        } catch (const Failure &failure) {
          std::printf("%s\n", failure.what());
        }
        return found;
      },
      ok);
  return ok ? counts.passed : 0;
}

std::vector<Case> allCases(const std::vector<int64_t> &mesh,
                           MatmulPrecision precision) {
  std::vector<Case> cases;
  auto axisCount = static_cast<uint32_t>(mesh.size());
  if (precision == MatmulPrecision::TF32) {
    addProducts(cases, precision);
    return cases;
  }
  addCopies(cases);
  if (mesh.size() == 1 && mesh[0] == 1) {
    addProducts(cases, precision);
    addEpilogues(cases);
  }
  addCollectives(cases, axisCount);
  addSteps(cases, axisCount);
  return cases;
}

std::string meshText(const std::vector<int64_t> &mesh) {
  std::string text;
  for (int64_t size : mesh)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

void printRow(const std::string &mesh, const std::string &way,
              const std::string &topic, int cases, const std::string &result) {
  std::printf("%-6s %-12s %-24s %6d  %s\n", mesh.c_str(), way.c_str(),
              topic.c_str(), cases, result.c_str());
}

/// All cases on a mesh, whose ranks are threads.
Counts runMesh(const std::vector<int64_t> &mesh, const std::string &way,
               MatmulPrecision precision) {
  const MeshcProgram program = suiteProgram(mesh);
  const std::vector<Case> cases = allCases(mesh, precision);
  Findings findings;
  std::string broken;
  try {
    WorldOptions options;
    options.ranks = 1;
    for (int64_t size : mesh)
      options.ranks *= static_cast<int>(size);
    auto world = openWorld(withEnvironment(options));
    world->run([&](Communicator &communicator) {
      Rank rank(program, communicator, MeshView(mesh, communicator.rank()), 1);
      communicator.setProgram(&program);
      DeviceOptions deviceOptions;
      deviceOptions.matmul = precision;
      auto device = makeDevice(rank, deviceOptions);
      Subject subject{rank, *device};
      for (size_t i = 0; i < cases.size(); ++i) {
        std::string wrong = cases[i].check(subject);
        std::lock_guard<std::mutex> lock(findings.mutex);
        if (!wrong.empty() && findings.failed.insert(i).second)
          findings.texts.push_back(wrong);
        if (communicator.rank() == 0)
          findings.done = i + 1;
      }
      device->synchronize();
    });
  } catch (const std::exception &error) {
    broken = error.what();
  }
  std::map<std::string, Counts> byTopic;
  std::vector<std::string> order;
  for (size_t i = 0; i < findings.done; ++i) {
    if (!byTopic.count(cases[i].topic))
      order.push_back(cases[i].topic);
    Counts &counts = byTopic[cases[i].topic];
    ++(findings.failed.count(i) ? counts.failed : counts.passed);
  }
  Counts all;
  for (const std::string &topic : order) {
    const Counts &counts = byTopic[topic];
    printRow(meshText(mesh), way, topic, counts.passed + counts.failed,
             counts.failed ? std::to_string(counts.failed) + " FAILED" : "ok");
    all.passed += counts.passed;
    all.failed += counts.failed;
  }
  for (size_t i = 0; i < findings.texts.size() && i < 10; ++i)
    std::printf("  %s\n", findings.texts[i].c_str());
  if (!broken.empty()) {
    std::printf("%s, %s: ended after %zu of %zu cases: %s\n",
                meshText(mesh).c_str(), way.c_str(), findings.done,
                cases.size(), broken.c_str());
    all.failed += static_cast<int>(cases.size() - findings.done);
  }
  return all;
}

/// Lets what runs next see one GPU.
void seeOneGpu() {
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string first = visible && *visible ? visible : "0";
  setenv("CUDA_VISIBLE_DEVICES", first.substr(0, first.find(',')).c_str(), 1);
}

} // namespace

int main() {
  const int gpus = findGpus();
  if (gpus == 0) {
    std::printf("skipped: no CUDA device\n");
    return 77;
  }
  std::printf("%d %s\n", gpus, gpus == 1 ? "GPU" : "GPUs");
  printf("%-6s %-12s %-24s %6s  %s\n", "mesh", "ranks", "what", "cases",
         "result");
  Counts all;
  int skipped = 0;
  auto section = [&](const std::vector<int64_t> &mesh, bool shared,
                     MatmulPrecision precision) {
    int ranks = 1;
    for (int64_t size : mesh)
      ranks *= static_cast<int>(size);
    std::string way = ranks == 1 ? "alone" : shared ? "share a GPU" : "by NCCL";
    if (!shared && ranks > gpus) {
      printRow(meshText(mesh), way, "all", 0,
               "skipped: needs " + std::to_string(ranks) + " GPUs");
      ++skipped;
      return;
    }
    bool ok = false;
    Counts counts = inChild(
        [&] {
          if (shared)
            seeOneGpu();
          return runMesh(mesh, way, precision);
        },
        ok);
    if (!ok) {
      printRow(meshText(mesh), way, "all", 0, "FAILED: the process crashed");
      ++counts.failed;
    }
    all.passed += counts.passed;
    all.failed += counts.failed;
  };
  section({1}, true, MatmulPrecision::F32);
  section({1}, true, MatmulPrecision::TF32);
  for (bool shared : {true, false})
    for (const std::vector<int64_t> &mesh :
         {std::vector<int64_t>{2}, {4}, {2, 2}})
      section(mesh, shared, MatmulPrecision::F32);
  std::printf("%d passed, %d failed, %d skipped\n", all.passed, all.failed,
              skipped);
  return all.failed ? 1 : 0;
}
