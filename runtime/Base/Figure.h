//===- Figure.h - figures on the screen -------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_FIGURE_H
#define MESHC_RUNTIME_BASE_FIGURE_H

#include <string>

namespace meshc::runtime {

/// A number with five significant digits, for people: "0.38460", "12346",
/// "1.0000e-06". Numbers below 0.0001 and from 100,000 on have an exponent.
/// "0", "nan" and "inf" have no digits.
std::string formatFigure(double value);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_FIGURE_H
