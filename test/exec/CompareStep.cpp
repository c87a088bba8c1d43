//===- CompareStep.cpp - a step of AdamW and one of PyTorch ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// compare_step BEFORE AFTER EXPECTED: whether the gradients and the update of a
// first step of AdamW are the expected ones. BEFORE and AFTER are checkpoints
// before and after the step. Moments start at zero, so that the gradient is 10
// times the first moment after the step (beta1 = 0.9).
//
// EXPECTED has sketches instead of tensors: a line
//   NAME gradient|update NORM SUM...
// has the Euclidean norm of a tensor, and 8 sums of its values with fixed
// pseudo-random signs (signsOf). NAME[i] is entry i along the first dim. A line
// 'NAME none' says that the loss does not depend on the tensor, so that there
// is nothing but rounding to compare. Other parameters must all have their
// lines.
//
// The expected square of a difference of such sums is the square of the norm of
// the tensors' difference, whatever that is (Alon, Matias, Szegedy 1996, The
// space complexity of approximating the frequency moments). The distance is the
// root mean square of the 8 differences, or the difference of the norms if it
// is larger, relative to the expected norm; it may be 1e-4. An estimate of 8
// differences rarely is below a half of the distance, and almost never below a
// fifth.
//
// The first update by AdamW has nearly the same size for each element, with the
// sign of the gradient. Near zero that is the sign of rounding. An element of
// the update therefore counts in proportion to its gradient, up to a hundredth
// of the root mean square of the tensor's gradient. Beyond it counts in full.
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Failure.h"
#include "runtime/Checkpoint/Safetensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

using namespace meshc::runtime;

static constexpr double limit = 1e-4;

struct Sketch {
  double norm = 0;
  std::array<double, 8> sums = {};
};

/// 32 signs for the element of that index: the finalizer of MurmurHash3.
static uint32_t signsOf(uint32_t index) {
  index = (index ^ index >> 16) * 0x85ebca6bu;
  index = (index ^ index >> 13) * 0xc2b2ae35u;
  return index ^ index >> 16;
}

template <typename Value> static Sketch sketchOf(int64_t count, Value value) {
  Sketch sketch;
  for (int64_t i = 0; i < count; ++i) {
    double x = value(i);
    uint32_t signs = signsOf(static_cast<uint32_t>(i));
    sketch.norm += x * x;
    for (size_t k = 0; k < sketch.sums.size(); ++k)
      sketch.sums[k] += (signs >> k & 1) != 0 ? -x : x;
  }
  sketch.norm = std::sqrt(sketch.norm);
  return sketch;
}

/// The estimated distance, relative to the norm of what is wanted.
static double distance(const Sketch &got, const Sketch &wanted) {
  double squares = 0;
  for (size_t k = 0; k < got.sums.size(); ++k)
    squares += std::pow(got.sums[k] - wanted.sums[k], 2);
  double sums = std::sqrt(squares / static_cast<double>(got.sums.size()));
  double distance = std::max(std::fabs(got.norm - wanted.norm), sums);
  return std::isfinite(got.norm) ? distance / wanted.norm : HUGE_VAL;
}

/// A tensor of a file, or one entry of it.
struct Floats {
  const char *data;
  int64_t count;

  double operator[](int64_t i) const {
    float value;
    std::memcpy(&value, data + i * 4, sizeof(value));
    return static_cast<double>(value);
  }
};

/// `suffix` belongs to the tensor's name, `label` is NAME or NAME[i].
static Floats find(const SafetensorsFile &file, const std::string &label,
                   const std::string &suffix = "") {
  size_t bracket = label.find('[');
  std::string name = label.substr(0, bracket) + suffix;
  const FileTensor *tensor = file.find(name);
  if (!tensor || tensor->dtype != "F32")
    throw Failure(ExitCode::Checkpoint,
                  "'" + file.path() + "' has no f32 tensor '" + name + "'");
  Floats all = {file.data(*tensor), tensor->bytes() / 4};
  if (bracket == std::string::npos)
    return all;
  int64_t count = all.count / tensor->shape.at(0);
  return {all.data + std::stoll(label.substr(bracket + 1)) * count * 4, count};
}

/// The largest distance of the tensors so far.
struct Worst {
  double distance = 0;
  std::string name = "none";

  /// Whether `next` is within the limit. Prints it if not.
  bool add(double next, const std::string &label, const char *what) {
    if (next >= distance)
      name = label;
    distance = std::max(distance, next);
    if (next > limit)
      std::printf("the %s of '%s' differs by %.1e\n", what, label.c_str(),
                  next);
    return next <= limit;
  }
};

namespace {
class Comparison {
public:
  Comparison(const char *before, const char *after)
      : before(before), after(after) {}

  void compareLine(const std::string &line);
  /// Whether all lines agree, and no parameter lacks one.
  bool finish() const;

private:
  Sketch gradientOf(const Floats &moment) const {
    return sketchOf(moment.count, [&](int64_t i) { return 10 * moment[i]; });
  }
  Sketch updateOf(const std::string &label, const Floats &moment) const;

  SafetensorsFile before, after;
  Worst gradients, updates;
  int64_t compared = 0; ///< elements of gradients and updates
  bool agree = true;
};
} // namespace

Sketch Comparison::updateOf(const std::string &label,
                            const Floats &moment) const {
  Floats start = find(before, label), end = find(after, label);
  double squares = 0;
  for (int64_t i = 0; i < moment.count; ++i)
    squares += moment[i] * moment[i];
  double full = 0.01 * std::sqrt(squares / static_cast<double>(moment.count));
  return sketchOf(moment.count, [&](int64_t i) {
    double weight = full > 0 ? std::min(1.0, std::fabs(moment[i]) / full) : 1;
    return weight * (end[i] - start[i]);
  });
}

void Comparison::compareLine(const std::string &line) {
  std::istringstream words(line);
  std::string label, what;
  words >> label >> what;
  Floats moment = find(after, label, ".m");
  if (what == "none") {
    compared += 2 * moment.count;
    return;
  }
  Sketch wanted;
  words >> wanted.norm;
  for (double &sum : wanted.sums)
    words >> sum;
  if (!words || (what != "gradient" && what != "update"))
    throw Failure(ExitCode::Checkpoint, "cannot read '" + line + "'");
  compared += moment.count;
  if (what == "gradient")
    agree &=
        gradients.add(distance(gradientOf(moment), wanted), label, "gradient");
  else
    agree &=
        updates.add(distance(updateOf(label, moment), wanted), label, "update");
}

bool Comparison::finish() const {
  int64_t all = 0;
  for (const auto &[name, tensor] : after.tensors())
    if (after.find(name + ".m"))
      all += 2 * tensor.bytes() / 4;
  if (compared != all)
    std::printf("%lld of %lld elements of gradients and updates are compared\n",
                static_cast<long long>(compared), static_cast<long long>(all));
  std::printf("gradients differ by %.1e at most ('%s'), updates by %.1e "
              "('%s')\n",
              gradients.distance, gradients.name.c_str(), updates.distance,
              updates.name.c_str());
  return agree && compared == all;
}

static bool run(char **argv) {
  Comparison comparison(argv[1], argv[2]);
  std::ifstream expected(argv[3]);
  std::string line;
  while (std::getline(expected, line))
    if (line[0] != '#')
      comparison.compareLine(line);
  return comparison.finish();
}

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: compare_step BEFORE AFTER EXPECTED\n");
    return 2;
  }
  try {
    return run(argv) ? 0 : 1;
  } catch (const Failure &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 2;
  }
}
