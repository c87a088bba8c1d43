//===- Exec.cpp - buffers, launches and library calls ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Exec/CollectiveCall.h"
#include "dialects/Exec/Order.h"
#include "dialects/Exec/Parts.h"
#include "dialects/Nd/NdInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

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
  attachCollectiveCalls(*getContext());
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
  if (failed(verifyOrders(*this, "output", getOutputOrders(),
                          yield.getValues().getTypes())) ||
      failed(verifyParts(*this, getPlan(), getPartsAttr())))
    return failure();
  auto alignments = getAlignments();
  if (!alignments)
    return success();
  size_t count = getInputOrders().size() + getOutputOrders().size();
  if (alignments->size() != count)
    return emitOpError() << "has " << count << " buffers but alignments for "
                         << alignments->size();
  for (int64_t alignment : *alignments)
    if (alignment < 1 || alignment > kernelAlignment ||
        !llvm::isPowerOf2_64(alignment))
      return emitOpError() << "alignments must be powers of two up to "
                           << kernelAlignment << ", got " << alignment;
  return success();
}

int64_t KernelOp::getAlignment(unsigned buffer) {
  auto alignments = getAlignments();
  return alignments ? (*alignments)[buffer] : kernelAlignment;
}

LogicalResult FuncOp::verify() { return verifySteps(*this); }

SmallVector<StepOpInterface> FuncOp::getSteps() {
  return exec::getSteps(getBody().front());
}

//===----------------------------------------------------------------------===//
// Pieces of the arena
//===----------------------------------------------------------------------===//

void BufferOp::build(OpBuilder &builder, OperationState &state, BufferType type,
                     const ArenaPlace &place) {
  auto unlessZero = [](ArrayRef<int64_t> bytes) {
    bool moves = llvm::any_of(bytes, [](int64_t each) { return each != 0; });
    return moves ? bytes : ArrayRef<int64_t>();
  };
  build(builder, state, type, place.offset, unlessZero(place.strides),
        unlessZero(place.alternates));
}

LogicalResult BufferOp::verify() {
  size_t loops = getLoopsAround(*this).size();
  if (!getStrides().empty() && getStrides().size() != loops)
    return emitOpError() << "must have one stride for each of " << loops
                         << " loops around it, got " << getStrides().size();
  for (int64_t stride : getStrides())
    if (stride < 0)
      return emitOpError() << "strides must not be negative, got " << stride;
  if (!getAlternates().empty() && getAlternates().size() != loops)
    return emitOpError() << "must have one alternate for each of " << loops
                         << " loops around it, got " << getAlternates().size();
  for (int64_t alternate : getAlternates())
    if (alternate < 0 || alternate % arenaAlignment != 0)
      return emitOpError() << "alternates must be multiples of "
                           << arenaAlignment << " that are not negative, got "
                           << alternate;
  return success();
}

ArenaPlace BufferOp::getPlace() {
  return {static_cast<int64_t>(getOffset()),
          SmallVector<int64_t, 2>(getStrides()),
          SmallVector<int64_t, 2>(getAlternates())};
}

int64_t BufferOp::getBytes(nd::MeshAttr mesh) {
  return getType().getTensor().getLocalBytes(mesh);
}

ArenaPlace ScratchOp::getPlace() {
  return {static_cast<int64_t>(getOffset()), {}};
}

int64_t ScratchOp::getBytes(nd::MeshAttr) { return getType().getBytes(); }

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
