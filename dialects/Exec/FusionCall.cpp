//===- FusionCall.cpp - the launch that a fusion becomes ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/PointwiseOps.h"

using namespace mlir;

namespace meshc::exec {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// A tensor's dims along loops of the plan have the loops' sizes.
static LogicalResult verifySizes(FusionOp fusion, Value value,
                                 nd::MeshAttr mesh) {
  PlanAttr plan = fusion.getPlan();
  SmallVector<StringAttr> loops(plan.getParallel());
  llvm::append_range(loops, plan.getReduce());
  nd::TensorType type = nd::getTensorType(value);
  for (auto [loop, size] : llvm::zip(loops, plan.getSizes())) {
    int64_t dim = type.getDimIndex(loop.getValue());
    if (dim >= 0 && type.getLocalSize(dim, mesh) != size)
      return fusion.emitOpError()
             << "runs " << size << " times along '" << loop.getValue()
             << "', and computes a value of type " << type << " there";
  }
  return success();
}

/// A reduction of the fusion runs over its loops, and is read at their points.
static LogicalResult verifyReduction(FusionOp fusion,
                                     nd::ReduceOpInterface reduction,
                                     ArrayRef<StringAttr> aligned) {
  PlanAttr plan = fusion.getPlan();
  DimSet parallel = sortDims(plan.getParallel());
  if (getDims(reduction->getResult(0)) != parallel ||
      sortDims(reduction.getReducedDims()) != sortDims(plan.getReduce()))
    return fusion.emitOpError() << "holds '" << reduction->getName()
                                << "' over other dims than its plan";
  if (failed(verifySizes(fusion, reduction->getOperand(0),
                         nd::MeshAttr::of(fusion))))
    return failure();
  if (aligned != ArrayRef(parallel))
    return fusion.emitOpError()
           << "reads the result of '" << reduction->getName()
           << "' at points other than its own";
  return success();
}

/// An output has an element for each point of the parallel loops, or of all.
static LogicalResult verifyOutput(FusionOp fusion, Value output) {
  if (failed(verifySizes(fusion, output, nd::MeshAttr::of(fusion))))
    return failure();
  PlanAttr plan = fusion.getPlan();
  DimSet parallel = sortDims(plan.getParallel());
  DimSet all = unite(parallel, sortDims(plan.getReduce()));
  if (DimSet dims = getDims(output); dims != parallel && dims != all)
    return fusion.emitOpError()
           << "output of type " << output.getType()
           << " must have all parallel dims, and all reduce dims or none";
  return success();
}

static LogicalResult verifyLanes(FusionOp fusion) {
  PlanAttr plan = fusion.getPlan();
  StringAttr lanes = plan.getLanes();
  if (!lanes.empty() &&
      (plan.getParallel().empty() || plan.getParallel().back() != lanes) &&
      (plan.getReduce().empty() || plan.getReduce().back() != lanes))
    return fusion.emitOpError() << "has lanes along '" << lanes.getValue()
                                << "', which is not the innermost dim";
  return success();
}

/// The ops and outputs of the fusion fit the loops of its plan. An op that is
/// neither an element op nor a reduction is alone and has loops of its own.
LogicalResult FusionOp::verifyReady() {
  Block &body = getBody().front();
  bool isAlone = false;
  auto alignment = getAlignment(body, nd::MeshAttr::of(*this));
  for (Operation &op : body.without_terminator()) {
    if (isa<nd::ElementOpInterface>(op))
      continue;
    auto reduction = dyn_cast<nd::ReduceOpInterface>(op);
    if (!reduction)
      isAlone = true;
    else if (failed(verifyReduction(*this, reduction,
                                    alignment.lookup(op.getResult(0)))))
      return failure();
  }
  if (!isAlone)
    for (Value output : body.getTerminator()->getOperands())
      if (failed(verifyOutput(*this, output)))
        return failure();
  return verifyLanes(*this);
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

bool FusionOp::mayOverwrite(unsigned operand, unsigned result) {
  return canWriteOver(getBody().front(), operand, result, getPlan(),
                      getPartsAttr(), nd::MeshAttr::of(*this));
}

/// Whether the op is a cast that keeps each value as it is.
static bool isExactCast(Operation &op) {
  auto cast = dyn_cast<nd::CastOp>(op);
  if (!cast)
    return false;
  auto from =
      dyn_cast<FloatType>(nd::getTensorType(cast.getInput()).getElementType());
  auto to = dyn_cast<FloatType>(cast.getType().getElementType());
  return !from || !to || from.getWidth() <= to.getWidth();
}

/// The place of a fusion, and of its ops with their names: those that their
/// places have, or else those of their kinds. Without casts that round nothing.
static Location getOpLocations(FusionOp fusion) {
  SmallVector<Location> locations = {fusion.getLoc()};
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    if (op.getNumOperands() == 0 || isExactCast(op))
      continue;
    if (isa<NameLoc>(op.getLoc()))
      locations.push_back(op.getLoc());
    else
      locations.push_back(NameLoc::get(
          StringAttr::get(op.getContext(), op.getName().stripDialect()),
          op.getLoc()));
  }
  return FusedLoc::get(fusion.getContext(), locations);
}

void FusionOp::buildCall(OpBuilder &builder, const ScheduledCall &call) {
  Location location = getOpLocations(*this);
  FlatSymbolRefAttr kernel = call.getKernel(*this, call.inputs, call.results);
  LaunchOp::create(builder, location, kernel, call.inputs, call.results,
                   call.scratch);
}

} // namespace meshc::exec
