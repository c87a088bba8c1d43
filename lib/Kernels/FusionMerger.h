//===- FusionMerger.h - which groups become one -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_FUSIONMERGER_H
#define MESHC_LIB_KERNELS_FUSIONMERGER_H

#include "lib/Kernels/FusionRegisters.h"

namespace meshc::kernels {

/// Results of a kernel at most: the time to compile one grows faster than they
/// do, and a GPU bounds the number of its buffers.
inline constexpr size_t mostResults = 64;

/// Merges groups of a block. canMergeAll proposes and changes nothing; the
/// others commit.
class FusionMerger {
public:
  FusionMerger(mlir::Block &block, const FusionValues &values,
               FusionGraph &graph);

  /// Whether the groups, two or more different ones, may become one: over
  /// `loops` if these are given, which each of them can hold, and otherwise
  /// over their own.
  bool canMergeAll(llvm::ArrayRef<GroupId> members,
                   const LoopDims *loops = nullptr) const;
  /// Merges groups for which canMergeAll holds; gives the group that remains.
  GroupId mergeAll(llvm::ArrayRef<GroupId> members);
  /// Merges each group with the first one before it that it may be merged with.
  void mergePairs(llvm::ArrayRef<GroupId> members);
  /// Merges groups over the same loops that read one large tensor, and all that
  /// compute scalars.
  void mergeSiblings();
  /// Merges groups over the same few points if each takes less time than its
  /// launch. Only nearby groups are tried. A group that may become an epilogue
  /// of a product needs no launch at all.
  void mergeSmall();

  /// Whether a kernel of these groups with these roots needs no more registers
  /// than the target's threads had best have. On the host, registers are few
  /// and caches near.
  bool fitsInRegisters(llvm::ArrayRef<mlir::Value> roots,
                       llvm::ArrayRef<GroupId> members) const;
  /// Prints the registers of each kernel for GPUs.
  void printRegisters() const;

private:
  bool canMerge(GroupId a, GroupId b) const;
  void merge(GroupId into, GroupId from);

  mlir::Block &block;
  const FusionValues &values;
  FusionGraph &graph;
  FusionRegisters registers;
  bool isForGpus;
};

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_FUSIONMERGER_H
