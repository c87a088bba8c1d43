//===- ReshardSteps.h - steps from one sharding to the next -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The steps that a search for a path between two shardings may take.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_RESHARD_RESHARDSTEPS_H
#define MESHC_LIB_RESHARD_RESHARDSTEPS_H

#include "lib/Reshard/AxisRuns.h"
#include "lib/Reshard/ReshardPlan.h"

namespace meshc::reshard {

/// The steps on the way from one sharding to another. Except for a permute of
/// many axes, they place an axis only on dims where either of the two has it.
///
/// Over more than three axes, a permute leads to the target or, in a few ways,
/// towards it. In haste, sums end over all axes or over those that one dim
/// gets. That is enough for good plans over a dozen axes in any order.
class ReshardSteps {
public:
  using Visit = llvm::function_ref<void(ReshardStep)>;
  /// Whether a permute of the type at hand to this sharding may be a step that
  /// is wanted; with a null type, whether one to any sharding may be.
  using MayPermute = llvm::function_ref<bool(nd::TensorType)>;

  /// `detours`: axes may also cut dims that they cut neither in `from` nor in
  /// `to`, and in a mesh of up to three axes those may that neither uses.
  ReshardSteps(nd::TensorType from, nd::TensorType to, nd::MeshAttr mesh,
               bool inHaste, bool detours)
      : from(from), to(to), mesh(mesh), inHaste(inHaste), detours(detours),
        isSmallMesh(mesh.getAxes().size() <= 3), runs(from, to, mesh),
        divisible(!detours && runs.isDivisible()) {}

  /// A slice that a cheapest plan may take next: it cuts a dim over the next
  /// axes of the target's, which nothing uses. It moves nothing, and all later
  /// steps move less. No step needs to undo it if all dims are divisible.
  /// Otherwise a permute that the other order allows may become impossible. In
  /// haste, if all dims are divisible, it takes all free axes: a permute of the
  /// smaller blocks puts them in order. The slice into the smallest part if
  /// there are several; none if there is no such dim.
  std::optional<ReshardStep> getSlice(nd::TensorType type) const;

  /// All steps from `type`, without the permutes that nobody wants. The result
  /// of some is null: they are impossible.
  void visit(nd::TensorType type, Visit visit, MayPermute mayPermute) const;

  /// Whether each dim is divisible by all axes that may cut it on the way.
  bool isDivisible() const { return divisible; }
  /// Whether there are so few axes that permutes lead everywhere.
  bool areFew() const { return runs.areFew(); }

private:
  llvm::SmallVector<spmd::AxisList>
  getReductions(llvm::ArrayRef<mlir::StringAttr> pending) const;
  void reduce(nd::TensorType type, Visit visit) const;
  void gatherOrMove(nd::TensorType type, Visit visit) const;
  void slice(nd::TensorType type, Visit visit) const;
  /// Permutes of a type, and who wants them.
  struct Permutes {
    nd::TensorType type;
    Visit visit;
    MayPermute mayPermute;
  };
  void permuteTo(nd::TensorType result, const Permutes &permutes) const;
  void permuteFreely(const Permutes &permutes) const;
  void permuteInOrder(const Permutes &permutes) const;
  void permuteTowards(const Permutes &permutes) const;
  bool mayHold(nd::DimAttr dim, llvm::ArrayRef<mlir::StringAttr> axes) const;

  nd::TensorType from, to;
  nd::MeshAttr mesh;
  bool inHaste, detours, isSmallMesh;
  AxisRuns runs;
  bool divisible;
};

} // namespace meshc::reshard

#endif // MESHC_LIB_RESHARD_RESHARDSTEPS_H
