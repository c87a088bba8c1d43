//===- Machine.cpp - the machines that meshc knows by name ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/Machine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <vector>

namespace meshc::cost {

/// Two cores of a server's processor. Ranks share them, however many there are.
static Machine makeHost() {
  Machine host;
  host.name = "host";
  host.source = "meshc --calibrate on two cores of an AMD EPYC (Zen 4, "
                "AVX-512), threads on two of another one (Zen 3), 2026; "
                "network: assumed, 10 Gbit/s Ethernet";
  host.nodeRanks = 1024;
  host.nodeCores = 2;
  host.nodeMemory = 6e10;
  host.products = {{"f32", 1.1e11}, {"bf16", 2.1e11}, {"f16", 8.9e10}};
  host.kernels = {{"f32", 7.9e10}};
  host.functions = 6.4e9;
  host.sorting = 1.4e8;
  host.memory = 5.8e10;
  host.cacheBytes = 3.2e7;
  host.cacheMemory = 1.1e11;
  host.launch = 2e-8;
  host.threadStart = 4.3e-6;
  host.threadEfficiency = 0.85;
  host.node = {3.3e-7, 6.6e9};
  host.network = {3e-5, 1.1e9};
  return host;
}

/// A node of 8 H100 with NVLink.
static Machine makeH100() {
  Machine node;
  node.name = "h100";
  node.source =
      "NVIDIA's H100 SXM5 datasheet (dense 989 TFLOP/s bf16, 495 tf32, 67 f32; "
      "3.35 TB/s; NVLink 450 GB/s each way), of which 65 % of the tensor "
      "cores' rates, 80 % of the others, 90 % of the memory's and 80 % of "
      "NVLink's are attained; between nodes: 100 Gbit/s Ethernet for 8 GPUs, "
      "90 % attained; latencies, launches and sorting are assumed; not "
      "measured";
  node.nodeRanks = 8;
  node.products = {{"f32", 5.4e13}, {"bf16", 6.4e14}, {"f16", 6.4e14}};
  node.kernels = {{"f32", 5.4e13}};
  node.functions = 3e12;
  node.sorting = 1.5e9; // 512 threads, each with a step in 600 cycles
  node.memory = 3e12;
  node.launch = 3e-6;
  node.node = {2e-6, 3.6e11};
  node.network = {3e-5, 1.4e9};
  node.overlap = 0.9;
  return node;
}

/// Such nodes over InfiniBand.
static Machine makeH100Ib() {
  Machine cluster = makeH100();
  cluster.name = "h100-ib";
  cluster.source = "as h100; between nodes: InfiniBand NDR, 50 GB/s for each "
                   "GPU, 90 % attained; latencies are assumed; not measured";
  cluster.network = {6e-6, 4.5e10};
  return cluster;
}

llvm::ArrayRef<Machine> getPresets() {
  static const std::vector<Machine> presets = {makeHost(), makeH100(),
                                               makeH100Ib()};
  return presets;
}

std::string getPresetNames() {
  std::string names;
  for (const Machine &machine : getPresets())
    names += (names.empty() ? "'" : ", '") + machine.name + "'";
  return names;
}

llvm::Expected<Machine> findMachine(llvm::StringRef nameOrFile) {
  for (const Machine &machine : getPresets())
    if (machine.name == nameOrFile)
      return machine;
  auto text = llvm::MemoryBuffer::getFile(nameOrFile, /*IsText=*/true);
  if (std::error_code error = text.getError())
    return llvm::createStringError(
        error,
        "machine '%s' is neither a preset (%s) nor a file that can be "
        "read: %s",
        nameOrFile.str().c_str(), getPresetNames().c_str(),
        error.message().c_str());
  return readMachine((*text)->getBuffer(), nameOrFile);
}

} // namespace meshc::cost
