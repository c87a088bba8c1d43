//===- DescribeTimes.cpp - predicted times in the report ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/StepTime.h"
#include "lib/Report/Place.h"
#include "lib/Report/Report.h"
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

/// Takes the time of the described collective from those of its function: one
/// from the same place in the model, if there is one.
static std::optional<cost::CollectiveTime>
takeTime(const Json &collective, std::vector<cost::CollectiveTime> &times) {
  std::string key = getKey(collective);
  auto place = collective["tensors"][0]["location"].get<std::string>();
  auto best = times.end();
  for (auto time = times.begin(); time != times.end(); ++time) {
    if (getKey(time->op) != key)
      continue;
    bool isThere = getPlace(time->op.getLoc()) == place;
    if (best == times.end() || isThere)
      best = time;
    if (isThere)
      break;
  }
  if (best == times.end())
    return std::nullopt;
  cost::CollectiveTime taken = *best;
  times.erase(best);
  return taken;
}

void addTimes(Json &report, ModuleOp module, const cost::Machine &machine) {
  report["machine"] = {{"name", machine.name}, {"source", machine.source}};
  for (auto function : module.getOps<exec::FuncOp>())
    for (Json &known : report["functions"]) {
      if (known["name"] != function.getSymName().str())
        continue;
      cost::StepTime time = cost::predictStep(function, machine);
      known["time"] = {{"seconds", time.seconds},
                       {"products", time.products},
                       {"kernels", time.kernels},
                       {"exposed", time.exposed}};
      std::vector<cost::CollectiveTime> left(time.collectives.begin(),
                                             time.collectives.end());
      for (Json &collective : known["collectives"])
        if (auto taken = takeTime(collective, left)) {
          collective["seconds"] = taken->seconds;
          collective["exposed"] = taken->exposed;
        }
    }
}

} // namespace meshc::report
