//===- VectorMathTest.cpp - how exact elementary functions are ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Parser/Parser.h"
#include "test/Codegen/KernelRun.h"
#include <cfenv>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace meshc;
using namespace meshc::codegen;

/// Numbers in one run of a kernel; not a multiple of the vectors.
static constexpr int64_t valueCount = 8191;

namespace {
/// One op of the nd dialect as a function of many floats.
class Function {
public:
  explicit Function(const std::string &op, llvm::StringRef march = "native") {
    context.loadDialect<nd::NdDialect, exec::ExecDialect>();
    std::string n = std::to_string(valueCount),
                type = "!nd.tensor<f32, [n = " + n + "]>",
                buffer = "!exec.buffer<" + type + ", [\"n\"]>";
    std::string text =
        "module attributes {nd.mesh = #nd.mesh<>, exec.arena_bytes = 0 : i64} "
        "{\nexec.kernel @k #exec.plan<parallel = [\"n\"], reduce = [], lanes = "
        "\"n\", sizes = [" +
        n + "]> in [[\"n\"]] out [[\"n\"]] {\n^bb0(%x: " + type +
        "):\n%y = " + op + " %x : (" + type + ") -> " + type +
        "\nexec.yield %y : " + type +
        "\n}\nexec.func @initialize {\n}\n"
        "exec.func @eval_step {\n%x = exec.buffer at 0 : " +
        buffer + "\n%y = exec.buffer at 65536 : " + buffer +
        "\nexec.launch @k(%x) -> (%y) : (" + buffer + ") -> " + buffer +
        "\n}\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    program = LoadedProgram::load(*module, march);
  }

  /// y[i] = f(x[i]) for valueCount numbers.
  void run(const std::vector<float> &x, std::vector<float> &y) {
    std::memcpy(arena.data(), x.data(), 4 * valueCount);
    MeshcContext run{arena.data(), nullptr, 0, 0, nullptr};
    (*program)->evalStep(&run);
    std::memcpy(y.data(), arena.data() + 65536, 4 * valueCount);
  }

private:
  mlir::MLIRContext context;
  std::unique_ptr<LoadedProgram> program;
  std::vector<char> arena = std::vector<char>(131072);
};

struct Error {
  double ulps = 0;
  float at = 0;
};
} // namespace

/// Distance in units in the last place of the nearest float to `want`.
static double getUlps(float got, double want) {
  auto nearest = static_cast<float>(want);
  if (std::isnan(want) || std::isinf(nearest))
    return std::isnan(want) ? (std::isnan(got) ? 0 : HUGE_VAL)
           : got == nearest ? 0
                            // Rounding at the largest finite number.
                            : (std::abs(double(got)) > 3.4e38 ? 1 : HUGE_VAL);
  int exponent = 0;
  std::frexp(nearest, &exponent);
  double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::isnan(got) ? HUGE_VAL : std::abs(got - want) / ulp;
}

/// The largest error over floats of every exponent and sign, NaN and infinities
/// included, whose magnitude is at most `bound`.
static Error measure(const std::string &op, double (*reference)(double),
                     double bound = HUGE_VAL) {
  Function function(op);
  std::vector<float> x(valueCount), y(valueCount);
  Error worst;
  uint32_t bits = 0;
  // 4,099 is prime to 2^32: samples spread over all mantissas.
  for (int run = 0; run < 128; ++run) {
    for (float &value : x) {
      bits += 4099;
      std::memcpy(&value, &bits, 4);
      if (std::abs(value) > bound)
        value = 0;
    }
    for (int special = 0; special < 4; ++special)
      x[special] = (const float[]){0.0f, -0.0f, 1.0f, -1.0f}[special];
    if (std::isinf(bound)) {
      x[4] = HUGE_VALF;
      x[5] = -HUGE_VALF;
      x[6] = NAN;
    }
    function.run(x, y);
    for (int64_t i = 0; i < valueCount; ++i) {
      double ulps = getUlps(y[i], reference(x[i]));
      if (ulps > worst.ulps)
        worst = {ulps, x[i]};
    }
  }
  std::printf("%-12s %8.3f ulp at %.9g\n", op.c_str(), worst.ulps, worst.at);
  return worst;
}

/// 0 in place of results below 2^-126. [L5.5]
static double exponential(double x) {
  double result = std::exp(x);
  return result < 0x1p-126 ? 0 : result;
}
TEST(VectorMath, Exp) { EXPECT_LE(measure("nd.exp", exponential).ulps, 2); }
TEST(VectorMath, ExpHasNoSubnormalResults) {
  for (const char *march : {"native", "x86-64-v3"}) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
      GTEST_SKIP() << "This processor does not run code for x86-64-v3.";
    Function function("nd.exp", march);
    std::vector<float> x(valueCount, -100), y(valueCount);
    const float least = -87.3365402f; // the least one with a result
    x[0] = -87.0f, x[1] = least, x[2] = std::nextafter(least, -100.0f),
    x[3] = -87.4f, x[4] = -103.9f;
    function.run(x, y);
    EXPECT_FLOAT_EQ(y[0], static_cast<float>(std::exp(-87.0)));
    EXPECT_GE(y[1], 0x1p-126f);
    for (int64_t i = 2; i < valueCount; ++i)
      ASSERT_EQ(y[i], 0) << x[i];
  }
}
/// Processors that have an instruction which scales by powers of two use it.
TEST(VectorMath, ExpIsTheSameWithoutAnInstructionThatScales) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "This processor does not run code for x86-64-v3.";
  Function native("nd.exp"), other("nd.exp", "x86-64-v3");
  std::vector<float> x(valueCount), y(valueCount), z(valueCount);
  for (int run = 0; run < 32; ++run) {
    // From below the least result to beyond the largest number.
    for (int64_t i = 0; i < valueCount; ++i)
      x[i] = -105 + 195 * float(32 * i + run) / (32 * valueCount);
    x[0] = NAN, x[1] = HUGE_VALF, x[2] = -HUGE_VALF, x[3] = -0.0f;
    native.run(x, y);
    other.run(x, z);
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(z[0]));
    y[0] = z[0] = 0;
    ASSERT_EQ(std::memcmp(y.data(), z.data(), 4 * valueCount), 0);
  }
}
/// Entries that are masked by -100, -1e9 or -inf take no longer than others. A
/// result that underflows would: the processor would leave its usual path for
/// it.
TEST(VectorMath, ExpOfMaskedEntriesDoesNotUnderflow) {
  for (const char *march : {"native", "x86-64-v3"}) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
      GTEST_SKIP() << "This processor does not run code for x86-64-v3.";
    Function function("nd.exp", march);
    std::vector<float> x(valueCount), y(valueCount);
    for (int64_t i = 0; i < valueCount; ++i)
      x[i] = i % 4 == 0   ? -1e9f
             : i % 4 == 1 ? -HUGE_VALF
             : i % 4 == 2 ? -80 - float(i % 30)
                          : float(-i % 80);
    std::feclearexcept(FE_ALL_EXCEPT);
    function.run(x, y);
    EXPECT_EQ(std::fetestexcept(FE_UNDERFLOW), 0) << march;
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], 0);
  }
}
TEST(VectorMath, Log) { EXPECT_LE(measure("nd.log", std::log).ulps, 2); }
TEST(VectorMath, Erf) { EXPECT_LE(measure("nd.erf", std::erf).ulps, 5); }
TEST(VectorMath, Tanh) { EXPECT_LE(measure("nd.tanh", std::tanh).ulps, 5); }
TEST(VectorMath, Sqrt) { EXPECT_LE(measure("nd.sqrt", std::sqrt).ulps, 0.5); }
TEST(VectorMath, Rsqrt) {
  EXPECT_LE(measure("nd.rsqrt",
                    [](double x) { return x < 0 ? NAN : 1 / std::sqrt(x); })
                .ulps,
            1.5);
}
/// Below -88 the exponential overflows: results that should be subnormal are 0.
TEST(VectorMath, Sigmoid) {
  EXPECT_LE(
      measure(
          "nd.sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 88)
          .ulps,
      4);
}
TEST(VectorMath, Softplus) {
  EXPECT_LE(measure("nd.softplus",
                    [](double x) {
                      return x > 0 ? x + std::log1p(exponential(-x))
                                   : std::log1p(exponential(x));
                    })
                .ulps,
            4);
}
TEST(VectorMath, SinAndCos) {
  EXPECT_LE(measure("nd.sin", std::sin).ulps, 1);
  EXPECT_LE(measure("nd.cos", std::cos).ulps, 1);
}
