//===- RandomKernelsTest.cpp - random loop nests against the reference ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels with random dims, memory orders, ops, stages, lanes and outputs in
/// place of inputs, some of them on blocks with padding. They must compute the
/// reference semantics of their ops.
///
//===----------------------------------------------------------------------===//

#include "test/Codegen/KernelCase.h"
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

using namespace meshc::codegen;

namespace {
using Dims = std::vector<std::string>;

struct TensorValue {
  std::string name;
  Dims dims; // sorted
};

/// Writes one kernel's text.
class RandomKernel {
public:
  /// `isCut`: axes of a mesh cut some dims, which they need not divide.
  RandomKernel(unsigned seed, bool isCut) : generator(seed), isCut(isCut) {}

  std::string write(KernelCase &options);

private:
  int draw(int count) { return int(generator() % count); }
  void chooseLoops();
  void cutDims();
  int getLocalSize(const std::string &dim) const;
  std::string getType(const Dims &dims) const;
  static std::string quote(const Dims &dims);
  Dims shuffled(Dims dims) {
    std::shuffle(dims.begin(), dims.end(), generator);
    return dims;
  }
  TensorValue addInput(const Dims &dims, const Dims &order);
  TensorValue addOp(const std::string &op,
                    const std::vector<TensorValue> &operands, Dims dims);
  TensorValue addBinary(const std::string &op, const TensorValue &a,
                        const TensorValue &b);
  TensorValue addReduction(const TensorValue &operand);
  const TensorValue &drawValue() { return values[draw(int(values.size()))]; }

  std::mt19937 generator;
  bool isCut;
  std::map<std::string, int> sizes, blocks;
  std::map<std::string, std::string> axes; ///< " on {p}" or ""
  Dims parallel, reduce;
  std::vector<TensorValue> values;
  std::string arguments, inputOrders, body;
  int inputCount = 0, opCount = 0;
};
} // namespace

static Dims unite(const Dims &a, const Dims &b) {
  Dims all(a);
  for (const std::string &dim : b)
    if (std::find(all.begin(), all.end(), dim) == all.end())
      all.push_back(dim);
  std::sort(all.begin(), all.end());
  return all;
}

void RandomKernel::chooseLoops() {
  static const int choices[] = {1, 2, 3, 4, 7, 8, 9, 16, 19, 35};
  int rank = 1 + draw(4);
  for (int dim = 0; dim < rank; ++dim) {
    std::string name(1, char('a' + dim));
    sizes[name] = choices[draw(10)];
    (draw(5) < 3 ? parallel : reduce).push_back(name);
  }
  if (isCut)
    cutDims();
  parallel = shuffled(parallel);
  reduce = shuffled(reduce);
}

void RandomKernel::cutDims() {
  struct Cut {
    std::string axes;
    int blocks;
  };
  static const Cut choices[3][2] = {{{" on {p}", 2}, {" on {q}", 3}},
                                    {{" on {p, q}", 6}, {"", 1}},
                                    {{" on {q}", 3}, {"", 1}}};
  const Cut *cut = choices[draw(3)];
  Dims dims;
  for (const auto &[dim, size] : sizes)
    dims.push_back(dim);
  dims = shuffled(dims);
  for (size_t i = 0; i < std::min<size_t>(dims.size(), 2); ++i) {
    axes[dims[i]] = cut[i].axes;
    blocks[dims[i]] = cut[i].blocks;
  }
}

int RandomKernel::getLocalSize(const std::string &dim) const {
  auto cut = blocks.find(dim);
  int count = cut == blocks.end() ? 1 : cut->second;
  return (sizes.at(dim) + count - 1) / count;
}

std::string RandomKernel::quote(const Dims &dims) {
  std::string text;
  for (const std::string &dim : dims)
    text += (text.empty() ? "\"" : ", \"") + dim + "\"";
  return "[" + text + "]";
}

std::string RandomKernel::getType(const Dims &dims) const {
  std::string text;
  for (const std::string &dim : dims) {
    auto cut = axes.find(dim);
    text += (text.empty() ? "" : ", ") + dim + " = " +
            std::to_string(sizes.at(dim)) +
            (cut == axes.end() ? "" : cut->second);
  }
  return "!nd.tensor<f32, [" + text + "]>";
}

TensorValue RandomKernel::addInput(const Dims &dims, const Dims &order) {
  TensorValue value{"%x" + std::to_string(inputCount++), unite(dims, {})};
  arguments +=
      (arguments.empty() ? "" : ", ") + value.name + ": " + getType(value.dims);
  inputOrders += (inputOrders.empty() ? "" : ", ") + quote(order);
  values.push_back(value);
  return value;
}

TensorValue RandomKernel::addOp(const std::string &op,
                                const std::vector<TensorValue> &operands,
                                Dims dims) {
  TensorValue value{"%v" + std::to_string(opCount++), dims};
  std::string names, types;
  for (const TensorValue &operand : operands) {
    names += (names.empty() ? "" : ", ") + operand.name;
    types += (types.empty() ? "" : ", ") + getType(operand.dims);
  }
  size_t brace = op.find('{');
  body += value.name + " = " + op.substr(0, brace) + " " + names + " " +
          (brace == std::string::npos ? "" : op.substr(brace)) + " : (" +
          types + ") -> " + getType(dims) + "\n";
  values.push_back(value);
  return value;
}

TensorValue RandomKernel::addBinary(const std::string &op, const TensorValue &a,
                                    const TensorValue &b) {
  return addOp(op, {a, b}, unite(a.dims, b.dims));
}

TensorValue RandomKernel::addReduction(const TensorValue &operand) {
  Dims rest;
  for (const std::string &dim : operand.dims)
    if (std::find(reduce.begin(), reduce.end(), dim) == reduce.end())
      rest.push_back(dim);
  std::string op = draw(2) ? "nd.reduce_sum" : "nd.reduce_max";
  return addOp(op + "{dims = " + quote(reduce) + "}", {operand}, rest);
}

std::string RandomKernel::write(KernelCase &options) {
  chooseLoops();
  Dims all = unite(parallel, reduce);
  Dims outOrder = shuffled(all);
  TensorValue whole = addInput(all, outOrder);
  TensorValue point = addInput(parallel, shuffled(parallel));
  for (int input = draw(3); input > 0; --input) {
    Dims some;
    for (const std::string &dim : all)
      if (draw(2))
        some.push_back(dim);
    addInput(some, shuffled(some));
  }
  static const char *binary[] = {"nd.add", "nd.sub", "nd.maximum"};
  static const char *unary[] = {"nd.relu", "nd.neg", "nd.abs", "nd.tanh"};
  for (int op = 1 + draw(8); op > 0; --op) {
    int kind = draw(4);
    if (kind == 0 && !reduce.empty()) {
      TensorValue operand = addBinary("nd.add", drawValue(), whole);
      addReduction(operand);
    } else if (kind <= 1) {
      TensorValue operand = drawValue();
      addOp(unary[draw(4)], {operand}, operand.dims);
    } else {
      TensorValue a = drawValue(), b = drawValue();
      addBinary(binary[draw(3)], a, b);
    }
  }
  // One output of each form; the first may take the place of its input.
  TensorValue first = addBinary("nd.add", values.back(), whole);
  TensorValue second = first;
  if (!reduce.empty())
    second = addBinary("nd.sub", addReduction(first), point);
  // Any order in memory that differs from the input's.
  Dims firstOrder = shuffled(all);
  if (draw(2)) {
    options.inPlace.push_back({0, 0});
    firstOrder = outOrder;
  }
  const Dims &group = draw(2) && !reduce.empty() ? reduce : parallel;
  std::string lanes = draw(4) && !group.empty() ? group.back() : "";
  std::string planSizes;
  Dims loops(parallel);
  loops.insert(loops.end(), reduce.begin(), reduce.end());
  for (const std::string &dim : loops)
    planSizes +=
        (planSizes.empty() ? "" : ", ") + std::to_string(getLocalSize(dim));
  std::string outputs = quote(firstOrder), results = first.name,
              types = getType(all);
  if (!reduce.empty()) {
    outputs += ", " + quote(shuffled(parallel));
    results += ", " + second.name;
    types += ", " + getType(second.dims);
  }
  return "exec.kernel @k #exec.plan<parallel = " + quote(parallel) +
         ", reduce = " + quote(reduce) + ", lanes = \"" + lanes +
         "\", sizes = [" + planSizes + "]> in [" + inputOrders + "] out [" +
         outputs + "] {\n^bb0(" + arguments + "):\n" + body + "exec.yield " +
         results + " : " + types + "\n}";
}

/// Kernels of `count` seeds. RANDOM_KERNELS_SEED=N starts with seed N.
static void expectKernels(unsigned count, bool isCut) {
  const char *given = std::getenv("RANDOM_KERNELS_SEED");
  unsigned first = given ? unsigned(std::atoll(given)) : 0;
  for (unsigned seed = first; seed != first + count; ++seed) {
    KernelCase options;
    options.tolerance = 3e-5; // sums of up to 35^3 terms, and sums of those
    options.isRelativeToLargest = true;
    if (isCut)
      options.mesh = "#nd.mesh<p = 2, q = 3>";
    std::string text = RandomKernel(seed, isCut).write(options);
    SCOPED_TRACE("RANDOM_KERNELS_SEED=" + std::to_string(seed) + "\n" + text);
    expectKernel(text, options);
    if (::testing::Test::HasFailure())
      break;
  }
}

TEST(RandomKernels, ComputeWhatTheirOpsSay) { expectKernels(150, false); }

TEST(RandomKernels, LeavePaddingOut) { expectKernels(100, true); }
