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

using Names = std::vector<StringRef>;
using Settings = std::vector<std::pair<StringRef, double>>;

class OptimizerTest : public GradientCheck {
protected:
  /// A tensor of the update: f32, unless the type says otherwise.
  struct Tensor {
    TensorType type;
    Values values;
  };

  DictionaryAttr makeSettings(const Settings &settings) {
    SmallVector<NamedAttribute> attributes;
    for (auto [name, value] : settings)
      attributes.push_back(
          {builder.getStringAttr(name), builder.getF64FloatAttr(value)});
    return builder.getDictionaryAttr(attributes);
  }

  /// One update, with the new slots after the new parameter. Checks the
  /// decomposition, with constant settings, and with those that `computed`
  /// names as operands.
  template <typename Op>
  std::vector<Values>
  update(ArrayRef<Tensor> tensors, double step, const Settings &settings,
         ArrayRef<StringRef> computed = {}, ArrayRef<StringRef> stacked = {}) {
    SmallVector<Type> types, results = {tensors[0].type};
    std::vector<Values> arguments;
    auto addArgument = [&](TensorType type, const Values &values) {
      types.push_back(type);
      arguments.push_back(values);
    };
    addArgument(tensors[0].type, tensors[0].values);
    addArgument(tensors[1].type, tensors[1].values);
    addArgument(tensor(i32()), {step});
    for (const Tensor &slot : tensors.drop_front(2)) {
      addArgument(slot.type, slot.values);
      results.push_back(slot.type);
    }
    Settings constant;
    SmallVector<StringRef> names;
    for (auto [name, value] : settings)
      if (llvm::is_contained(computed, name)) {
        names.push_back(name);
        addArgument(tensor(f32()), {value});
      } else {
        constant.push_back({name, value});
      }
    // With numbers that a run may change, the update is the same.
    bool isAdjustable = false;
    auto body = [&](ValueBuilder &, ValueRange x) {
      auto op = Op::create(
          builder, builder.getUnknownLoc(), results[0],
          ArrayRef(results).drop_front(), x[0], x[1], x[2], x.drop_front(3),
          makeSettings(constant),
          names.empty() ? ArrayAttr() : builder.getStrArrayAttr(names),
          stacked.empty() ? ArrayAttr() : builder.getStrArrayAttr(stacked),
          isAdjustable ? nameNumbers<Op>(constant) : DictionaryAttr());
      return SmallVector<Value>(op->getResults());
    };
    checkDecomposition(types, body, arguments);
    isAdjustable = true;
    checkDecomposition(types, body, arguments);
    return evaluate(makeFunction(types, body), arguments, getEvaluation(true));
  }

  /// For each of the settings that is a number, the name of an nd.run_setting.
  template <typename Op> DictionaryAttr nameNumbers(const Settings &settings) {
    SmallVector<NamedAttribute> names;
    for (const OptimizerSetting &known : Op::getKnownSettings())
      if (known.kind == OptimizerSetting::Kind::Number &&
          llvm::any_of(settings, [&](const auto &setting) {
            return setting.first == known.name;
          }))
        names.push_back(builder.getNamedAttr(
            known.name, builder.getStringAttr(known.name)));
    return builder.getDictionaryAttr(names);
  }

  /// The same for a parameter of one entry.
  template <typename Op>
  Values updateOne(double p, double g, double step, const Values &slots,
                   const Settings &settings,
                   ArrayRef<StringRef> computed = {}) {
    TensorType t = tensor(f32(), {{"n", 1}});
    SmallVector<Tensor> tensors = {{t, {p}}, {t, {g}}};
    for (double slot : slots)
      tensors.push_back({t, {slot}});
    Values flat;
    for (const Values &values : update<Op>(tensors, step, settings, computed))
      flat.push_back(values[0]);
    return flat;
  }
};

TEST_F(OptimizerTest, Sgd) {
  expectNear(updateOne<SgdUpdateOp>(1, 0.5, 0, {}, {{"lr", 0.1}}), {0.95},
             1e-7);
  for (const Names &computed : {Names(), Names{"lr", "weight_decay"}})
    expectNear(updateOne<SgdUpdateOp>(1, 0.5, 0, {},
                                      {{"lr", 0.1}, {"weight_decay", 0.1}},
                                      computed),
               {0.94}, 1e-7);
}

TEST_F(OptimizerTest, Momentum) {
  // torch.optim.SGD(lr=0.1, momentum=0.9): v = 0.9·2 + 0.5 = 2.3.
  expectNear(updateOne<MomentumUpdateOp>(1, 0.5, 3, {2}, {{"lr", 0.1}}),
             {0.77, 2.3}, 1e-7);
  // nesterov=True, weight_decay=0.1: g = 0.6, v = 2.4, d = 0.6 + 0.9·2.4.
  Settings settings = {
      {"lr", 0.1}, {"momentum", 0.9}, {"nesterov", 1}, {"weight_decay", 0.1}};
  for (const Names &computed :
       {Names(), Names{"lr", "momentum", "weight_decay"}})
    expectNear(updateOne<MomentumUpdateOp>(1, 0.5, 3, {2}, settings, computed),
               {0.724, 2.4}, 1e-7);
}

TEST_F(OptimizerTest, AdamwFirstStep) {
  // The corrected moments are g and g²: p·(1 - 0.1·0.01) - 0.1·sign(g).
  expectNear(updateOne<AdamwUpdateOp>(1, 0.5, 0, {0, 0}, {{"lr", 0.1}}),
             {0.899, 0.05, 0.00025}, 1e-6);
}

// Step t = 10 by the formulas of torch.optim.Adam and AdamW(lr=0.01,
// betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1) in double precision: c1 = 1 -
// 0.9^10 = 0.6513215599; c2 = 1 - 0.999^10 = 0.009955119790251765.
static double getAdamDirection(double m, double v) {
  return m / 0.6513215599 / (std::sqrt(v / 0.009955119790251765) + 1e-8);
}

TEST_F(OptimizerTest, AdamLaterStep) {
  // g = -0.3 + 0.1·2 = -0.1; m = 0.9·0.2 + 0.1·g; v = 0.999·0.04 + 0.001·g².
  expectNear(updateOne<AdamUpdateOp>(2, -0.3, 9, {0.2, 0.04},
                                     {{"lr", 0.01}, {"weight_decay", 0.1}}),
             {2 - 0.01 * getAdamDirection(0.17, 0.03997), 0.17, 0.03997}, 1e-6);
}

TEST_F(OptimizerTest, AdamwLaterStep) {
  // m = 0.9·0.2 + 0.1·-0.3 = 0.15; v = 0.999·0.04 + 0.001·0.09 = 0.04005;
  // p = 2·(1 - 0.001) - 0.01·(m/c1)/(√(v/c2) + 1e-8).
  Settings settings = {{"lr", 0.01},
                       {"beta1", 0.9},
                       {"beta2", 0.999},
                       {"epsilon", 1e-8},
                       {"weight_decay", 0.1}};
  for (const Names &computed :
       {Names(), Names{"lr", "beta1", "beta2", "epsilon", "weight_decay"}})
    expectNear(
        updateOne<AdamwUpdateOp>(2, -0.3, 9, {0.2, 0.04}, settings, computed),
        {1.998 - 0.01 * getAdamDirection(0.15, 0.04005), 0.15, 0.04005}, 1e-6);
}

TEST_F(OptimizerTest, Lion) {
  // The direction is 0.9·1 - 0.1·20 < 0, and m = 0.99·1 - 0.01·20.
  expectNear(updateOne<LionUpdateOp>(2, -20, 4, {1},
                                     {{"lr", 0.1}, {"weight_decay", 0.5}}),
             {2 - 0.1 * 0.5 * 2 + 0.1, 0.79}, 1e-6);
}

// Norms are those of the whole parameter, or of each entry of a stacked dim: a
// parameter of two entries is updated as two parameters are.
TEST_F(OptimizerTest, NormsAreOfEachEntry) {
  TensorType both = tensor(f32(), {{"layers", 2}, {"n", 3}});
  TensorType one = tensor(f32(), {{"n", 3}});
  Values p = {1, -2, 2, 0.5, 0, 3}, g = {3, 0, -4, 1, 1, 1};
  Values m = {0.1, 0.2, 0.3, 0, 0, -0.5}, v = {1, 2, 3, 4, 5, 6};
  auto take = [](const Values &values, int entry) {
    return Values(values.begin() + 3 * entry, values.begin() + 3 * entry + 3);
  };
  Settings lamb = {{"lr", 0.1}, {"weight_decay", 0.1}};
  auto stacked = update<LambUpdateOp>(
      {{both, p}, {both, g}, {both, m}, {both, v}}, 2, lamb, {}, {"layers"});
  for (int entry : {0, 1}) {
    auto alone = update<LambUpdateOp>({{one, take(p, entry)},
                                       {one, take(g, entry)},
                                       {one, take(m, entry)},
                                       {one, take(v, entry)}},
                                      2, lamb, {"lr", "weight_decay"});
    for (size_t i = 0; i < stacked.size(); ++i)
      expectNear(take(stacked[i], entry), alone[i], 1e-6);
  }
  // ‖p‖ = 3, ‖g‖ = 5: velocity = 0.5·0.1·3/(5 + 0.2·3)·(g + 0.2·p).
  auto lars = update<LarsUpdateOp>(
      {{one, take(p, 0)}, {one, take(g, 0)}, {one, {0, 0, 0}}}, 2,
      {{"lr", 0.5}, {"trust", 0.1}, {"weight_decay", 0.2}});
  double factor = 0.5 * 0.1 * 3 / 5.6;
  expectNear(lars[1], {factor * 3.2, factor * -0.4, factor * -3.6}, 1e-6);
}

// Without a norm, or with adaptive = 0, the factor is 1.
TEST_F(OptimizerTest, NormsOfZero) {
  for (double adaptive : {0, 1}) {
    Settings settings = {{"lr", 0.5}, {"adaptive", adaptive}};
    EXPECT_NEAR(updateOne<LarsUpdateOp>(0, 2, 0, {0}, settings)[0], -1, 1e-6);
    EXPECT_NEAR(updateOne<LambUpdateOp>(0, 2, 0, {0, 0}, settings)[0], -0.5,
                1e-6);
    EXPECT_NEAR(updateOne<LambUpdateOp>(3, 0, 0, {0, 0}, settings)[0], 3, 1e-6);
    EXPECT_NEAR(updateOne<LarsUpdateOp>(3, 0, 0, {0}, settings)[0], 3, 1e-6);
  }
}

TEST_F(OptimizerTest, AdafactorFactorsTheTwoLargestDims) {
  TensorType p = tensor(f32(), {{"a", 2}, {"b", 4}, {"c", 3}, {"layers", 5}});
  auto slots = [&](double least) {
    return AdafactorUpdateOp::getSlotsFor(
        p, builder.getStringAttr("layers"),
        makeSettings({{"min_factored", least}}));
  };
  auto factored = slots(3);
  ASSERT_EQ(factored.size(), 2u);
  EXPECT_EQ(factored[0].name, "row");
  EXPECT_EQ(factored[0].type,
            tensor(f32(), {{"a", 2}, {"b", 4}, {"layers", 5}}));
  EXPECT_EQ(factored[1].name, "col");
  EXPECT_EQ(factored[1].type,
            tensor(f32(), {{"a", 2}, {"c", 3}, {"layers", 5}}));
  ASSERT_EQ(slots(4).size(), 1u);
  EXPECT_EQ(slots(4)[0].type, p);
  Values positive(40, 0.5), columns(30, 0.25);
  for (double relative : {0, 1})
    update<AdafactorUpdateOp>({{p, randomValues(120)},
                               {p, randomValues(120)},
                               {factored[0].type, positive},
                               {factored[1].type, columns}},
                              3,
                              {{"lr", 0.1},
                               {"min_factored", 3},
                               {"relative", relative},
                               {"weight_decay", 0.1},
                               {"clip_threshold", 0.5}},
                              {}, {"layers"});
  update<AdafactorUpdateOp>(
      {{p, randomValues(120)}, {p, randomValues(120)}, {p, Values(120, 0.5)}},
      3, {{"lr", 0.1}}, {"lr"}, {"layers"});
}

TEST_F(OptimizerTest, CorrectionsKeepTheirDigits) {
  // beta2 so near 1 that 1 - exp(t·log(beta2)) has lost most digits in f32; the
  // decomposition is compared with doubles at this tolerance.
  updateOne<AdamwUpdateOp>(0, 1, 0, {0, 0}, {{"lr", 1}, {"beta2", 0.999999}});
  updateOne<AdamwUpdateOp>(0, 1, 100000, {1, 1}, {{"lr", 1}});
  updateOne<AdamwUpdateOp>(0, 1, 0, {0, 0},
                           {{"lr", 1}, {"beta1", 0}, {"beta2", 0}});
  updateOne<AdamwUpdateOp>(0, 1, 0, {0, 0},
                           {{"lr", 1}, {"beta1", 0}, {"beta2", 0}},
                           {"beta1", "beta2"});
}

TEST_F(OptimizerTest, ShortFloatsAreUpdatedInF32) {
  TensorType t = tensor(bf16(), {{"n", 4}}), slot = tensor(f32(), {{"n", 4}});
  for (TensorType gradient : {t, slot})
    checkDecomposition(
        {t, gradient, tensor(i32()), slot, slot, slot},
        [&](ValueBuilder &, ValueRange x) {
          auto op = AdamwUpdateOp::create(
              builder, builder.getUnknownLoc(), t, TypeRange{slot, slot, slot},
              x[0], x[1], x[2], x.drop_front(3), makeSettings({{"lr", 0.01}}),
              ArrayAttr(), ArrayAttr(), DictionaryAttr());
          return SmallVector<Value>(op->getResults());
        },
        {{}, {}, {5}, {}, {1, 2, 3, 4}, {}}, 1e-2);
}

TEST_F(OptimizerTest, MastersAreNoMoments) {
  TensorType t = tensor(bf16(), {{"n", 4}}), slot = tensor(f32(), {{"n", 4}});
  // v is g², and the update is its sign.
  std::vector<Values> results =
      update<AdafactorUpdateOp>({{t, {1, 1, 1, 1}},
                                 {slot, {1, -2, 3, -4}},
                                 {slot, {0, 0, 0, 0}},
                                 {slot, {1.25, 1.25, 1.25, 1.25}}},
                                0, {{"lr", 0.25}, {"relative", 0}});
  expectNear(results[1], {1, 4, 9, 16}, 1e-6);
  expectNear(results[2], {1, 1.5, 1, 1.5}, 1e-6);
  checkDecomposition(
      {t, slot, tensor(i32()), slot, slot},
      [&](ValueBuilder &, ValueRange x) {
        auto op = AdafactorUpdateOp::create(
            builder, builder.getUnknownLoc(), t, TypeRange{slot, slot}, x[0],
            x[1], x[2], x.drop_front(3), makeSettings({{"lr", 0.01}}),
            ArrayAttr(), ArrayAttr(), DictionaryAttr());
        return SmallVector<Value>(op->getResults());
      },
      {{}, {}, {5}, {1, 2, 3, 4}, {}}, 1e-2);
}

TEST_F(OptimizerTest, SmallUpdatesOfShortFloatsAddUpInTheMaster) {
  TensorType t = tensor(bf16(), {{"n", 2}}), slot = tensor(f32(), {{"n", 2}});
  // 1.0039 is the first number that bf16 rounds up to 1 + 2^-7.
  std::vector<Values> results = update<SgdUpdateOp>(
      {{t, {1, 1}}, {slot, {-1, -1}}, {slot, {1.0025, 1.0037}}}, 0,
      {{"lr", 5e-4}});
  ASSERT_EQ(results.size(), 2u);
  expectNear(results[0], {1, 1.0078125}, 0);
  expectNear(results[1], {1.003, 1.0042}, 1e-6);
  // Weight decay is that of the master, and norms are, too.
  results = update<LarsUpdateOp>(
      {{t, {1, 1}}, {slot, {0, 1}}, {slot, {0, 0}}, {slot, {1.5, 2}}}, 0,
      {{"lr", 1}, {"trust", 0.4}, {"momentum", 0}});
  // v = 0.4·2.5/1·g.
  expectNear(results[1], {0, 1}, 1e-6);
  expectNear(results[2], {1.5, 1}, 1e-6);
}

TEST_F(OptimizerTest, HasNoGradient) {
  TensorType t = tensor(f32(), {{"n", 1}});
  std::string error = collect([&] {
    makeFunction({t, t, tensor(i32())}, [&](ValueBuilder &, ValueRange x) {
      auto op = SgdUpdateOp::create(builder, builder.getUnknownLoc(), t,
                                    TypeRange(), x[0], x[1], x[2], ValueRange(),
                                    makeSettings({{"lr", 0.1}}), ArrayAttr(),
                                    ArrayAttr(), DictionaryAttr());
      SmallVector<Value> grads(3);
      EXPECT_TRUE(failed(op.buildGradient(builder, {x[1]}, grads)));
      return SmallVector<Value>{op.getResult()};
    });
  });
  EXPECT_EQ(error, "'nd.sgd_update' op cannot be differentiated: the update of "
                   "a parameter is the end of a step");
}

} // namespace
} // namespace meshc::nd
