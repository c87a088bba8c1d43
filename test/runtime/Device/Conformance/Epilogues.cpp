//===- Epilogues.cpp - checks of products with epilogues ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Suite.h"

#include "meshc/Epilogues.h"
#include "runtime/Device/CudaDevice.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

using namespace meshc;
using namespace meshc::test;
using namespace meshc::runtime;

namespace {

const char *const typeNames[] = {"f32", "bf16", "f16"};

/// How often cuBLAS did it, and was asked to.
struct Tally {
  int done = 0, asked = 0;
};
std::map<std::string, Tally> tallies;

/// One product with an epilogue, and the places of its arrays in the arena.
class Trial {
public:
  Trial(Subject &subject, uint8_t type, int64_t m, int64_t n, int64_t k,
        int form)
      : subject(subject), type(type), bytes(bytesOf(type)) {
    gemm.m = m, gemm.n = n, gemm.k = k;
    gemm.transA = form & 1, gemm.transB = form >> 1 & 1;
    gemm.lda = gemm.transA ? m : k, gemm.ldb = gemm.transB ? k : n;
    gemm.ldc = n, gemm.batch = 1;
    gemm.type = gemm.typeC = type;
    a = place(m * k, 1), b = place(k * n, 2);
    bias = place(n, 3), argument = place(m * n, 4);
    result = place(m * n, 5), kept = place(m * n, 6);
    gradient = place(m * n, 7), vector = place(std::max(m, n), 8);
    mask = place(m * ((n + 127) / 128 * 16), 9);
  }

  /// What is wrong, or nothing; also nothing if cuBLAS has no such call.
  std::string check(const EpilogueTraits &kind, bool keeps);

private:
  /// An array in the arena, filled with numbers.
  struct Array {
    int64_t offset = 0;
    std::vector<char> data;
  };

  Array place(int64_t count, unsigned seed) {
    Array array{next, numbers(type, count, seed)};
    next += (count * bytes + 63) / 64 * 64 + 64; // as an arena's buffers lie
    subject.put(array.offset, array.data);
    return array;
  }
  bool run(const EpilogueTraits &kind,
           const std::vector<const Array *> &buffers, const Array &c,
           bool hasMask);
  double product(int64_t i, int64_t j, double &sizes) const;
  std::string
  compare(const std::string &what, const Array &array,
          const std::function<double(int64_t, int64_t, double &)> &wanted);
  std::string checkSums(const EpilogueTraits &kind);
  std::string checkMask(const EpilogueTraits &reader);
  std::string checkZeros(const EpilogueTraits &reader);
  double unit() const {
    return type == MESHC_F32 ? 0x1p-23 : type == MESHC_BF16 ? 0x1p-8 : 0x1p-10;
  }

  Subject &subject;
  uint8_t type;
  int64_t bytes, next = 0;
  MeshcGemm gemm = {};
  Array a, b, bias, argument, result, kept, gradient, vector, mask;
};

bool Trial::run(const EpilogueTraits &kind,
                const std::vector<const Array *> &buffers, const Array &c,
                bool hasMask) {
  MeshcKernel kernel = {};
  kernel.bufferCount = static_cast<uint32_t>(buffers.size());
  MeshcEpilogue epilogue = {static_cast<uint32_t>(kind.kind), 0, &kernel};
  bool isDone = false;
  subject.run([&](MeshcContext *ctx) {
    auto at = [&](const Array &array) { return ctx->arena + array.offset; };
    std::vector<void *> addresses;
    for (const Array *buffer : buffers)
      addresses.push_back(at(*buffer));
    isDone =
        dynamic_cast<CudaDevice &>(subject.device)
            .multiplyAtOnce(epilogue, gemm, at(a), at(b), at(c),
                            addresses.data(), hasMask ? at(mask) : nullptr);
  });
  Tally &tally = tallies[std::string(kind.name) + " " + typeNames[type]];
  ++tally.asked;
  tally.done += isDone;
  return isDone;
}

double Trial::product(int64_t i, int64_t j, double &sizes) const {
  double sum = 0;
  sizes = 0;
  for (int64_t k = 0; k < gemm.k; ++k) {
    double term =
        load(type, a.data, gemm.transA ? k * gemm.lda + i : i * gemm.lda + k) *
        load(type, b.data, gemm.transB ? j * gemm.ldb + k : k * gemm.ldb + j);
    sum += term;
    sizes += std::fabs(term);
  }
  return sum;
}

/// Compares with exact results: products may be summed in any order in f32,
/// results are rounded, functions may deviate by ten times the rounding.
std::string Trial::compare(
    const std::string &what, const Array &array,
    const std::function<double(int64_t, int64_t, double &)> &wanted) {
  std::vector<char> got(array.data.size());
  subject.get(array.offset, got);
  for (int64_t i = 0; i < gemm.m; ++i)
    for (int64_t j = 0; j < gemm.n; ++j) {
      double sizes = 0;
      double exact = wanted(i, j, sizes);
      double tolerance = static_cast<double>(gemm.k + 4) * 0x1p-23 * sizes +
                         2 * unit() * std::fabs(exact) + 1e-5;
      double value = load(type, got, i * gemm.n + j);
      if (!(std::fabs(value - exact) <= tolerance))
        return what + " " + typeNames[type] + ", " + std::to_string(gemm.m) +
               " x " + std::to_string(gemm.n) + " x " + std::to_string(gemm.k) +
               ": element " + std::to_string(i) + ", " + std::to_string(j) +
               " is " + std::to_string(value) + ", wanted " +
               std::to_string(exact);
    }
  return "";
}

std::string Trial::checkSums(const EpilogueTraits &kind) {
  const bool isA = kind.operand == EpilogueOperand::A;
  if (!run(kind, {isA ? &a : &b, &vector}, result, false))
    return "";
  std::string wrong = compare("c of a bias' gradient", result,
                              [&](int64_t i, int64_t j, double &sizes) {
                                return product(i, j, sizes);
                              });
  std::vector<char> got(vector.data.size());
  subject.get(vector.offset, got);
  for (int64_t i = 0; i < (isA ? gemm.m : gemm.n) && wrong.empty(); ++i) {
    double sum = 0, sizes = 0;
    for (int64_t k = 0; k < gemm.k; ++k) {
      double value =
          isA ? load(type, a.data,
                     gemm.transA ? k * gemm.lda + i : i * gemm.lda + k)
              : load(type, b.data,
                     gemm.transB ? i * gemm.ldb + k : k * gemm.ldb + i);
      sum += value;
      sizes += std::fabs(value);
    }
    double tolerance = static_cast<double>(gemm.k + 4) * 0x1p-23 * sizes +
                       2 * unit() * std::fabs(sum) + 1e-5;
    if (!(std::fabs(load(type, got, i) - sum) <= tolerance))
      wrong = std::string("bias' gradient ") + typeNames[type] + ": element " +
              std::to_string(i) + " is " + std::to_string(load(type, got, i)) +
              ", wanted " + std::to_string(sum);
  }
  return wrong;
}

/// The epilogue with a bias that writes the masks that `reader` reads.
static const EpilogueTraits &writerFor(const EpilogueTraits &reader) {
  return *findEpilogue(EpilogueOperand::Bias, reader.function,
                       EpilogueResult::Value);
}

/// If relu's argument is exactly 0, its gradient is 0 (language.md L5.5): this
/// holds for some rows of A and all of the bias.
std::string Trial::checkZeros(const EpilogueTraits &reader) {
  const int64_t rows = std::min<int64_t>(gemm.m, 3);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < gemm.k; ++k)
      std::memset(a.data.data() + bytes * (gemm.transA ? k * gemm.lda + i
                                                       : i * gemm.lda + k),
                  0, static_cast<size_t>(bytes));
  for (int64_t j = 0; j < gemm.n; ++j) {
    float zero = j % 2 ? -0.0f : 0.0f;
    uint16_t half = j % 2 ? 0x8000 : 0;
    std::memcpy(bias.data.data() + j * bytes,
                type == MESHC_F32 ? static_cast<const void *>(&zero) : &half,
                static_cast<size_t>(bytes));
  }
  subject.put(a.offset, a.data);
  subject.put(bias.offset, bias.data);
  if (!run(writerFor(reader), {&result, &bias, &result}, result, true))
    return "";
  // The gradient's own factor is not 0 there.
  subject.put(a.offset, numbers(type, gemm.m * gemm.k, 10));
  if (!run(reader, {&gradient, &result, &gradient}, gradient, true))
    return "";
  std::vector<char> got(gradient.data.size());
  subject.get(gradient.offset, got);
  for (int64_t at = 0; at < rows * gemm.n; ++at)
    if (load(type, got, at) != 0)
      return std::string("relu's gradient ") + typeNames[type] +
             " at 0: element " + std::to_string(at) + " is " +
             std::to_string(load(type, got, at)) + ", wanted 0";
  return "";
}

/// The mask of one call says which elements the next call passes on: those that
/// the first left positive.
std::string Trial::checkMask(const EpilogueTraits &reader) {
  if (!run(writerFor(reader), {&result, &bias, &result}, result, true))
    return "";
  if (!run(reader, {&gradient, &result, &gradient}, gradient, true))
    return "";
  std::vector<char> forward(result.data.size());
  subject.get(result.offset, forward);
  return compare("relu's gradient", gradient,
                 [&](int64_t i, int64_t j, double &sizes) {
                   double value = product(i, j, sizes);
                   return load(type, forward, i * gemm.n + j) > 0 ? value : 0;
                 });
}

std::string Trial::check(const EpilogueTraits &kind, bool keeps) {
  if (kind.sumsFactor())
    return checkSums(kind);
  if (kind.readsMask())
    return keeps ? checkZeros(kind) : checkMask(kind);
  const Array &c = keeps ? kept : result;
  std::vector<const Array *> buffers = {&c};
  if (kind.getInputCount() > 1)
    buffers.push_back(kind.hasBias() ? &bias : &argument);
  buffers.push_back(&result);
  if (keeps)
    buffers.push_back(&kept);
  if (!run(kind, buffers, c, false))
    return "";
  auto other = [&](int64_t i, int64_t j) {
    return kind.hasBias()      ? load(type, bias.data, j)
           : kind.readsLikeC() ? load(type, argument.data, i * gemm.n + j)
                               : 0.0;
  };
  std::string wrong =
      compare(kind.name, result, [&](int64_t i, int64_t j, double &sizes) {
        return applyEpilogue(kind, product(i, j, sizes), other(i, j));
      });
  if (wrong.empty() && keeps)
    wrong = compare("gelu's argument", kept,
                    [&](int64_t i, int64_t j, double &sizes) {
                      return product(i, j, sizes) + other(i, j);
                    });
  return wrong;
}

/// Which of them the library supports: a case that it does not support does not
/// fail, because the kernel computes it then. But a case supported neither in
/// f32 nor in bf16 means that the call is wrong.
std::string printTallies(Subject &) {
  std::string never;
  for (const EpilogueTraits &kind : epilogueTable) {
    int done = 0;
    for (const char *type : typeNames) {
      const Tally &tally = tallies[std::string(kind.name) + " " + type];
      if (tally.done < tally.asked)
        std::printf("  cuBLAS does %s %s in %d of %d cases, kernels the rest\n",
                    kind.name, type, tally.done, tally.asked);
      done += tally.done;
    }
    if (done == 0)
      never += std::string(never.empty() ? "" : ", ") + kind.name;
  }
  return never.empty() ? "" : "cuBLAS does never: " + never;
}

} // namespace

void test::addEpilogues(std::vector<Case> &cases) {
  const int64_t sizes[][3] = {{64, 64, 32},  {96, 256, 64}, {33, 72, 20},
                              {40, 136, 10}, {6, 10, 64},   {7, 5, 9},
                              {16, 8, 1}};
  for (auto &[m, n, k] : sizes)
    for (uint8_t type : {MESHC_F32, MESHC_BF16, MESHC_F16})
      for (const EpilogueTraits &kind : epilogueTable)
        for (int form = 0; form < 4; ++form)
          for (bool keeps : {false, true}) {
            // Of a reader of masks: at zeros.
            if (keeps && !kind.mayKeepArgument() && !kind.readsMask())
              continue;
            cases.push_back({"epilogues of products",
                             [=, &kind, m = m, n = n, k = k](Subject &subject) {
                               return Trial(subject, type, m, n, k, form)
                                   .check(kind, keeps);
                             }});
          }
  cases.push_back({"epilogues of products", printTallies});
}
