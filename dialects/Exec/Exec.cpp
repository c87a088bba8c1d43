//===- Exec.cpp - buffers, launches and library calls ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/NdInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Exec/ExecDialect.cpp.inc"

#include "dialects/Exec/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

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
  int64_t stride = 1;
  for (StringAttr name : llvm::reverse(getOrder())) {
    if (name.getValue() == dim)
      return stride;
    stride *= getTensor().getLocalSize(getTensor().getDimIndex(name.getValue()),
                                       mesh);
  }
  return 0;
}

/// Checks one list of memory orders against the types it belongs to.
static LogicalResult verifyOrders(Operation *op, StringRef what,
                                  ArrayAttr orders, TypeRange types) {
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

/// Whether the kernel is there and takes these buffers.
static LogicalResult verifyKernelUse(Operation *op, FlatSymbolRefAttr name,
                                     ValueRange inputs, ValueRange outputs) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(op, name);
  if (!kernel)
    return op->emitOpError()
           << "there is no kernel '" << name.getValue() << "'";
  auto matches = [](TypeRange buffers, TypeRange tensors, ArrayAttr orders) {
    if (buffers.size() != tensors.size() || buffers.size() != orders.size())
      return false;
    for (auto [buffer, tensor, order] : llvm::zip(buffers, tensors, orders))
      if (cast<BufferType>(buffer).getTensor() != tensor ||
          !llvm::equal(cast<BufferType>(buffer).getOrder(),
                       cast<ArrayAttr>(order).getAsRange<StringAttr>()))
        return false;
    return true;
  };
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  if (!matches(inputs.getTypes(), kernel.getBody().getArgumentTypes(),
               kernel.getInputOrders()) ||
      !matches(outputs.getTypes(), yield.getValues().getTypes(),
               kernel.getOutputOrders()))
    return op->emitOpError()
           << "buffers do not match inputs and outputs of kernel '"
           << name.getValue() << "'";
  return success();
}

LogicalResult LaunchOp::verify() {
  return verifyKernelUse(*this, getKernelAttr(), getInputs(), getOutputs());
}

ScratchOp GemmOp::getScratchOp() {
  return getScratch() ? getScratch().getDefiningOp<ScratchOp>() : ScratchOp();
}

LogicalResult GemmOp::verify() {
  if (getSizes().size() != 10)
    return emitOpError() << "takes 10 sizes, got " << getSizes().size();
  if (llvm::any_of(getSizes().take_front(7),
                   [](int64_t size) { return size < 1; }))
    return emitOpError("sizes and leading dimensions must be positive");
  if (getEpilogue().has_value() != getKernel().has_value())
    return emitOpError("needs a kernel with its epilogue");
  if (!getEpilogue())
    return getMask() ? emitOpError("has a mask without an epilogue")
                     : success();
  if (getSizes()[6] != 1 || getAccumulate())
    return emitOpError("with an epilogue is of one batch and adds to nothing");
  bool isBiasGradient = *getEpilogue() == Epilogue::BiasGradientA ||
                        *getEpilogue() == Epilogue::BiasGradientB;
  if (!isBiasGradient && (getInputs().empty() || getInputs()[0] != getC() ||
                          !llvm::is_contained(getOutputs(), getC())))
    return emitOpError(
               "leaves c to its epilogue: c must be the first input and "
               "a result of '")
           << *getKernel() << "'";
  return verifyKernelUse(*this, getKernelAttr(), getInputs(), getOutputs());
}

LogicalResult CollectiveOp::verify() {
  if (getSend().size() != getRecv().size() ||
      getItems().size() != 4 * getSend().size())
    return emitOpError("needs one receive buffer and four item sizes for each "
                       "send buffer");
  constexpr StringLiteral kinds[] = {"all_reduce", "reduce_scatter",
                                     "all_gather", "all_to_all"};
  if (!llvm::is_contained(kinds, getKind()))
    return emitOpError() << "there is no collective '" << getKind()
                         << "'; expected one of "
                         << llvm::join(ArrayRef(kinds), ", ");
  nd::MeshAttr mesh = nd::MeshAttr::of(*this);
  for (StringAttr axis : getAxes().getAsRange<StringAttr>())
    if (mesh.getAxisIndex(axis.getValue()) < 0)
      return emitOpError() << "the mesh has no axis '" << axis.getValue()
                           << "'";
  return success();
}

} // namespace meshc::exec
