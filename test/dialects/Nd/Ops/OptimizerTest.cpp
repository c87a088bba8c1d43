//===- OptimizerTest.cpp - updates of parameters --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/OptimizerOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

class Optimizer : public GradientCheck {
protected:
  /// One update of a parameter of one entry; slots in and out after it.
  template <typename Op>
  Values update(double p, double g, double rate, double step,
                const Values &slots, ArrayRef<NamedAttribute> attributes = {}) {
    TensorType t = tensor(f32(), {{"n", 1}});
    SmallVector<Type> types = {t, t, tensor(f32()), tensor(i32())};
    std::vector<Values> arguments = {{p}, {g}, {rate}, {step}};
    for (double slot : slots) {
      types.push_back(t);
      arguments.push_back({slot});
    }
    SmallVector<Type> results(slots.size() + 1, t);
    auto body = [&](ValueBuilder &, ValueRange x) {
      auto op =
          Op::create(builder, builder.getUnknownLoc(), results, x, attributes);
      return SmallVector<Value>(op->getResults());
    };
    auto values =
        evaluate(makeFunction(types, body), arguments, getEvaluation(true));
    checkDecomposition(types, body, arguments);
    Values flat;
    for (const Values &value : values)
      flat.push_back(value[0]);
    return flat;
  }
  NamedAttribute set(StringRef name, double value) {
    return {builder.getStringAttr(name), builder.getF64FloatAttr(value)};
  }
};

TEST_F(Optimizer, Sgd) {
  expectNear(update<SgdUpdateOp>(1, 0.5, 0.1, 0, {}), {0.95}, 1e-7);
  expectNear(update<SgdUpdateOp>(1, 0.5, 0.1, 0, {}, set("weight_decay", 0.1)),
             {0.94}, 1e-7);
}

TEST_F(Optimizer, Momentum) {
  // torch.optim.SGD(lr=0.1, momentum=0.9): v = 0.9·2 + 0.5 = 2.3.
  expectNear(update<MomentumUpdateOp>(1, 0.5, 0.1, 3, {2}), {0.77, 2.3}, 1e-7);
  // nesterov=True, weight_decay=0.1: g = 0.6, v = 2.4, d = 0.6 + 0.9·2.4.
  expectNear(
      update<MomentumUpdateOp>(1, 0.5, 0.1, 3, {2},
                               {set("nesterov", 1), set("weight_decay", 0.1)}),
      {0.724, 2.4}, 1e-7);
}

TEST_F(Optimizer, AdamwFirstStep) {
  // The corrected moments are g and g²: p·(1 - 0.1·0.01) - 0.1·sign(g).
  expectNear(update<AdamwUpdateOp>(1, 0.5, 0.1, 0, {0, 0}),
             {0.899, 0.05, 0.00025}, 1e-6);
}

TEST_F(Optimizer, AdamwLaterStep) {
  // Step t = 10 by the formulas of torch.optim.AdamW(lr=0.01, betas=(0.9,
  // 0.999), eps=1e-8, weight_decay=0.1) in double precision:
  // m = 0.9·0.2 + 0.1·-0.3 = 0.15; v = 0.999·0.04 + 0.001·0.09 = 0.04005;
  // c1 = 1 - 0.9^10 = 0.6513215599; c2 = 1 - 0.999^10 = 0.009955119790251765;
  // p = 2·(1 - 0.001) - 0.01·(m/c1)/(√(v/c2) + 1e-8).
  double direction =
      0.15 / 0.6513215599 / (std::sqrt(0.04005 / 0.009955119790251765) + 1e-8);
  expectNear(update<AdamwUpdateOp>(2, -0.3, 0.01, 9, {0.2, 0.04},
                                   {set("weight_decay", 0.1)}),
             {1.998 - 0.01 * direction, 0.15, 0.04005}, 1e-6);
}

TEST_F(Optimizer, CorrectionsKeepTheirDigits) {
  // beta2 so near 1 that 1 - exp(t·log(beta2)) has lost most digits in f32; the
  // decomposition is compared with doubles at this tolerance.
  update<AdamwUpdateOp>(0, 1, 1, 0, {0, 0}, {set("beta2", 0.999999)});
  update<AdamwUpdateOp>(0, 1, 1, 100000, {1, 1});
  update<AdamwUpdateOp>(0, 1, 1, 0, {0, 0}, {set("beta1", 0), set("beta2", 0)});
}

TEST_F(Optimizer, ShortFloatsAreUpdatedInF32) {
  TensorType t = tensor(bf16(), {{"n", 4}}), slot = tensor(f32(), {{"n", 4}});
  checkDecomposition(
      {t, t, tensor(f32()), tensor(i32()), slot, slot},
      [&](ValueBuilder &, ValueRange x) {
        auto op = AdamwUpdateOp::create(builder, builder.getUnknownLoc(),
                                        TypeRange{t, slot, slot}, x);
        return SmallVector<Value>(op->getResults());
      },
      {{}, {}, {0.01}, {5}, {}, {1, 2, 3, 4}}, 1e-2);
}

/// Names and defaults that autodiff reads are those of the op.
template <typename Op> void checkDefaults(OperationState state) {
  Operation *op = Operation::create(state);
  for (auto [name, value] : Op::getHyperParameters()) {
    auto attribute = dyn_cast_or_null<FloatAttr>(
        op->getInherentAttr(name).value_or(Attribute()));
    ASSERT_TRUE(attribute) << name.str();
    EXPECT_EQ(attribute.getValueAsDouble(), value) << name.str();
  }
  op->destroy();
}

TEST_F(Optimizer, HyperParametersAndSlots) {
  TensorType t = tensor(f32(), {{"n", 1}});
  auto state = [&](StringRef name, size_t results) {
    OperationState state(builder.getUnknownLoc(), name);
    state.addTypes(SmallVector<Type>(results, t));
    return state;
  };
  checkDefaults<SgdUpdateOp>(state("nd.sgd_update", 1));
  checkDefaults<MomentumUpdateOp>(state("nd.momentum_update", 2));
  checkDefaults<AdamwUpdateOp>(state("nd.adamw_update", 3));
  EXPECT_TRUE(SgdUpdateOp::getSlotNames().empty());
  EXPECT_EQ(MomentumUpdateOp::getSlotNames().size(), 1u);
  EXPECT_EQ(AdamwUpdateOp::getSlotNames().size(), 2u);
}

TEST_F(Optimizer, Errors) {
  TensorType t = tensor(f32(), {{"n", 1}}), rate = tensor(f32());
  TensorType step = tensor(i32());
  EXPECT_EQ(getVerifierError<SgdUpdateOp>({t, rate, rate, step}, {t}),
            "'nd.sgd_update' op expects the gradient and the new parameter of "
            "the parameter's type '!nd.tensor<f32, [n = 1]>', got "
            "'!nd.tensor<f32, []>'");
  TensorType half = tensor(bf16(), {{"n", 1}});
  EXPECT_EQ(getVerifierError<MomentumUpdateOp>({half, half, rate, step, half},
                                               {half, half}),
            "'nd.momentum_update' op expects slots of type "
            "'!nd.tensor<f32, [n = 1]>', got '!nd.tensor<bf16, [n = 1]>'");
  EXPECT_EQ(getVerifierError<SgdUpdateOp>({t, t, t, step}, {t}),
            "'nd.sgd_update' op expects a scalar f32 as the learning rate, got "
            "'!nd.tensor<f32, [n = 1]>'");
  EXPECT_EQ(getVerifierError<SgdUpdateOp>({t, t, rate, rate}, {t}),
            "'nd.sgd_update' op expects a scalar i32 as the step, got "
            "'!nd.tensor<f32, []>'");
  EXPECT_EQ(getVerifierError<SgdUpdateOp>({step, step, rate, step}, {step}),
            "'nd.sgd_update' op updates floats, got a parameter of type "
            "'!nd.tensor<i32, []>'");
  EXPECT_EQ(getVerifierError<MomentumUpdateOp>({t, t, rate, step, t}, {t, t},
                                               {set("momentum", 1)}),
            "'nd.momentum_update' op expects 'momentum' in [0, 1), got 1");
  EXPECT_EQ(getVerifierError<MomentumUpdateOp>({t, t, rate, step, t}, {t, t},
                                               {set("nesterov", 0.5)}),
            "'nd.momentum_update' op expects 'nesterov' to be 0 or 1, got "
            "0.5");
  EXPECT_EQ(getVerifierError<AdamwUpdateOp>({t, t, rate, step, t, t}, {t, t, t},
                                            {set("beta2", -1)}),
            "'nd.adamw_update' op expects 'beta2' in [0, 1), got -1");
}

TEST_F(Optimizer, HasNoGradient) {
  TensorType t = tensor(f32(), {{"n", 1}});
  std::string error = collect([&] {
    makeFunction({t, t, tensor(f32()), tensor(i32())}, [&](ValueBuilder &,
                                                           ValueRange x) {
      auto op = SgdUpdateOp::create(builder, builder.getUnknownLoc(),
                                    TypeRange{t}, x);
      SmallVector<Value> grads(4);
      EXPECT_TRUE(failed(op.buildGradient(builder, {x[1]}, grads)));
      return SmallVector<Value>{op.getResult()};
    });
  });
  EXPECT_EQ(error, "'nd.sgd_update' op cannot be differentiated: the update of "
                   "a parameter is the end of a step");
}

} // namespace
} // namespace meshc::nd
