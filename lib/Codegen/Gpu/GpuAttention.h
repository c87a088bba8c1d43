//===- GpuAttention.h - attention that stores no scores, on GPUs *- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels that are one nd.attention or its gradient: FlashAttention-2 (arXiv
/// 2307.08691) in f32 without tensor cores. Tiles of scores are in registers
/// and workgroup memory only; those outside of the band are not computed.
///
/// The gradient is one launch. Some blocks hold a tile of rows and compute the
/// gradient of the query, others hold a tile of the memory and compute those of
/// keys and values; those of a bias by distance take some distances each, and
/// all tiles of scores that have them. Each element is summed by one thread in
/// one order, so that two runs give the same bits; the scores are computed two
/// or three times for that.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUATTENTION_H
#define MESHC_LIB_CODEGEN_GPU_GPUATTENTION_H

#include "dialects/Exec/AttentionCall.h"
#include "lib/Codegen/Gpu/TileEmitter.h"

namespace meshc::codegen {

/// What such a kernel computes, and how.
struct AttentionPlan {
  mlir::Operation *op; ///< nd.attention or its gradient
  exec::KernelOp kernel;
  MeshcAttention call; ///< sizes and strides
  exec::AttentionTiles tiles;
  int64_t lanes; ///< elements of an access to global memory

  /// Reports an error if the op is not one that AttentionTiles allows.
  static llvm::FailureOr<AttentionPlan> of(exec::KernelOp kernel);

  bool isGradient() const;
  /// Blocks that hold a tile of the rows; those that hold one of the memory.
  int64_t getRowBlocks() const;
  int64_t getMemoryBlocks() const;
  /// Blocks that have distances of a bias, and how many each has.
  int64_t getBiasBlocks() const;
  int64_t getBlockDistances() const {
    return 2 * exec::AttentionTiles::threads;
  }
  GpuMapping getMapping() const;
};

/// Emits such a kernel's code at the emitter's insertion point. `buffers`: the
/// addresses of inputs and outputs.
void emitAttention(const AttentionPlan &plan, KernelElements &emitter,
                   GpuGroup &group, mlir::ValueRange buffers);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUATTENTION_H
