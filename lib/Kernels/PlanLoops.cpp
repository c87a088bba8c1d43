//===- PlanLoops.cpp - the loop nest of each fusion -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "lib/Kernels/Passes.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_PLANLOOPS
#include "lib/Kernels/Passes.h.inc"

namespace {
/// A tensor in memory that a fusion reads or writes.
struct Access {
  nd::TensorType type;
  exec::Order order;
  exec::LoopDims loops; ///< loop -> the tensor's dim that runs along it
  double bytes;
  size_t number; ///< results, then inputs

  StringAttr getDim(StringAttr loop) const {
    for (auto [name, dim] : loops)
      if (name == loop)
        return dim;
    return {};
  }
};

/// Plans one fusion.
class LoopPlanner {
public:
  explicit LoopPlanner(exec::FusionOp fusion)
      : fusion(fusion), mesh(nd::MeshAttr::of(fusion)) {}

  exec::PlanAttr run();

private:
  void collect();
  double getContiguousBytes(StringAttr loop) const;
  void sort(SmallVectorImpl<StringAttr> &group) const;
  StringAttr chooseLanes();
  int64_t getSize(StringAttr loop);

  exec::FusionOp fusion;
  nd::MeshAttr mesh;
  SmallVector<Access> accesses; ///< largest first
};
} // namespace

void LoopPlanner::collect() {
  Block &body = fusion.getBody().front();
  auto loops = exec::getLoopDims(body);
  auto add = [&](Value inside, Value outside) {
    nd::TensorType type = nd::getTensorType(outside);
    accesses.push_back({type, exec::getOrder(outside).value_or(exec::Order()),
                        loops.lookup(inside),
                        static_cast<double>(type.getLocalBytes(mesh)),
                        accesses.size()});
  };
  for (auto [inside, outside] :
       llvm::zip(body.getTerminator()->getOperands(), fusion.getResults()))
    add(inside, outside);
  for (auto [inside, outside] :
       llvm::zip(body.getArguments(), fusion.getInputs()))
    add(inside, outside);
  llvm::sort(accesses, [](const Access &a, const Access &b) {
    return std::tie(b.bytes, a.number) < std::tie(a.bytes, b.number);
  });
}

int64_t LoopPlanner::getSize(StringAttr loop) {
  exec::PlanAttr plan = fusion.getPlan();
  SmallVector<StringAttr> all(plan.getParallel());
  llvm::append_range(all, plan.getReduce());
  return plan.getSizes()[llvm::find(all, loop) - all.begin()];
}

/// Bytes of the tensors that lie contiguous along the loop, less those that it
/// strides through.
double LoopPlanner::getContiguousBytes(StringAttr loop) const {
  double bytes = 0;
  for (const Access &access : accesses)
    if (StringAttr dim = access.getDim(loop))
      bytes +=
          exec::getStride(access.type, access.order, dim.getValue(), mesh) == 1
              ? access.bytes
              : -access.bytes;
  return bytes;
}

/// Orders loops as the dims lie in the largest tensor that has them. A loop
/// that it does not have runs just outside of the next one of the tensor that
/// has it, or outermost.
void LoopPlanner::sort(SmallVectorImpl<StringAttr> &group) const {
  SmallVector<StringAttr> sorted;
  for (const Access &access : accesses) {
    auto *next = sorted.begin();
    SmallVector<StringAttr> along;
    for (StringAttr dim : access.order)
      for (auto [loop, ofDim] : access.loops)
        if (ofDim == dim && llvm::is_contained(group, loop) &&
            !llvm::is_contained(along, loop))
          along.push_back(loop);
    for (StringAttr loop : llvm::reverse(along)) {
      auto *known = llvm::find(sorted, loop);
      next = known == sorted.end() ? sorted.insert(next, loop) : known;
    }
  }
  for (StringAttr loop : group)
    if (!llvm::is_contained(sorted, loop))
      sorted.insert(sorted.begin(), loop);
  group.assign(sorted.begin(), sorted.end());
}

/// The loop with most contiguous bytes; none where all loops have one entry.
StringAttr LoopPlanner::chooseLanes() {
  exec::PlanAttr plan = fusion.getPlan();
  StringAttr best;
  double bestBytes = -HUGE_VAL;
  auto consider = [&](StringAttr loop) {
    double bytes = getContiguousBytes(loop);
    if (getSize(loop) > 1 && bytes > bestBytes) {
      best = loop;
      bestBytes = bytes;
    }
  };
  llvm::for_each(plan.getReduce(), consider);
  llvm::for_each(plan.getParallel(), consider);
  return best;
}

exec::PlanAttr LoopPlanner::run() {
  collect();
  exec::PlanAttr plan = fusion.getPlan();
  SmallVector<StringAttr> parallel(plan.getParallel());
  SmallVector<StringAttr> reduce(plan.getReduce());
  sort(parallel);
  sort(reduce);
  StringAttr lanes = chooseLanes();
  for (auto *group : {&parallel, &reduce})
    if (auto *place = llvm::find(*group, lanes); place != group->end()) {
      group->erase(place);
      group->push_back(lanes);
    }
  SmallVector<int64_t> sizes;
  for (auto *group : {&parallel, &reduce})
    for (StringAttr loop : *group)
      sizes.push_back(getSize(loop));
  if (!lanes)
    lanes = StringAttr::get(fusion.getContext(), "");
  return exec::PlanAttr::get(fusion.getContext(), parallel, reduce, lanes,
                             sizes);
}

namespace {
struct PlanLoops : impl::PlanLoopsBase<PlanLoops> {
  void runOnOperation() override {
    getOperation().walk([](exec::FusionOp fusion) {
      fusion.setPlanAttr(LoopPlanner(fusion).run());
    });
  }
};
} // namespace

} // namespace meshc::kernels
