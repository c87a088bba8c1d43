//===- GpuParts.cpp - kernels of several parts for GPUs -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuParts.h"
#include "dialects/Exec/Parts.h"
#include "lib/Codegen/Gpu/GpuNestEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace meshc::codegen {

using InPlacePairs = SmallVector<std::pair<unsigned, unsigned>>;

namespace {
/// One part as a kernel of its own.
struct Part {
  exec::KernelOp kernel;
  SmallVector<Value> buffers;
  InPlacePairs inPlace;
  LoopNest nest;
  int64_t lanes = 1;
  GpuMapping map;
  int64_t firstBlock = 0;
  Operation *withoutCode = nullptr; ///< an op that has none for these lanes
};

/// Emits the parts of one kernel.
class PartsEmitter {
public:
  PartsEmitter(exec::KernelOp kernel, OpBuilder &builder,
               const KernelEntry &entry)
      : kernel(kernel), builder(builder), entry(entry), loc(kernel.getLoc()) {}
  ~PartsEmitter() {
    for (Part &part : parts)
      part.kernel.erase();
  }

  FailureOr<PartsGrid> run(const GpuOptions &options);

private:
  LogicalResult addPart(const exec::PartBody &body,
                        const InPlacePairs &inPlace);
  exec::KernelOp makeKernel(const exec::PartBody &body);
  void mapParts(const GpuOptions &options);
  LogicalResult emitAll(const GpuOptions &options, bool &isAgain);
  void emitBlocks(MutableArrayRef<Part> some, Value block);
  void emitPart(Part &part, Value block);
  int64_t countBlocks() const {
    return parts.back().firstBlock + parts.back().map.getBlocks();
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  exec::KernelOp kernel;
  OpBuilder &builder;
  const KernelEntry &entry;
  Location loc;
  SmallVector<Part, 0> parts;
};
} // namespace

/// The part's own ops, as a kernel of the module until the parts are emitted.
exec::KernelOp PartsEmitter::makeKernel(const exec::PartBody &body) {
  OpBuilder before(kernel);
  Block &whole = kernel.getBody().front();
  SmallVector<Attribute> inputOrders, outputOrders;
  SmallVector<int64_t> alignments;
  unsigned inputCount = whole.getNumArguments();
  for (unsigned input : body.inputs) {
    inputOrders.push_back(kernel.getInputOrders()[input]);
    alignments.push_back(kernel.getAlignment(input));
  }
  for (unsigned result = 0; result < body.results; ++result) {
    unsigned output = body.firstResult + result;
    outputOrders.push_back(kernel.getOutputOrders()[output]);
    alignments.push_back(kernel.getAlignment(inputCount + output));
  }
  auto part = exec::KernelOp::create(
      before, whole.getTerminator()->getOperand(body.firstResult).getLoc(),
      (kernel.getSymName() + ".part_" + Twine(parts.size())).str(), body.plan,
      before.getArrayAttr(inputOrders), before.getArrayAttr(outputOrders),
      before.getDenseI64ArrayAttr(alignments), ArrayAttr());
  Block &block = part.getBody().emplaceBlock();
  IRMapping mapping;
  for (unsigned input : body.inputs) {
    Value old = whole.getArgument(input);
    mapping.map(old, block.addArgument(old.getType(), old.getLoc()));
  }
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  for (Operation *op : body.ops)
    inner.clone(*op, mapping);
  SmallVector<Value> results;
  for (Value value : whole.getTerminator()->getOperands().slice(
           body.firstResult, body.results))
    results.push_back(mapping.lookup(value));
  exec::YieldOp::create(inner, part.getLoc(), results);
  return part;
}

LogicalResult PartsEmitter::addPart(const exec::PartBody &body,
                                    const InPlacePairs &inPlace) {
  Part part;
  part.kernel = makeKernel(body);
  size_t inputCount = kernel.getInputOrders().size();
  for (unsigned input : body.inputs)
    part.buffers.push_back(entry.buffers[input]);
  for (unsigned result = 0; result < body.results; ++result)
    part.buffers.push_back(
        entry.buffers[inputCount + body.firstResult + result]);
  for (auto [input, output] : inPlace) {
    const auto *own = llvm::find(body.inputs, input);
    if (own != body.inputs.end() && output >= body.firstResult &&
        output < body.firstResult + body.results)
      part.inPlace.push_back({static_cast<unsigned>(own - body.inputs.begin()),
                              output - body.firstResult});
  }
  parts.push_back(std::move(part));
  Part &added = parts.back();
  FailureOr<LoopNest> nest = LoopNest::of(added.kernel, added.inPlace);
  if (failed(nest))
    return failure();
  added.nest = makeGpuNest(*nest);
  int64_t extent = added.nest.getLaneExtent();
  added.lanes = chooseLanes(
      added.kernel, std::min(getWidestLanes(added.kernel), extent & -extent));
  return success();
}

/// All parts have blocks of one size: that of a single kernel with as many
/// points.
void PartsEmitter::mapParts(const GpuOptions &options) {
  int64_t points = 0;
  for (Part &part : parts) {
    part.map.points = 1;
    for (const Loop &loop : part.nest.parallel)
      part.map.points *= loop.size;
    part.map.points /= part.lanes;
    points += part.map.points;
  }
  int64_t threads = mapPoints(points, options).pointsPerBlock;
  int64_t blocks = 0;
  for (Part &part : parts) {
    part.map.pointsPerBlock = threads;
    part.firstBlock = blocks;
    blocks += part.map.getBlocks();
  }
}

void PartsEmitter::emitPart(Part &part, Value block) {
  KernelElements emitter(builder, part.kernel, entry.context, part.buffers,
                         part.lanes, part.inPlace);
  emitter.setStreams(entry.streams);
  Value own =
      arith::SubIOp::create(builder, loc, block, constant(part.firstBlock));
  GpuGroup group(emitter, entry.function, part.map, own);
  GpuNestEmitter(part.kernel, part.nest, part.map, emitter, group).emit();
  part.withoutCode =
      emitter.withoutLanes ? emitter.withoutLanes : emitter.withoutElement;
}

/// Code for blocks of `some` parts: those of each half of them.
void PartsEmitter::emitBlocks(MutableArrayRef<Part> some, Value block) {
  if (some.size() == 1)
    return emitPart(some.front(), block);
  size_t half = some.size() / 2;
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        block, constant(some[half].firstBlock));
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitBlocks(some.take_front(half), block);
  builder.setInsertionPointToStart(branch.elseBlock());
  emitBlocks(some.drop_front(half), block);
}

/// Emits all parts. Where an op of a part has no vectors, `isAgain` is set, and
/// the part is to be emitted again for scalars.
LogicalResult PartsEmitter::emitAll(const GpuOptions &options, bool &isAgain) {
  mapParts(options);
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x,
                                       builder.getIndexAttr(countBlocks()));
  emitBlocks(parts, block);
  isAgain = false;
  for (Part &part : parts) {
    if (!part.withoutCode)
      continue;
    if (part.lanes == 1)
      return part.withoutCode->emitOpError()
             << "has no element at the place where kernel '"
             << kernel.getSymName() << "' needs one";
    part.lanes = 1;
    isAgain = true;
  }
  return success();
}

FailureOr<PartsGrid> PartsEmitter::run(const GpuOptions &options) {
  InPlacePairs inPlace = getInPlacePairs(kernel);
  for (const exec::PartBody &body :
       exec::getParts(kernel.getBody().front(), kernel.getPartsAttr()))
    if (failed(addPart(body, inPlace)))
      return failure();
  Block *code = builder.getInsertionBlock();
  for (bool isAgain = true; isAgain;) {
    // What an attempt before has left.
    while (!code->empty())
      code->back().erase();
    builder.setInsertionPointToEnd(code);
    if (failed(emitAll(options, isAgain)))
      return failure();
  }
  return PartsGrid{countBlocks(), parts.back().map.getThreads()};
}

FailureOr<PartsGrid> emitParts(exec::KernelOp kernel, OpBuilder &builder,
                               const KernelEntry &entry,
                               const GpuOptions &options) {
  return PartsEmitter(kernel, builder, entry).run(options);
}

} // namespace meshc::codegen
