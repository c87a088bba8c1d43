//===- ElementCopy.h - ops that copy elements of the operand --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_ELEMENTCOPY_H
#define MESHC_DIALECTS_ND_OPS_ELEMENTCOPY_H

#include "dialects/Nd/NdInterfaces.h"

namespace meshc::nd {

/// The rule, marked as linear in operand 0.
inline PartitionRule makeLinear(PartitionRule rule) {
  rule.linearOperands.push_back(0);
  return rule;
}

/// Copies `input` into a new tensor of `type`. Iterates over the dims of the
/// result if `walkResult`, otherwise over those of the input. `strides` are
/// those of the other tensor along these dims.
inline llvm::SmallVector<HostTensor>
copyElements(const EvaluationContext &context, mlir::Type type,
             const HostTensor &input, bool walkResult,
             llvm::SmallVector<int64_t> strides) {
  HostTensor result = context.makeTensor(type);
  const HostTensor &walked = walkResult ? result : input;
  llvm::SmallVector<llvm::SmallVector<int64_t>> both = {walked.getStrides(),
                                                        std::move(strides)};
  forEachIndex(walked.sizes, both, [&](auto, llvm::ArrayRef<int64_t> offsets) {
    if (walkResult)
      result.data[offsets[0]] = input.data[offsets[1]];
    else
      result.data[offsets[1]] = input.data[offsets[0]];
  });
  return {std::move(result)};
}

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_ELEMENTCOPY_H
