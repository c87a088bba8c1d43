//===- CudaConformance.cpp - compares GPUs with the host ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs every kind of copy, matrix product, collective and step on GPUs and
/// compares with the host's results: ranks that share one GPU, and, if there
/// are enough, a GPU for each rank with NCCL, also as if the ranks were on
/// several hosts. Needs the CUDA plugin and a
/// driver, nothing else; prints a table and
///
///     N passed, N failed, N skipped
///
/// Exit code: 0, 1 if something failed, 77 if there is no GPU. A GPU or a
/// plugin that cannot be used is a failure.
///
/// Each section of the table runs in a separate process, because a process that
/// has used CUDA keeps its choice of GPUs. `cuda_conformance --section N`, from
/// 0 on, runs one without further processes, for compute-sanitizer; its exit
/// codes are the same, and 2 if there is no such section.
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

/// The ranks' findings, by topic in the order of the cases.
struct Findings {
  std::mutex mutex;
  std::set<size_t> failed;
  std::vector<std::string> texts;
  size_t done = 0; ///< cases, of the first rank
};

/// Runs this program again with the arguments and the number of a pipe, to
/// which it writes its findings. Not `ok` if it crashed.
Counts inProcess(std::vector<std::string> arguments, bool &ok) {
  int channel[2];
  Counts counts;
  ok = false;
  std::fflush(stdout);
  if (pipe(channel) != 0)
    return counts;
  arguments.insert(arguments.begin(), "cuda_conformance");
  arguments.push_back(std::to_string(channel[1]));
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = fork();
  if (child == 0) {
    execv("/proc/self/exe", pointers.data());
    std::_Exit(127);
  }
  close(channel[1]);
  ok = read(channel[0], &counts, sizeof(counts)) == sizeof(counts);
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ok &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return counts;
}

/// The exit code of a process of inProcess.
int answer(const char *channel, const Counts &counts) {
  std::fflush(stdout);
  ssize_t written = write(std::atoi(channel), &counts, sizeof(counts));
  return written == sizeof(counts) ? 0 : 1;
}

/// Counts the machine's GPUs as `passed`, or `failed` if GPUs exist that cannot
/// be used.
Counts countDevices() {
  Counts found;
  try {
    MeshcCudaSystem system = {};
    checkCuda(openCuda().system(&system), "ask for GPUs");
    found.passed = system.gpus;
    found.failed = system.gpus == 0 && !system.absent;
    if (system.gpus == 0)
      std::printf("no usable GPU: %s\n", system.reason);
  } catch (const Failure &failure) {
    std::printf("%s\n", failure.what());
    found.failed = 1;
  }
  return found;
}

std::vector<Case> allCases(const std::vector<int64_t> &mesh,
                           MatmulPrecision precision) {
  std::vector<Case> cases;
  auto axisCount = static_cast<uint32_t>(mesh.size());
  if (precision != MatmulPrecision::F32) {
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
               MatmulPrecision precision, int ranksPerHost) {
  const MeshcProgram program = suiteProgram(mesh);
  const std::vector<Case> cases = allCases(mesh, precision);
  Findings findings;
  std::string broken;
  try {
    WorldOptions options;
    options.ranks = 1;
    for (int64_t size : mesh)
      options.ranks *= static_cast<int>(size);
    options.ranksPerHost = ranksPerHost;
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

/// Makes a single GPU visible to the following runs.
void seeOneGpu() {
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string first = visible && *visible ? visible : "0";
  setenv("CUDA_VISIBLE_DEVICES", first.substr(0, first.find(',')).c_str(), 1);
}

/// A part of the table.
struct Section {
  std::vector<int64_t> mesh;
  bool shared; ///< one GPU for all ranks
  MatmulPrecision precision;
  int ranksPerHost = 0; ///< that the ranks see; 0: all on one

  int ranks() const {
    int count = 1;
    for (int64_t size : mesh)
      count *= static_cast<int>(size);
    return count;
  }
  std::string way() const {
    return ranks() == 1   ? "alone"
           : shared       ? "share a GPU"
           : ranksPerHost ? std::to_string(ranks() / ranksPerHost) + " hosts"
                          : "by NCCL";
  }
};

const Section sections[] = {{{1}, true, MatmulPrecision::F32},
                            {{1}, true, MatmulPrecision::TF32},
                            {{2}, true, MatmulPrecision::F32},
                            {{4}, true, MatmulPrecision::F32},
                            {{2, 2}, true, MatmulPrecision::F32},
                            {{2}, false, MatmulPrecision::F32},
                            {{4}, false, MatmulPrecision::F32},
                            {{2, 2}, false, MatmulPrecision::F32},
                            {{1}, true, MatmulPrecision::BF16},
                            {{6}, false, MatmulPrecision::F32, 2},
                            {{2, 2}, false, MatmulPrecision::F32, 2}};

Counts runSection(const Section &section) {
  if (section.shared)
    seeOneGpu();
  return runMesh(section.mesh, section.way(), section.precision,
                 section.ranksPerHost);
}

void printSkipped(const Section &section) {
  printRow(meshText(section.mesh), section.way(), "all", 0,
           "skipped: needs " + std::to_string(section.ranks()) + " GPUs");
}

/// Returns -1, or the program's exit code if there is no GPU to use.
int refuse(const Counts &devices) {
  if (devices.failed) {
    std::printf("FAILED: the GPUs cannot be used\n"
                "0 passed, 1 failed, 0 skipped\n");
    return 1;
  }
  if (devices.passed == 0) {
    std::printf("skipped: no CUDA device\n0 passed, 0 failed, 1 skipped\n");
    return 77;
  }
  std::printf("%d %s\n", devices.passed, devices.passed == 1 ? "GPU" : "GPUs");
  return -1;
}

int runAlone(const Section &section) {
  if (section.shared)
    seeOneGpu();
  Counts devices = countDevices();
  int refused = refuse(devices);
  if (refused >= 0)
    return refused;
  Counts counts;
  bool skipped = section.ranks() > devices.passed && !section.shared;
  if (skipped)
    printSkipped(section);
  else
    counts = runSection(section);
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed,
              counts.failed, skipped);
  return counts.failed ? 1 : skipped ? 77 : 0;
}

int runAll() {
  bool ok = false;
  Counts found = inProcess({"--devices"}, ok);
  found.failed += !ok;
  int refused = refuse(found);
  if (refused >= 0)
    return refused;
  const int gpus = found.passed;
  std::printf("%-6s %-12s %-24s %6s  %s\n", "mesh", "ranks", "what", "cases",
              "result");
  Counts all;
  int skipped = 0;
  for (size_t i = 0; i < std::size(sections); ++i) {
    const Section &section = sections[i];
    if (!section.shared && section.ranks() > gpus) {
      printSkipped(section);
      ++skipped;
      continue;
    }
    Counts counts = inProcess({"--section", std::to_string(i)}, ok);
    if (!ok) {
      printRow(meshText(section.mesh), section.way(), "all", 0,
               "FAILED: the process crashed");
      ++counts.failed;
    }
    all.passed += counts.passed;
    all.failed += counts.failed;
  }
  std::printf("%d passed, %d failed, %d skipped\n", all.passed, all.failed,
              skipped);
  return all.failed ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (option == "--devices" && argc == 3)
    return answer(argv[2], countDevices());
  if (option == "--section" && (argc == 3 || argc == 4)) {
    auto index = static_cast<size_t>(std::atoi(argv[2]));
    if (index < std::size(sections))
      return argc == 3 ? runAlone(sections[index])
                       : answer(argv[3], runSection(sections[index]));
  }
  if (argc > 1) {
    std::fprintf(stderr, "usage: cuda_conformance [--section N]\n");
    return 2;
  }
  return runAll();
}
