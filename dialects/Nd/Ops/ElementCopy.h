//===- ElementCopy.h - ops whose result holds the operand's elements -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_ELEMENTCOPY_H
#define MESHC_DIALECTS_ND_OPS_ELEMENTCOPY_H

#include "dialects/Nd/NdInterfaces.h"

namespace meshc::nd {

/// The rule, with the result linear in operand 0.
inline PartitionRule makeLinear(PartitionRule rule) {
  rule.linearOperands.push_back(0);
  return rule;
}

/// A copy of `input` into a tensor of `type`, walking the dims of `walked` (the
/// type of either), with the strides of both along them.
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
