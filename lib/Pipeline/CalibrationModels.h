//===- CalibrationModels.h - what --calibrate measures ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to Calibrate.cpp: the programs that --calibrate compiles and runs.
/// All but rowModel are formats.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_CALIBRATIONMODELS_H
#define MESHC_LIB_PIPELINE_CALIBRATIONMODELS_H

namespace meshc {

/// Products of square matrices, forward and for the gradient of w. {0}: the
/// clause of the precision.
inline constexpr const char *productsModel = R"(
dim n = 512, m = 512, k = 512
model products(x[n, m]) {{
  param w[m, k] ~ normal(0.01)
  loss = mean(square(dot(x, w, m)))
}
train products minimize loss with sgd(lr = 0.001) {0}
)";

/// Many small products, one after the other: nothing between them lets a
/// thread fall asleep.
inline constexpr const char *rowModel = R"(
dim n = 128, m = 256, k = 256
model row(x[n, m]) {
  param w[m, k] ~ normal(0.06)
  param v[k, m] ~ normal(0.06)
  y = x
  y = dot(dot(y, w, m), v, k)
  y = dot(dot(y, w, m), v, k)
  y = dot(dot(y, w, m), v, k)
  y = dot(dot(y, w, m), v, k)
  loss = mean(square(y))
}
train row minimize loss with sgd(lr = 0.001)
)";

/// Each element of x goes through a chain of operations. {0}: the chain.
inline constexpr const char *chainModel = R"(
dim n = 128, m = 1024
model chain(x[n, m]) {{
  param w[] ~ zeros
  y = x
  {0}
  loss = mean(y) + w
}
train chain minimize loss with sgd(lr = 0.001)
)";
inline constexpr int chainLength = 16;

/// The update of a parameter of {0} elements reads and writes it and its
/// momentum. {1}: the number of ranks. With a layout for data parallelism, the
/// gradient is reduced.
inline constexpr const char *updateModel = R"(
dim n = {1}, m = {0}
model update(x[n]) {{
  param w[m] ~ zeros
  loss = mean(square(x * w))
}
train update minimize loss with momentum(lr = 0.001, momentum = 0.9)
)";

/// Sorts rows of random numbers. {0}: rows. {1}: entries of a row. The input is
/// zero, so that they stay as they are.
inline constexpr const char *sortModel = R"(
dim n = {0}, m = {1}
model sorting(x[n]) {{
  param w[n, m] ~ normal(1)
  loss = mean(sort(w, m) * x)
}
train sorting minimize loss with sgd(lr = 0.001)
)";

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_CALIBRATIONMODELS_H
