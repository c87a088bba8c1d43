//===- ReshardPlan.cpp - the cheapest way between two shardings -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reshard/ReshardPlan.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Reshard/ReshardBound.h"
#include "lib/Reshard/ReshardSearch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include <array>
#include <limits>

using namespace mlir;

namespace meshc::reshard {

using nd::MeshAttr;
using nd::TensorType;
using spmd::AxisList;
using spmd::dropPartial;
using spmd::getFurtherPartial;
using spmd::mayRound;
using spmd::SpmdDialect;

/// Makes one slice of neighbouring slices of one dim.
static void mergeSlices(llvm::SmallVectorImpl<ReshardStep> &steps) {
  llvm::SmallVector<ReshardStep> merged;
  for (ReshardStep &step : steps) {
    if (!merged.empty() && !step.kind && !merged.back().kind &&
        merged.back().to == step.to) {
      merged.back().axes.append(step.axes);
      merged.back().result = step.result;
      continue;
    }
    merged.push_back(step);
  }
  steps = merged;
}

/// The cheapest plan within the bound, or of those with the least memory.
static ReshardPlan makePlan(TensorType from, TensorType to, MeshAttr mesh,
                            const ByteCosts &byteCosts, double memoryBound) {
  auto search = [&](double bound, Objective objective) {
    return searchReshard(from, to, mesh, byteCosts, bound, objective);
  };
  if (auto plan = search(memoryBound, Objective::Cost))
    return *plan;
  constexpr double anyMemory = std::numeric_limits<double>::infinity();
  ReshardPlan least = *search(anyMemory, Objective::Memory);
  return search(least.peak, Objective::Cost).value_or(least);
}

ReshardPlan ReshardPlanner::makeWhole(TensorType from, TensorType to) const {
  if (from == to)
    return {};
  double larger = std::max(from.getLocalBytes(mesh), to.getLocalBytes(mesh));
  ReshardPlan plan =
      makePlan(from, to, mesh, byteCosts, memoryBound.value_or(2 * larger));
  mergeSlices(plan.steps);
  return plan;
}

/// Whether steps lead from one to the other.
static bool isReachable(TensorType from, TensorType to) {
  const bool changesKind = from.isPartial() && to.isPartial() &&
                           from.getPartialKind() != to.getPartialKind();
  return !changesKind && mayRound(from, to);
}

double ReshardPlanner::getLeastCost(TensorType from, TensorType to) {
  if (from == to)
    return 0;
  if (auto plan = known.find({from, to}); plan != known.end())
    return plan->second->cost;
  auto [cost, isNew] = least.try_emplace({from, to}, 0);
  if (!isNew)
    return cost->second;
  if (!isReachable(from, to)) {
    cost->second = std::numeric_limits<double>::infinity();
  } else {
    TensorType whole = dropPartial(to, getFurtherPartial(to, from));
    cost->second =
        getLeastByteCost(byteCosts) * getLeastBytesOverAll(from, whole, mesh);
  }
  return cost->second;
}

double ReshardPlanner::getByteCost(ArrayRef<StringAttr> axes) const {
  return reshard::getByteCost(byteCosts, axes);
}

double ReshardPlanner::getDearestByte() const {
  double dearest = 1;
  for (auto [axis, cost] : byteCosts)
    dearest = std::max(dearest, cost);
  return dearest;
}

ReshardPlan ReshardPlanner::make(TensorType from, TensorType to) const {
  ReshardPlan plan;
  if (!isReachable(from, to)) {
    plan.bytes = plan.cost = std::numeric_limits<double>::infinity();
    return plan;
  }
  // What becomes partial is a local matter, and comes last.
  AxisList added = getFurtherPartial(to, from);
  TensorType whole = dropPartial(to, added);
  plan = makeWhole(from, whole);
  if (!added.empty()) {
    ReshardStep step{std::nullopt, added, {}, {}, to};
    plan.peak = std::max(plan.peak, getMemory(whole, step, mesh));
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

const ReshardPlan &ReshardPlanner::plan(TensorType from, TensorType to) {
  const ReshardPlan *&plan = known[{from, to}];
  if (!plan)
    plan = &plans->get(from, to, [&] { return make(from, to); });
  return *plan;
}

const ReshardPlan &ReshardPlans::get(TensorType from, TensorType to,
                                     llvm::function_ref<ReshardPlan()> make) {
  std::pair<const void *, const void *> key(from.getAsOpaquePointer(),
                                            to.getAsOpaquePointer());
  {
    std::lock_guard lock(mutex);
    if (auto known = plans.find(key); known != plans.end())
      return known->second;
  }
  ReshardPlan plan = make();
  std::lock_guard lock(mutex);
  return plans.try_emplace(key, std::move(plan)).first->second;
}

//===----------------------------------------------------------------------===//
// Planners of modules
//===----------------------------------------------------------------------===//

namespace detail {
/// The plans of a context, by mesh, memory bound and costs of bytes.
class SharedPlans {
public:
  using Key = std::array<const void *, 3>;

  std::shared_ptr<ReshardPlans> get(const Key &key) {
    std::lock_guard lock(mutex);
    std::shared_ptr<ReshardPlans> &known = plans[key];
    if (!known)
      known = std::make_shared<ReshardPlans>();
    return known;
  }

private:
  std::mutex mutex;
  std::map<Key, std::shared_ptr<ReshardPlans>> plans;
};
} // namespace detail

static constexpr llvm::StringLiteral memoryBoundAttrName = "spmd.memory_bound",
                                     byteCostsAttrName = "spmd.byte_costs";

void setMemoryBound(Operation *module, int64_t bytes) {
  Builder builder(module->getContext());
  module->setAttr(memoryBoundAttrName, builder.getI64IntegerAttr(bytes));
}

void setByteCosts(Operation *module, const ByteCosts &costs) {
  Builder builder(module->getContext());
  llvm::SmallVector<NamedAttribute> entries;
  for (auto [axis, cost] : costs)
    entries.push_back(
        builder.getNamedAttr(axis.getValue(), builder.getF64FloatAttr(cost)));
  module->setAttr(byteCostsAttrName, builder.getDictionaryAttr(entries));
}

/// The number, if it is finite and positive.
static std::optional<double> readCost(Attribute attribute) {
  auto cost = dyn_cast_or_null<FloatAttr>(attribute);
  if (!cost || !cost.getValue().isFiniteNonZero() ||
      cost.getValue().isNegative())
    return std::nullopt;
  return cost.getValueAsDouble();
}

static ByteCosts readByteCosts(ModuleOp module) {
  ByteCosts costs;
  if (auto entries = module->getAttrOfType<DictionaryAttr>(byteCostsAttrName))
    for (NamedAttribute entry : entries)
      if (std::optional<double> cost = readCost(entry.getValue()))
        costs[entry.getName()] = *cost;
  return costs;
}

ReshardPlanner ReshardPlanner::of(Operation *op, double pointCost) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  MeshAttr mesh = MeshAttr::of(op);
  auto bound = module->getAttrOfType<IntegerAttr>(memoryBoundAttrName);
  ReshardPlanner planner(
      mesh,
      bound ? std::optional<double>(static_cast<double>(bound.getInt()))
            : std::nullopt,
      readByteCosts(module), pointCost);
  if (auto *dialect = op->getContext()->getLoadedDialect<SpmdDialect>())
    planner.plans = dialect->getSharedObjects().get<detail::SharedPlans>().get(
        {mesh.getAsOpaquePointer(), bound.getAsOpaquePointer(),
         module->getAttr(byteCostsAttrName).getAsOpaquePointer()});
  return planner;
}

} // namespace meshc::reshard
