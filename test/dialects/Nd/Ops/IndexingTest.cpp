//===- IndexingTest.cpp - elements at computed places ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/IndexingOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

class Indexing : public GradientCheck {
protected:
  TensorType getTable() { return tensor(f32(), {{"d", 2}, {"v", 3}}); }
  TensorType getIndices() { return tensor(i32(), {{"b", 4}}); }
};

TEST_F(Indexing, GatherLooksUpAndGivesZeroOutOfRange) {
  auto gather = [](ValueBuilder &b, ValueRange x) {
    return b.make<GatherOp>(x[0], x[1], "v");
  };
  Values y = run({getTable(), getIndices()},
                 {{1, 2, 3, 4, 5, 6}, {2, -1, 0, 3}}, gather);
  // b, then d.
  EXPECT_EQ(y, (Values{3, 6, 0, 0, 1, 4, 0, 0}));
  checkGradient({getTable(), getIndices()}, gather, {{}, {2, 2, -1, 0}});
}

TEST_F(Indexing, GatherAlignsDimsThatBothHave) {
  TensorType indices = tensor(i32(), {{"d", 2}});
  auto gather = [](ValueBuilder &b, ValueRange x) {
    return b.make<GatherOp>(x[0], x[1], "v");
  };
  Values y = run({getTable(), indices}, {{1, 2, 3, 4, 5, 6}, {2, 0}}, gather);
  EXPECT_EQ(y, (Values{3, 4}));
  checkGradient({getTable(), indices}, gather, {{}, {2, 0}});
}

TEST_F(Indexing, ScatterAddAddsUp) {
  TensorType updates = tensor(f32(), {{"b", 4}, {"d", 2}});
  auto scatter = [&](ValueBuilder &b, ValueRange x) {
    return b.make<ScatterAddOp>(getTable(), x[0], x[1], "v");
  };
  Values y = run({updates, getIndices()},
                 {{1, 10, 2, 20, 4, 40, 8, 80}, {1, 1, 5, 0}}, scatter);
  EXPECT_EQ(y, (Values{8, 3, 0, 80, 30, 0}));
  checkGradient({updates, getIndices()}, scatter, {{}, {1, 1, 5, 0}});
}

/// To what a table has; the order of the indices changes nothing.
TEST_F(Indexing, ScatterAddIntoATable) {
  TensorType updates = tensor(f32(), {{"b", 4}, {"d", 2}});
  auto scatter = [&](ValueBuilder &b, ValueRange x) {
    return b.make<ScatterAddOp>(getTable(), x[0], x[1], x[2],
                                x.size() > 3 ? x[3] : Value(),
                                builder.getStringAttr("v"), StringAttr());
  };
  Values added = {1, 10, 2, 20, 4, 40, 8, 80}, table = {1, 2, 3, 4, 5, 6};
  Values wanted = {9, 5, 3, 84, 35, 6};
  EXPECT_EQ(run({updates, getIndices(), getTable()},
                {added, {1, 1, 5, 0}, table}, scatter),
            wanted);
  EXPECT_EQ(run({updates, getIndices(), getTable(), getIndices()},
                {added, {1, 1, 5, 0}, table, {3, 0, 1, 2}}, scatter),
            wanted);
  checkGradient({updates, getIndices(), getTable()}, scatter,
                {{}, {1, 1, 5, 0}, {}});
}

/// Several ranks' sums would count the table several times.
TEST_F(Indexing, SumsIntoATableAreNotPartial) {
  TensorType updates = tensor(f32(), {{"b", 4}, {"d", 2}});
  for (bool hasTable : {false, true}) {
    auto function =
        makeFunction({updates, getIndices(), getTable()},
                     [&](ValueBuilder &b, ValueRange x) {
                       return SmallVector<Value>{b.make<ScatterAddOp>(
                           getTable(), x[0], x[1], hasTable ? x[2] : Value(),
                           Value(), builder.getStringAttr("v"), StringAttr())};
                     });
    PartitionRule rule =
        cast<NamedOpInterface>(function.getBody().front().front())
            .getPartitionRule();
    EXPECT_EQ(rule.linearOperands.empty(), hasTable);
    for (const Factor &factor : rule.factors)
      EXPECT_EQ(factor.effect, factor.resultDims[0] ? FactorEffect::Parallel
                               : hasTable           ? FactorEffect::Whole
                                                    : FactorEffect::Reduce);
  }
}

/// One entry, and one for each d; out of range, nothing.
TEST_F(Indexing, InsertReplacesEntries) {
  auto insert = [](ValueBuilder &b, ValueRange x) {
    return b.make<InsertOp>(x[0], x[1], x[2], "v");
  };
  TensorType row = tensor(f32(), {{"d", 2}});
  Values table = {1, 2, 3, 4, 5, 6};
  for (auto [index, wanted] : {std::pair(1.0, Values{1, 10, 3, 4, 20, 6}),
                               std::pair(3.0, table), std::pair(-1.0, table)}) {
    TensorType scalar = tensor(i32(), {});
    EXPECT_EQ(
        run({getTable(), row, scalar}, {table, {10, 20}, {index}}, insert),
        wanted);
    checkGradient({getTable(), row, scalar}, insert, {{}, {}, {index}});
  }
  TensorType indices = tensor(i32(), {{"d", 2}});
  EXPECT_EQ(run({getTable(), row, indices}, {table, {10, 20}, {2, 0}}, insert),
            (Values{1, 2, 10, 20, 5, 6}));
  checkGradient({getTable(), row, indices}, insert, {{}, {}, {2, 0}});
}

/// Of several updates of an entry, the last one stays.
TEST_F(Indexing, InsertOfSeveralUpdates) {
  TensorType updates = tensor(f32(), {{"b", 4}, {"d", 2}});
  Values y =
      run({getTable(), updates, getIndices()},
          {{1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60, 70, 80}, {2, 0, 7, 2}},
          [](ValueBuilder &b, ValueRange x) {
            return b.make<InsertOp>(x[0], x[1], x[2], "v");
          });
  EXPECT_EQ(y, (Values{30, 2, 70, 40, 5, 80}));
}

TEST_F(Indexing, OneHot) {
  TensorType result = tensor(f32(), {{"b", 4}, {"v", 3}});
  auto oneHot = [&](ValueBuilder &b, ValueRange x) {
    return SmallVector<Value>{
        b.make<OneHotOp>(result, x[0], builder.getStringAttr("v"))};
  };
  Values y = evaluate(makeFunction({getIndices()}, oneHot), {{1, 2, -1, 3}},
                      getEvaluation(true))
                 .front();
  EXPECT_EQ(y, (Values{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  checkDecomposition({getIndices()}, oneHot, {{1, 2, -1, 3}});
}

TEST_F(Indexing, CutTablesGivePartialSums) {
  auto function = makeFunction(
      {getTable(), getIndices()}, [](ValueBuilder &b, ValueRange x) {
        return SmallVector<Value>{b.make<GatherOp>(x[0], x[1], "v")};
      });
  PartitionRule rule =
      cast<NamedOpInterface>(function.getBody().front().front())
          .getPartitionRule();
  ASSERT_EQ(rule.factors.size(), 3u);
  for (const Factor &factor : rule.factors)
    EXPECT_EQ(factor.effect, factor.resultDims[0] ? FactorEffect::Parallel
                                                  : FactorEffect::Reduce);
  EXPECT_EQ(rule.linearOperands, (SmallVector<unsigned, 2>{0}));
}

} // namespace
} // namespace meshc::nd
