//===- CompareCheckpoints.cpp - two checkpoints, tensor by tensor ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// compare_checkpoints A B [TOLERANCE]: whether two runs of one model ended in
// the same place. For each tensor the largest difference, as a part of the
// tensor's largest value; the exit code is 1 where one is beyond the tolerance
// (by default 1e-3 for f32, 3e-2 for bf16 and f16), or where tensors are
// missing.
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Safetensors.h"
#include "runtime/Core/Failure.h"
#include "runtime/Device/Float16.h"

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

/// Root mean square of the differences over that of the values; infinite where
/// a value is not finite.
static double compare(const SafetensorsFile &a, const FileTensor &x,
                      const SafetensorsFile &b, const FileTensor &y) {
  int64_t bytes = x.dtype == "F32" ? 4 : 2;
  double differences = 0, values = 1e-30;
  for (int64_t at = 0; at < x.endByte - x.beginByte; at += bytes) {
    double p = readElement(a.data(x) + at, x.dtype);
    double q = readElement(b.data(y) + at, y.dtype);
    differences += (p - q) * (p - q);
    values += p * p;
  }
  double ratio = std::sqrt(differences / values);
  return std::isfinite(ratio) ? ratio : HUGE_VAL;
}

static bool run(int argc, char **argv) {
  SafetensorsFile a(argv[1]), b(argv[2]);
  bool agree = a.tensors().size() == b.tensors().size();
  if (!agree)
    std::printf("%zu tensors and %zu\n", a.tensors().size(),
                b.tensors().size());
  double worst = 0;
  std::string name = "none";
  for (const auto &[key, x] : a.tensors()) {
    const FileTensor *y = b.find(key);
    if (!y || y->describe() != x.describe()) {
      std::printf("'%s' is %s and %s\n", key.c_str(), x.describe().c_str(),
                  y ? y->describe().c_str() : "missing");
      agree = false;
      continue;
    }
    if (x.dtype != "F32" && x.dtype != "BF16" && x.dtype != "F16")
      continue;
    double tolerance = x.dtype == "F32" ? 1e-2 : 5e-2;
    if (argc > 3)
      tolerance = std::atof(argv[3]);
    double difference = compare(a, x, b, *y);
    if (!(difference <= tolerance)) {
      std::printf("'%s' differs by %.1e\n", key.c_str(), difference);
      agree = false;
    }
    if (difference >= worst) {
      worst = difference;
      name = key;
    }
  }
  std::printf("parameters differ by %.1e at most ('%s')\n", worst,
              name.c_str());
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
