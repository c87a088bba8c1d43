//===- CallOrder.cpp - the order of calls with loops ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/CallOrder.h"

#include <nlohmann/json.hpp>

using namespace meshc::runtime;
using nlohmann::json;

CallOrder::CallOrder(const json &function, const char *kind)
    : count(function.value(kind, json::array()).size()) {
  for (const json &known : function.value("loops", json::array())) {
    const json &range = known.at(kind);
    Loop loop{known.at("dim"), known.at("size"), known.at("backwards"),
              range.at(0), range.at(1)};
    if (loop.begin < loop.end && loop.size > 0)
      loops.push_back(std::move(loop));
  }
  // From the last one on, so that inner loops are known.
  for (size_t i = loops.size(); i-- > 0;) {
    Loop &loop = loops[i];
    loop.calls = loop.end - loop.begin;
    size_t inner = i + 1;
    while (inner < loops.size() && loops[inner].begin < loop.end) {
      const Loop &each = loops[inner];
      loop.calls += each.size * each.calls - (each.end - each.begin);
      inner = each.next;
    }
    loop.next = inner;
  }
}

std::optional<CallOrder::Call> CallOrder::find(uint64_t number) const {
  Call call = {0, ""};
  size_t end = count;
  // `number` calls behind `entry`, where `i` is the next loop.
  for (size_t i = 0; i < loops.size() && loops[i].begin < end;) {
    const Loop &loop = loops[i];
    uint64_t before = loop.begin - call.entry;
    if (number < before)
      break;
    number -= before;
    if (number >= loop.size * loop.calls) {
      number -= loop.size * loop.calls;
      call.entry = loop.end;
      i = loop.next;
      continue;
    }
    uint64_t iteration = number / loop.calls;
    number %= loop.calls;
    if (loop.backwards)
      iteration = loop.size - 1 - iteration;
    call.iteration += (call.iteration.empty() ? "iteration " : ", ") +
                      std::to_string(iteration) + " of '" + loop.dim + "'";
    call.entry = loop.begin;
    end = loop.end;
    ++i;
  }
  call.entry += number;
  return call.entry < end ? std::optional(call) : std::nullopt;
}
