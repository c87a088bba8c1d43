//===- Suite.h - what every device must do ----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_CONFORMANCE_SUITE_H
#define MESHC_TEST_RUNTIME_DEVICE_CONFORMANCE_SUITE_H

#include "runtime/Device/Device.h"
#include "runtime/Device/Rank.h"

#include <functional>
#include <string>
#include <vector>

namespace meshc::test {

/// Bytes of the arena that the cases have.
constexpr int64_t suiteArenaBytes = int64_t(48) << 20;

/// A rank whose device is tested. Its program has no kernels; its functions do
/// what the cases ask for.
struct Subject {
  runtime::Rank &rank;
  runtime::Device &device;

  /// Runs `orders` on the device once, not as a graph.
  void run(const std::function<void(MeshcContext *ctx)> &orders);
  /// Copies bytes to and from the arena.
  void put(int64_t offset, const std::vector<char> &bytes);
  void get(int64_t offset, std::vector<char> &bytes);
};

/// One check of a device: returns what is wrong, or nothing. All ranks run the
/// same cases in the same order.
struct Case {
  const char *topic;
  std::function<std::string(Subject &)> check;
};

/// Elements of F32, BF16 and F16: their bytes, one of them as a number, and
/// `count` numbers in [-1, 1).
int64_t bytesOf(uint8_t type);
double load(uint8_t type, const std::vector<char> &data, int64_t index);
std::vector<char> numbers(uint8_t type, int64_t count, unsigned seed);

/// By file: copies, products, their epilogues, collectives, and steps that
/// become graphs.
void addCopies(std::vector<Case> &cases);
void addProducts(std::vector<Case> &cases, runtime::MatmulPrecision precision);
void addEpilogues(std::vector<Case> &cases);
void addCollectives(std::vector<Case> &cases, uint32_t axisCount);
void addSteps(std::vector<Case> &cases, uint32_t axisCount);

/// A program for such ranks on a mesh of at most two axes of the given sizes.
MeshcProgram suiteProgram(const std::vector<int64_t> &mesh);

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_DEVICE_CONFORMANCE_SUITE_H
