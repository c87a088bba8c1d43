//===- CompareCheckpoints.cpp - two checkpoints, tensor by tensor ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// compare_checkpoints A B [TOLERANCE]: whether two runs of one model ended in
// the same place. For each tensor of floats, relative to the root mean square
// of A's values: the root mean square of the differences may be TOLERANCE (by
// default 1e-2 for f32, 5e-2 for bf16 and f16), and the largest difference ten
// times that, so that one wrong row shows in a large tensor. Other tensors must
// be equal to the bit. The exit code is 1 if a tensor exceeds the tolerance or
// is missing.
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Failure.h"
#include "runtime/Base/Float16.h"
#include "runtime/Checkpoint/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace meshc::runtime;

static double readElement(const char *place, const std::string &dtype) {
  if (dtype == "F32") {
    float value;
    std::memcpy(&value, place, sizeof(value));
    return static_cast<double>(value);
  }
  uint16_t bits;
  std::memcpy(&bits, place, sizeof(bits));
  return static_cast<double>(dtype == "BF16" ? floatFromBf16(bits)
                                             : floatFromF16(bits));
}

/// The distance of two tensors, relative to the values' root mean square;
/// infinite if a value is not finite.
struct Distance {
  double rms, largest;
};

static Distance compare(const SafetensorsFile &a, const FileTensor &x,
                        const SafetensorsFile &b, const FileTensor &y) {
  int64_t bytes = x.dtype == "F32" ? 4 : 2;
  int64_t count = (x.endByte - x.beginByte) / bytes;
  double differences = 0, values = 1e-30, largest = 0;
  bool finite = true;
  for (int64_t at = 0; at < x.endByte - x.beginByte; at += bytes) {
    double p = readElement(a.data(x) + at, x.dtype);
    double q = readElement(b.data(y) + at, y.dtype);
    differences += (p - q) * (p - q);
    largest = std::max(largest, std::fabs(p - q));
    values += p * p;
    finite &= std::isfinite(p) && std::isfinite(q);
  }
  if (!finite || count == 0)
    return {finite ? 0 : HUGE_VAL, finite ? 0 : HUGE_VAL};
  return {std::sqrt(differences / values),
          largest / std::sqrt(values / static_cast<double>(count))};
}

static bool isFloat(const FileTensor &tensor) {
  return tensor.dtype == "F32" || tensor.dtype == "BF16" ||
         tensor.dtype == "F16";
}

/// Prints differences beyond the tolerance.
static bool isNear(const std::string &name, const Distance &distance,
                   double tolerance) {
  bool near = distance.rms <= tolerance && distance.largest <= 10 * tolerance;
  if (!near)
    std::printf("'%s' differs by %.1e, in one place by %.1e\n", name.c_str(),
                distance.rms, distance.largest);
  return near;
}

static bool run(int argc, char **argv) {
  SafetensorsFile a(argv[1]), b(argv[2]);
  bool agree = a.tensors().size() == b.tensors().size();
  if (!agree)
    std::printf("%zu tensors and %zu\n", a.tensors().size(),
                b.tensors().size());
  Distance worst = {0, 0};
  std::string name = "none";
  for (const auto &[key, x] : a.tensors()) {
    const FileTensor *y = b.find(key);
    if (!y || y->describe() != x.describe()) {
      std::printf("'%s' is %s and %s\n", key.c_str(), x.describe().c_str(),
                  y ? y->describe().c_str() : "missing");
      agree = false;
      continue;
    }
    if (!isFloat(x)) {
      auto bytes = static_cast<size_t>(x.endByte - x.beginByte);
      if (std::memcmp(a.data(x), b.data(*y), bytes) != 0) {
        std::printf("'%s' is not the same\n", key.c_str());
        agree = false;
      }
      continue;
    }
    double tolerance = x.dtype == "F32" ? 1e-2 : 5e-2;
    if (argc > 3)
      tolerance = std::atof(argv[3]);
    Distance distance = compare(a, x, b, *y);
    agree &= isNear(key, distance, tolerance);
    if (distance.rms >= worst.rms)
      name = key;
    worst.rms = std::max(worst.rms, distance.rms);
    worst.largest = std::max(worst.largest, distance.largest);
  }
  std::printf(
      "parameters differ by %.1e at most ('%s'), in one place by %.1e\n",
      worst.rms, name.c_str(), worst.largest);
  return agree;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: compare_checkpoints A B [TOLERANCE]\n");
    return 2;
  }
  try {
    return run(argc, argv) ? 0 : 1;
  } catch (const Failure &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 2;
  }
}
