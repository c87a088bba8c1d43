//===- DescribeTimes.cpp - predicted times in the report ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/StepTime.h"
#include "lib/Report/Place.h"
#include "lib/Report/Report.h"
#include "lib/Report/Sites.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace meshc::report {

/// What identifies a collective before and after the schedule phase, apart from
/// equal ones.
static std::string getKey(const Json &collective) {
  std::string key = collective["kind"].get<std::string>() + " " +
                    std::to_string(collective["elements"].get<int64_t>()) +
                    " " + collective["type"].get<std::string>();
  for (const Json &axis : collective["axes"])
    key += " " + axis.get<std::string>();
  return key;
}

static std::string getKey(exec::CollectiveOp op) {
  nd::MeshAttr mesh = nd::MeshAttr::of(op);
  bool gathers = op.getKind() == spmd::CollectiveKind::AllGather;
  Json collective = {{"kind", spmd::stringifyCollectiveKind(op.getKind())},
                     {"axes", Json::array()}};
  for (auto axis : op.getAxes().getAsRange<StringAttr>())
    collective["axes"].push_back(axis.getValue().str());
  int64_t elements = 0;
  for (Value buffer : gathers ? op.getRecv() : op.getSend()) {
    nd::TensorType type = cast<exec::BufferType>(buffer.getType()).getTensor();
    elements += type.getLocalElementCount(mesh);
    collective["type"] = getTypeName(type.getElementType());
  }
  collective["elements"] = elements;
  return getKey(collective);
}

namespace {
/// The times of a function's collectives that no described one has taken yet.
class Times {
public:
  explicit Times(ArrayRef<cost::CollectiveTime> times) {
    for (cost::CollectiveTime time : times)
      byKey[getKey(time.op)].push_back({getPlace(time.op.getLoc()), time});
  }

  /// Takes the time of the described collective: one from the same place in the
  /// model, if there is one.
  std::optional<cost::CollectiveTime> take(const Json &collective) {
    std::vector<Entry> &alike = byKey[getKey(collective)];
    if (alike.empty())
      return std::nullopt;
    auto place = collective["tensors"][0]["location"].get<std::string>();
    auto found = llvm::find_if(
        alike, [&](const Entry &entry) { return entry.place == place; });
    if (found == alike.end())
      found = alike.begin();
    cost::CollectiveTime taken = found->time;
    alike.erase(found);
    return taken;
  }

private:
  struct Entry {
    std::string place;
    cost::CollectiveTime time;
  };
  llvm::StringMap<std::vector<Entry>> byKey;
};
} // namespace

static void addTimesOf(Json &described, exec::FuncOp function,
                       const llvm::DenseMap<Operation *, size_t> &sites,
                       const cost::Machine &machine) {
  cost::StepTime time = cost::predictStep(function, machine);
  described["time"] = {{"seconds", time.seconds},
                       {"products", time.products},
                       {"kernels", time.kernels},
                       {"exposed", time.exposed}};
  Times left(time.collectives);
  for (Json &collective : described["collectives"]) {
    std::optional<cost::CollectiveTime> taken = left.take(collective);
    if (!taken)
      continue;
    collective["site"] = sites.at(taken->op);
    collective["seconds"] = taken->seconds;
    collective["exposed"] = taken->exposed;
  }
}

void addTimes(Json &report, ModuleOp module, const cost::Machine &machine) {
  report["machine"] = {{"name", machine.name}, {"source", machine.source}};
  if (int64_t cores = machine.nodeCores; cores > 0) {
    auto ranks = std::min(machine.nodeRanks, report["ranks"].get<int64_t>());
    report["machine"]["cores"] = cores;
    report["machine"]["sharing"] = ranks > cores ? ranks : 0;
  }
  llvm::DenseMap<Operation *, size_t> sites;
  for (auto [site, op] : llvm::enumerate(listSites(module)))
    sites[op] = site;
  for (auto function : module.getOps<exec::FuncOp>())
    for (Json &described : report["functions"])
      if (described["name"] == function.getSymName().str())
        addTimesOf(described, function, sites, machine);
}

} // namespace meshc::report
