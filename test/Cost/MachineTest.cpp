//===- MachineTest.cpp - machines, and what files may not say -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/Machine.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace meshc;

namespace {

const char *const complete = R"({
 "name": "small",
 "source": "a test",
 "node": {"ranks": 4, "cores": 8, "memory": 3e10},
 "products": {"f32": 1e11, "bf16": 2e11},
 "kernels": {"f32": 1e10},
 "functions": 1e9,
 "sorting": 1e8,
 "memory": 1e10,
 "cache": {"bytes": 1e6, "memory": 5e10},
 "launch": 1e-6,
 "threads": {"start": 2e-6, "efficiency": 0.75},
 "links": {"node": {"latency": 1e-6, "bandwidth": 1e9},
           "network": {"latency": 1e-5, "bandwidth": 1e8}},
 "overlap": 0.5
})";

/// The complete file with one text replaced.
std::string replaced(const std::string &from, const std::string &to) {
  std::string text = complete;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string getError(const std::string &text) {
  auto machine = cost::readMachine(text, "m.json");
  return machine ? "" : llvm::toString(machine.takeError());
}

void expectEqual(const cost::Machine &a, const cost::Machine &b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.nodeRanks, b.nodeRanks);
  EXPECT_EQ(a.nodeCores, b.nodeCores);
  EXPECT_EQ(a.nodeMemory, b.nodeMemory);
  EXPECT_EQ(a.products, b.products);
  EXPECT_EQ(a.kernels, b.kernels);
  EXPECT_EQ(a.functions, b.functions);
  EXPECT_EQ(a.sorting, b.sorting);
  EXPECT_EQ(a.memory, b.memory);
  EXPECT_EQ(a.cacheBytes, b.cacheBytes);
  EXPECT_EQ(a.cacheMemory, b.cacheMemory);
  EXPECT_EQ(a.launch, b.launch);
  EXPECT_EQ(a.threadStart, b.threadStart);
  EXPECT_EQ(a.threadEfficiency, b.threadEfficiency);
  EXPECT_EQ(a.node.latency, b.node.latency);
  EXPECT_EQ(a.node.bandwidth, b.node.bandwidth);
  EXPECT_EQ(a.network.latency, b.network.latency);
  EXPECT_EQ(a.network.bandwidth, b.network.bandwidth);
  EXPECT_EQ(a.overlap, b.overlap);
}

TEST(Machine, Reads) {
  auto machine = llvm::cantFail(cost::readMachine(complete, "m.json"));
  expectEqual(machine, {.name = "small",
                        .source = "a test",
                        .nodeRanks = 4,
                        .nodeCores = 8,
                        .nodeMemory = 3e10,
                        .products = {{"f32", 1e11}, {"bf16", 2e11}},
                        .kernels = {{"f32", 1e10}},
                        .functions = 1e9,
                        .sorting = 1e8,
                        .memory = 1e10,
                        .cacheBytes = 1e6,
                        .cacheMemory = 5e10,
                        .launch = 1e-6,
                        .threadStart = 2e-6,
                        .threadEfficiency = 0.75,
                        .node = {1e-6, 1e9},
                        .network = {1e-5, 1e8},
                        .overlap = 0.5});
}

TEST(Machine, ReadsWhatItWrites) {
  for (const cost::Machine &preset : cost::getPresets())
    expectEqual(
        llvm::cantFail(cost::readMachine(cost::writeMachine(preset), "m.json")),
        preset);
}

TEST(Machine, HasDefaults) {
  auto machine = llvm::cantFail(cost::readMachine(
      replaced(R"("node": {"ranks": 4, "cores": 8, "memory": 3e10})",
               R"("node": {"ranks": 4})"),
      "m.json"));
  EXPECT_EQ(machine.nodeCores, 0);
  EXPECT_EQ(machine.nodeMemory, 0);
  machine = llvm::cantFail(cost::readMachine(
      replaced(R"("threads": {"start": 2e-6, "efficiency": 0.75},)", ""),
      "m.json"));
  EXPECT_EQ(machine.threadStart, 0);
  EXPECT_EQ(machine.threadEfficiency, 1);
  std::string withoutSorting = replaced(R"("sorting": 1e8,)", "");
  machine = llvm::cantFail(cost::readMachine(withoutSorting, "m.json"));
  EXPECT_EQ(machine.sorting, cost::getPresets()[0].sorting);
  size_t cores = withoutSorting.find(R"("cores": 8, )");
  machine = llvm::cantFail(
      cost::readMachine(withoutSorting.erase(cores, 12), "m.json"));
  EXPECT_EQ(machine.sorting, cost::getPresets()[1].sorting);
  machine = llvm::cantFail(
      cost::readMachine(replaced(R"("name": "small",)", ""), "m.json"));
  EXPECT_EQ(machine.name, "m.json");
}

TEST(Machine, FindsPresets) {
  for (const char *name : {"host", "h100", "h100-ib"}) {
    auto machine = llvm::cantFail(cost::findMachine(name));
    EXPECT_EQ(machine.name, name);
    EXPECT_NE(machine.source, "");
  }
  auto none = cost::findMachine("no/such");
  ASSERT_FALSE(bool(none));
  EXPECT_EQ(llvm::toString(none.takeError()),
            "machine 'no/such' is neither a preset ('host', 'h100', 'h100-ib') "
            "nor a file that can be read: No such file or directory");
}

TEST(Machine, RefusesWhatIsNotJson) {
  EXPECT_EQ(getError("{\n \"name\": \"x\",\n \"memory\": 1e10,,\n}"),
            "m.json:3:17: a machine file must be JSON, and here it is "
            "not; 'meshc --calibrate -o FILE' writes an example");
  EXPECT_EQ(getError("[1]"), "machine file 'm.json': expected an object, got "
                             "[1]");
}

TEST(Machine, RefusesFields) {
  const std::string hint =
      ". 'meshc --calibrate -o FILE' writes a file with all fields";
  struct Case {
    std::string from, to, error;
  };
  const Case cases[] = {
      {R"("launch": 1e-6,)", "",
       "'launch' is missing; expected a number of seconds, 0 or more" + hint},
      {R"("launch": 1e-6)", R"("launch": -1)",
       "'launch' is -1; expected a number of seconds, 0 or more"},
      {R"("launch": 1e-6)", R"("lauch": 1e-6)",
       "unknown field 'lauch'; did you mean 'launch'?"},
      {R"("memory": 1e10)", R"("memory": "fast")",
       "'memory' is \"fast\"; expected a number of bytes per second above 0"},
      {R"("ranks": 4)", R"("ranks": 1.5)",
       "'node.ranks' is 1.5; expected a whole number of ranks from 1 to "
       "1000000000"},
      {R"("overlap": 0.5)", R"("overlap": 2)",
       "'overlap' is 2; expected a share from 0 to 1"},
      {R"("efficiency": 0.75)", R"("efficiency": 0)",
       "'threads.efficiency' is 0; expected a share above 0, at most 1"},
      {R"("start": 2e-6)", R"("start": -1)",
       "'threads.start' is -1; expected a number of seconds, 0 or more"},
      {R"("f32": 1e11, )", "",
       "'products.f32' is missing; expected a number of operations per second "
       "above 0" +
           hint},
      {R"("bf16": 2e11)", R"("bf16": 0)",
       "'products.bf16' is 0; expected a number of operations per second above "
       "0"},
      {R"("bf16": 2e11)", R"("f64": 1e11)",
       "unknown field 'products.f64'; did you mean 'products.f32'?"},
      {R"("kernels": {"f32": 1e10})", R"("kernels": 1e10)",
       "'kernels' is 10000000000.0; expected an object"},
      {R"({"bytes": 1e6, "memory": 5e10})", R"({"bytes": 1e6})",
       "'cache.memory' is missing; expected the bandwidth of 'cache.bytes'" +
           hint},
      {R"("name": "small")", R"("name": 3)", "'name' is 3; expected a text"},
  };
  for (const Case &each : cases)
    EXPECT_EQ(getError(replaced(each.from, each.to)),
              "machine file 'm.json': " + each.error);
}

} // namespace
