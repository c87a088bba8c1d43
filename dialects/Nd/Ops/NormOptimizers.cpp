//===- NormOptimizers.cpp - updates that look at whole parameters ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Norms are reductions of nd, so that the partitioner sums the parts of a
// parameter that is cut over the axes that cut it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Optimizer.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include <cmath>

using namespace mlir;

namespace meshc::nd {

/// The norm of a parameter, or of each of its entries.
static Value buildNorm(UpdateBuilder &u, Value x) {
  return u.build.make<SqrtOp>(u.sum(u.build.make<SquareOp>(x)));
}

namespace {
/// Sums over each entry of the stacked dims, in the reference semantics.
class EntrySums {
public:
  explicit EntrySums(const ReferenceUpdate &u)
      : entry(u.project(u.getEntryType())),
        count(u.getEntryType().getElementCount()) {}

  /// For each element of the parameter, the sum of squares of its entry.
  std::vector<double> sumSquares(const std::vector<double> &values) const {
    std::vector<double> sums(count), result;
    for (size_t i = 0; i < values.size(); ++i)
      sums[entry[i]] += values[i] * values[i];
    for (size_t i = 0; i < values.size(); ++i)
      result.push_back(sums[entry[i]]);
    return result;
  }
  /// Elements of an entry.
  double getSize() const { return double(entry.size()) / double(count); }

private:
  std::vector<size_t> entry;
  size_t count;
};
} // namespace

/// a/b where both are positive, else 1.
static double getRatio(double a, double b, double factor = 1) {
  return a > 0 && b > 0 ? factor * a / b : 1;
}
static Value buildRatio(UpdateBuilder &u, Value a, Value b) {
  Value one = u.materialize(1.0);
  Value ratio = u.div(a, u.wherePositive(b, b, one));
  return u.wherePositive(a, u.wherePositive(b, ratio, one), one);
}

//===----------------------------------------------------------------------===//
// lars
//===----------------------------------------------------------------------===//

template <> struct Optimizer<LarsUpdateOp> {
  static constexpr OpCost cost = {12, 0};
  static constexpr bool countsUpdates = false;
  static OptimizerSettings settings() {
    return {{"lr", std::nullopt},
            {"momentum", 0.9, 1},
            {"weight_decay", 0.0},
            {"trust", 0.001},
            makeSwitch("adaptive", true)};
  }
  static OptimizerSlots slots(TensorType parameter, StackedDims,
                              DictionaryAttr) {
    return makeSlots(parameter, {"velocity"});
  }
  static void evaluate(ReferenceUpdate &u) {
    double rate = u.get("lr"), decay = u.get("weight_decay");
    double momentum = u.get("momentum"), trust = u.get("trust");
    EntrySums sums(u);
    std::vector<double> pp = sums.sumSquares(u.getParameters());
    std::vector<double> gg = sums.sumSquares(u.getGradients());
    for (size_t i = 0; i < u.size(); ++i) {
      double p = u.getParameters()[i], g = u.getGradients()[i] + decay * p;
      double size = std::sqrt(pp[i]), slope = std::sqrt(gg[i]);
      double local = 1;
      if (u.isOn("adaptive") && slope > 0)
        local = getRatio(size, slope + decay * size, trust);
      double v = momentum * u.getSlot(0)[i] + rate * local * g;
      u.set(0, i, p - v);
      u.set(1, i, v);
    }
  }
  static SmallVector<Value> decompose(UpdateBuilder &u) {
    UpdateScalar decay = u.get("weight_decay");
    Value p = u.getParameter(), g = u.getGradient();
    Value step = u.scale(u.addScaled(g, p, decay), u.get("lr"));
    if (u.isOn("adaptive")) {
      Value one = u.materialize(1.0);
      Value size = buildNorm(u, p), slope = buildNorm(u, g);
      Value bound = u.addScaled(slope, size, decay);
      Value ratio = u.div(u.scale(size, u.get("trust")),
                          u.wherePositive(bound, bound, one));
      Value local =
          u.wherePositive(size, u.wherePositive(slope, ratio, one), one);
      step = u.mul(step, local);
    }
    Value v = u.addScaled(step, u.getSlot(0), u.get("momentum"));
    return {u.sub(p, v), v};
  }
};
MESHC_OPTIMIZER_OP(LarsUpdateOp)

//===----------------------------------------------------------------------===//
// lamb
//===----------------------------------------------------------------------===//

template <> struct Optimizer<LambUpdateOp> {
  static constexpr OpCost cost = {18, 2};
  static constexpr bool countsUpdates = true;
  static OptimizerSettings settings() {
    return {{"lr", std::nullopt},  {"beta1", 0.9, 1},
            {"beta2", 0.999, 1},   {"epsilon", 1e-6},
            {"weight_decay", 0.0}, makeSwitch("adaptive", true)};
  }
  static OptimizerSlots slots(TensorType parameter, StackedDims,
                              DictionaryAttr) {
    return makeSlots(parameter, {"m", "v"});
  }
  static void evaluate(ReferenceUpdate &u) {
    double beta1 = u.get("beta1"), beta2 = u.get("beta2");
    double epsilon = u.get("epsilon"), decay = u.get("weight_decay");
    double correction1 = 1 - std::pow(beta1, u.t);
    double correction2 = 1 - std::pow(beta2, u.t);
    std::vector<double> direction;
    for (size_t i = 0; i < u.size(); ++i) {
      double p = u.getParameters()[i], g = u.getGradients()[i];
      double m = beta1 * u.getSlot(0)[i] + (1 - beta1) * g;
      double v = beta2 * u.getSlot(1)[i] + (1 - beta2) * g * g;
      u.set(1, i, m);
      u.set(2, i, v);
      direction.push_back(
          m / correction1 / (std::sqrt(v / correction2) + epsilon) + decay * p);
    }
    EntrySums sums(u);
    std::vector<double> pp = sums.sumSquares(u.getParameters());
    std::vector<double> rr = sums.sumSquares(direction);
    for (size_t i = 0; i < u.size(); ++i) {
      double ratio =
          u.isOn("adaptive") ? getRatio(std::sqrt(pp[i]), std::sqrt(rr[i])) : 1;
      u.set(0, i, u.getParameters()[i] - u.get("lr") * ratio * direction[i]);
    }
  }
  static SmallVector<Value> decompose(UpdateBuilder &u) {
    UpdateScalar beta1 = u.get("beta1"), beta2 = u.get("beta2");
    UpdateScalar momentScale = u.div(1.0, u.getCorrection(beta1));
    UpdateScalar rootScale = u.rsqrt(u.getCorrection(beta2));
    Value p = u.getParameter(), g = u.getGradient();
    Value m = u.average(u.getSlot(0), g, beta1);
    Value v = u.average(u.getSlot(1), u.build.make<SquareOp>(g), beta2);
    Value root = u.scale(u.build.make<SqrtOp>(v), rootScale);
    Value size = u.add(root, u.materialize(u.get("epsilon")));
    Value direction = u.addScaled(u.div(u.scale(m, momentScale), size), p,
                                  u.get("weight_decay"));
    Value factor = u.materialize(u.get("lr"));
    if (u.isOn("adaptive"))
      factor = u.mul(factor,
                     buildRatio(u, buildNorm(u, p), buildNorm(u, direction)));
    return {u.sub(p, u.mul(direction, factor)), m, v};
  }
};
MESHC_OPTIMIZER_OP(LambUpdateOp)

//===----------------------------------------------------------------------===//
// adafactor
//===----------------------------------------------------------------------===//

/// The two largest dims that are not stacked (of dims of one size, the first by
/// name), if both have at least `min_factored` entries; nothing otherwise.
static std::optional<std::pair<DimAttr, DimAttr>>
getFactoredDims(TensorType parameter, StackedDims stacked, double least) {
  SmallVector<DimAttr> dims;
  for (DimAttr dim : parameter.getDims())
    if (!llvm::is_contained(stacked, dim.getName()))
      dims.push_back(dim);
  llvm::sort(dims, [](DimAttr a, DimAttr b) {
    return std::tuple(-a.getSize(), a.getName().getValue()) <
           std::tuple(-b.getSize(), b.getName().getValue());
  });
  if (dims.size() < 2 || double(dims[1].getSize()) < least)
    return std::nullopt;
  return std::pair(dims[0], dims[1]);
}

template <> struct Optimizer<AdafactorUpdateOp> {
  static constexpr OpCost cost = {16, 2};
  static constexpr bool countsUpdates = true;
  static constexpr double defaultLeast = 128;
  static OptimizerSettings settings() {
    constexpr double unlimited = std::numeric_limits<double>::infinity();
    return {{"lr", std::nullopt},
            {"decay_rate", 0.8},
            {"epsilon1", 1e-30},
            {"epsilon2", 1e-3},
            {"clip_threshold", 1.0},
            {"weight_decay", 0.0},
            makeSwitch("relative", true),
            {"min_factored", defaultLeast, unlimited,
             OptimizerSetting::Kind::Count}};
  }
  static OptimizerSlots slots(TensorType parameter, StackedDims stacked,
                              DictionaryAttr settings) {
    auto least =
        settings ? settings.getAs<FloatAttr>("min_factored") : FloatAttr();
    auto dims = getFactoredDims(
        parameter, stacked, least ? least.getValueAsDouble() : defaultLeast);
    OptimizerSlots slots = makeSlots(parameter, {"v"});
    if (!dims)
      return slots;
    TensorType full = slots[0].type;
    return {{"row", full.withoutDims(dims->second.getName())},
            {"col", full.withoutDims(dims->first.getName())}};
  }

  static void evaluate(ReferenceUpdate &u) {
    double rate = u.get("lr");
    std::vector<double> update = scaleGradient(u);
    EntrySums sums(u);
    std::vector<double> uu = sums.sumSquares(update);
    std::vector<double> pp = sums.sumSquares(u.getParameters());
    for (size_t i = 0; i < u.size(); ++i) {
      double p = u.getParameters()[i];
      double size = std::sqrt(uu[i] / sums.getSize());
      double excess = std::max(1.0, size / u.get("clip_threshold"));
      double step = rate;
      if (u.isOn("relative"))
        step *= std::max(u.get("epsilon2"), std::sqrt(pp[i] / sums.getSize()));
      u.set(0, i,
            p * (1 - rate * u.get("weight_decay")) - step * update[i] / excess);
    }
  }

  static SmallVector<Value> decompose(UpdateBuilder &u) {
    Value p = u.getParameter();
    SmallVector<Value> slots;
    Value update = buildScaledGradient(u, slots);
    Value one = u.materialize(1.0);
    UpdateScalar perUnit = u.div(1.0, u.get("clip_threshold"));
    Value excess = u.build.make<MaximumOp>(
        u.scale(buildRootMean(u, update), perUnit), one);
    UpdateScalar rate = u.get("lr");
    Value step = u.materialize(rate);
    if (u.isOn("relative"))
      step = u.mul(step,
                   u.build.make<MaximumOp>(buildRootMean(u, p),
                                           u.materialize(u.get("epsilon2"))));
    Value updated = u.sub(u.decay(p, rate), u.mul(update, u.div(step, excess)));
    slots.insert(slots.begin(), updated);
    return slots;
  }

private:
  static auto getDims(const UpdateParts &u) {
    return getFactoredDims(getTensorType(u.op->getOperand(0)), u.stacked,
                           *u.getConstant("min_factored"));
  }

  /// g / √v by the factors of v; sets the slots.
  static std::vector<double> scaleGradient(ReferenceUpdate &u) {
    // The weight of the newest squares: beta2 = 1 - t^-decay_rate.
    double weight = std::pow(u.t, -u.get("decay_rate"));
    std::vector<std::vector<double>> averages;
    std::vector<std::vector<size_t>> places;
    for (auto [index, slot] : llvm::enumerate(u.getMoments())) {
      std::vector<size_t> place = u.project(slot.type);
      std::vector<double> mean(slot.type.getElementCount());
      double count = double(u.size()) / double(mean.size());
      for (size_t i = 0; i < u.size(); ++i)
        mean[place[i]] +=
            (u.getGradients()[i] * u.getGradients()[i] + u.get("epsilon1")) /
            count;
      for (size_t k = 0; k < mean.size(); ++k) {
        mean[k] = (1 - weight) * u.getSlot(index)[k] + weight * mean[k];
        u.set(index + 1, k, mean[k]);
      }
      averages.push_back(mean);
      places.push_back(place);
    }
    // The mean of the rows' averages, for each pair of a row and a column.
    std::vector<double> rows(u.size(), 1.0);
    if (auto dims = getDims(u)) {
      TensorType type = u.slots[0].type.withoutDims(dims->first.getName());
      std::vector<size_t> place = u.project(type);
      std::vector<double> mean(type.getElementCount());
      for (size_t i = 0; i < u.size(); ++i)
        mean[place[i]] +=
            averages[0][places[0][i]] * double(mean.size()) / double(u.size());
      for (size_t i = 0; i < u.size(); ++i)
        rows[i] = mean[place[i]];
    }
    std::vector<double> update;
    for (size_t i = 0; i < u.size(); ++i) {
      double v = averages[0][places[0][i]] / rows[i];
      if (averages.size() == 2)
        v *= averages[1][places[1][i]];
      update.push_back(u.getGradients()[i] / std::sqrt(v));
    }
    return update;
  }

  static Value buildMean(UpdateBuilder &u, Value x, DimAttr dim) {
    Value sum = u.build.reduce<ReduceSumOp>(x, dim.getName());
    return u.scale(sum, 1.0 / double(dim.getSize()));
  }

  static Value buildRootMean(UpdateBuilder &u, Value x) {
    double size = double(getTensorType(x).getElementCount()) /
                  double(u.getEntryType().getElementCount());
    Value sum = u.sum(u.build.make<SquareOp>(x));
    return u.build.make<SqrtOp>(u.scale(sum, 1 / size));
  }

  // g·√(mean of rows / row)·√(1 / column): the product of a row and a column
  // could be too small for f32.
  static Value buildScaledGradient(UpdateBuilder &u,
                                   SmallVectorImpl<Value> &slots) {
    Value g = u.getGradient();
    Value square =
        u.add(u.build.make<SquareOp>(g), u.materialize(u.get("epsilon1")));
    Value log = u.build.make<LogOp>(u.materialize(u.getStep()));
    Value exponent = u.build.make<NegOp>(u.scale(log, u.get("decay_rate")));
    Value weight = u.build.make<ExpOp>(exponent);
    auto average = [&](unsigned slot, Value mean) {
      Value old = u.getSlot(slot);
      slots.push_back(u.add(old, u.mul(u.sub(mean, old), weight)));
      return slots.back();
    };
    auto dims = getDims(u);
    if (!dims)
      return u.mul(g, u.build.make<RsqrtOp>(average(0, square)));
    Value row = average(0, buildMean(u, square, dims->second));
    Value col = average(1, buildMean(u, square, dims->first));
    Value share = u.div(row, buildMean(u, row, dims->first));
    return u.mul(u.mul(g, u.build.make<RsqrtOp>(share)),
                 u.build.make<RsqrtOp>(col));
  }
};
MESHC_OPTIMIZER_OP(AdafactorUpdateOp)

} // namespace meshc::nd
