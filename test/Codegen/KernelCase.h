//===- KernelCase.h - a kernel compiled, run, and compared ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Apart from KernelRun.h, whose headers take longer to compile than most tests
/// of kernels.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_CODEGEN_KERNELCASE_H
#define MESHC_TEST_CODEGEN_KERNELCASE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace meshc::nd {
struct HostTensor;
} // namespace meshc::nd

namespace meshc::codegen {

/// Options of one comparison.
struct KernelCase {
  double tolerance = 2e-6; ///< relative to 1 + |reference|
  /// The tolerance is relative to 1 + the output's largest element instead, for
  /// terms that cancel.
  bool isRelativeToLargest = false;
  double low = -2, high = 2; ///< floats are drawn between
  int64_t integers = 7;      ///< integers are drawn from [0, this)
  /// If not empty, half of the numbers are drawn from these.
  std::vector<double> specials = {};
  /// Changes what was drawn for input number `input`.
  std::function<void(unsigned input, nd::HostTensor &tensor)> change;
  /// Changes it for the kernel alone, at places that it must not read.
  std::function<void(unsigned input, nd::HostTensor &tensor)> hide;
  std::string march = "native";
  /// Elements of vectors on the host; by default as many as a register holds.
  std::optional<int64_t> lanes = {};
  std::string mesh = "#nd.mesh<>";
  /// Of the rank; by default, the kernel runs on all ranks of the mesh.
  llvm::SmallVector<int64_t> coordinates;
  /// What padding of i32 holds, in turn, from one input and rank to the next.
  /// That of floats is NaN.
  std::vector<double> padding = {2147483647, -1, -2147483648.0, 0, 1};
  /// Output n overwrites input m: (m, n) pairs.
  llvm::SmallVector<std::pair<unsigned, unsigned>> inPlace;
  /// Inputs (m, n) of i32: each row of m along its last dim is not random, but
  /// the stable order of as many numbers of n.
  llvm::SmallVector<std::pair<unsigned, unsigned>> orders;
  /// Its code on the host is the runtime's, and its grid on a GPU is fixed.
  bool isLibraryCall = false;
  /// The functions of that code, by name. Without any, it runs on GPUs only.
  std::map<std::string, void *> hostFunctions;
};

/// Compiles the text of one exec.kernel for the host, and for emulated GPUs,
/// mapped to three sizes of grids. Runs it on random inputs and expects the
/// results of its ops' reference semantics, padding aside. A kernel with parts
/// runs on GPUs only. With MESHC_RANDOM_SEED, the seed draws one of the
/// grids.
void expectKernel(llvm::StringRef kernel, const KernelCase &options = {});

} // namespace meshc::codegen

#endif // MESHC_TEST_CODEGEN_KERNELCASE_H
