//===- Exec.cpp - buffers, launches and library calls ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/NdInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"

#include "dialects/Exec/ExecDialect.cpp.inc"

#include "dialects/Exec/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

#include "dialects/Exec/Interfaces/ExecInterfaces.cpp.inc"

using namespace mlir;

namespace meshc::exec {

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/ExecAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Exec/ExecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/ExecOps.cpp.inc"
      >();
}

/// Whether `order` names each dim of the type exactly once.
static bool isOrderOf(nd::TensorType type, ArrayRef<StringAttr> order) {
  if (static_cast<int64_t>(order.size()) != type.getRank())
    return false;
  for (nd::DimAttr dim : type.getDims())
    if (llvm::count(order, dim.getName()) != 1)
      return false;
  return true;
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 nd::TensorType tensor,
                                 ArrayRef<StringAttr> order) {
  if (!isOrderOf(tensor, order))
    return emitError() << "the memory order must name each dim of " << tensor
                       << " once";
  return success();
}

LogicalResult ScratchType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t bytes) {
  if (bytes < 1)
    return emitError() << "scratch memory must have at least 1 byte, got "
                       << bytes;
  return success();
}

SmallVector<int64_t> BufferType::getShape(nd::MeshAttr mesh) const {
  SmallVector<int64_t> shape;
  for (StringAttr name : getOrder())
    shape.push_back(getTensor().getLocalSize(
        getTensor().getDimIndex(name.getValue()), mesh));
  return shape;
}

int64_t BufferType::getStride(StringRef dim, nd::MeshAttr mesh) const {
  return exec::getStride(getTensor(), getOrder(), dim, mesh);
}

LogicalResult verifyOrders(Operation *op, StringRef what, ArrayAttr orders,
                           TypeRange types) {
  if (orders.size() != types.size())
    return op->emitOpError() << "has " << types.size() << ' ' << what
                             << "s but memory orders for " << orders.size();
  for (auto [index, attr, type] : llvm::enumerate(orders, types)) {
    auto names = dyn_cast<ArrayAttr>(attr);
    auto tensor = dyn_cast<nd::TensorType>(type);
    if (!names || !tensor || !llvm::all_of(names, llvm::IsaPred<StringAttr>) ||
        !isOrderOf(tensor, llvm::map_to_vector(names, [](Attribute name) {
                     return cast<StringAttr>(name);
                   })))
      return op->emitOpError() << "memory order of " << what << ' ' << index
                               << " must name each dim of " << type << " once";
  }
  return success();
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> parallel,
                               ArrayRef<StringAttr> reduce, StringAttr lanes,
                               ArrayRef<int64_t> sizes) {
  if (sizes.size() != parallel.size() + reduce.size())
    return emitError() << "a plan must have a size for each of its "
                       << parallel.size() + reduce.size() << " dims, got "
                       << sizes.size();
  return success();
}

LogicalResult KernelOp::verify() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError("must end with exec.yield");
  if (failed(verifyOrders(*this, "input", getInputOrders(),
                          getBody().getArgumentTypes())))
    return failure();
  return verifyOrders(*this, "output", getOutputOrders(),
                      yield.getValues().getTypes());
}

LogicalResult FuncOp::verify() {
  Block &body = getBody().front();
  // So every buffer is of an op with PieceOpInterface: the others give tokens.
  if (body.getNumArguments() > 0)
    return emitOpError() << "must have no arguments, got "
                         << body.getArgumentTypes();
  for (Operation &op : body) {
    if (!isa<StepOpInterface, PieceOpInterface>(op))
      return op.emitOpError("has no meaning in a step function: it has neither "
                            "StepOpInterface nor PieceOpInterface")
                 .attachNote(getLoc())
             << "in this function";
  }
  return success();
}

SmallVector<StepOpInterface> FuncOp::getSteps() {
  SmallVector<StepOpInterface> steps;
  for (Operation &op : getBody().front()) {
    auto step = dyn_cast<StepOpInterface>(op);
    if (step)
      steps.push_back(step);
    else if (!isa<PieceOpInterface>(op))
      llvm::reportFatalInternalError("'" + op.getName().getStringRef() +
                                     "' lacks StepOpInterface");
  }
  return steps;
}

ArenaPiece BufferOp::getPiece(nd::MeshAttr mesh) {
  int64_t offset = getOffset();
  return {offset, offset + getType().getTensor().getLocalBytes(mesh)};
}

ArenaPiece ScratchOp::getPiece(nd::MeshAttr) {
  int64_t offset = getOffset();
  return {offset, offset + getType().getBytes()};
}

MeshcType getAbiType(Type elementType) {
  if (elementType.isF32())
    return MESHC_F32;
  if (elementType.isBF16())
    return MESHC_BF16;
  if (elementType.isF16())
    return MESHC_F16;
  return elementType.isInteger(1) ? MESHC_I1 : MESHC_I32;
}

MeshcType getAbiType(Value buffer) {
  return getAbiType(
      cast<BufferType>(buffer.getType()).getTensor().getElementType());
}

} // namespace meshc::exec
