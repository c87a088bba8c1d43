//===- CompareProgramTest.cpp - what a comparison finds -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// compareProgram on a script that replaces a compiled program and writes what
/// the test supplies.
///
//===----------------------------------------------------------------------===//

#include "lib/Reference/CompareProgram.h"
#include "dialects/Nd/NdInterfaces.h"
#include "lib/Reference/RoundingNoise.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshc;
using namespace meshc::reference;

namespace {

/// w begins as 2 and doubles in each step; the loss is its sum.
const char *const stepsText = R"(
!w = !nd.tensor<f32, [a = 4]>
!x = !nd.tensor<f32, [a = 4, o = 2]>
!s = !nd.tensor<f32, []>
func.func @initialize() -> (!w {nd.name = "w", nd.role = "parameter"}) {
  %w = nd.constant 2.0 : f32 -> !w
  return %w : !w
}
func.func @train_step(
    %w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["a"]},
    %x: !x {nd.name = "x", nd.role = "input", nd.order = ["o", "a"]})
    -> (!w {nd.name = "w", nd.role = "parameter"}, !s {nd.name = "loss", nd.role = "metric"}) {
  %n = nd.add %w, %w : (!w, !w) -> !w
  %l = nd.reduce_sum %w {dims = ["a"]} : (!w) -> !s
  return %n, %l : !w, !s
}
func.func @eval_step(
    %w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["a"]},
    %x: !x {nd.name = "x", nd.role = "input", nd.order = ["o", "a"]})
    -> (!s {nd.name = "loss", nd.role = "metric"}) {
  %l = nd.reduce_sum %w {dims = ["a"]} : (!w) -> !s
  return %l : !s
}
)";

/// Copies files of its folder to the paths that its options name.
const char *const scriptText = R"sh(#!/bin/sh
cd "$(dirname "$0")"
command=$1
while [ $# -gt 0 ]; do
  case $1 in
  --steps) steps=$2 ;;
  --checkpoint) checkpoint=$2 ;;
  --log) log=$2 ;;
  esac
  shift
done
[ ! -e code ] || exit "$(cat code)"
case $command in
train) cp "state$steps" "$checkpoint"; [ -z "$log" ] || cp log "$log" ;;
eval) cp evaluation "$log" ;;
esac
)sh";

class CompareProgram : public testing::Test {
protected:
  CompareProgram() {
    context.loadDialect<nd::NdDialect, func::FuncDialect>();
    handler.emplace(&context, [&](Diagnostic &diagnostic) {
      errors += diagnostic.str();
      return success();
    });
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("compare", folder));
    write("program", scriptText);
    llvm::sys::fs::setPermissions(path("program"), llvm::sys::fs::all_all);
    writeState("state0", {2, 2, 2, 2});
    writeState("state2", {8, 8, 8, 8});
    write("log", "{\"step\":1,\"loss\":8}\n{\"step\":2,\"loss\":16}\n");
    write("evaluation", "{\"step\":2,\"loss\":32,\"examples\":4}\n");
  }
  ~CompareProgram() override { llvm::sys::fs::remove_directories(folder); }

  std::string path(StringRef file) { return (folder + "/" + file).str(); }
  void write(StringRef file, StringRef text) {
    std::error_code error;
    llvm::raw_fd_ostream(path(file), error) << text;
  }
  /// A checkpoint of the tensor w.
  void writeState(StringRef file, std::vector<float> values) {
    std::string header =
        llvm::formatv("{\"w\":{\"dtype\":\"F32\",\"shape\":[{0}],"
                      "\"data_offsets\":[0,{1}]}",
                      values.size(), 4 * values.size())
            .str() +
        "}";
    uint64_t length = header.size();
    std::string text(reinterpret_cast<const char *>(&length), 8);
    text += header;
    text.append(reinterpret_cast<const char *>(values.data()),
                4 * values.size());
    write(file, text);
  }

  /// The differences, as "moment name element rank", a line each.
  std::string compare() {
    auto steps = parseSourceString<ModuleOp>(stepsText, &context);
    EXPECT_TRUE(steps) << errors;
    CompiledProgram program;
    program.path = path("program");
    program.folder = folder.str();
    auto axis = [&](StringRef name) {
      return nd::AxisAttr::get(&context, StringAttr::get(&context, name), 2);
    };
    program.mesh = nd::MeshAttr::get(&context, {axis("p"), axis("q")});
    program.state["w"] = cast<nd::TensorType>(
        mlir::parseType("!nd.tensor<f32, [a = 4 on {q, p}]>", &context));
    auto differences = compareProgram(*steps, program, {});
    if (failed(differences))
      return "failed";
    std::string text;
    for (const ProgramDifference &difference : *differences)
      if (!difference.agrees)
        text += difference.moment + " " + difference.name + " " +
                difference.element + " " + std::to_string(difference.rank) +
                "\n";
    return text;
  }

  MLIRContext context;
  std::optional<ScopedDiagnosticHandler> handler;
  std::string errors;
  llvm::SmallString<128> folder;
};

TEST_F(CompareProgram, FindsNothingWhereAllIsRight) {
  EXPECT_EQ(compare(), "") << errors;
}

TEST_F(CompareProgram, NamesElementAndRank) {
  // Blocks are cut over q first: entry 1 is of q = 0 and p = 1.
  writeState("state2", {8, 8.0001f, 8, 8});
  EXPECT_EQ(compare(), "after 2 w [a = 1] 2\n") << errors;
}

TEST_F(CompareProgram, ComparesEachMoment) {
  writeState("state0", {2, 2, 2, 3});
  EXPECT_EQ(compare().substr(0, 21), "initial w [a = 3] 3\na") << errors;
  writeState("state0", {2, 2, 2, 2});
  write("log", "{\"step\":1,\"loss\":8}\n{\"step\":2,\"loss\":16.001}\n");
  EXPECT_EQ(compare(), "step 2 loss  0\n") << errors;
  write("log", "{\"step\":1,\"loss\":null}\n{\"step\":2,\"loss\":16}\n");
  EXPECT_EQ(compare(), "step 1 loss  0\n") << errors;
}

TEST_F(CompareProgram, ReportsAProgramThatFails) {
  write("code", "6");
  EXPECT_EQ(compare(), "failed");
  EXPECT_NE(errors.find("the compiled program failed with code 6"),
            std::string::npos)
      << errors;
}

TEST_F(CompareProgram, ReportsFilesThatAreNotAsTheyShouldBe) {
  writeState("state0", {2, 2, 2});
  EXPECT_EQ(compare(), "failed");
  EXPECT_NE(errors.find("has another type or shape of tensor 'w'"),
            std::string::npos)
      << errors;
  writeState("state0", {2, 2, 2, 2});
  write("state2", "no checkpoint");
  EXPECT_EQ(compare(), "failed");
  EXPECT_NE(errors.find("is not a safetensors file"), std::string::npos)
      << errors;
}

/// A function's results with noise, for one argument.
class Noise : public CompareProgram {
protected:
  std::vector<double> run(StringRef body, std::vector<double> x, bool wide) {
    auto module = parseSourceString<ModuleOp>(
        ("func.func @f(%x: !nd.tensor<f32, [a = 4]>) -> " + body).str(),
        &context);
    EXPECT_TRUE(module) << errors;
    auto function = *module->getOps<func::FuncOp>().begin();
    auto mesh = nd::MeshAttr::get(&context, {});
    nd::HostTensor tensor(nd::getTensorType(function.getArgument(0)), mesh);
    tensor.data = x;
    RoundingNoise noise(7, wide);
    RunOptions options;
    options.noise = &noise;
    auto results = interpret(function, mesh, {{tensor}}, options);
    EXPECT_TRUE(succeeded(results)) << errors;
    return (*results)[0][0].data;
  }
};

const char *const sumText = R"(!nd.tensor<f32, []> {
  %y = nd.reduce_sum %x {dims = ["a"]} : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, []>
  return %y : !nd.tensor<f32, []>
})";

TEST_F(Noise, ExactResultsStayExact) {
  EXPECT_EQ(run(sumText, {1, 2, 3, -5}, false), std::vector<double>{1});
  EXPECT_EQ(run(R"(!nd.tensor<f32, []> {
  %y = nd.reduce_max %x {dims = ["a"]} : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, []>
  return %y : !nd.tensor<f32, []>
})",
                {0.1f, 0.2f, 0.3f, -0.5f}, true),
            std::vector<double>{0.3f});
}

TEST_F(Noise, SumsThatCancelHaveErrorsOfTheirTerms) {
  double sum = run(sumText, {1000.1f, -1000.1f, 0.5, 0.25}, false)[0];
  EXPECT_NE(sum, 0.75);
  EXPECT_LT(std::abs(sum - 0.75), 4 * 16 * 1000 * 0x1p-24);
  EXPECT_GT(std::abs(sum - 0.75), 1000 * 0x1p-26);
}

/// 0.9 · 1000 + x, where the product is rounded.
TEST_F(Noise, CompositesThatCancelHaveErrorsOfTheirParts) {
  std::vector<double> velocity =
      run(R"(!nd.tensor<f32, [a = 4]> {
  %v = nd.constant 1000.0 : f32 -> !nd.tensor<f32, [a = 4]>
  %s = nd.step : () -> !nd.tensor<i32, []>
  %u:2 = nd.momentum_update %v, %x, %s, %v {settings = {lr = 0.5}} : (!nd.tensor<f32, [a = 4]>, !nd.tensor<f32, [a = 4]>, !nd.tensor<i32, []>, !nd.tensor<f32, [a = 4]>) -> (!nd.tensor<f32, [a = 4]>, !nd.tensor<f32, [a = 4]>)
  return %u#1 : !nd.tensor<f32, [a = 4]>
})",
          {-899.9f, -900.1f, -900.3f, -899.7f}, false);
  EXPECT_GT(std::abs(velocity[0] - (900 - double(899.9f))), 1000 * 0x1p-28);
}

TEST_F(Noise, RoundsToTheTypeOfTheResult) {
  std::vector<double> values = run(R"(!nd.tensor<bf16, [a = 4]> {
  %e = nd.exp %x : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, [a = 4]>
  %y = nd.cast %e : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<bf16, [a = 4]>
  return %y : !nd.tensor<bf16, [a = 4]>
})",
                                   {0.1f, 0.2f, 0.3f, 0.4f}, false);
  for (double value : values)
    EXPECT_EQ(nd::roundToElementType(value, BFloat16Type::get(&context)),
              value);
}

/// x, rounded to f16 and added up in f32: the compiled program may sum first.
TEST_F(Noise, RoundingBeforeASumHasErrorsOf16Bits) {
  const char *rounded = R"(!nd.tensor<f32, [a = 4]> {
  %h = nd.cast %x : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<f16, [a = 4]>
  %w = nd.cast %h : (!nd.tensor<f16, [a = 4]>) -> !nd.tensor<f32, [a = 4]>
  return %w : !nd.tensor<f32, [a = 4]>
})";
  // Numbers of f16 are 2^-10 apart here.
  const double x = 1 + 7 * 0x1p-14;
  std::vector<double> values = run(rounded, {x, x, x, x}, false);
  EXPECT_TRUE(llvm::any_of(values, [](double y) { return y != 1; }));
  for (double y : values)
    EXPECT_LT(std::abs(y - 1), 3 * 0x1p-10);
  // An op of f16 has the same errors in the compiled program.
  const char *used = R"(!nd.tensor<f16, [a = 4]> {
  %h = nd.cast %x : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<f16, [a = 4]>
  %w = nd.neg %h : (!nd.tensor<f16, [a = 4]>) -> !nd.tensor<f16, [a = 4]>
  return %w : !nd.tensor<f16, [a = 4]>
})";
  EXPECT_EQ(run(used, {x, x, x, x}, false), std::vector<double>(4, -1));
}

/// As many runs as a few seconds allow, and 40 in any case.
TEST_F(CompareProgram, RunsSmallFunctionsMoreOften) {
  auto countRuns = [&](StringRef size, StringRef body) {
    std::string text =
        ("!t = !nd.tensor<f32, [a = " + size +
         "]>\nfunc.func @f(%x: !t) -> !t {\n" + body + "  return %y : !t\n}\n")
            .str();
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << errors;
    return getRunCounts(*module->getOps<func::FuncOp>().begin());
  };
  StringRef once = "  %y = nd.exp %x : (!t) -> !t\n";
  StringRef inLoop = R"(  %y = nd.scan "n" 1000 carried(%x : !t) -> !t {
  ^bb0(%c: !t):
    %e = nd.exp %c : (!t) -> !t
    nd.yield %e : !t
  }
)";
  EXPECT_EQ(countRuns("100", once),
            (SmallVector<unsigned>{3, 10, 40, 200, 1000}));
  EXPECT_EQ(countRuns("100000", once), (SmallVector<unsigned>{3, 10, 40, 200}));
  EXPECT_EQ(countRuns("10000000", once), (SmallVector<unsigned>{3, 10, 40}));
  EXPECT_EQ(countRuns("100", inLoop), (SmallVector<unsigned>{3, 10, 40, 200}));
}

} // namespace
