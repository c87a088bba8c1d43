//===- TraceTest.cpp - tests of --trace -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/TraceEvents.h"
#include "runtime/Monitor/TraceTable.h"
#include "test/runtime/Commands/TraceFile.h"

#include <regex>

using namespace meshc::runtime;
using namespace meshc::test;

namespace {

const MeshcSite site = {"m.mesh:3:1", "all_reduce of 'w' over data"};

MeshcProgram described(const char *manifest) {
  MeshcProgram program = {};
  program.siteCount = 1;
  program.sites = &site;
  program.manifest = manifest;
  return program;
}

const char *const manifest =
    R"({"kernels": [{"name": "k0", "location": "a/m.mesh:1:2", "lines": "1-2",
                     "read": 3000, "written": 1000, "tensor": "w"}],
        "functions": [{"name": "eval_step", "products": []},
                      {"name": "train_step", "products": [
                        {"location": "m.mesh:2:2", "flops": 5, "read": 1},
                        {"location": "m.mesh:2:5", "flops": 2e6, "read": 9000,
                         "written": 1000}]}]})";

TracedCall call(CallKind kind, const char *name, uint32_t number = 0) {
  TracedCall made;
  made.kind = kind;
  made.name = name;
  made.number = number;
  return made;
}

/// Two steps of 100 us: k0 twice, 10 us each, a product of two parts, 20 and 5
/// us, beside which a collective of 30 us runs for 15, and a copy of the next
/// inputs, which does not belong to the step.
Recording twoSteps() {
  Recording made;
  made.streams = {"compute", "communication", "copies"};
  made.asideStream = 2;
  made.calls = {call(CallKind::Kernel, "k0"),
                call(CallKind::Product, "4 x 5 x 6 f32", 1),
                call(CallKind::Collective, "all_reduce of 'w' over data"),
                call(CallKind::Kernel, "k0"), call(CallKind::Other, "copies")};
  made.calls[2].bytes = 6000;
  for (int64_t step = 0; step < 2; ++step) {
    int64_t t = 5000000 + step * 100000;
    made.activities.push_back({0, 0, {t, t + 10000}, ""});
    made.activities.push_back({1, 0, {t + 12000, t + 32000}, "gemm"});
    made.activities.push_back({1, 0, {t + 32000, t + 37000}, "sum"});
    made.activities.push_back({2, 1, {t + 22000, t + 52000}, "nccl\xff"});
    made.activities.push_back({3, 0, {t + 60000, t + 70000}, ""});
    made.activities.push_back({4, 2, {t + 70000, t + 99000}, ""});
    made.steps.push_back({t, t + 70000});
  }
  made.stepCount = 2;
  made.windows = {{5000000, 5200000}};
  return made;
}

} // namespace

/// The product of a loop is listed once, and runs once per iteration.
TEST(Trace, sumsUpLoops) {
  MeshcProgram program = described(
      R"({"functions": [{"name": "train_step",
          "products": [{"location": "m.mesh:2:2", "flops": 5e6, "read": 1},
                       {"location": "m.mesh:2:5", "flops": 2e6, "read": 9}],
          "loops": [{"dim": "d", "size": 2, "backwards": true,
                     "launches": [0, 0], "products": [1, 2]}]}]})");
  CallCosts costs(program, "train_step");
  EXPECT_EQ(costs.of(call(CallKind::Product, "a", 0)).iteration, "");
  EXPECT_EQ(costs.of(call(CallKind::Product, "b", 1)).iteration,
            "iteration 1 of 'd'");
  EXPECT_EQ(costs.of(call(CallKind::Product, "b", 2)).location, "m.mesh:2:5");
  EXPECT_EQ(costs.of(call(CallKind::Product, "b", 3)).location, "");
  Recording made = twoSteps();
  made.calls = {call(CallKind::Product, "a", 0),
                call(CallKind::Product, "b", 1),
                call(CallKind::Product, "b", 2)};
  made.activities.clear();
  for (uint32_t i = 0; i < 3; ++i)
    made.activities.push_back({i, 0, {0, 4000}, ""});
  made.stepCount = 1;
  std::string table = describeTable(made, costs, 0, "t.json");
  std::regex row(R"( 2 +8\.0 .* 0\.0040 .*product b, m\.mesh:2:5)");
  EXPECT_TRUE(std::regex_search(table, row)) << table;
  EXPECT_NE(describeEvents(made, costs, 0, 0)
                .find(R"("iteration":"iteration 0 of 'd'")"),
            std::string::npos);
}

TEST(Trace, makesATable) {
  MeshcProgram program = described(manifest);
  CallCosts costs(program, "train_step");
  EXPECT_EQ(
      describeTable(twoSteps(), costs, 10, "all events in 't.json'"),
      "trace: 2 steps of rank 0 after step 10, one step on average; all events "
      "in 't.json'\n"
      "  calls           us       %           MB        GFLOP       GB/s    "
      "GFLOP/s\n"
      "      1         30.0   30.00       0.0060            -        0.2       "
      "   -  all_reduce of 'w' over data, m.mesh:3:1\n"
      "      1         29.0   29.00            -            -          -       "
      "   -  copies\n"
      "      1         25.0   25.00       0.0100       0.0020        0.4       "
      "80.0  product 4 x 5 x 6 f32, m.mesh:2:5\n"
      "      2         20.0   20.00       0.0080            -        0.4       "
      "   -  kernel k0, m.mesh:1:2 (lines 1-2), writes 'w'\n"
      "step                     100.0 us 100.00 %\n"
      "inside kernels            60.0 us  60.00 %\n"
      "outside kernels           40.0 us  40.00 %\n");
}

/// Ten rows, and one for the others; a kernel of one op is called by it.
TEST(Trace, showsTheTenLongest) {
  MeshcProgram program = described(
      R"({"kernels": [{"name": "k3", "location": "a/m.mesh:7:9", "lines": "7",
                       "op": "attention", "read": 1000000}]})");
  CallCosts costs(program, "train_step");
  auto tableOf = [&](int64_t kernels) {
    Recording made;
    made.streams = {"compute"};
    int64_t t = 0;
    for (int64_t i = 0; i < kernels; ++i) {
      made.calls.push_back(
          call(CallKind::Kernel, ("k" + std::to_string(i)).c_str()));
      int64_t end = t + (kernels - i) * 1000;
      made.activities.push_back({static_cast<uint32_t>(i), 0, {t, end}, ""});
      t = end;
    }
    made.stepCount = 1;
    made.steps = made.windows = {{0, t}};
    EXPECT_NE(describeEvents(made, costs, 0, 0).find("\"name\":\"attention\""),
              std::string::npos);
    return describeTable(made, costs, 0, "t.json");
  };
  std::string table = tableOf(13);
  expectHas(table, "  attention, m.mesh:7:9\n");
  expectHas(table, "  kernel k9\n");
  EXPECT_EQ(table.find("kernel k10"), std::string::npos) << table;
  // 3, 2 and 1 us.
  std::regex others(R"( 3 +6\.0 +6\.59 .*  3 others\n)");
  EXPECT_TRUE(std::regex_search(table, others)) << table;
  // A line for a single other one is as long as that one's own.
  expectHas(tableOf(11), "  kernel k10\n");
}

namespace {
/// Three steps with two collectives. That of site 0 is called twice, and takes
/// 2 · 10, 2 · 15 and 2 · 40 us; that of site 1 takes 8 us, and 30 in the first
/// step. The third collective takes 1 us and has no prediction.
Recording threeExchanges() {
  Recording made;
  made.streams = {"calls"};
  TracedCall sum = call(CallKind::Collective, "all_reduce of 'w'");
  sum.bytes = 600;
  TracedCall gather = call(CallKind::Collective, "all_gather of 'v'", 1);
  TracedCall other = call(CallKind::Collective, "all_gather of 'u'", 2);
  made.calls = {sum, gather, sum, other, call(CallKind::Kernel, "k0")};
  const int64_t times[3][2] = {{10, 30}, {15, 8}, {40, 8}};
  for (int64_t step = 0; step < 3; ++step) {
    int64_t t = 1000000 * (step + 1);
    int64_t sums = 1000 * times[step][0], gathers = 1000 * times[step][1];
    made.activities.push_back({0, 0, {t, t + sums}, ""});
    made.activities.push_back({1, 0, {t + 50000, t + 50000 + gathers}, ""});
    made.activities.push_back({2, 0, {t + 90000, t + 90000 + sums}, ""});
    made.activities.push_back({3, 0, {t + 140000, t + 141000}, ""});
    made.activities.push_back({4, 0, {t + 150000, t + 190000}, ""});
    made.steps.push_back({t, t + 200000 + 10000 * step});
  }
  made.stepCount = 3;
  made.windows = {{1000000, 4000000}};
  return made;
}

const char *const predictions =
    R"({"machine": {"name": "host"},
        "functions": [{"name": "train_step",
          "time": {"seconds": 0.0001, "exposed": 2.6e-05},
          "collectives": [
            {"site": 1, "seconds": 4e-06, "exposed": 0},
            {"site": 0, "seconds": 2.5e-05, "exposed": 2.5e-05},
            {"kind": "all_gather"}]}]})";
} // namespace

TEST(Trace, comparesCollectivesWithPredictions) {
  MeshcProgram program = described(predictions);
  CallCosts costs(program, "train_step");
  EXPECT_EQ(costs.machine(), "host");
  EXPECT_EQ(
      describeCollectives(threeExchanges(), costs),
      "collectives of a step: predicted for machine 'host', measured as the "
      "median of 3 steps\n"
      "  calls        bytes  predicted us  exposed us measured us  ratio\n"
      "      2         1200          25.0         25.0         30.0    1.20  "
      "all_reduce of 'w', m.mesh:3:1\n"
      "      1            -           4.0            -          8.0    2.00  "
      "all_gather of 'v'\n"
      "      1            -             -            -          1.0       -  "
      "all_gather of 'u' (not predicted)\n"
      "      4         1200          29.0         25.0         51.0    1.76  "
      "all collectives\n"
      "                             100.0         25.0        210.0    2.10  "
      "the step\n");
  // They end the table; without predictions or collectives there are none.
  expectHas(describeTable(threeExchanges(), costs, 0, "t"),
            "collectives of a step: ");
  EXPECT_EQ(describeCollectives(twoSteps(), CallCosts(program, "eval_step")),
            "");
  Recording alone = threeExchanges();
  alone.calls = {call(CallKind::Kernel, "k0")};
  alone.activities.clear();
  EXPECT_EQ(describeCollectives(alone, costs), "");
}

TEST(Trace, doesWithoutAManifest) {
  for (const char *text : {static_cast<const char *>(nullptr), "", "{}", "[1]",
                           "{\"kernels\": 3}", "{\"kernels\": [3]}"}) {
    MeshcProgram program = described(text);
    std::string table =
        describeTable(twoSteps(), CallCosts(program, "train_step"), 0, "t");
    expectHas(table, "  kernel k0\n");
    expectHas(table, "  product 4 x 5 x 6 f32\n");
    expectHas(table, "all_reduce of 'w' over data, m.mesh:3:1\n");
  }
  Recording none;
  MeshcProgram program = described("{}");
  EXPECT_EQ(describeTable(none, CallCosts(program, "train_step"), 0, "t"),
            "trace: no step was traced\n");
  Recording lossy = twoSteps();
  lossy.lost = 3;
  expectHas(describeTable(lossy, CallCosts(program, "train_step"), 0, "t"),
            "lost: 3 activities");
}

/// A product whose call does its epilogue, and one whose epilogue is a kernel.
TEST(Trace, knowsEpilogues) {
  MeshcProgram program = described(
      R"({"functions": [{"name": "train_step", "products": [{"location":
          "m.mesh:2:2", "flops": 40, "read": 100, "epilogue": "relu"}]}]})");
  CallCosts costs(program, "train_step");
  MeshcGemm gemm = {};
  gemm.m = gemm.n = gemm.k = gemm.batch = 1;
  gemm.type = gemm.typeC = MESHC_F32;
  TracedCall atOnce = describeProduct(gemm, 0, MESHC_RELU);
  EXPECT_EQ(atOnce.name, "1 x 1 x 1 f32 + relu");
  EXPECT_EQ(costs.of(atOnce).bytes, 100);
  TracedCall alone = describeProduct(gemm, 0);
  EXPECT_EQ(alone.name, "1 x 1 x 1 f32");
  EXPECT_EQ(costs.of(alone).bytes, 12);
  EXPECT_EQ(costs.of(alone).location, "m.mesh:2:2");
}

TEST(Trace, describesCalls) {
  MeshcGemm gemm = {};
  gemm.m = 2, gemm.n = 3, gemm.k = 5, gemm.batch = 7;
  gemm.type = MESHC_BF16, gemm.typeC = MESHC_F32, gemm.accumulate = 1;
  TracedCall product = describeProduct(gemm, 4);
  EXPECT_EQ(product.name, "7 of 2 x 3 x 5 bf16");
  EXPECT_EQ(product.number, 4u);
  EXPECT_EQ(product.flops, 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(product.bytes, 7 * (2 * (10 + 15) + 2 * 4 * 6));
}

TEST(Trace, writesEvents) {
  MeshcProgram program = described(manifest);
  CallCosts costs(program, "train_step");
  Recording recording = twoSteps();
  EXPECT_EQ(firstTime(recording), 5000000);
  auto all = nlohmann::json::parse(
      traceHeader() + describeEvents(recording, costs, 3, 4999000) + ",\n" +
      describeEvents(Recording(), costs, 4, 0) + traceFooter());
  const nlohmann::json &events = all["traceEvents"];
  ASSERT_EQ(events.size(), 5 + 14 + 2);
  EXPECT_EQ(events[0]["args"]["name"], "rank 3");
  EXPECT_EQ(events[2]["args"]["name"], "communication");
  const nlohmann::json &first = events[5];
  EXPECT_EQ(first["ph"], "X");
  EXPECT_EQ(first["name"], "k0");
  EXPECT_EQ(first["cat"], "kernel");
  EXPECT_EQ(first["pid"], 3);
  EXPECT_EQ(first["tid"], 0);
  EXPECT_EQ(first["ts"], 1.0);
  EXPECT_EQ(first["dur"], 10.0);
  EXPECT_EQ(first["args"]["location"], "m.mesh:1:2");
  EXPECT_EQ(first["args"]["bytes"], 4000);
  EXPECT_EQ(first["args"]["writes"], "w");
  EXPECT_EQ(events[6]["args"]["kernel"], "gemm");
  EXPECT_EQ(events[6]["args"]["flops"], 2000000);
  EXPECT_EQ(events[8]["tid"], 1);
  EXPECT_EQ(events[17]["cat"], "step");
  EXPECT_EQ(events[17]["tid"], 3);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

TEST(Trace, isOfAllRanks) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("t.json");
  for (const auto &[mesh, ranks] : {std::pair("1x1", 1), {"2x2", 4}}) {
    Outcome outcome = run(line(mesh) + " train --quiet --steps 30 --trace " +
                          file + " --trace-steps 7" + data);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    TraceFile trace(file);
    ASSERT_TRUE(trace.isJson) << readFile(file);
    EXPECT_EQ(trace.ranks.size(), ranks);
    EXPECT_EQ(trace.steps, 7 * ranks);
    EXPECT_EQ(trace.events["kernel update"], 7 * ranks);
    EXPECT_EQ(trace.events["product " + std::string(ranks > 1 ? "4 x 1 x 3 f32"
                                                              : "8 x 1 x 6 "
                                                                "f32")],
              7 * ranks);
    EXPECT_EQ(trace.events["collective all_reduce of 'y' over tensor"],
              ranks > 1 ? 7 * ranks : 0);
    EXPECT_EQ(trace.events.count("kernel begin"), 0u);
    EXPECT_EQ(trace.least, 0);
    EXPECT_LT(trace.last, 60e6);
    EXPECT_EQ(trace.find("subtract")["args"]["location"], "line.mesh:6:3");
    expectHas(outcome.out, "trace: 7 steps of rank 0 after step 10, ");
    EXPECT_EQ(
        findLine(outcome.out, "kernel subtract, line.mesh:6:3 (lines 5-6)")
            .compare(0, 8, "      1 "),
        0)
        << outcome.out;
    expectHas(outcome.out, "\noutside kernels ");
  }
}

/// The computed results are the same, and evaluations over other data in
/// between do not count for the steps.
TEST(Trace, changesNothing) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string train = line(mesh) +
                        " train --quiet --steps 20 --eval-every 3 "
                        "--save-every 4 --overwrite --eval-data x=" +
                        folder.file("x.npy") +
                        " --eval-data target=" + folder.file("y.npy") +
                        " --checkpoint ";
    ASSERT_EQ(run(train + folder.file("plain") + data).code, 0);
    Outcome outcome = run(train + folder.file("traced") + " --trace " +
                          folder.file("t") + " --trace-steps 8" + data);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(readFile(folder.file("plain")), readFile(folder.file("traced")));
    TraceFile trace(folder.file("t"));
    EXPECT_EQ(trace.events["kernel tell"], trace.events["kernel update"]);
    EXPECT_EQ(trace.steps % 8, 0);
  }
}

TEST(Trace, isOfTheStepsThatThereAre) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("t");
  std::string train = line("2x2") + " train --quiet --trace " + file + data;
  Outcome outcome = run(train + " --steps 3");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(TraceFile(file).steps, 3 * 4);
  expectHas(outcome.out, "trace: 3 steps of rank 0 after step 0,");
  outcome = run(train + " --steps 8");
  EXPECT_EQ(TraceFile(file).steps, 5 * 4);
  expectHas(outcome.out, "after step 3,");
  outcome = run(train + " --steps 0");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(TraceFile(file).isJson);
  expectHas(outcome.out, "trace: no step was traced\n");
}

TEST(Trace, keepsWhatThereIs) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("t");
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string log = folder.file(mesh);
    Process process("env LINE_SLEEP=10 " + line(mesh) +
                    " train --steps 100000 --trace-steps 1000 --trace " + file +
                    " --log " + log + data);
    ASSERT_TRUE(process.waitForLines(log, 20)); // traced from step 10
    process.signal(SIGINT);
    Outcome outcome = process.wait();
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    TraceFile trace(file);
    ASSERT_TRUE(trace.isJson) << readFile(file);
    EXPECT_EQ(trace.ranks.size(), mesh[0] == '1' ? 1u : 4u);
    EXPECT_GT(trace.steps, 3);
    expectHas(outcome.out, "trace: ");
  }
  // A failure leaves rank 0's part.
  Outcome outcome = run("env LINE_THROW=0:14 " + line("1x1") +
                        " train --quiet --steps 30 --trace " + file + data);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(TraceFile(file).steps, 4);
  outcome = run("env LINE_NAN=12 " + line("2x2") +
                " train --quiet --steps 30 --trace " + file + data);
  EXPECT_EQ(outcome.code, 7);
  // Another rank may have told it before rank 0 was through with the step.
  EXPECT_GE(TraceFile(file).steps, 2);
}

TEST(Trace, tellsWhatCannotBeWritten) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string train = line(mesh) + " train --quiet --steps 9 --trace ";
    expectError(run(train + "/no/where" + data), 2,
                "line: error: trace file '/no/where' cannot be opened: ");
    const std::string problem =
        "trace file '/dev/full' cannot be written: No space left on device";
    Outcome outcome = run(train + "/dev/full" + data);
    expectError(outcome, 9, "line: error: " + problem + "; all else is done\n");
    expectHas(outcome.out, ", one step on average; " + problem + "\n");
    // Other codes take precedence.
    outcome = run("env LINE_THROW=0:7 " + train + "/dev/full" + data);
    EXPECT_EQ(outcome.code, 1);
    expectHas(outcome.err, "warning: " + problem + "\n");
  }
}
