//===- Arenas.cpp - the memory of virtual ranks ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Interfaces/Arenas.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Exec.h"
#include "llvm/Support/ErrorHandling.h"
#include <limits>

using namespace mlir;
using meshc::nd::HostTensor;

namespace meshc::exec {

static constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

Arenas::Arenas(ModuleOp module, const nd::EvaluationContext &context,
               Collectives collectives, Epilogues epilogues)
    : module(module), context(context), collectives(collectives),
      epilogues(epilogues) {
  this->context.mesh = nd::MeshAttr::of(module);
  memories.assign(this->context.mesh.getRankCount(),
                  Memory(getArenaBytes(module).value_or(0), undefined));
}

int64_t getElementBytes(nd::TensorType type) {
  return (type.getElementType().getIntOrFloatBitWidth() + 7) / 8;
}

/// Strides in memory of the sorted dims, in elements.
static SmallVector<int64_t> getMemoryStrides(BufferType type,
                                             nd::MeshAttr mesh) {
  SmallVector<int64_t> strides;
  for (nd::DimAttr dim : type.getTensor().getDims())
    strides.push_back(type.getStride(dim.getName().getValue(), mesh));
  return strides;
}

HostTensor Arenas::read(int64_t rank, BufferType type, int64_t offset) const {
  HostTensor tensor(type.getTensor(), context.mesh);
  int64_t bytes = getElementBytes(type.getTensor());
  SmallVector<SmallVector<int64_t>> strides = {
      tensor.getStrides(), getMemoryStrides(type, context.mesh)};
  nd::forEachIndex(
      tensor.sizes, strides, [&](ArrayRef<int64_t>, ArrayRef<int64_t> at) {
        tensor.data[at[0]] = memories[rank][offset + at[1] * bytes];
      });
  return tensor;
}

void Arenas::write(int64_t rank, BufferType type, int64_t offset,
                   const HostTensor &tensor) {
  int64_t bytes = getElementBytes(type.getTensor());
  SmallVector<SmallVector<int64_t>> strides = {
      tensor.getStrides(), getMemoryStrides(type, context.mesh)};
  nd::forEachIndex(
      tensor.sizes, strides, [&](ArrayRef<int64_t>, ArrayRef<int64_t> at) {
        memories[rank][offset + at[1] * bytes] = tensor.data[at[0]];
      });
}

int64_t Arenas::getOffset(Value buffer) const {
  return ArenaPiece::at(buffer, context.mesh, iterations).begin;
}

void Arenas::loop(int64_t size, bool backwards,
                  llvm::function_ref<void()> body) {
  loops.push_back({backwards ? 0 : size - 1, backwards ? -1 : 1});
  for (int64_t count = 0; count < size && !loops.back().hasEnded; ++count)
    inIteration(backwards ? size - 1 - count : count, body);
  loops.pop_back();
}

void Arenas::inIteration(int64_t iteration, llvm::function_ref<void()> body) {
  iterations.push_back(iteration);
  body();
  iterations.pop_back();
}

void Arenas::inNextIteration(llvm::function_ref<void()> body) {
  Range loop = loops.back();
  if (iterations.back() == loop.last)
    return;
  iterations.back() += loop.direction;
  body();
  iterations.back() -= loop.direction;
}

void Arenas::endUnless(Value condition) {
  auto type = cast<BufferType>(condition.getType());
  auto isTrue = [&](int64_t rank) {
    return read(rank, type, getOffset(condition)).data.front() != 0;
  };
  for (int64_t rank = 1; rank < getRankCount(); ++rank)
    if (isTrue(rank) != isTrue(0))
      llvm::reportFatalInternalError(
          "the ranks do not agree on whether a loop goes on");
  loops.back().hasEnded = !isTrue(0);
}

void Arenas::runKernel(const KernelUse &use) {
  auto kernel = module.lookupSymbol<KernelOp>(use.kernel.getValue());
  auto typeOf = [](Value buffer) { return cast<BufferType>(buffer.getType()); };
  for (int64_t rank = 0; rank < getRankCount(); ++rank) {
    context.coordinates = context.mesh.getCoordinates(rank);
    std::vector<HostTensor> inputs;
    for (Value buffer : use.inputs)
      inputs.push_back(read(rank, typeOf(buffer), getOffset(buffer)));
    SmallVector<const HostTensor *> operands;
    for (const HostTensor &input : inputs)
      operands.push_back(&input);
    auto results = evaluate(kernel.getBody().front(), operands, context);
    for (auto [buffer, result] : llvm::zip(use.outputs, results)) {
      context.spoilPadding(result);
      write(rank, typeOf(buffer), getOffset(buffer), result);
    }
  }
}

void Arenas::spoil(ArenaPiece piece) {
  for (Memory &memory : memories)
    std::fill(memory.begin() + piece.begin, memory.begin() + piece.end,
              undefined);
}

void Arenas::begin(Value token, std::function<void()> effect) {
  if (collectives == Collectives::AtTheirOp)
    effect();
  else
    begun.push_back({token, std::move(effect), iterations});
}

void Arenas::await(Value token) {
  auto found = llvm::find_if(
      begun, [&](const Begun &each) { return each.token == token; });
  if (found == begun.end())
    return;
  Begun each = std::move(*found);
  begun.erase(found);
  std::swap(iterations, each.iterations);
  each.effect();
  std::swap(iterations, each.iterations);
}

} // namespace meshc::exec
