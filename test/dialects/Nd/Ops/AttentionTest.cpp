//===- AttentionTest.cpp - scaled dot-product attention -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/AttentionOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

/// What a test says of the op besides query, keys and values, whose dims are
/// `d` for the key and `m` for the memory.
struct Extras {
  Value mask = {}, bias = {};
  StringRef position = {}, distance = {};
  std::optional<int64_t> lowest = {}, highest = {};
  Value rowLabels = {}, memoryLabels = {};
  std::optional<Predicate> predicate = {};
};

class Attention : public GradientCheck {
protected:
  AttentionOp make(ValueBuilder &b, ValueRange x, Extras extras = {}) {
    auto whole = [&](std::optional<int64_t> number) {
      return number ? builder.getI64IntegerAttr(*number) : IntegerAttr();
    };
    return b
        .make<AttentionOp>(
            x[0], x[1], x[2], extras.mask, extras.bias, extras.rowLabels,
            extras.memoryLabels, builder.getStringAttr("d"),
            builder.getStringAttr("m"),
            extras.position.empty() ? StringAttr()
                                    : builder.getStringAttr(extras.position),
            whole(extras.lowest), whole(extras.highest),
            extras.distance.empty() ? StringAttr()
                                    : builder.getStringAttr(extras.distance),
            extras.predicate ? PredicateAttr::get(&context, *extras.predicate)
                             : PredicateAttr())
        .getDefiningOp<AttentionOp>();
  }
  Value output(ValueBuilder &b, ValueRange x, Extras extras = {}) {
    return make(b, x, extras).getOutput();
  }

  // Of one head: 3 queries, 4 keys and values of 2 entries.
  TensorType query = tensor(f32(), {{"d", 2}, {"s", 3}}),
             keys = tensor(f32(), {{"d", 2}, {"m", 4}}),
             values = tensor(f32(), {{"e", 2}, {"m", 4}});
  TensorType bias = tensor(f32(), {{"m", 4}, {"s", 3}});
};

/// The first dim of a type varies slowest: matrices in the order of the script
/// below, transposed.
std::vector<double> transpose(ArrayRef<double> rows, size_t columns) {
  std::vector<double> result;
  for (size_t column = 0; column < columns; ++column)
    for (size_t i = column; i < rows.size(); i += columns)
      result.push_back(rows[i]);
  return result;
}

// From PyTorch 2.15:
//
//   q = (torch.arange(6.).reshape(3, 2) / 4 - 0.5)        # [s, d]
//   k = (torch.arange(8.).reshape(4, 2) % 5 / 2 - 1)      # [m, d]
//   v = (torch.arange(8.).reshape(4, 2) ** 2 / 16 - 1)    # [m, e]
//   y = torch.nn.functional.scaled_dot_product_attention(q[None], k[None],
//           v[None], allowed or bias)[0]
//   (y * torch.tensor([[1., 2.], [3., 4.], [5., 6.]])).sum().backward()
//
// with `allowed` full, or causal: torch.ones(3, 4, dtype=bool).tril(); and with
// the bias torch.arange(12.).reshape(3, 4) / 6 - 1.
const std::vector<double> torchQuery =
    transpose({-0.5, -0.25, 0, 0.25, 0.5, 0.75}, 2);
const std::vector<double> torchKeys =
    transpose({-1, -0.5, 0, 0.5, 1, -1, -0.5, 0}, 2);
const std::vector<double> torchValues =
    transpose({-1, -0.9375, -0.75, -0.4375, 0, 0.5625, 1.25, 2.0625}, 2);
const std::vector<double> torchSlopes = transpose({1, 2, 3, 4, 5, 6}, 2);

/// Of four blocks of 64 rows, those of 64 entries of the memory count that the
/// band allows anything of.
TEST_F(Attention, CostOfBands) {
  auto countEntries = [&](const Extras &extras) {
    TensorType q = tensor(f32(), {{"h", 3}, {"s", 256}, {"d", 4}});
    TensorType k = tensor(f32(), {{"m", 256}, {"d", 4}});
    TensorType v = tensor(f32(), {{"m", 256}, {"e", 2}});
    double entries = 0;
    makeFunction({q, k, v}, [&](ValueBuilder &b, ValueRange x) {
      AttentionOp op = make(b, x, extras);
      OpCost cost = op.getCost();
      entries = cost.flops / (3 * 2 * (4 + 2));
      EXPECT_EQ(cost.transcendentals, 6 * 3 * entries);
      return SmallVector<Value>{op.getOutput()};
    });
    return entries;
  };
  EXPECT_EQ(countEntries({}), 256 * 256);
  EXPECT_EQ(countEntries({.position = "s", .highest = 0}),
            64 * (64 + 128 + 192 + 256));
  EXPECT_EQ(countEntries({.position = "s", .lowest = 0}),
            64 * (64 + 128 + 192 + 256));
  EXPECT_EQ(countEntries({.position = "s", .lowest = -127, .highest = 0}),
            64 * (64 + 128 + 192 + 192));
  EXPECT_EQ(countEntries({.position = "s", .lowest = 1000}), 0);
}

TEST_F(Attention, IsThatOfPyTorch) {
  Values y = run({query, keys, values}, {torchQuery, torchKeys, torchValues},
                 [&](ValueBuilder &b, ValueRange x) { return output(b, x); });
  expectNear(y,
             transpose({-0.16670287, 0.23846702, -0.12603788, 0.31144065,
                        -0.13328075, 0.31957927},
                       2),
             1e-7);
}

TEST_F(Attention, CausalIsThatOfPyTorch) {
  Values y = run({query, keys, values}, {torchQuery, torchKeys, torchValues},
                 [&](ValueBuilder &b, ValueRange x) {
                   return output(b, x, {.position = "s", .highest = 0});
                 });
  expectNear(y,
             transpose({-1.0, -0.9375, -0.86398011, -0.66546029, -0.5657571,
                        -0.22533682},
                       2),
             1e-7);
}

TEST_F(Attention, BiasIsThatOfPyTorch) {
  Values rows;
  for (int i = 0; i < 12; ++i)
    rows.push_back(i / 6.0 - 1);
  Values y = run({query, keys, values, bias},
                 {torchQuery, torchKeys, torchValues, transpose(rows, 4)},
                 [&](ValueBuilder &b, ValueRange x) {
                   return output(b, x, {.bias = x[3]});
                 });
  expectNear(y,
             transpose({0.01603946, 0.48218986, 0.03534871, 0.52457136,
                        0.00718744, 0.5029577},
                       2),
             1e-7);
}

TEST_F(Attention, GradientsAreThoseOfPyTorch) {
  auto check = [&](Extras extras, Values wantedQuery, Values wantedKeys,
                   Values wantedValues) {
    TensorType slopes = tensor(f32(), {{"e", 2}, {"s", 3}});
    auto function = makeFunction(
        {query, keys, values, slopes}, [&](ValueBuilder &b, ValueRange x) {
          AttentionOp op = make(b, x, extras);
          SmallVector<Value> gradients(3);
          OpBuilder at(op->getContext());
          at.setInsertionPointAfter(op);
          EXPECT_TRUE(succeeded(op.buildGradient(at, {x[3], {}}, gradients)));
          return gradients;
        });
    auto got =
        evaluate(function, {torchQuery, torchKeys, torchValues, torchSlopes},
                 getEvaluation(true));
    expectNear(got[0], transpose(wantedQuery, 2), 2e-6);
    expectNear(got[1], transpose(wantedKeys, 2), 2e-6);
    expectNear(got[2], transpose(wantedValues, 2), 2e-6);
  };
  check(
      {},
      {0.41084558, 0.14278294, 0.47169301, -0.06076494, 0.18033388, -0.7139374},
      {-0.25371927, -1.09022892, -0.8599562, -1.67346704, 0.12524176,
       0.29472095, 0.9884336, 2.46897507},
      {1.82510614, 2.5617609, 2.90818524, 3.76609373, 2.03068805, 2.67287302,
       2.23602009, 2.99927163});
  check({.position = "s", .highest = 0},
        {0.0, 0.0, 0.48235774, 0.48235765, 2.58613086, -1.58984351},
        {-0.45787057, -0.80739528, -0.37732434, -0.44539711, 0.83519483,
         1.25279224, 0.0, 0.0},
        {3.37258363, 5.02946854, 4.06418943, 5.09465885, 1.56322694, 1.87587225,
         0.0, 0.0});
}

/// By batch, two heads with two queries each for a head of the keys, and a mask
/// of the memory.
TEST_F(Attention, Gradients) {
  TensorType q = tensor(f32(), {{"d", 3}, {"g", 2}, {"h", 2}, {"s", 3}}),
             k = tensor(f32(), {{"d", 3}, {"h", 2}, {"m", 4}}),
             v = tensor(f32(), {{"d", 3}, {"h", 2}, {"m", 4}});
  TensorType mask = tensor(i1(), {{"h", 2}, {"m", 4}}),
             bias = tensor(f32(), {{"m", 4}, {"s", 3}});
  checkGradient({q, k, v},
                [&](ValueBuilder &b, ValueRange x) { return output(b, x); });
  checkGradient({q, k, v, mask, bias},
                [&](ValueBuilder &b, ValueRange x) {
                  return output(b, x,
                                {.mask = x[3],
                                 .bias = x[4],
                                 .position = "s",
                                 .lowest = -1,
                                 .highest = 1});
                },
                {{}, {}, {}, {1, 0, 1, 1, 0, 1, 1, 0}, {}});
}

/// Labels allow what the mask of their comparison allows, to each batch entry
/// its own.
TEST_F(Attention, Labels) {
  TensorType q = tensor(f32(), {{"b", 2}, {"d", 2}, {"s", 3}}),
             k = tensor(f32(), {{"b", 2}, {"d", 2}, {"m", 4}});
  TensorType ofRows = tensor(i32(), {{"b", 2}, {"s", 3}}),
             ofMemory = tensor(i32(), {{"b", 2}, {"m", 4}});
  Values numbers;
  for (int i = 0; i < 16; ++i)
    numbers.push_back(i % 5 - 1.75);
  const std::vector<Values> arguments = {
      {numbers.begin(), numbers.begin() + 12},
      numbers,
      numbers,
      {0, 1, 2, -3, 1, 1},
      {0, 0, 1, 2, 1, -3, 2, 5}};
  for (Predicate predicate : {Predicate::Eq, Predicate::Ne, Predicate::Lt,
                              Predicate::Le, Predicate::Gt, Predicate::Ge}) {
    Values wanted =
        run({q, k, k, ofRows, ofMemory}, arguments,
            [&](ValueBuilder &b, ValueRange x) {
              return output(b, x, {.mask = b.compare(predicate, x[4], x[3])});
            });
    auto labelled = [&](ValueBuilder &b, ValueRange x) {
      return output(
          b, x,
          {.rowLabels = x[3], .memoryLabels = x[4], .predicate = predicate});
    };
    expectNear(run({q, k, k, ofRows, ofMemory}, arguments, labelled), wanted,
               1e-7);
    checkGradient({q, k, k, ofRows, ofMemory}, labelled,
                  {{}, {}, {}, arguments[3], arguments[4]});
  }
}

/// A bias by distance is that of the differences: of 3 queries and 4 keys, from
/// -2 to 3.
TEST_F(Attention, BiasByDistance) {
  TensorType distance = tensor(f32(), {{"r", 6}});
  Values entries = {-1, -0.5, 0.25, 0.5, 1, 2}, rows;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      rows.push_back(entries[j - i + 2]);
  auto bySquare = [&](ValueBuilder &b, ValueRange x) {
    return output(b, x, {.bias = x[3]});
  };
  auto byDistance = [&](ValueBuilder &b, ValueRange x) {
    return output(b, x, {.bias = x[3], .position = "s", .distance = "r"});
  };
  Values wanted =
      run({query, keys, values, bias},
          {torchQuery, torchKeys, torchValues, transpose(rows, 4)}, bySquare);
  expectNear(run({query, keys, values, distance},
                 {torchQuery, torchKeys, torchValues, entries}, byDistance),
             wanted, 1e-7);
}

TEST_F(Attention, GradientsOfABiasByDistance) {
  TensorType q = tensor(f32(), {{"d", 3}, {"g", 2}, {"h", 2}, {"s", 3}}),
             k = tensor(f32(), {{"d", 3}, {"h", 2}, {"m", 4}}),
             v = tensor(f32(), {{"d", 3}, {"h", 2}, {"m", 4}});
  TensorType bias = tensor(f32(), {{"h", 2}, {"r", 6}});
  checkGradient({q, k, v, bias}, [&](ValueBuilder &b, ValueRange x) {
    return output(b, x, {.bias = x[3], .position = "s", .distance = "r"});
  });
  checkGradient({q, k, v, bias}, [&](ValueBuilder &b, ValueRange x) {
    return output(
        b, x, {.bias = x[3], .position = "s", .distance = "r", .highest = 0});
  });
}

/// Values without a dim of the queries, a bias without the memory's dim, keys
/// and values of one dim.
TEST_F(Attention, GradientsOfMissingDims) {
  TensorType q = tensor(f32(), {{"d", 2}, {"h", 2}, {"s", 2}}),
             k = tensor(f32(), {{"d", 2}, {"m", 3}}),
             v = tensor(f32(), {{"m", 3}});
  checkGradient({q, k, v, tensor(f32(), {{"h", 2}})},
                [&](ValueBuilder &b, ValueRange x) {
                  return output(b, x, {.bias = x[3]});
                });
}

TEST_F(Attention, RowsWithoutAnAllowedEntryAreZero) {
  TensorType mask = tensor(i1(), {{"m", 4}, {"s", 3}});
  auto body = [&](ValueBuilder &b, ValueRange x) {
    AttentionOp op = make(b, x, {.mask = x[3]});
    SmallVector<Value> results(4);
    OpBuilder at(op->getContext());
    at.setInsertionPointAfter(op);
    EXPECT_TRUE(succeeded(op.buildGradient(at, {x[4], {}}, results)));
    results[3] = op.getOutput();
    return results;
  };
  // The second query may see nothing.
  Values allowed = transpose({1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0}, 4);
  std::vector<Values> arguments = {torchQuery, torchKeys, torchValues, allowed,
                                   torchSlopes};
  std::vector<Type> types = {query, keys, values, mask,
                             tensor(f32(), {{"e", 2}, {"s", 3}})};
  auto results =
      evaluate(makeFunction(types, body), arguments, getEvaluation(true));
  EXPECT_EQ(results[3][1], 0);
  EXPECT_EQ(results[3][4], 0);
  EXPECT_EQ(results[0][1], 0);
  EXPECT_EQ(results[0][4], 0);
  for (const Values &result : results)
    for (double value : result)
      EXPECT_TRUE(std::isfinite(value));
  checkDecomposition(types, body, arguments);
}

TEST_F(Attention, Decompositions) {
  for (Type type : {f32(), bf16()}) {
    TensorType q = tensor(type, {{"d", 3}, {"g", 2}, {"h", 2}, {"s", 3}}),
               k = tensor(type, {{"d", 3}, {"h", 2}, {"m", 4}}),
               v = tensor(type, {{"e", 2}, {"h", 2}, {"m", 4}}),
               bias = tensor(type, {{"g", 2}, {"m", 4}, {"s", 3}}),
               slopes = tensor(type, {{"e", 2}, {"g", 2}, {"h", 2}, {"s", 3}});
    checkDecomposition(
        {q, k, v, tensor(i1(), {{"m", 4}}), bias, slopes},
        [&](ValueBuilder &b, ValueRange x) {
          AttentionOp op =
              make(b, x,
                   {.mask = x[3], .bias = x[4], .position = "s", .highest = 2});
          SmallVector<Value> results(5);
          OpBuilder at(op->getContext());
          at.setInsertionPointAfter(op);
          EXPECT_TRUE(succeeded(op.buildGradient(at, {x[5], {}}, results)));
          results[3] = op.getOutput();
          results.push_back(op.getLogSums());
          results.erase(results.begin() + 4); // of the bias: built of parts
          return results;
        },
        {{}, {}, {}, {1, 0, 1, 1}, {}, {}}, type == f32() ? 1e-5 : 6e-2);
  }
}

TEST_F(Attention, DecompositionOfLabels) {
  TensorType q = tensor(f32(), {{"b", 2}, {"d", 3}, {"s", 3}}),
             k = tensor(f32(), {{"b", 2}, {"d", 3}, {"m", 4}});
  checkDecomposition(
      {q, k, k, tensor(i32(), {{"s", 3}}), tensor(i32(), {{"b", 2}, {"m", 4}}),
       tensor(i1(), {{"m", 4}})},
      [&](ValueBuilder &b, ValueRange x) {
        AttentionOp op = make(b, x,
                              {.mask = x[5],
                               .position = "s",
                               .highest = 2,
                               .rowLabels = x[3],
                               .memoryLabels = x[4],
                               .predicate = Predicate::Le});
        SmallVector<Value> results(3);
        OpBuilder at(op->getContext());
        at.setInsertionPointAfter(op);
        EXPECT_TRUE(succeeded(op.buildGradient(at, {x[0], {}}, results)));
        results.push_back(op.getOutput());
        results.push_back(op.getLogSums());
        return results;
      },
      {{}, {}, {}, {0, 1, 2}, {1, 0, 3, 2, 0, 5, 1, 0}, {1, 0, 1, 1}});
}

/// A NaN shows, in its row alone.
TEST_F(Attention, NaNShows) {
  Values q = torchQuery;
  q[1] = NAN; // of the second query
  Values y = run({query, keys, values}, {q, torchKeys, torchValues},
                 [&](ValueBuilder &b, ValueRange x) { return output(b, x); });
  EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[4]));
  EXPECT_FALSE(std::isnan(y[0]) || std::isnan(y[2]));
}

TEST_F(Attention, RowsMayBeCut) {
  TensorType q = tensor(f32(), {{"d", 2}, {"h", 2}, {"s", 2}}),
             k = tensor(f32(), {{"d", 2}, {"h", 2}, {"m", 3}}),
             v = tensor(f32(), {{"e", 2}, {"h", 2}, {"m", 3}});
  makeFunction({q, k, v}, [&](ValueBuilder &b, ValueRange x) {
    AttentionOp op = make(b, x);
    for (const Factor &factor : op.getPartitionRule().factors) {
      StringAttr dim = factor.resultDims[0];
      bool isRow = dim && (dim.getValue() == "h" || dim.getValue() == "s");
      EXPECT_EQ(factor.effect,
                isRow ? FactorEffect::Parallel : FactorEffect::Whole);
    }
    SmallVector<Value> gradients(3);
    OpBuilder at(op->getContext());
    at.setInsertionPointAfter(op);
    EXPECT_TRUE(
        succeeded(op.buildGradient(at, {op.getOutput(), {}}, gradients)));
    auto gradient = gradients[0].getDefiningOp<AttentionGradientOp>();
    unsigned reduced = 0;
    for (const Factor &factor : gradient.getPartitionRule().factors) {
      if (factor.effect != FactorEffect::Reduce)
        continue;
      // Keys and values are for all queries.
      ++reduced;
      EXPECT_EQ(factor.resultDims[0], builder.getStringAttr("s"));
      EXPECT_FALSE(factor.resultDims[1] || factor.resultDims[2]);
    }
    EXPECT_EQ(reduced, 1u);
    return SmallVector<Value>{op.getOutput()};
  });
}

TEST_F(Attention, Errors) {
  auto named = [&](StringRef name, StringRef dim) {
    return NamedAttribute(builder.getStringAttr(name),
                          builder.getStringAttr(dim));
  };
  auto segments = [&](bool mask, bool bias) {
    return NamedAttribute(
        builder.getStringAttr("operandSegmentSizes"),
        builder.getDenseI32ArrayAttr({1, 1, 1, mask, bias, 0, 0}));
  };
  auto errorOf = [&](ArrayRef<Type> types, NamedAttribute sizes,
                     StringRef key = "d", StringRef memory = "m") {
    return getInferenceError<AttentionOp>(
        types, {named("key", key), named("memory", memory), sizes});
  };
  NamedAttribute none = segments(false, false);
  EXPECT_EQ(errorOf({query, keys, values}, none, "s"),
            "attention: the operand has no dim 's'; its dims are 'd', 'm'");
  EXPECT_EQ(errorOf({query, values, values}, none),
            "attention: the operand has no dim 'd'; its dims are 'e', 'm'");
  EXPECT_EQ(errorOf({keys, keys, values}, none),
            "attention: the query must not have the memory's dim 'm'; "
            "'rename' gives the positions of keys and values another name");
  EXPECT_EQ(
      errorOf({query, tensor(f32(), {{"d", 2}, {"h", 2}, {"m", 4}}), values},
              none),
      "attention: the keys have dim 'h', which the query lacks; its "
      "dims: 'd', 's'");
  EXPECT_EQ(errorOf({query, keys, tensor(bf16(), {{"m", 4}})}, none),
            "attention: query, keys, values and bias must have one type, got "
            "'f32' and 'bf16'; 'cast' converts");
  EXPECT_EQ(errorOf({query, keys, values, bias}, segments(true, false)),
            "attention: expected i1 (a comparison gives it), got 'f32'");
  EXPECT_EQ(errorOf({query, keys, values, values}, segments(false, true)),
            "attention: the bias has dim 'e', which is neither the memory's "
            "nor a dim of the query but 'd'");
}

} // namespace
} // namespace meshc::nd
