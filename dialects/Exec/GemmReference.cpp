//===- GemmReference.cpp - reference semantics of exec.gemm ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Epilogues.h"

using namespace mlir;

namespace meshc::exec {

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

int64_t GemmOp::getDepth(const nd::EvaluationContext &context) {
  int64_t k = getSizes()[2];
  if (!getCut())
    return k;
  nd::TensorType type = cast<BufferType>(getA().getType()).getTensor();
  int64_t entries =
      type.getLocalSize(type.getDimIndex(*getCut()), context.mesh);
  return k / entries * context.getCount(type, *getCut());
}

/// `k`: the elements along k that exist.
static void multiply(GemmOp gemm, const Arenas &arenas, int64_t k,
                     Arenas::Memory &memory) {
  ArrayRef<int64_t> sizes = gemm.getSizes();
  int64_t m = sizes[0], n = sizes[1];
  auto typeOf = [](Value buffer) {
    return cast<BufferType>(buffer.getType()).getTensor();
  };
  int64_t bytes = getElementBytes(typeOf(gemm.getA()));
  int64_t bytesC = getElementBytes(typeOf(gemm.getC()));
  int64_t a = arenas.getOffset(gemm.getA()), b = arenas.getOffset(gemm.getB()),
          c = arenas.getOffset(gemm.getC());
  for (int64_t batch = 0; batch < sizes[6]; ++batch)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          int64_t atA =
              batch * sizes[7] +
              (gemm.getTransA() ? l * sizes[3] + i : i * sizes[3] + l);
          int64_t atB =
              batch * sizes[8] +
              (gemm.getTransB() ? j * sizes[4] + l : l * sizes[4] + j);
          sum += memory[a + atA * bytes] * memory[b + atB * bytes];
        }
        double &result =
            memory[c + (batch * sizes[9] + i * sizes[5] + j) * bytesC];
        result = arenas.getContext().round(
            sum, typeOf(gemm.getC()).getElementType());
      }
}

//===----------------------------------------------------------------------===//
// Epilogues by the table (meshc/Epilogues.def): what a library that is told an
// epilogue does. It does not use the kernel, whose place it takes.
//===----------------------------------------------------------------------===//

namespace {
/// A buffer as elements one after another.
struct Elements {
  Arenas::Memory *memory;
  int64_t offset, bytes;

  double &operator[](int64_t index) const {
    return (*memory)[offset + index * bytes];
  }
};

/// Buffers in the memory of one rank.
struct Locator {
  const Arenas &arenas;
  Arenas::Memory &memory;

  Elements operator()(Value buffer) const {
    auto type = cast<BufferType>(buffer.getType()).getTensor();
    return {&memory, arenas.getOffset(buffer), getElementBytes(type)};
  }
};
} // namespace

/// Of m × n elements of c, which is overwritten or kept as the kernel would.
static void finish(GemmOp gemm, const Locator &locate) {
  const EpilogueTraits &epilogue = getTraits(*gemm.getEpilogue());
  int64_t m = gemm.getSizes()[0], n = gemm.getSizes()[1];
  Elements c = locate(gemm.getC());
  Elements result = locate(gemm.getOutputs()[0]);
  bool hasOther = epilogue.getInputCount() > 1;
  Elements other = hasOther ? locate(gemm.getInputs()[1]) : Elements();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int64_t at = i * n + j;
      double operand = hasOther ? other[epilogue.hasBias() ? j : at] : 0.0;
      double argument = 0;
      result[at] = applyEpilogue(epilogue, c[at], operand, &argument);
      if (gemm.getOutputs().size() > 1)
        locate(gemm.getOutputs()[1])[at] = argument;
    }
}

/// A factor's sums over `depth` elements along k.
static void sumFactor(GemmOp gemm, int64_t depth, const Locator &locate) {
  bool isA = getTraits(*gemm.getEpilogue()).operand == EpilogueOperand::A;
  ArrayRef<int64_t> sizes = gemm.getSizes();
  Elements factor = locate(isA ? gemm.getA() : gemm.getB());
  Elements sums = locate(gemm.getOutputs()[0]);
  int64_t stride = isA ? sizes[3] : sizes[4];
  // Whether k runs along the rows as stored.
  bool isAlong = isA ? !gemm.getTransA() : gemm.getTransB();
  for (int64_t i = 0; i < (isA ? sizes[0] : sizes[1]); ++i) {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += factor[isAlong ? i * stride + k : k * stride + i];
    sums[i] = sum;
  }
}

void GemmOp::run(Arenas &arenas) {
  auto spoilScratch = [&] {
    if (getScratch())
      arenas.spoil(ArenaPiece::of(getScratch(), arenas.getContext().mesh));
  };
  bool byTable = arenas.getEpilogues() == Arenas::Epilogues::ByTable;
  const EpilogueTraits *epilogue = getTraits(getEpilogue());
  spoilScratch();
  nd::EvaluationContext context = arenas.getContext();
  for (int64_t rank = 0; rank < arenas.getRankCount(); ++rank) {
    Arenas::Memory &memory = arenas.getMemory(rank);
    context.coordinates = context.mesh.getCoordinates(rank);
    int64_t depth = getDepth(context);
    multiply(*this, arenas, depth, memory);
    if (epilogue && byTable)
      epilogue->sumsFactor() ? sumFactor(*this, depth, {arenas, memory})
                             : finish(*this, {arenas, memory});
  }
  if (getKernel() && !byTable)
    arenas.runKernel(getKernelUse());
  spoilScratch();
}

} // namespace meshc::exec
