//===- ProductCall.cpp - the call that a matrix product becomes -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/EpiloguePatterns.h"
#include "dialects/Exec/Library.h"
#include "dialects/Exec/Order.h"
#include "meshc/GemmScratch.h"

using namespace mlir;

namespace meshc::exec {

StringRef ProductOp::getHeldName() { return nd::EinsumOp::getOperationName(); }

bool ProductOp::computes(Operation *, Library) { return true; }

//===----------------------------------------------------------------------===//
// Implementations
//===----------------------------------------------------------------------===//

SmallVector<LibraryImplementation>
ProductOp::getImplementations(Library library) {
  nd::EinsumOp einsum = getEinsum();
  auto shape = ProductShape::of(einsum);
  if (!shape)
    return {};
  auto typeOf = [](Value value) {
    return nd::getTensorType(value).getElementType();
  };
  MeshcGemm gemm = describeProduct(shape->sizes, shape->transA, shape->transB,
                                   typeOf(einsum.getInputs()[0]),
                                   typeOf(einsum.getResult()));
  const bool hasEpilogue = getEpilogue().has_value();
  SmallVector<LibraryImplementation> list;
  switch (library) {
  case Library::Host:
#define MESHC_HOST_PRODUCT(symbol, name, accepts, scratchBytes)                \
  list.push_back({name, (accepts) != 0, scratchBytes});
#include "meshc/Products.def"
    break;
  case Library::Cuda:
#define MESHC_CUDA_PRODUCT(symbol, name, accepts)                              \
  list.push_back({name, (accepts) != 0, 0});
#include "meshc/Products.def"
    break;
  }
  return list;
}

bool ProductOp::mayOverwrite(unsigned, unsigned) { return false; }

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Whether the sums of a factor are what the call of the product computes.
static bool isSumOfFactor(ProductOp op, const EpilogueTraits &epilogue) {
  FusionOp fusion = op.getFusion();
  unsigned operand = epilogue.operand == EpilogueOperand::B ? 1 : 0;
  Value factor = op.getEinsum().getInputs()[operand];
  Value sum = fusion.getResult(0);
  DimSet summed = unite(fusion.getPlan().getReduce(), {});
  return fusion.getInputs().front() == factor &&
         canSumFactor(op.getEinsum(), operand) &&
         summed == unite(ProductDims::of(op.getEinsum()).k, {}) &&
         getOrder(sum) ==
             restrictOrder(getOrder(factor).value_or(Order()), getDims(sum));
}

/// Whether the fusion, which reads c, is what the call computes.
static bool isFunctionOfProduct(ProductOp op, const EpiloguePattern &pattern,
                                const ResultMatrix &matrix) {
  FusionOp fusion = op.getFusion();
  Value c = op.getEinsum().getResult();
  if (fusion.getInputs().front() != c ||
      getOrder(fusion.getResult(0)) != getOrder(c))
    return false;
  if (pattern.epilogue.hasBias() &&
      getOrder(fusion.getInputs()[1]) != matrix.columnDims)
    return false;
  if (pattern.epilogue.readsLikeC() &&
      getOrder(fusion.getInputs()[1]) != getOrder(c))
    return false;
  Operation *yield = fusion.getBody().front().getTerminator();
  return fusion.getNumResults() < 2 || yield->getOperand(1) == pattern.argument;
}

/// What follows the product is what the epilogue says.
static LogicalResult verifyEpilogue(ProductOp op) {
  const EpilogueTraits &epilogue = getTraits(*op.getEpilogue());
  auto matrix = ResultMatrix::of(op.getEinsum());
  auto pattern = EpiloguePattern::of(op.getFusion());
  // The pattern does not say which factor is summed.
  bool isExpected =
      pattern && (epilogue.sumsFactor() ? pattern->epilogue.sumsFactor()
                                        : &pattern->epilogue == &epilogue);
  if (!matrix || !isExpected || pattern->product != 0 ||
      pattern->other.value_or(1) != 1 ||
      !(epilogue.sumsFactor() ? isSumOfFactor(op, epilogue)
                              : isFunctionOfProduct(op, *pattern, *matrix)))
    return op.emitOpError()
           << "does something else than epilogue '" << epilogue.name << "'";
  if (!op.getMask())
    return success();
  Value mask =
      epilogue.readsMask() ? op.getInputs().back() : op.getResults().back();
  int64_t bytes = getMaskBytes(*matrix);
  if (nd::getTensorType(mask).getLocalBytes(nd::MeshAttr::of(op)) < bytes)
    return op.emitOpError()
           << "needs a mask of " << bytes << " bytes, got " << mask.getType();
  return success();
}

LogicalResult ProductOp::verifyCall() {
  if (!ProductShape::of(getEinsum()))
    return emitOpError(
        "is not one matrix product in the memory orders of its tensors");
  return getEpilogue() ? verifyEpilogue(*this) : success();
}

LogicalResult ProductOp::verifyReady() {
  return verifyHeldOps(cast<LibraryOpInterface>(getOperation()));
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

namespace {
/// The buffers of a product's call, in the terms of exec.gemm.
struct GemmBuffers {
  Value a, b, c, mask;
  SmallVector<Value> inputs, outputs; ///< of the epilogue's kernel

  GemmBuffers(ProductOp op, const ScheduledCall &call);
};
} // namespace

GemmBuffers::GemmBuffers(ProductOp op, const ScheduledCall &call) {
  nd::EinsumOp einsum = op.getEinsum();
  auto bufferOf = [&](Value inner) {
    return call.inputs[op.getInputOf(inner)];
  };
  a = bufferOf(einsum.getInputs()[0]);
  b = bufferOf(einsum.getInputs()[1]);
  ArrayRef<Value> results = call.results;
  const EpilogueTraits *epilogue = getTraits(op.getEpilogue());
  if (op.getMask()) {
    mask = epilogue->readsMask() ? call.inputs.back() : results.back();
    results = results.drop_back(epilogue->writesMask());
  }
  if (!epilogue) {
    c = results.front();
    return;
  }
  // c is in its final buffer, or in the one that the fusion overwrites.
  c = epilogue->keepsProduct() ? results.front() : results.back();
  llvm::append_range(outputs, results.drop_front(epilogue->keepsProduct()));
  for (Value input : op.getFusion().getInputs())
    inputs.push_back(input == einsum.getResult() ? c : bufferOf(input));
}

void ProductOp::buildCall(OpBuilder &builder, const ScheduledCall &call) {
  GemmBuffers buffers(*this, call);
  ProductShape shape = *ProductShape::of(getEinsum());
  if (shape.isSwapped)
    std::swap(buffers.a, buffers.b);
  auto gemm = GemmOp::create(builder, getLoc(), buffers.a, buffers.b, buffers.c,
                             builder.getDenseI64ArrayAttr(shape.sizes),
                             shape.transA, shape.transB, shape.cut);
  if (call.scratch)
    gemm.getScratchMutable().assign(call.scratch);
  const EpilogueTraits *epilogue = getTraits(getEpilogue());
  if (!epilogue)
    return;
  // The factors may have changed places.
  if (epilogue->sumsFactor())
    epilogue =
        findEpilogue(buffers.a == buffers.inputs.front() ? EpilogueOperand::A
                                                         : EpilogueOperand::B,
                     epilogue->function, epilogue->result);
  gemm.setEpilogue(exec::getEpilogue(*epilogue));
  gemm.setKernelAttr(
      call.getKernel(getFusion(), buffers.inputs, buffers.outputs));
  gemm.getInputsMutable().assign(buffers.inputs);
  gemm.getOutputsMutable().assign(buffers.outputs);
  if (buffers.mask)
    gemm.getMaskMutable().assign(buffers.mask);
}

} // namespace meshc::exec
