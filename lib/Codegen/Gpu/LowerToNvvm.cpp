//===- LowerToNvvm.cpp - gpu-level code to LLVM IR for NVIDIA GPUs --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/LowerToNvvm.h"
#include "lib/Codegen/Lowering.h"
#include "lib/Codegen/VectorMath.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace meshc::codegen {

namespace {
/// An op on floats that is one instruction, exact or correctly rounded;
/// libdevice's square root is approximate.
template <typename Op, typename Intrinsic>
struct AsInstruction : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const final {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    rewriter.replaceOpWithNewOp<Intrinsic>(op, op.getOperand());
    return success();
  }
};
} // namespace

static LogicalResult expandForGpu(ModuleOp kernels) {
  RewritePatternSet patterns(kernels.getContext());
  populateVectorMathPatterns(patterns, /*scalesByPowers=*/false);
  patterns.add<AsInstruction<math::SqrtOp, LLVM::SqrtOp>,
               AsInstruction<math::FloorOp, LLVM::FFloorOp>,
               AsInstruction<math::AbsFOp, LLVM::FAbsOp>>(
      patterns.getContext());
  return applyPatternsGreedily(kernels, std::move(patterns));
}

static LogicalResult lowerOpsForGpu(ModuleOp kernels) {
  MLIRContext *context = kernels.getContext();
  LLVMTypeConverter converter(context);
  configureGpuToNVVMTypeConverter(converter);
  RewritePatternSet patterns(context);
  populateCommonLowering(converter, patterns);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  populateGpuSubgroupReduceOpLoweringPattern(converter, patterns);
  // Rather than intrinsics that NVPTX has no code for.
  populateLibDeviceConversionPatterns(converter, patterns, /*benefit=*/2);
  LLVMConversionTarget target(*context);
  target.addLegalDialect<NVVM::NVVMDialect>();
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(kernels, target, std::move(patterns));
}

std::unique_ptr<llvm::Module> lowerToNvvm(ModuleOp kernels,
                                          llvm::LLVMContext &context) {
  if (failed(expandForGpu(kernels)) || failed(lowerLoops(kernels)) ||
      failed(lowerOpsForGpu(kernels)))
    return nullptr;
  return translateModuleToLLVMIR(kernels, context, "meshc");
}

} // namespace meshc::codegen
