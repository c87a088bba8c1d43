//===- BuildReport.cpp - the report as JSON -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/ModelPlaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Report/Dims.h"
#include "lib/Report/Padding.h"
#include "lib/Report/Place.h"
#include "lib/Report/Report.h"
#include "meshc/EscapeControls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace meshc::report {

std::string toText(const Json &json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

std::string getPlace(Location location) {
  SmallVector<FileLineColLoc> places = nd::getModelPlaces(location);
  if (places.empty())
    return "";
  FileLineColLoc file = places.front();
  return escapeControls(file.getFilename().getValue()) + ":" +
         std::to_string(file.getLine()) + ":" +
         std::to_string(file.getColumn());
}

std::string getTypeName(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

/// Whether a loop around the op may end before its last iteration.
static bool mayRunLess(Operation *op) {
  auto loop = op->getParentOfType<nd::ScanOp>();
  return loop && (loop.getConditional() || mayRunLess(loop));
}

static Json buildCollective(spmd::CollectiveOpInterface op) {
  Operation *operation = op;
  nd::MeshAttr mesh = nd::MeshAttr::of(operation);
  bool gathers = op.getCollectiveKind() == spmd::CollectiveKind::AllGather;
  Json collective;
  collective["kind"] = spmd::stringifyCollectiveKind(op.getCollectiveKind());
  if (auto reduction = op.getGroupReduction())
    collective["reduction"] = nd::stringifyReductionKind(*reduction);
  collective["axes"] = Json::array();
  for (StringAttr axis : op.getGroupAxes())
    collective["axes"].push_back(axis.getValue());
  collective["type"] =
      getTypeName(nd::getTensorType(operation->getOperand(0)).getElementType());
  collective["tensors"] = Json::array();
  int64_t elements = 0;
  for (unsigned i = 0; i < operation->getNumOperands(); ++i) {
    Value whole = gathers ? operation->getResult(i) : operation->getOperand(i);
    int64_t count = nd::getTensorType(whole).getLocalElementCount(mesh);
    spmd::Cause cause = spmd::getCause(operation, i);
    collective["tensors"].push_back({{"name", cause.name.str()},
                                     {"elements", count},
                                     {"location", getPlace(cause.location)}});
    elements += count;
  }
  int64_t calls = nd::countRuns(operation);
  collective["elements"] = elements;
  collective["calls"] = calls;
  if (mayRunLess(operation))
    collective["atMost"] = true;
  if (auto orders = op.getAxisOrders(); orders && orders->round)
    collective["onAverage"] = true;
  collective["bytes"] = Json::object();
  for (const spmd::AxisTraffic &traffic : op.getTraffic())
    collective["bytes"][traffic.axis.str()] =
        traffic.bytes * static_cast<double>(calls);
  return collective;
}

/// The dims of an op's iteration space, as they are cut.
static std::vector<CutDim> getCutDims(nd::NamedOpInterface op,
                                      nd::MeshAttr mesh) {
  std::vector<CutDim> dims;
  for (const nd::Factor &factor : op.getPartitionRule().factors) {
    auto addFirst = [&](auto values, ArrayRef<StringAttr> names) {
      for (auto [value, name] : llvm::zip(values, names)) {
        if (!name)
          continue;
        nd::TensorType type = nd::getTensorType(value);
        nd::DimAttr dim = type.getDims()[type.getDimIndex(name.getValue())];
        CutDim &cut = dims.emplace_back(CutDim{dim.getSize(), {}});
        for (StringAttr axis : dim.getAxes())
          cut.axes.push_back(mesh.getAxisIndex(axis));
        return true;
      }
      return false;
    };
    if (!addFirst(op->getResults(), factor.resultDims))
      addFirst(op->getOperands(), factor.operandDims);
  }
  return dims;
}

/// The share of a function's operations that compute padding, of each rank;
/// empty if there is none.
static std::vector<double> getPaddedWork(func::FuncOp function,
                                         nd::MeshAttr mesh) {
  double all = 0;
  std::vector<int64_t> meshSizes;
  for (nd::AxisAttr axis : mesh.getAxes())
    meshSizes.push_back(axis.getSize());
  Padding padding(std::move(meshSizes));
  function.walk([&](nd::NamedOpInterface op) {
    nd::OpCost cost = op.getCost();
    double work =
        (cost.flops + cost.transcendentals) * double(nd::countRuns(op));
    all += work;
    padding.add(work, getCutDims(op, mesh));
  });
  std::vector<double> shares = padding.getOfRanks();
  for (double &share : shares)
    share /= all;
  return shares;
}

static Json buildFunction(func::FuncOp function) {
  Json report;
  report["name"] = function.getName().str();
  report["collectives"] = Json::array();
  Json elements = Json::object(), bytes = Json::object();
  nd::MeshAttr mesh = nd::MeshAttr::of(function);
  for (nd::AxisAttr axis : mesh.getAxes())
    bytes[axis.getName().str()] = 0.0;
  function.walk([&](spmd::CollectiveOpInterface op) {
    Json collective = buildCollective(op);
    std::string axes = llvm::join(
        llvm::map_range(op.getGroupAxes(),
                        [](StringAttr axis) { return axis.getValue(); }),
        ",");
    elements[axes] = elements.value(axes, int64_t(0)) +
                     collective["elements"].get<int64_t>() *
                         collective["calls"].get<int64_t>();
    for (const auto &[axis, moved] : collective["bytes"].items())
      bytes[axis] = bytes[axis].get<double>() + moved.get<double>();
    report["collectives"].push_back(std::move(collective));
  });
  report["elements"] = elements;
  report["bytes"] = bytes;
  report["paddedWork"] = getPaddedWork(function, mesh);
  return report;
}

Json buildReport(ModuleOp module) {
  nd::MeshAttr mesh = nd::MeshAttr::of(module);
  Json report;
  report["mesh"] = describeMesh(mesh);
  report["ranks"] = mesh.getRankCount();
  report["layout"] = Json::array();
  for (auto rule : module.getOps<nd::RuleOp>())
    report["layout"].push_back(rule.getText());
  report["functions"] = Json::array();
  for (auto function : module.getOps<func::FuncOp>())
    report["functions"].push_back(buildFunction(function));
  return report;
}

void setArenaBytes(Json &report, int64_t bytes) {
  report["memory"] = {{"arenaBytes", bytes}};
}

void addBudget(Json &report, const Json &budget) {
  report["memory"]["budget"] = budget;
}

} // namespace meshc::report
