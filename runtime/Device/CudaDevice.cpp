//===- CudaDevice.cpp - a GPU ---------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/CudaDevice.h"

#include "runtime/Base/TensorBlock.h"
#include "runtime/Device/CudaLibrary.h"

#include <algorithm>
#include <cstring>
#include <exception>

using namespace meshc::runtime;

CudaDevice::CudaDevice(Rank &rank, const DeviceOptions &options)
    : Device(rank), cuda(openCuda()),
      rounding(options.matmul == MatmulPrecision::TF32   ? MESHC_CUDA_TO_TF32
               : options.matmul == MatmulPrecision::BF16 ? MESHC_CUDA_TO_BF16
                                                         : MESHC_CUDA_EXACT),
      epilogues(options.epilogues), timeoutSeconds(options.timeoutSeconds) {
  try {
    open(options);
  } catch (...) {
    close();
    throw;
  }
}

CudaDevice::~CudaDevice() {
  // A failing rank keeps its resources until the process ends, which is soon:
  // its peers' work on their GPUs may still use them.
  if (std::uncaught_exceptions() > 0) {
    static_cast<void>(collectives.release());
    leaveWork();
    return;
  }
  try {
    synchronize();
  } catch (const std::exception &) {
    // Whatever the error was, the results are no longer needed.
  }
  close();
}

void CudaDevice::open(const DeviceOptions &options) {
  GpuPlace place = placeRank(rank, countGpus());
  MeshcCudaGpu found = {};
  checkCuda(cuda.describe(place.gpu, &found), "describe a GPU");
  gpuName = found.name;
  kindOfGpu = gpuName + " (sm_" + std::to_string(found.chip) + ")";
  const MeshcImage *image = nullptr; // not every program has kernels
  if (rank.program->kernelCount > 0)
    image = &chooseImage(*rank.program, found.chip);
  checkCuda(cuda.open(place.gpu, workspaceBytes, &gpu, &freeBefore),
            "use GPU " + std::to_string(place.gpu) + " (" + gpuName + ")");
  if (image)
    checkCuda(cuda.load(gpu, image->data, image->sizeBytes),
              "load the program's code for sm_" + std::to_string(image->chip) +
                  " on GPU " + gpuName);
  shares = place.shared;
  if (rank.mesh.size() > 1)
    collectives =
        place.shared
            ? makeSharedCollectives(cuda, gpu, rank, options.timeoutSeconds)
            : makeNcclCollectives(cuda, gpu, rank,
                                  {options.timeoutSeconds, options.ncclSums,
                                   options.ncclMemory});
  checkCuda(cuda.newEvent(gpu, &settled), "make an event");
  makeArena();
  makeSlots();
}

void CudaDevice::close() {
  if (!gpu)
    return;
  // NCCL's groups end after the graphs that use them.
  for (Slot &slot : slots)
    for (void *graph : slot.graphs)
      if (graph)
        cuda.dropGraph(gpu, graph);
  collectives.reset();
  for (Slot &slot : slots) {
    for (void *event : {slot.copied, slot.done})
      if (event)
        cuda.dropEvent(gpu, event);
    if (slot.device)
      cuda.release(gpu, slot.device);
    if (slot.host)
      cuda.releaseHost(gpu, slot.host);
  }
  if (settled)
    cuda.dropEvent(gpu, settled);
  if (stagingMemory)
    cuda.releaseHost(gpu, stagingMemory);
  if (coordMemory)
    cuda.release(gpu, coordMemory);
  if (ownArena)
    cuda.release(gpu, ownArena);
  cuda.close(gpu);
}

int64_t CudaDevice::freeMemory() const {
  uint64_t bytes = 0;
  checkCuda(cuda.freeMemory(gpu, &bytes), "ask for free memory");
  return static_cast<int64_t>(bytes);
}

void CudaDevice::expectMemory(const char *error, int64_t bytes,
                              const std::string &what,
                              int64_t available) const {
  if (error)
    throw Failure(ExitCode::Internal,
                  "a rank needs " + what + " of " + std::to_string(bytes) +
                      " bytes and GPU " + gpuName + " has " +
                      std::to_string(available) + " left (" + error +
                      "); compile for a larger mesh or a smaller batch");
}

void *CudaDevice::allocate(int64_t bytes, const std::string &what) {
  int64_t available = freeMemory();
  void *memory = nullptr;
  expectMemory(cuda.allocate(gpu, static_cast<uint64_t>(bytes), &memory), bytes,
               what, available);
  return memory;
}

/// The collectives' memory if they have any, otherwise `ownArena`.
char *CudaDevice::allocateArena(int64_t bytes) {
  const char *what = "an arena";
  void *memory = nullptr;
  if (collectives) {
    int64_t available = freeMemory();
    expectMemory(
        collectives->allocateArena(static_cast<uint64_t>(bytes), &memory),
        bytes, what, available);
  }
  if (!memory)
    memory = ownArena = allocate(bytes, what);
  return static_cast<char *>(memory);
}

char *CudaDevice::allocateHost(int64_t bytes) {
  void *memory = nullptr;
  checkCuda(cuda.allocateHost(gpu, static_cast<uint64_t>(bytes), &memory),
            "allocate " + std::to_string(bytes) + " bytes of pinned memory");
  return static_cast<char *>(memory);
}

template <typename T> static int64_t sizeInBytes(const std::vector<T> &values) {
  return static_cast<int64_t>(values.size() * sizeof(T));
}

/// The zeroed arena, and the run's data for kernels.
void CudaDevice::makeArena() {
  int64_t bytes = std::max<int64_t>(rank.program->arenaBytes, 1);
  ctx.arena = allocateArena(bytes);
  checkCuda(cuda.zero(gpu, MESHC_CUDA_COMPUTE, ctx.arena,
                      static_cast<uint64_t>(bytes)),
            "clear the arena");
  const std::vector<int64_t> &coords = rank.mesh.coords();
  const int64_t coordBytes = sizeInBytes(coords);
  coordMemory = static_cast<char *>(
      allocate(std::max<int64_t>(coordBytes + sizeInBytes(settings), 1),
               "room for its coordinates and settings"));
  settingMemory = coordMemory + coordBytes;
  copyToGpu(coordMemory, coords.data(), coordBytes);
  copyToGpu(settingMemory, settings.data(), sizeInBytes(settings));
}

/// Copies the host's values to the GPU, after all runs so far.
void CudaDevice::copyToGpu(void *to, const void *values, int64_t bytes) {
  if (bytes) {
    char *host = staging(bytes);
    std::memcpy(host, values, static_cast<size_t>(bytes));
    checkCuda(cuda.copy(gpu, MESHC_CUDA_COMPUTE, to, host,
                        static_cast<uint64_t>(bytes)),
              "copy data of the run");
  }
  synchronize();
}

void CudaDevice::useSettings(const std::vector<double> &values) {
  Device::useSettings(values);
  copyToGpu(settingMemory, settings.data(), sizeInBytes(settings));
}

std::vector<CudaDevice::Span> CudaDevice::findSpans(const MeshcProgram &program,
                                                    bool ofInputs) {
  std::vector<Span> pieces, spans;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (const MeshcTensor &tensor = program.tensors[i];
        ofInputs ? tensor.role == MESHC_INPUT : isStepResult(tensor))
      pieces.push_back(
          {tensor.offsetBytes, blockSpan(tensor) * sizeOf(typeOf(tensor))});
  std::sort(pieces.begin(), pieces.end(),
            [](const Span &a, const Span &b) { return a.inArena < b.inArena; });
  constexpr int64_t arenaAlignment = 64;
  for (const Span &piece : pieces) {
    // Nothing lies in the gap before the next multiple.
    bool isNext = false;
    if (!spans.empty()) {
      int64_t end = spans.back().inArena + spans.back().bytes;
      isNext = piece.inArena - end < arenaAlignment;
    }
    if (isNext)
      spans.back().bytes = piece.inArena + piece.bytes - spans.back().inArena;
    else
      spans.push_back(piece);
  }
  return spans;
}

void CudaDevice::makeSlots() {
  int64_t hostBytes = 0;
  for (bool ofInputs : {false, true}) {
    if (ofInputs) {
      contextOffset = hostBytes;
      hostBytes += aligned(sizeof(MeshcContext));
    }
    auto &spans = ofInputs ? inputSpans : metricSpans;
    spans = findSpans(*rank.program, ofInputs);
    for (Span &span : spans) {
      span.offset = hostBytes;
      hostBytes += aligned(span.bytes);
    }
    for (uint32_t i = 0; i < rank.program->tensorCount; ++i) {
      const MeshcTensor &tensor = rank.program->tensors[i];
      if (ofInputs ? tensor.role != MESHC_INPUT : !isStepResult(tensor))
        continue;
      auto span =
          std::find_if(spans.rbegin(), spans.rend(), [&](const Span &each) {
            return each.inArena <= tensor.offsetBytes;
          });
      auto &list = ofInputs ? inputs : metrics;
      list.push_back(
          {&tensor, span->offset + tensor.offsetBytes - span->inArena});
    }
  }
  broughtBytes = hostBytes - contextOffset;
  for (Slot &slot : slots) {
    slot.host = allocateHost(hostBytes);
    std::memset(slot.host, 0, static_cast<size_t>(hostBytes));
    slot.device =
        static_cast<char *>(allocate(broughtBytes, "room for a batch"));
    checkCuda(cuda.newEvent(gpu, &slot.copied), "make an event");
    checkCuda(cuda.newEvent(gpu, &slot.done), "make an event");
  }
}

//===----------------------------------------------------------------------===//
// What the arena holds
//===----------------------------------------------------------------------===//

char *CudaDevice::staging(int64_t bytes) {
  if (bytes > stagingSize) {
    if (stagingMemory)
      cuda.releaseHost(gpu, stagingMemory);
    stagingMemory = nullptr;
    stagingSize = 0;
    stagingMemory = allocateHost(bytes);
    stagingSize = bytes;
  }
  return stagingMemory;
}

const char *CudaDevice::read(const MeshcTensor &tensor) {
  int64_t bytes = blockSpan(tensor) * sizeOf(typeOf(tensor));
  char *host = staging(std::max<int64_t>(bytes, 1));
  if (bytes) {
    checkCuda(cuda.copy(gpu, MESHC_CUDA_COMPUTE, host,
                        ctx.arena + tensor.offsetBytes,
                        static_cast<uint64_t>(bytes)),
              std::string("read '") + tensor.name + "'");
    synchronize();
  }
  return host;
}

void CudaDevice::write(const MeshcTensor &tensor,
                       const std::function<void(char *)> &fill) {
  int64_t bytes = blockSpan(tensor) * sizeOf(typeOf(tensor));
  // The gaps between the elements stay unchanged.
  char *host = blockSpan(tensor) == localElements(tensor)
                   ? staging(std::max<int64_t>(bytes, 1))
                   : const_cast<char *>(read(tensor));
  fill(host);
  if (!bytes)
    return;
  checkCuda(cuda.copy(gpu, MESHC_CUDA_COMPUTE, ctx.arena + tensor.offsetBytes,
                      host, static_cast<uint64_t>(bytes)),
            std::string("write '") + tensor.name + "'");
  synchronize();
}

std::vector<MemoryUse> CudaDevice::plannedMemory(const MeshcProgram &program) {
  int64_t inputs = aligned(sizeof(MeshcContext));
  for (const Span &span : findSpans(program, /*ofInputs=*/true))
    inputs += aligned(span.bytes);
  return {{"arena", program.arenaBytes},
          {"two batches of inputs", 2 * inputs},
          {"workspace of matrix products", workspaceBytes}};
}

std::vector<MemoryUse> CudaDevice::memoryUse() const {
  std::vector<MemoryUse> use = plannedMemory(*rank.program);
  if (collectives)
    use.push_back({"blocks of collectives", collectives->scratchBytes()});
  // The rest is allocated on first use: a kernel's code by its first launch,
  // NCCL's connections by the first collectives. If ranks share the GPU, nobody
  // knows which rank owns it.
  if (shares)
    return use;
  int64_t rest = static_cast<int64_t>(freeBefore) - freeMemory();
  for (const MemoryUse &known : use)
    rest -= known.bytes;
  use.push_back({collectives ? "code, graphs and NCCL" : "code and graphs",
                 std::max<int64_t>(0, rest)});
  return use;
}
