//===- CallOrderTest.cpp - calls in loops and their entries ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/CallOrder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace meshc::runtime;

namespace {

/// "0 1(2 of 'd') …" for all calls of a kind.
std::string listCalls(const char *function, const char *kind) {
  CallOrder order(nlohmann::json::parse(function), kind);
  std::string text;
  for (uint64_t number = 0; auto call = order.find(number); ++number) {
    text += (number ? " " : "") + std::to_string(call->entry);
    if (!call->iteration.empty())
      text += "(" + call->iteration.substr(10) + ")";
  }
  return text;
}

TEST(CallOrder, withoutLoops) {
  EXPECT_EQ(listCalls(R"({"launches": [{}, {}, {}]})", "launches"), "0 1 2");
  EXPECT_EQ(listCalls(R"({"launches": [{}]})", "products"), "");
}

TEST(CallOrder, loopsBetweenCalls) {
  const char *function = R"({"launches": [{}, {}, {}, {}, {}], "products": [],
      "loops": [{"dim": "d", "size": 2, "backwards": false,
                 "launches": [1, 2], "products": [0, 0]},
                {"dim": "e", "size": 3, "backwards": true,
                 "launches": [2, 4], "products": [0, 0]}]})";
  EXPECT_EQ(listCalls(function, "launches"),
            "0 1(0 of 'd') 1(1 of 'd') 2(2 of 'e') 3(2 of 'e') 2(1 of 'e') "
            "3(1 of 'e') 2(0 of 'e') 3(0 of 'e') 4");
  EXPECT_EQ(listCalls(function, "products"), "");
}

TEST(CallOrder, loopsInLoops) {
  const char *function = R"({"launches": [{}, {}, {}, {}],
      "loops": [{"dim": "d", "size": 2, "backwards": false,
                 "launches": [0, 4]},
                {"dim": "none", "size": 5, "backwards": false,
                 "launches": [0, 0]},
                {"dim": "e", "size": 2, "backwards": false,
                 "launches": [1, 2]},
                {"dim": "f", "size": 2, "backwards": true,
                 "launches": [2, 3]}]})";
  EXPECT_EQ(listCalls(function, "launches"),
            "0(0 of 'd') 1(0 of 'd', 0 of 'e') 1(0 of 'd', 1 of 'e') "
            "2(0 of 'd', 1 of 'f') 2(0 of 'd', 0 of 'f') 3(0 of 'd') "
            "0(1 of 'd') 1(1 of 'd', 0 of 'e') 1(1 of 'd', 1 of 'e') "
            "2(1 of 'd', 1 of 'f') 2(1 of 'd', 0 of 'f') 3(1 of 'd')");
}

/// A million million calls take no memory.
TEST(CallOrder, manyIterations) {
  CallOrder order(nlohmann::json::parse(R"({"launches": [{}, {}],
      "loops": [{"dim": "d", "size": 1000000, "backwards": false,
                 "launches": [0, 2]},
                {"dim": "e", "size": 1000000, "backwards": false,
                 "launches": [0, 1]}]})"),
                  "launches");
  auto last = order.find(1000001 * 1000000ull - 1);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->entry, 1u);
  EXPECT_EQ(last->iteration, "iteration 999999 of 'd'");
  EXPECT_FALSE(order.find(1000001 * 1000000ull));
}

TEST(CallOrder, malformed) {
  EXPECT_THROW(CallOrder(nlohmann::json::parse(
                             R"({"launches": [{}], "loops": [{"dim": "d"}]})"),
                         "launches"),
               nlohmann::json::exception);
}

} // namespace
