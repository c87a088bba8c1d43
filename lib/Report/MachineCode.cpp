//===- MachineCode.cpp - what kernels take of a GPU -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/MachineCode.h"
#include "lib/Report/Place.h"
#include "llvm/Support/raw_ostream.h"

namespace meshc::report {

void addMachineCode(Json &report, llvm::ArrayRef<KernelUsage> kernels) {
  Json list = Json::array();
  for (const KernelUsage &kernel : kernels) {
    Json chips = Json::array();
    for (const ChipUsage &usage : kernel.chips)
      chips.push_back({{"chip", usage.chip},
                       {"registers", usage.registers},
                       {"sharedBytes", usage.sharedBytes},
                       {"spillBytes", usage.spillBytes},
                       {"stackBytes", usage.stackBytes}});
    list.push_back({{"kernel", kernel.name},
                    {"location", getPlace(kernel.location)},
                    {"blocks", kernel.blocks},
                    {"threads", kernel.threads},
                    {"chips", std::move(chips)}});
  }
  report["machineCode"] = std::move(list);
}

/// "sm_90 32 registers, 64 B shared, 8 B spilled".
static void printUsage(const Json &usage, llvm::raw_ostream &out) {
  out << usage["chip"].get<std::string>() << " "
      << usage["registers"].get<unsigned>() << " registers";
  auto printBytes = [&](const char *key, const char *what) {
    if (auto bytes = usage[key].get<unsigned>())
      out << ", " << bytes << " B " << what;
  };
  printBytes("sharedBytes", "shared");
  printBytes("spillBytes", "spilled");
  printBytes("stackBytes", "of stack");
}

void printMachineCode(const Json &kernels, llvm::raw_ostream &out) {
  out << "\n"
      << kernels.size() << (kernels.size() == 1 ? " kernel" : " kernels")
      << ", registers of a thread and shared memory of a block:\n";
  for (const Json &kernel : kernels) {
    out << "  " << kernel["kernel"].get<std::string>();
    if (auto place = kernel["location"].get<std::string>(); !place.empty())
      out << ", from " << place;
    out << ", " << kernel["blocks"].get<unsigned>() << " x "
        << kernel["threads"].get<unsigned>() << " threads";
    const char *separator = ": ";
    for (const Json &usage : kernel["chips"]) {
      out << separator;
      printUsage(usage, out);
      separator = "; ";
    }
    out << "\n";
  }
}

} // namespace meshc::report
