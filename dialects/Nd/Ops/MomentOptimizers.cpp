//===- MomentOptimizers.cpp - updates of each element by itself -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Optimizer.h"
#include <cmath>

using namespace mlir;

namespace meshc::nd {

//===----------------------------------------------------------------------===//
// sgd, momentum
//===----------------------------------------------------------------------===//

template <> struct Optimizer<SgdUpdateOp> {
  static constexpr OpCost cost = {4, 0};
  static constexpr bool countsUpdates = false;
  static OptimizerSettings settings() {
    return {{"lr", std::nullopt}, {"weight_decay", 0.0}};
  }
  static OptimizerSlots slots(TensorType, StackedDims, DictionaryAttr) {
    return {};
  }
  static void evaluate(ReferenceUpdate &u) {
    double rate = u.get("lr"), decay = u.get("weight_decay");
    for (size_t i = 0; i < u.size(); ++i) {
      double p = u.getParameters()[i];
      u.set(0, i, p - rate * (u.getGradients()[i] + decay * p));
    }
  }
  static SmallVector<Value> decompose(UpdateBuilder &u) {
    Value p = u.getParameter();
    Value g = u.addScaled(u.getGradient(), p, u.get("weight_decay"));
    return {u.sub(p, u.mul(g, u.materialize(u.get("lr"))))};
  }
};
MESHC_OPTIMIZER_OP(SgdUpdateOp)

template <> struct Optimizer<MomentumUpdateOp> {
  static constexpr OpCost cost = {8, 0};
  static constexpr bool countsUpdates = false;
  static OptimizerSettings settings() {
    return {{"lr", std::nullopt},
            {"momentum", 0.9, 1},
            makeSwitch("nesterov", false),
            {"weight_decay", 0.0}};
  }
  static OptimizerSlots slots(TensorType parameter, StackedDims,
                              DictionaryAttr) {
    return makeSlots(parameter, {"velocity"});
  }
  static void evaluate(ReferenceUpdate &u) {
    double rate = u.get("lr"), decay = u.get("weight_decay");
    double momentum = u.get("momentum");
    for (size_t i = 0; i < u.size(); ++i) {
      double p = u.getParameters()[i], g = u.getGradients()[i] + decay * p;
      double v = momentum * u.getSlot(0)[i] + g;
      double direction = u.isOn("nesterov") ? g + momentum * v : v;
      u.set(0, i, p - rate * direction);
      u.set(1, i, v);
    }
  }
  static SmallVector<Value> decompose(UpdateBuilder &u) {
    UpdateScalar momentum = u.get("momentum");
    Value p = u.getParameter();
    Value g = u.addScaled(u.getGradient(), p, u.get("weight_decay"));
    Value v = u.addScaled(g, u.getSlot(0), momentum);
    Value direction = u.isOn("nesterov") ? u.addScaled(g, v, momentum) : v;
    Value rate = u.materialize(u.get("lr"));
    return {u.sub(p, u.mul(direction, rate)), v};
  }
};
MESHC_OPTIMIZER_OP(MomentumUpdateOp)

//===----------------------------------------------------------------------===//
// adam, adamw
//===----------------------------------------------------------------------===//

/// Adam with the decay of the weights in the gradient (adam) or beside it
/// (adamw).
template <bool isDecoupled> struct AdamFamily {
  static constexpr OpCost cost = {12, 2};
  static constexpr bool countsUpdates = true;
  static OptimizerSettings settings() {
    return {{"lr", std::nullopt},
            {"beta1", 0.9, 1},
            {"beta2", 0.999, 1},
            {"epsilon", 1e-8},
            {"weight_decay", isDecoupled ? 0.01 : 0.0}};
  }
  static OptimizerSlots slots(TensorType parameter, StackedDims,
                              DictionaryAttr) {
    return makeSlots(parameter, {"m", "v"});
  }
  static void evaluate(ReferenceUpdate &u) {
    double rate = u.get("lr"), decay = u.get("weight_decay");
    double beta1 = u.get("beta1"), beta2 = u.get("beta2");
    double epsilon = u.get("epsilon");
    double correction1 = 1 - std::pow(beta1, u.t);
    double correction2 = 1 - std::pow(beta2, u.t);
    for (size_t i = 0; i < u.size(); ++i) {
      double p = u.getParameters()[i], g = u.getGradients()[i];
      if (!isDecoupled)
        g += decay * p;
      double m = beta1 * u.getSlot(0)[i] + (1 - beta1) * g;
      double v = beta2 * u.getSlot(1)[i] + (1 - beta2) * g * g;
      double direction =
          m / correction1 / (std::sqrt(v / correction2) + epsilon);
      u.set(0, i, (isDecoupled ? p - rate * decay * p : p) - rate * direction);
      u.set(1, i, m);
      u.set(2, i, v);
    }
  }
  // p·(1 - rate·decay) - (rate/c1·m) / (√v·(1/√c2) + epsilon): one square root
  // and one division per element, the corrections c1 and c2 on scalars.
  static SmallVector<Value> decompose(UpdateBuilder &u) {
    UpdateScalar rate = u.get("lr");
    UpdateScalar beta1 = u.get("beta1"), beta2 = u.get("beta2");
    UpdateScalar stepSize = u.div(rate, u.getCorrection(beta1));
    UpdateScalar rootScale = u.rsqrt(u.getCorrection(beta2));
    Value p = u.getParameter(), g = u.getGradient();
    if (!isDecoupled)
      g = u.addScaled(g, p, u.get("weight_decay"));
    Value m = u.average(u.getSlot(0), g, beta1);
    Value v = u.average(u.getSlot(1), u.build.make<SquareOp>(g), beta2);
    Value root = u.scale(u.build.make<SqrtOp>(v), rootScale);
    Value size = u.add(root, u.materialize(u.get("epsilon")));
    Value direction = u.div(u.scale(m, stepSize), size);
    if (isDecoupled)
      p = u.decay(p, rate);
    return {u.sub(p, direction), m, v};
  }
};
template <> struct Optimizer<AdamUpdateOp> : AdamFamily<false> {};
template <> struct Optimizer<AdamwUpdateOp> : AdamFamily<true> {};
MESHC_OPTIMIZER_OP(AdamUpdateOp)
MESHC_OPTIMIZER_OP(AdamwUpdateOp)

//===----------------------------------------------------------------------===//
// lion
//===----------------------------------------------------------------------===//

template <> struct Optimizer<LionUpdateOp> {
  static constexpr OpCost cost = {12, 0};
  static constexpr bool countsUpdates = false;
  static OptimizerSettings settings() {
    return {{"lr", std::nullopt},
            {"beta1", 0.9, 1},
            {"beta2", 0.99, 1},
            {"weight_decay", 0.0}};
  }
  static OptimizerSlots slots(TensorType parameter, StackedDims,
                              DictionaryAttr) {
    return makeSlots(parameter, {"m"});
  }
  static void evaluate(ReferenceUpdate &u) {
    double rate = u.get("lr"), decay = u.get("weight_decay");
    double beta1 = u.get("beta1"), beta2 = u.get("beta2");
    for (size_t i = 0; i < u.size(); ++i) {
      double p = u.getParameters()[i], g = u.getGradients()[i];
      double m = u.getSlot(0)[i];
      double direction = beta1 * m + (1 - beta1) * g;
      double sign = direction > 0 ? 1 : direction < 0 ? -1 : direction;
      u.set(0, i, p - rate * decay * p - rate * sign);
      u.set(1, i, beta2 * m + (1 - beta2) * g);
    }
  }
  static SmallVector<Value> decompose(UpdateBuilder &u) {
    UpdateScalar rate = u.get("lr");
    Value g = u.getGradient(), m = u.getSlot(0);
    Value sign = u.build.make<SignOp>(u.average(m, g, u.get("beta1")));
    Value p = u.decay(u.getParameter(), rate);
    return {u.sub(p, u.scale(sign, rate)), u.average(m, g, u.get("beta2"))};
  }
};
MESHC_OPTIMIZER_OP(LionUpdateOp)

} // namespace meshc::nd
