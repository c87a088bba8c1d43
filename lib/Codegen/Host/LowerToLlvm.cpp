//===- LowerToLlvm.cpp - kernels from MLIR's dialects to LLVM IR ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/LowerToLlvm.h"
#include "lib/Codegen/Lowering.h"
#include "lib/Codegen/VectorMath.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace meshc::codegen {

/// Functions without an instruction become polynomials, bf16 becomes bits.
static LogicalResult expandForHost(ModuleOp kernels, const HostTarget &target) {
  RewritePatternSet patterns(kernels.getContext());
  populateVectorMathPatterns(patterns, target.scalesByPowers());
  arith::populateExpandBFloat16Patterns(patterns);
  arith::BitcastOp::getCanonicalizationPatterns(patterns, kernels.getContext());
  return applyPatternsGreedily(kernels, std::move(patterns));
}

static LogicalResult lowerOpsForHost(ModuleOp kernels) {
  MLIRContext *context = kernels.getContext();
  LLVMTypeConverter converter(context);
  RewritePatternSet patterns(context);
  populateCommonLowering(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(kernels, target, std::move(patterns));
}

std::unique_ptr<llvm::Module> lowerToLlvm(ModuleOp kernels,
                                          const HostTarget &target,
                                          llvm::LLVMContext &context) {
  if (failed(expandForHost(kernels, target)) || failed(lowerLoops(kernels)) ||
      failed(lowerOpsForHost(kernels)))
    return nullptr;
  return translateModuleToLLVMIR(kernels, context, "meshc");
}

} // namespace meshc::codegen
