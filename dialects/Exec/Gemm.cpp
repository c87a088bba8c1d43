//===- Gemm.cpp - the call of a matrix product ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Epilogues.h"
#include "dialects/Exec/Order.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace meshc::exec {

// Epilogue.td repeats the list, since TableGen cannot read it.
#define MESHC_EPILOGUE(CONSTANT, Kind, name, number, Operand, Function,        \
                       Result, Mask, Kept, text)                               \
  static_assert(int(Epilogue::Kind) == MESHC_##CONSTANT);
#include "meshc/Epilogues.def"
static_assert(getMaxEnumValForEpilogue() == std::size(epilogueTable));

namespace {
/// Where the elements of a batch of matrices lie: `rows` stored rows of
/// `columns` elements, `leading` apart; `stride` from matrix to matrix.
struct Stored {
  int64_t rows, columns, leading, batch, stride;

  /// The number of the last element plus one; nothing beyond int64.
  std::optional<int64_t> getEnd() const {
    int64_t row, matrix, end;
    if (llvm::MulOverflow(rows - 1, leading, row) ||
        llvm::MulOverflow(batch - 1, stride, matrix) ||
        llvm::AddOverflow(row, matrix, end) ||
        llvm::AddOverflow(end, columns, end))
      return std::nullopt;
    return end;
  }
};
} // namespace

/// Whether the elements of one tensor of the product lie in its buffer.
static LogicalResult verifyStored(GemmOp op, StringRef name, Value buffer,
                                  Stored stored) {
  int64_t count =
      cast<BufferType>(buffer.getType())
          .getTensor()
          .getLocalElementCount(nd::MeshAttr::of(op.getOperation()));
  if (stored.stride < 0)
    return op.emitOpError() << "strides must not be negative, got "
                            << stored.stride << " for " << name;
  if (stored.leading < stored.columns)
    return op.emitOpError()
           << "the leading dimension of " << name << " must be at least "
           << stored.columns << ", the elements of a stored row, got "
           << stored.leading;
  std::optional<int64_t> end = stored.getEnd();
  if (end && *end <= count)
    return success();
  InFlightDiagnostic error = op.emitOpError() << "takes more of " << name;
  if (end)
    error << " (" << *end << " elements)";
  return error << " than its buffer has (" << count << ")";
}

/// Whether a, b and c have the elements that the sizes address.
static LogicalResult verifyRoom(GemmOp op) {
  ArrayRef<int64_t> sizes = op.getSizes();
  int64_t m = sizes[0], n = sizes[1], k = sizes[2], batch = sizes[6];
  Stored a = {m, k, sizes[3], batch, sizes[7]};
  Stored b = {k, n, sizes[4], batch, sizes[8]};
  if (op.getTransA())
    std::swap(a.rows, a.columns);
  if (op.getTransB())
    std::swap(b.rows, b.columns);
  return success(succeeded(verifyStored(op, "a", op.getA(), a)) &&
                 succeeded(verifyStored(op, "b", op.getB(), b)) &&
                 succeeded(verifyStored(op, "c", op.getC(),
                                        {m, n, sizes[5], batch, sizes[9]})));
}

static nd::TensorType getTensor(Value buffer) {
  return cast<BufferType>(buffer.getType()).getTensor();
}

/// The dims of a and b, which c lacks, whose blocks may have padding.
static SmallVector<StringAttr> getUnevenDepth(GemmOp op, nd::MeshAttr mesh) {
  nd::TensorType a = getTensor(op.getA()), b = getTensor(op.getB()),
                 c = getTensor(op.getC());
  SmallVector<StringAttr> uneven;
  for (auto [index, dim] : llvm::enumerate(a.getDims())) {
    StringRef name = dim.getName().getValue();
    if (b.hasDim(name) && !c.hasDim(name) && !a.isEven(int64_t(index), mesh))
      uneven.push_back(dim.getName());
  }
  return uneven;
}

/// Whether the entries of the dim are parts of k one after another, in one
/// factor: `alongK` elements lie between neighbours along k.
static LogicalResult verifyCutFactor(GemmOp op, StringRef name, Value buffer,
                                     int64_t alongK) {
  auto mesh = nd::MeshAttr::of(op.getOperation());
  StringRef cut = *op.getCut();
  nd::TensorType type = getTensor(buffer);
  int64_t entries = type.getLocalSize(type.getDimIndex(cut), mesh);
  int64_t k = op.getSizes()[2];
  if (k % entries != 0)
    return op.emitOpError() << "cannot divide k (" << k << ") into the "
                            << entries << " entries of '" << cut << "'";
  int64_t stride = cast<BufferType>(buffer.getType()).getStride(cut, mesh);
  if (entries > 1 && stride != k / entries * alongK)
    return op.emitOpError()
           << "needs '" << cut << "' as the outermost dim of k: in " << name
           << " its entries are " << stride << " elements apart, expected "
           << k / entries * alongK;
  return success();
}

/// k is shorter where blocks are: a cut is named if and only if there is one.
static LogicalResult verifyCut(GemmOp op) {
  auto mesh = nd::MeshAttr::of(op.getOperation());
  SmallVector<StringAttr> uneven = getUnevenDepth(op, mesh);
  if (uneven.size() > 1)
    return op.emitOpError() << "sums over '" << uneven[0].getValue()
                            << "' and '" << uneven[1].getValue()
                            << "', which both have padding; one may have it";
  if (!op.getCut() && uneven.empty())
    return success();
  if (!op.getCut() || uneven.empty() || uneven.front() != op.getCut())
    return op.emitOpError()
           << "must name the dim of k whose blocks may have padding: got '"
           << op.getCut().value_or("") << "', expected '"
           << (uneven.empty() ? "" : uneven.front().getValue()) << "'";
  ArrayRef<int64_t> sizes = op.getSizes();
  return success(succeeded(verifyCutFactor(op, "a", op.getA(),
                                           op.getTransA() ? sizes[3] : 1)) &&
                 succeeded(verifyCutFactor(op, "b", op.getB(),
                                           op.getTransB() ? 1 : sizes[4])));
}

LogicalResult GemmOp::verify() {
  if (getSizes().size() != 10)
    return emitOpError() << "takes 10 sizes, got " << getSizes().size();
  if (llvm::any_of(getSizes().take_front(7),
                   [](int64_t size) { return size < 1; }))
    return emitOpError("sizes and leading dimensions must be positive");
  if (failed(verifyRoom(*this)) || failed(verifyCut(*this)))
    return failure();
  if (getEpilogue().has_value() != getKernel().has_value())
    return emitOpError("needs a kernel with its epilogue");
  if (!getEpilogue())
    return getMask() ? emitOpError("has a mask without an epilogue")
                     : success();
  if (getSizes()[6] != 1)
    return emitOpError() << "with an epilogue must be of one batch, got "
                         << getSizes()[6];
  if (!getTraits(*getEpilogue()).keepsProduct() &&
      (getInputs().empty() || getInputs()[0] != getC() ||
       !llvm::is_contained(getOutputs(), getC())))
    return emitOpError(
               "leaves c to its epilogue: c must be the first input and "
               "a result of '")
           << *getKernel() << "'";
  return verifyKernelUse(*this, getKernelUse());
}

KernelUse GemmOp::getKernelUse() {
  return {getKernelAttr(), getInputs(), getOutputs()};
}

Accesses GemmOp::getAccesses() {
  Accesses accesses;
  accesses.reads = {getA(), getB()};
  accesses.writes = {getC()};
  if (Value scratch = getScratch())
    accesses.scratch.push_back(scratch);
  // The epilogue of the call reads c only after the product has written it.
  for (Value input : getInputs())
    if (input != getC())
      accesses.reads.push_back(input);
  for (Value output : getOutputs())
    if (output != getC())
      accesses.writes.push_back(output);
  if (Value mask = getMask())
    (getTraits(*getEpilogue()).readsMask() ? accesses.reads : accesses.writes)
        .push_back(mask);
  return accesses;
}

bool GemmOp::mayWriteOver(unsigned, unsigned) { return false; }

static MeshcGemm makeDescriptor(GemmOp op) {
  auto typeOf = [](Value buffer) { return getTensor(buffer).getElementType(); };
  MeshcGemm gemm =
      describeProduct(op.getSizes(), op.getTransA(), op.getTransB(),
                      typeOf(op.getA()), typeOf(op.getC()));
  if (Value scratch = op.getScratch()) {
    ArenaPiece piece = ArenaPiece::of(scratch, nd::MeshAttr::of(op));
    gemm.scratchOffset = piece.begin;
    gemm.scratchBytes = piece.end - piece.begin;
  }
  return gemm;
}

void GemmOp::emitCall(CallEmitter &emitter) {
  llvm::Value *descriptor = emitter.addDescriptor(
      makeDescriptor(*this), cast<BufferType>(getA().getType()),
      getCut().value_or(""), nd::MeshAttr::of(*this));
  llvm::Value *a = emitter.getAddress(getA()), *b = emitter.getAddress(getB()),
              *c = emitter.getAddress(getC());
  if (!getEpilogue()) {
    emitter.call("meshc_gemm", {descriptor, a, b, c});
    return;
  }
  SmallVector<Value> buffers(getInputs());
  llvm::append_range(buffers, getOutputs());
  llvm::Value *epilogue =
      emitter.addDescriptor(MeshcEpilogueKind(*getEpilogue()), *getKernel());
  llvm::Value *mask =
      getMask() ? emitter.getAddress(getMask()) : emitter.getNull();
  emitter.call("meshc_gemm_epilogue", {descriptor, epilogue, a, b, c,
                                       emitter.fillArray(0, buffers), mask});
}

CallDescription GemmOp::describe() {
  ProductDescription product;
  product.m = getSizes()[0];
  product.n = getSizes()[1];
  product.k = getSizes()[2];
  product.batch = getSizes()[6];
  product.a = getA();
  product.c = getC();
  product.reads = {getA(), getB()};
  const EpilogueTraits *epilogue = getTraits(getEpilogue());
  if (!epilogue || epilogue->keepsProduct())
    product.writes.push_back(getC());
  bool readsMask = getMask() && epilogue && epilogue->readsMask();
  if (Value mask = getMask())
    (readsMask ? product.reads : product.writes).push_back(mask);
  // The mask is read instead of the activation's result.
  nd::MeshAttr mesh = nd::MeshAttr::of(*this);
  int64_t offsetC = ArenaPiece::of(getC(), mesh).begin;
  if (!readsMask)
    for (Value input : getInputs())
      if (ArenaPiece::of(input, mesh).begin != offsetC)
        product.reads.push_back(input);
  llvm::append_range(product.writes, getOutputs());
  if (epilogue)
    product.epilogue = epilogue->name;
  return {"product", "", {getLoc()}, std::move(product)};
}

} // namespace meshc::exec
