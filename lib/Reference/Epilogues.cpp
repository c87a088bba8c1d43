//===- Epilogues.cpp - products' epilogues by the ABI's table -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a library that is told an epilogue does, on the arrays that
/// RuntimeAbi.h names by MeshcEpilogueKind: not by the kernel, whose place it
/// takes.
///
//===----------------------------------------------------------------------===//

#include "lib/Reference/ArenaMachine.h"
#include <cmath>

using namespace mlir;

namespace meshc::reference {

using exec::Epilogue;

namespace {
/// A buffer as elements one after another.
struct Elements {
  std::vector<double> *memory;
  int64_t offset, bytes;

  double &operator[](int64_t index) const {
    return (*memory)[offset + index * bytes];
  }
};
} // namespace

static Elements getElements(Value buffer, std::vector<double> &memory) {
  auto type = cast<exec::BufferType>(buffer.getType()).getTensor();
  int64_t offset = buffer.getDefiningOp<exec::BufferOp>().getOffset();
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  return {&memory, offset, (bits + 7) / 8};
}

// arXiv 1606.08415, in the form with tanh, and its derivative.

static constexpr double geluRoot = 0.7978845608028654, geluCubic = 0.044715;

static double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(geluRoot * (x + geluCubic * x * x * x)));
}

static double geluSlope(double x) {
  double t = std::tanh(geluRoot * (x + geluCubic * x * x * x));
  return 0.5 * (1 + t) +
         0.5 * x * (1 - t * t) * geluRoot * (1 + 3 * geluCubic * x * x);
}

/// Of m × n elements of c, which is overwritten or kept as the kernel would.
void ArenaMachine::finish(exec::GemmOp gemm, Memory &memory) {
  Epilogue kind = *gemm.getEpilogue();
  int64_t m = gemm.getSizes()[0], n = gemm.getSizes()[1];
  bool hasBias = kind == Epilogue::Bias || kind == Epilogue::ReluBias ||
                 kind == Epilogue::GeluBias;
  bool isRelu = kind == Epilogue::Relu || kind == Epilogue::ReluBias;
  bool isGelu = kind == Epilogue::Gelu || kind == Epilogue::GeluBias;
  Elements c = getElements(gemm.getC(), memory);
  Elements result = getElements(gemm.getOutputs()[0], memory);
  Elements other = gemm.getInputs().size() > 1
                       ? getElements(gemm.getInputs()[1], memory)
                       : Elements();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int64_t at = i * n + j;
      double value = c[at] + (hasBias ? other[j] : 0.0);
      double kept = value;
      if (isRelu)
        value = value < 0 ? 0 : value;
      else if (isGelu)
        value = gelu(value);
      else if (kind == Epilogue::ReluGradient)
        value = other[at] > 0 ? value : 0;
      else if (kind == Epilogue::GeluGradient)
        value *= geluSlope(other[at]);
      result[at] = value;
      if (gemm.getOutputs().size() > 1)
        getElements(gemm.getOutputs()[1], memory)[at] = kept;
    }
}

/// A factor's sums over k.
void ArenaMachine::sumFactor(exec::GemmOp gemm, Memory &memory) {
  bool isA = *gemm.getEpilogue() == Epilogue::BiasGradientA;
  ArrayRef<int64_t> sizes = gemm.getSizes();
  Elements factor = getElements(isA ? gemm.getA() : gemm.getB(), memory);
  Elements sums = getElements(gemm.getOutputs()[0], memory);
  int64_t stride = isA ? sizes[3] : sizes[4];
  // Whether k runs along the rows as stored.
  bool isAlong = isA ? !gemm.getTransA() : gemm.getTransB();
  for (int64_t i = 0; i < (isA ? sizes[0] : sizes[1]); ++i) {
    double sum = 0;
    for (int64_t k = 0; k < sizes[2]; ++k)
      sum += factor[isAlong ? i * stride + k : k * stride + i];
    sums[i] = sum;
  }
}

void ArenaMachine::runEpilogue(exec::GemmOp gemm) {
  Epilogue kind = *gemm.getEpilogue();
  bool isSum =
      kind == Epilogue::BiasGradientA || kind == Epilogue::BiasGradientB;
  for (Memory &memory : arenas)
    isSum ? sumFactor(gemm, memory) : finish(gemm, memory);
}

} // namespace meshc::reference
