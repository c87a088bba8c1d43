//===- ArenaMachine.cpp - scheduled programs run by their meaning ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/ArenaMachine.h"
#include "dialects/Exec/Order.h"
#include <limits>

using namespace mlir;
using meshc::nd::HostTensor;

namespace meshc::reference {

ArenaMachine::ArenaMachine(ModuleOp module, const RunOptions &options,
                           Collectives collectives, Epilogues epilogues)
    : module(module), lateCollectives(collectives == Collectives::AtTheirWait),
      epiloguesByTable(epilogues == Epilogues::ByTable) {
  context.mesh = nd::MeshAttr::of(module);
  context.seed = options.seed;
  context.step = options.step;
  context.roundToType = options.roundToType;
  auto bytes = module->getAttrOfType<IntegerAttr>("exec.arena_bytes");
  arenas.assign(context.mesh.getRankCount(),
                Memory(bytes ? bytes.getInt() : 0,
                       std::numeric_limits<double>::quiet_NaN()));
}

static int64_t getElementBytes(nd::TensorType type) {
  return (type.getElementType().getIntOrFloatBitWidth() + 7) / 8;
}

/// Strides in memory of the sorted dims, in elements.
static SmallVector<int64_t> getMemoryStrides(exec::BufferType type,
                                             nd::MeshAttr mesh) {
  SmallVector<int64_t> strides;
  for (nd::DimAttr dim : type.getTensor().getDims())
    strides.push_back(type.getStride(dim.getName().getValue(), mesh));
  return strides;
}

HostTensor ArenaMachine::read(int64_t rank, exec::BufferType type,
                              int64_t offset) const {
  HostTensor tensor(type.getTensor(), context.mesh);
  int64_t bytes = getElementBytes(type.getTensor());
  SmallVector<SmallVector<int64_t>> strides = {
      tensor.getStrides(), getMemoryStrides(type, context.mesh)};
  nd::forEachIndex(tensor.sizes, strides,
                   [&](ArrayRef<int64_t>, ArrayRef<int64_t> at) {
                     tensor.data[at[0]] = arenas[rank][offset + at[1] * bytes];
                   });
  return tensor;
}

void ArenaMachine::write(int64_t rank, exec::BufferType type, int64_t offset,
                         const HostTensor &tensor) {
  int64_t bytes = getElementBytes(type.getTensor());
  SmallVector<SmallVector<int64_t>> strides = {
      tensor.getStrides(), getMemoryStrides(type, context.mesh)};
  nd::forEachIndex(tensor.sizes, strides,
                   [&](ArrayRef<int64_t>, ArrayRef<int64_t> at) {
                     arenas[rank][offset + at[1] * bytes] = tensor.data[at[0]];
                   });
}

static int64_t getOffset(Value buffer) {
  return buffer.getDefiningOp<exec::BufferOp>().getOffset();
}

HostTensor ArenaMachine::read(int64_t rank, Value buffer) const {
  return read(rank, cast<exec::BufferType>(buffer.getType()),
              getOffset(buffer));
}

void ArenaMachine::write(int64_t rank, Value buffer, const HostTensor &tensor) {
  write(rank, cast<exec::BufferType>(buffer.getType()), getOffset(buffer),
        tensor);
}

void ArenaMachine::store(exec::TensorOp tensor, const RankTensors &blocks) {
  for (auto [rank, block] : llvm::enumerate(blocks))
    write(rank, cast<exec::BufferType>(tensor.getType()), tensor.getOffset(),
          block);
}

RankTensors ArenaMachine::load(exec::TensorOp tensor) const {
  RankTensors blocks;
  for (size_t rank = 0; rank < arenas.size(); ++rank)
    blocks.push_back(read(rank, cast<exec::BufferType>(tensor.getType()),
                          tensor.getOffset()));
  return blocks;
}

//===----------------------------------------------------------------------===//
// Launches and products
//===----------------------------------------------------------------------===//

void ArenaMachine::runKernel(StringRef name, ValueRange inputBuffers,
                             ValueRange outputBuffers) {
  auto kernel = module.lookupSymbol<exec::KernelOp>(name);
  for (size_t rank = 0; rank < arenas.size(); ++rank) {
    context.coordinates = context.mesh.getCoordinates(rank);
    std::vector<HostTensor> inputs;
    for (Value buffer : inputBuffers)
      inputs.push_back(read(rank, buffer));
    SmallVector<const HostTensor *> operands;
    for (const HostTensor &input : inputs)
      operands.push_back(&input);
    auto results = exec::evaluate(kernel.getBody().front(), operands, context);
    for (auto [buffer, result] : llvm::zip(outputBuffers, results))
      write(rank, buffer, result);
  }
}

/// Any implementation may leave anything in the scratch memory.
void ArenaMachine::spoilScratch(exec::GemmOp gemm) {
  exec::ScratchOp scratch = gemm.getScratchOp();
  if (!scratch)
    return;
  for (Memory &memory : arenas) {
    auto begin = memory.begin() + scratch.getOffset();
    std::fill(begin, begin + scratch.getType().getBytes(),
              std::numeric_limits<double>::quiet_NaN());
  }
}

void ArenaMachine::runGemm(exec::GemmOp gemm) {
  ArrayRef<int64_t> sizes = gemm.getSizes();
  int64_t m = sizes[0], n = sizes[1], k = sizes[2];
  auto typeOf = [](Value buffer) {
    return cast<exec::BufferType>(buffer.getType()).getTensor();
  };
  int64_t bytes = getElementBytes(typeOf(gemm.getA()));
  int64_t bytesC = getElementBytes(typeOf(gemm.getC()));
  int64_t a = getOffset(gemm.getA()), b = getOffset(gemm.getB()),
          c = getOffset(gemm.getC());
  for (Memory &memory : arenas)
    for (int64_t batch = 0; batch < sizes[6]; ++batch)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l) {
            int64_t atA =
                batch * sizes[7] +
                (gemm.getTransA() ? l * sizes[3] + i : i * sizes[3] + l);
            int64_t atB =
                batch * sizes[8] +
                (gemm.getTransB() ? j * sizes[4] + l : l * sizes[4] + j);
            sum += memory[a + atA * bytes] * memory[b + atB * bytes];
          }
          double &result =
              memory[c + (batch * sizes[9] + i * sizes[5] + j) * bytesC];
          result = context.round((gemm.getAccumulate() ? result : 0) + sum,
                                 typeOf(gemm.getC()).getElementType());
        }
  if (gemm.getKernel() && epiloguesByTable)
    runEpilogue(gemm);
  else if (gemm.getKernel())
    runKernel(*gemm.getKernel(), gemm.getInputs(), gemm.getOutputs());
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Ranks of the group of `rank`: those that differ on `axes` only, row-major.
static SmallVector<int64_t> getGroup(int64_t rank, ArrayAttr axes,
                                     nd::MeshAttr mesh) {
  SmallVector<int64_t> own = mesh.getCoordinates(rank), group;
  for (int64_t other = 0; other < mesh.getRankCount(); ++other) {
    SmallVector<int64_t> coordinates = mesh.getCoordinates(other);
    bool isMember = true;
    for (auto [index, axis] : llvm::enumerate(mesh.getAxes()))
      isMember &= coordinates[index] == own[index] ||
                  llvm::is_contained(axes, axis.getName());
    if (isMember)
      group.push_back(other);
  }
  return group;
}

static double combine(nd::ReductionKind kind, double a, double b) {
  switch (kind) {
  case nd::ReductionKind::Sum:
    return a + b;
  case nd::ReductionKind::Max:
    return std::max(a, b);
  case nd::ReductionKind::Min:
    return std::min(a, b);
  case nd::ReductionKind::Prod:
    return a * b;
  }
  llvm_unreachable("all kinds are listed");
}

namespace {
/// outer × group × inner elements: where element `e` of block `p` lies.
struct Blocked {
  int64_t outer, inner, group;
  int64_t at(int64_t p, int64_t e) const {
    return (e / inner * group + p) * inner + e % inner;
  }
  int64_t getBlockSize() const { return outer * inner; }
};
} // namespace

LogicalResult ArenaMachine::runCollective(exec::CollectiveOp op) {
  StringRef kind = op.getKind();
  // Nothing is written before all is read.
  std::vector<Memory> before = arenas;
  for (size_t rank = 0; rank < arenas.size(); ++rank) {
    SmallVector<int64_t> group = getGroup(rank, op.getAxes(), context.mesh);
    int64_t count = group.size();
    int64_t own = llvm::find(group, int64_t(rank)) - group.begin();
    for (unsigned i = 0; i < op.getSend().size(); ++i) {
      nd::TensorType type =
          cast<exec::BufferType>(op.getRecv()[i].getType()).getTensor();
      int64_t bytes = getElementBytes(type);
      int64_t send = getOffset(op.getSend()[i]);
      int64_t recv = getOffset(op.getRecv()[i]);
      ArrayRef<int64_t> item = op.getItems().slice(4 * i, 4);
      Blocked out{item[0], item[1], count}, in{item[2], item[3], count};
      auto sent = [&](int64_t member, int64_t at) {
        return before[group[member]][send + at * bytes];
      };
      auto combined = [&](int64_t at) {
        double value = sent(0, at);
        for (int64_t member = 1; member < count; ++member)
          value = combine(op.getReduction(), value, sent(member, at));
        return context.round(value, type.getElementType());
      };
      auto receive = [&](int64_t at, double value) {
        arenas[rank][recv + at * bytes] = value;
      };
      if (kind == "all_reduce")
        for (int64_t e = 0; e < out.getBlockSize(); ++e)
          receive(e, combined(e));
      else if (kind == "reduce_scatter")
        for (int64_t e = 0; e < out.getBlockSize(); ++e)
          receive(e, combined(out.at(own, e)));
      else if (kind == "all_gather" || kind == "all_to_all")
        for (int64_t p = 0; p < count; ++p)
          for (int64_t e = 0; e < in.getBlockSize(); ++e)
            receive(in.at(p, e),
                    sent(p, kind == "all_gather" ? e : out.at(own, e)));
      else
        return op.emitOpError() << "is of unknown kind '" << kind << "'";
    }
  }
  return success();
}

LogicalResult ArenaMachine::run(exec::FuncOp function) {
  for (Operation &op : function.getBody().front()) {
    if (isa<exec::BufferOp, exec::ScratchOp>(op))
      continue;
    if (auto launch = dyn_cast<exec::LaunchOp>(op))
      runKernel(launch.getKernel(), launch.getInputs(), launch.getOutputs());
    else if (auto gemm = dyn_cast<exec::GemmOp>(op)) {
      spoilScratch(gemm);
      runGemm(gemm);
      spoilScratch(gemm);
    } else if (auto collective = dyn_cast<exec::CollectiveOp>(op)) {
      if (!lateCollectives && failed(runCollective(collective)))
        return failure();
    } else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
      if (lateCollectives &&
          failed(runCollective(
              wait.getToken().getDefiningOp<exec::CollectiveOp>())))
        return failure();
    } else
      return op.emitOpError("has no meaning in a scheduled function");
  }
  return success();
}

} // namespace meshc::reference
