//===- CallCosts.cpp - what calls of collectives cost --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reshard/CallCosts.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace meshc::reshard {

using spmd::AxisTraffic;
using spmd::CollectiveKind;
using spmd::getRingTraffic;

static constexpr llvm::StringLiteral latencyBytesAttrName =
                                         "spmd.latency_bytes",
                                     flopsAttrName = "spmd.flops_per_byte",
                                     overlapAttrName = "spmd.overlap";

/// The number; 0 if the attribute is none that is finite and positive.
static double readPositive(Attribute attribute) {
  auto number = dyn_cast_or_null<FloatAttr>(attribute);
  bool isPositive = number && number.getValue().isFiniteNonZero() &&
                    !number.getValue().isNegative();
  return isPositive ? number.getValueAsDouble() : 0;
}

CallCosts CallCosts::of(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  CallCosts costs;
  costs.overlap = std::min(1.0, readPositive(module->getAttr(overlapAttrName)));
  if (auto axes = module->getAttrOfType<DictionaryAttr>(latencyBytesAttrName))
    for (NamedAttribute axis : axes)
      if (double bytes = readPositive(axis.getValue()); bytes > 0)
        costs.latencyBytes[axis.getName()] = bytes;
  if (auto types = module->getAttrOfType<DictionaryAttr>(flopsAttrName))
    for (NamedAttribute type : types)
      if (double flops = readPositive(type.getValue()); flops > 0)
        costs.flopsPerByte[type.getName()] = flops;
  return costs;
}

void setCallCosts(Operation *module, const CallCosts &costs) {
  Builder builder(module->getContext());
  llvm::SmallVector<NamedAttribute> axes;
  for (auto [axis, bytes] : costs.latencyBytes)
    axes.push_back(
        builder.getNamedAttr(axis.getValue(), builder.getF64FloatAttr(bytes)));
  module->setAttr(latencyBytesAttrName, builder.getDictionaryAttr(axes));
  llvm::SmallVector<NamedAttribute> types;
  for (const auto &[type, flops] : costs.flopsPerByte)
    types.push_back(builder.getNamedAttr(type, builder.getF64FloatAttr(flops)));
  module->setAttr(flopsAttrName, builder.getDictionaryAttr(types));
  module->setAttr(overlapAttrName, builder.getF64FloatAttr(costs.overlap));
}

double CallCosts::getByteCost(CollectiveKind kind, ArrayRef<StringAttr> axes,
                              nd::MeshAttr mesh,
                              const ReshardPlanner &planner) {
  double cost = 0;
  for (const AxisTraffic &level : getRingTraffic(kind, axes, 1, mesh))
    cost += level.bytes * planner.getByteCost(level.axis);
  return cost;
}

double CallCosts::getLatencyBytes(CollectiveKind kind,
                                  ArrayRef<StringAttr> axes, nd::MeshAttr mesh,
                                  const ReshardPlanner &planner) const {
  if (overlap == 0)
    return 0;
  double passes = kind == CollectiveKind::AllReduce ? 2 : 1;
  double latency = 0;
  for (const AxisTraffic &level : getRingTraffic(kind, axes, 1, mesh)) {
    auto size = static_cast<double>(mesh.getAxisSize(level.axis));
    double messages = kind == CollectiveKind::Permute ? 1 : passes * (size - 1);
    latency += messages * latencyBytes.lookup(level.axis) *
               planner.getByteCost(level.axis);
  }
  double perByte = getByteCost(kind, axes, mesh, planner);
  return perByte > 0 ? latency / perByte : 0;
}

double CallCosts::getBytesDuring(double flops, Type element) const {
  std::string name;
  llvm::raw_string_ostream(name) << element;
  auto known = flopsPerByte.find(name);
  if (known == flopsPerByte.end())
    known = flopsPerByte.find("f32");
  return known == flopsPerByte.end() ? 0 : flops / known->second;
}

} // namespace meshc::reshard
