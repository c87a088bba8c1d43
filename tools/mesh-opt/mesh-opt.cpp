//===- mesh-opt.cpp - meshc's passes, one at a time -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// As mlir-opt, for meshc's dialects and passes: reads MLIR text, runs the
/// passes that the command line names, prints the result.
///
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/NdOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Autodiff/Passes.h"
#include "lib/Collectives/Passes.h"
#include "lib/Kernels/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Schedule/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry dialects;
  dialects.insert<meshc::nd::NdDialect, meshc::exec::ExecDialect,
                  meshc::spmd::SpmdDialect>();
  dialects.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
  mlir::registerTransformsPasses();
  meshc::autodiff::registerAutodiffPasses();
  meshc::kernels::registerKernelsPasses();
  meshc::schedule::registerSchedulePasses();
  meshc::layout::registerLayoutPasses();
  meshc::partition::registerPartitionPasses();
  meshc::collectives::registerCollectivesPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "meshc's passes over MLIR text\n", dialects));
}
