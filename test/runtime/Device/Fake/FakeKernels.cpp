//===- FakeKernels.cpp - what the fake GPU computes -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeGpu.h"

#include <cstdlib>
#include <cstring>

using namespace meshc;
using namespace meshc::fake;

namespace {

const char *load(MeshcCudaRank *rank, const void *data, uint64_t bytes) {
  const auto *image = static_cast<const Image *>(data);
  if (bytes != sizeof(Image) || image->magic != Image::expectedMagic)
    return say("the image is for real GPUs");
  rank->image = image;
  return nullptr;
}

const char *findKernel(MeshcCudaRank *rank, const char *name, uint32_t,
                       void **kernel) {
  if (rank->capture)
    violate("a kernel is looked up during a capture");
  for (uint64_t i = 0; i < rank->image->kernelCount; ++i)
    if (std::strcmp(rank->image->kernels[i].name, name) == 0) {
      *kernel = const_cast<Kernel *>(&rank->image->kernels[i]);
      return nullptr;
    }
  return say("named symbol not found");
}

void runKernel(const Kernel &kernel, const std::vector<void *> &parameters,
               int gpu) {
  MeshcContext context = *resolve(static_cast<MeshcContext *>(parameters[0]),
                                  sizeof(MeshcContext), gpu);
  if (context.runtime)
    violate("the GPU's context has a pointer of the host's");
  context.arena = resolve(context.arena, 0, gpu);
  context.coords = resolve(const_cast<int64_t *>(context.coords), 0, gpu);
  std::vector<void *> buffers;
  for (uint32_t i = 0; i < kernel.bufferCount; ++i)
    buffers.push_back(resolve(parameters[i + 1], 0, gpu));
  kernel.function(&context, buffers.data(), 0, kernel.extent);
}

const char *launch(MeshcCudaRank *rank, MeshcCudaStream stream, void *known,
                   uint32_t blocks, uint32_t threads, uint32_t,
                   void **parameters) {
  const auto *kernel = static_cast<const Kernel *>(known);
  if (blocks == 0 || threads == 0)
    violate("a grid of no threads");
  std::vector<void *> values;
  for (uint32_t i = 0; i <= kernel->bufferCount; ++i)
    values.push_back(*static_cast<void **>(parameters[i]));
  takeFor(rank, kernel, kernelBytes);
  const char *endless = std::getenv("FAKE_CUDA_ENDLESS");
  bool ends = !endless || std::strcmp(endless, kernel->name) != 0;
  enqueue(rank, stream,
          [=, gpu = rank->gpu]() -> Work {
            return [=] {
              if (ends)
                runKernel(*kernel, values, gpu);
              return ends;
            };
          },
          {{MESHC_CUDA_KERNEL, kernel->name, 20000}});
  return nullptr;
}

void *placeOf(const MeshcCudaRuns &runs, int64_t element, int64_t bytes,
              int gpu) {
  int64_t index = runs.stride ? element / runs.runLength * runs.stride +
                                    element % runs.runLength
                              : element;
  return resolve(static_cast<char *>(runs.base) + index * bytes,
                 static_cast<uint64_t>(bytes), gpu);
}

/// Accumulates as RuntimeAbi.h says: floats in f32, in order.
double accumulate(uint8_t type, uint8_t reduction, double a, double b) {
  if (reduction == MESHC_MAX)
    return a > b || a != a ? a : b;
  if (reduction == MESHC_MIN)
    return a < b || a != a ? a : b;
  bool sum = reduction == MESHC_SUM;
  if (type == MESHC_I1)
    return sum ? a != 0 || b != 0 : a != 0 && b != 0;
  if (type == MESHC_I32) {
    auto x = static_cast<uint32_t>(static_cast<int32_t>(a));
    auto y = static_cast<uint32_t>(static_cast<int32_t>(b));
    return static_cast<int32_t>(sum ? x + y : x * y);
  }
  auto x = static_cast<float>(a), y = static_cast<float>(b);
  return static_cast<double>(sum ? x + y : x * y);
}

void runCombine(const MeshcCudaCombine &order, int gpu) {
  const int64_t bytes = bytesOf(order.type);
  for (int64_t e = 0; e < order.count; ++e) {
    char element[4];
    std::memcpy(element, placeOf(order.sources[0], e, bytes, gpu),
                static_cast<size_t>(bytes));
    double value = widen(order.type, element);
    for (uint32_t s = 1; s < order.sourceCount; ++s)
      value = accumulate(
          order.type, order.reduction, value,
          widen(order.type, placeOf(order.sources[s], e, bytes, gpu)));
    if (order.sourceCount > 1)
      narrow(order.type, value, element);
    for (uint32_t d = 0; d < order.destinationCount; ++d)
      std::memcpy(placeOf(order.destinations[d], e, bytes, gpu), element,
                  static_cast<size_t>(bytes));
  }
}

const char *combine(MeshcCudaRank *rank, MeshcCudaStream stream,
                    const MeshcCudaCombine *known) {
  if (known->sourceCount < 1 || known->sourceCount > MESHC_CUDA_MAX_ARRAYS ||
      known->destinationCount < 1 ||
      known->destinationCount > MESHC_CUDA_MAX_ARRAYS)
    violate("a reduction of too few or too many arrays");
  auto order = std::make_shared<MeshcCudaCombine>(*known);
  enqueueCall(rank, stream,
              [order, gpu = rank->gpu] { runCombine(*order, gpu); },
              {{MESHC_CUDA_KERNEL, "combine", 6000}});
  return nullptr;
}

const char *transpose(MeshcCudaRank *rank, MeshcCudaStream stream, void *to,
                      const void *from, int64_t rows, int64_t columns,
                      int64_t blockBytes) {
  auto reorder = [=, gpu = rank->gpu] {
    auto bytes = static_cast<uint64_t>(rows * columns * blockBytes);
    auto *target = static_cast<char *>(resolve(to, bytes, gpu));
    const auto *source = static_cast<const char *>(resolve(from, bytes, gpu));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        std::memcpy(target + (column * rows + row) * blockBytes,
                    source + (row * columns + column) * blockBytes,
                    static_cast<size_t>(blockBytes));
  };
  enqueueCall(rank, stream, reorder, {{MESHC_CUDA_KERNEL, "transpose", 4000}});
  return nullptr;
}

const char *mark(MeshcCudaRank *rank, MeshcCudaStream stream, uint32_t *place,
                 uint32_t value) {
  enqueueCall(
      rank, stream,
      [=, gpu = rank->gpu] { *resolve(place, sizeof(*place), gpu) = value; },
      {{MESHC_CUDA_KERNEL, "mark", 1000}});
  return nullptr;
}

} // namespace

void fake::addKernels(MeshcCuda &table) {
  table.load = load;
  table.findKernel = findKernel;
  table.launch = launch;
  table.combine = combine;
  table.transpose = transpose;
  table.mark = mark;
}
