//===- FigureTest.cpp - tests of figures on the screen --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Figure.h"

#include <gtest/gtest.h>
#include <limits>

using namespace meshc::runtime;

TEST(Figure, hasFiveSignificantDigits) {
  for (auto [value, text] :
       std::initializer_list<std::pair<double, const char *>>{
           {0.3846, "0.38460"},
           {2, "2.0000"},
           {-12.3456789, "-12.346"},
           {123456, "1.2346e+05"},
           {12345.6, "12346"},
           {1e-6, "1.0000e-06"},
           {7640850432, "7.6409e+09"},
           {0.00012345678, "0.00012346"},
           {0.0000987654, "9.8765e-05"},
           {1e300, "1.0000e+300"},
           {-5e-324, "-4.9407e-324"}})
    EXPECT_EQ(formatFigure(value), text);
}

/// The number of digits is that of the rounded number.
TEST(Figure, roundsAcrossPowersOfTen) {
  EXPECT_EQ(formatFigure(0.99999), "0.99999");
  EXPECT_EQ(formatFigure(0.999999), "1.0000");
  EXPECT_EQ(formatFigure(99999.6), "1.0000e+05");
  EXPECT_EQ(formatFigure(0.0000999999), "0.00010000");
}

TEST(Figure, zeroAndWhatIsNotFinite) {
  EXPECT_EQ(formatFigure(0), "0");
  EXPECT_EQ(formatFigure(-0.0), "0");
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(formatFigure(nan), "nan");
  EXPECT_EQ(formatFigure(-nan), "nan");
  EXPECT_EQ(formatFigure(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(formatFigure(-std::numeric_limits<double>::infinity()), "-inf");
}
