//===- ProcessorFeaturesTest.cpp - programs for other processors ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/ProcessorFeatures.h"

#include "runtime/Base/Failure.h"

#include <gtest/gtest.h>

using namespace meshc::runtime;

TEST(ProcessorFeatures, findsTheFirstThatIsMissing) {
  auto has = [](const std::string &name) { return name.rfind("avx512") != 0; };
  EXPECT_EQ(findMissingFeature(nullptr, has), "");
  EXPECT_EQ(findMissingFeature("", has), "");
  EXPECT_EQ(findMissingFeature("avx,avx2,fma", has), "");
  EXPECT_EQ(findMissingFeature("avx2,avx512f,avx512bw", has), "avx512f");
}

/// The same answers as the compiler's own.
TEST(ProcessorFeatures, agreesWithTheCompiler) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  EXPECT_EQ(hasProcessorFeature("sse3"), !!__builtin_cpu_supports("sse3"));
  EXPECT_EQ(hasProcessorFeature("ssse3"), !!__builtin_cpu_supports("ssse3"));
  EXPECT_EQ(hasProcessorFeature("sse4.2"), !!__builtin_cpu_supports("sse4.2"));
  EXPECT_EQ(hasProcessorFeature("popcnt"), !!__builtin_cpu_supports("popcnt"));
  EXPECT_EQ(hasProcessorFeature("avx"), !!__builtin_cpu_supports("avx"));
  EXPECT_EQ(hasProcessorFeature("avx2"), !!__builtin_cpu_supports("avx2"));
  EXPECT_EQ(hasProcessorFeature("fma"), !!__builtin_cpu_supports("fma"));
  EXPECT_EQ(hasProcessorFeature("bmi"), !!__builtin_cpu_supports("bmi"));
  EXPECT_EQ(hasProcessorFeature("bmi2"), !!__builtin_cpu_supports("bmi2"));
  EXPECT_EQ(hasProcessorFeature("fma4"), !!__builtin_cpu_supports("fma4"));
  EXPECT_EQ(hasProcessorFeature("xop"), !!__builtin_cpu_supports("xop"));
  EXPECT_EQ(hasProcessorFeature("avx512f"),
            !!__builtin_cpu_supports("avx512f"));
  EXPECT_EQ(hasProcessorFeature("avx512bw"),
            !!__builtin_cpu_supports("avx512bw"));
  EXPECT_EQ(hasProcessorFeature("avx512vl"),
            !!__builtin_cpu_supports("avx512vl"));
  EXPECT_EQ(hasProcessorFeature("avx512vnni"),
            !!__builtin_cpu_supports("avx512vnni"));
  EXPECT_EQ(hasProcessorFeature("avx512vbmi2"),
            !!__builtin_cpu_supports("avx512vbmi2"));
#endif
  EXPECT_FALSE(hasProcessorFeature("no such feature"));
}

TEST(ProcessorFeatures, namesWhatIsMissing) {
  checkProcessor(nullptr);
  try {
    checkProcessor("avx9000");
    FAIL();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code(), ExitCode::Device);
    EXPECT_NE(std::string(failure.what()).find("with 'avx9000'"),
              std::string::npos);
  }
}
