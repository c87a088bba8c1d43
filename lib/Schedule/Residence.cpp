//===- Residence.cpp - where results stay, and what may share a buffer ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Residence.h"
#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "dialects/Spmd/SpmdOps.h"

using namespace mlir;

namespace meshc::schedule {

BlockArgument getReplacedArgument(func::FuncOp function, unsigned index) {
  auto name = function.getResultAttr(index, "nd.name");
  auto role = function.getResultAttrOfType<StringAttr>(index, "nd.role");
  if (!name || !role || role.getValue() == "metric")
    return {};
  auto isReplaced = [&](BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    return function.getArgAttr(number, "nd.name") == name &&
           function.getArgAttr(number, "nd.role") == role;
  };
  // State mostly comes and goes in one order.
  if (index < function.getNumArguments() &&
      isReplaced(function.getArgument(index)))
    return function.getArgument(index);
  auto found = llvm::find_if(function.getArguments(), isReplaced);
  return found == function.getArguments().end() ? BlockArgument() : *found;
}

bool canWriteOver(Block &kernel, unsigned input, unsigned output,
                  exec::PlanAttr plan, nd::MeshAttr mesh) {
  Value read = kernel.getArgument(input);
  Value written = kernel.getTerminator()->getOperand(output);
  nd::TensorType readType = nd::getTensorType(read);
  nd::TensorType writtenType = nd::getTensorType(written);
  exec::DimSet dims = exec::getDims(read);
  if (dims != exec::getDims(written) ||
      readType.getLocalBytes(mesh) != writtenType.getLocalBytes(mesh) ||
      readType.getLocalElementCount(mesh) !=
          writtenType.getLocalElementCount(mesh))
    return false;
  // An op with loops of its own reads and writes as it likes.
  for (Operation &op : kernel.without_terminator())
    if (!isa<nd::ElementOpInterface, nd::ReduceOpInterface>(op))
      return false;
  // A result of the parallel dims alone may be written before the walk that
  // stores those with reduce dims.
  bool isPoint = dims.size() == plan.getParallel().size();
  if (isPoint && !plan.getReduce().empty() &&
      llvm::any_of(kernel.getTerminator()->getOperands(), [&](Value other) {
        return exec::getDims(other).size() > plan.getParallel().size();
      }))
    return false;
  for (auto [index, dim] : llvm::enumerate(readType.getDims()))
    if (readType.getLocalSize(index, mesh) !=
        writtenType.getLocalSize(index, mesh))
      return false;
  return exec::getAlignment(kernel, mesh).lookup(read) == dims;
}

bool canWriteOver(Operation *op, unsigned operand, unsigned result) {
  Value read = op->getOperand(operand);
  if (exec::getOrder(read) != exec::getOrder(op->getResult(result)) ||
      llvm::count(op->getOperands(), read) != 1)
    return false;
  if (auto fusion = dyn_cast<exec::FusionOp>(op))
    return canWriteOver(fusion.getBody().front(), operand, result,
                        fusion.getPlan(), nd::MeshAttr::of(op));
  auto collective = dyn_cast<spmd::CollectiveOpInterface>(op);
  return collective && operand == result &&
         collective.getCollectiveKind() == spmd::CollectiveKind::AllReduce;
}

SmallVector<Operation *> getReadersBefore(func::FuncOp function,
                                          unsigned index) {
  SmallVector<Operation *> readers;
  Operation *terminator = function.getBody().front().getTerminator();
  Value value = terminator->getOperand(index);
  BlockArgument argument = getReplacedArgument(function, index);
  if (!argument || value == argument)
    return readers;
  for (Operation *user : argument.getUsers())
    if (user != terminator && user != value.getDefiningOp() &&
        !llvm::is_contained(readers, user))
      readers.push_back(user);
  return readers;
}

BufferAccess BufferAccess::of(Operation *op) {
  BufferAccess access;
  if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
    llvm::append_range(access.reads, launch.getInputs());
    llvm::append_range(access.writes, launch.getOutputs());
  } else if (auto gemm = dyn_cast<exec::GemmOp>(op)) {
    access.reads = {gemm.getA(), gemm.getB()};
    access.writes = {gemm.getC()};
    if (Value scratch = gemm.getScratch())
      access.scratch.push_back(scratch);
    // The epilogue of the call reads c only after the product has written it.
    for (Value input : gemm.getInputs())
      if (input != gemm.getC())
        access.reads.push_back(input);
    for (Value output : gemm.getOutputs())
      if (output != gemm.getC())
        access.writes.push_back(output);
    if (Value mask = gemm.getMask())
      (*gemm.getEpilogue() == exec::Epilogue::ReluGradient ? access.reads
                                                           : access.writes)
          .push_back(mask);
  } else if (auto collective = dyn_cast<exec::CollectiveOp>(op)) {
    llvm::append_range(access.reads, collective.getSend());
    llvm::append_range(access.writes, collective.getRecv());
  }
  return access;
}

ArenaPiece ArenaPiece::of(Value buffer, nd::MeshAttr mesh) {
  if (auto scratch = buffer.getDefiningOp<exec::ScratchOp>()) {
    int64_t offset = scratch.getOffset();
    return {offset, offset + scratch.getType().getBytes()};
  }
  int64_t offset = buffer.getDefiningOp<exec::BufferOp>().getOffset();
  auto type = cast<exec::BufferType>(buffer.getType());
  return {offset, offset + type.getTensor().getLocalBytes(mesh)};
}

bool disturbs(Operation *op, exec::CollectiveOp running, nd::MeshAttr mesh) {
  auto meet = [&](ValueRange a, ValueRange b) {
    return llvm::any_of(a, [&](Value x) {
      return llvm::any_of(b, [&](Value y) {
        return ArenaPiece::of(x, mesh).overlaps(ArenaPiece::of(y, mesh));
      });
    });
  };
  BufferAccess access = BufferAccess::of(op);
  return meet(access.scratch, running.getRecv()) ||
         meet(access.scratch, running.getSend()) ||
         meet(access.reads, running.getRecv()) ||
         meet(access.writes, running.getRecv()) ||
         meet(access.writes, running.getSend());
}

} // namespace meshc::schedule
