//===- ArenaMachine.cpp - scheduled programs run by their meaning ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/ArenaMachine.h"

using namespace mlir;

namespace meshc::reference {

static nd::EvaluationContext getContext(const RunOptions &options) {
  nd::EvaluationContext context;
  context.seed = options.seed;
  context.step = options.step;
  context.roundToType = options.roundToType;
  return context;
}

ArenaMachine::ArenaMachine(ModuleOp module, const RunOptions &options,
                           Collectives collectives, Epilogues epilogues)
    : arenas(module, getContext(options), collectives, epilogues) {}

void ArenaMachine::store(exec::TensorOp tensor, const RankTensors &blocks) {
  for (auto [rank, block] : llvm::enumerate(blocks))
    arenas.write(rank, cast<exec::BufferType>(tensor.getType()),
                 tensor.getOffset(), block);
}

RankTensors ArenaMachine::load(exec::TensorOp tensor) const {
  RankTensors blocks;
  for (int64_t rank = 0; rank < arenas.getRankCount(); ++rank)
    blocks.push_back(arenas.read(rank, cast<exec::BufferType>(tensor.getType()),
                                 tensor.getOffset()));
  return blocks;
}

void ArenaMachine::run(exec::FuncOp function) {
  for (exec::StepOpInterface step : function.getSteps())
    step.run(arenas);
}

} // namespace meshc::reference
