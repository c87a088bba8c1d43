//===- Reductions.cpp - combining the values of reductions ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Reductions.h"
#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "dialects/Nd/NdInterfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace meshc::codegen {

bool hasLanes(Value tensor, const nd::ElementIndex &index) {
  return llvm::any_of(nd::getTensorType(tensor).getDims(),
                      [&](nd::DimAttr dim) {
                        return index.at(dim.getName().getValue()).lanes;
                      });
}

static nd::ReductionKind getKind(Operation *reduction) {
  if (auto op = dyn_cast<nd::ReduceOpInterface>(reduction))
    return op.getReductionKind();
  return nd::ReductionKind::Sum; // of an op that scatters, or of prefixes
}

static TypedAttr getIdentityAttr(nd::ReductionKind kind, Type type) {
  double identity = nd::getIdentity(kind, type);
  if (isa<FloatType>(type))
    return FloatAttr::get(type, identity);
  return IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(),
                                      static_cast<int64_t>(identity),
                                      /*isSigned=*/false,
                                      /*implicitTrunc=*/true));
}

Value getIdentity(KernelElements &emitter, Operation *reduction,
                  bool isVector) {
  Type type = emitter.getComputeType(
      nd::getTensorType(reduction->getResult(0)).getElementType());
  TypedAttr attr = getIdentityAttr(getKind(reduction), type);
  if (isVector)
    attr = SplatElementsAttr::get(VectorType::get({emitter.getLanes()}, type),
                                  Attribute(attr));
  return arith::ConstantOp::create(emitter.builder, emitter.loc, attr);
}

/// Whether entries at the index are below `count`, for each lane.
static Value isBelow(KernelElements &emitter, const nd::DimIndex &at,
                     Value count) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  if (!at.lanes)
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                 at.base, count);
  Value zero = emitter.getIndexConstant(0);
  Value rest = arith::SubIOp::create(builder, loc, count, at.base);
  rest = arith::MaxSIOp::create(builder, loc, rest, zero);
  rest = arith::MinSIOp::create(builder, loc, rest,
                                emitter.getIndexConstant(emitter.getLanes()));
  rest = emitter.getIndexAsI32({rest, /*lanes=*/false});
  Value lanes = emitter.getIndexAsI32({zero, /*lanes=*/true});
  emitter.unify(lanes, rest);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lanes,
                               rest);
}

Value getExistence(KernelElements &emitter, nd::TensorType type,
                   ArrayRef<StringAttr> dims, const nd::ElementIndex &index) {
  Value all;
  for (StringAttr dim : dims) {
    int64_t position = type.getDimIndex(dim.getValue());
    if (position < 0 || type.isEven(position, emitter.getMesh()))
      continue;
    Value exists = isBelow(emitter, index.at(dim.getValue()),
                           emitter.getEntryCount(type, dim.getValue()));
    if (all) {
      emitter.unify(all, exists);
      exists = arith::AndIOp::create(emitter.builder, emitter.loc, all, exists);
    }
    all = exists;
  }
  return all;
}

Value getTerm(KernelElements &emitter, Operation *reduction,
              const nd::ElementIndex &index) {
  Value operand = reduction->getOperand(0);
  Value element = emitter.getElement(operand, index);
  Value exists = getExistence(
      emitter, nd::getTensorType(operand),
      cast<nd::ReduceOpInterface>(reduction).getReducedDims(), index);
  if (!exists)
    return element;
  bool isVector =
      isa<VectorType>(element.getType()) || isa<VectorType>(exists.getType());
  Value identity = getIdentity(emitter, reduction, isVector);
  emitter.unify(element, identity);
  return arith::SelectOp::create(emitter.builder, emitter.loc, exists, element,
                                 identity);
}

/// A binary op on floats; the sign of zero is not kept by max and min.
template <typename FloatOp, typename IntOp>
static Value build(OpBuilder &builder, Location loc, Value a, Value b) {
  if (isa<FloatType>(getElementTypeOrSelf(a.getType()))) {
    auto op = FloatOp::create(builder, loc, a, b);
    op.setFastmath(arith::FastMathFlags::nsz);
    return op;
  }
  return IntOp::create(builder, loc, a, b);
}

Value combine(KernelElements &emitter, Operation *reduction, Value a, Value b) {
  emitter.unify(a, b);
  bool isBool = getElementTypeOrSelf(a.getType()).isInteger(1);
  switch (getKind(reduction)) {
  case nd::ReductionKind::Sum:
    return build<arith::AddFOp, arith::AddIOp>(emitter.builder, emitter.loc, a,
                                               b);
  case nd::ReductionKind::Prod:
    return build<arith::MulFOp, arith::MulIOp>(emitter.builder, emitter.loc, a,
                                               b);
  case nd::ReductionKind::Max:
    if (isBool)
      return arith::OrIOp::create(emitter.builder, emitter.loc, a, b);
    return build<arith::MaximumFOp, arith::MaxSIOp>(emitter.builder,
                                                    emitter.loc, a, b);
  case nd::ReductionKind::Min:
    if (isBool)
      return arith::AndIOp::create(emitter.builder, emitter.loc, a, b);
    return build<arith::MinimumFOp, arith::MinSIOp>(emitter.builder,
                                                    emitter.loc, a, b);
  }
  llvm_unreachable("all kinds are above");
}

/// Halves the vector until one element is left.
Value combineLanes(KernelElements &emitter, Operation *reduction,
                   Value vector) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < half; ++lane) {
      low.push_back(lane);
      high.push_back(half + lane);
    }
    Value a = vector::ShuffleOp::create(emitter.builder, emitter.loc, vector,
                                        vector, low);
    Value b = vector::ShuffleOp::create(emitter.builder, emitter.loc, vector,
                                        vector, high);
    vector = combine(emitter, reduction, a, b);
  }
  return vector::ExtractOp::create(emitter.builder, emitter.loc, vector, 0);
}

} // namespace meshc::codegen
