//===- CudaDevice.h - a GPU -----------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A rank on an NVIDIA GPU, through the functions of the CUDA plugin.
///
/// Up to two runs may be in progress. Each has a slot: pinned memory that the
/// host fills with inputs, GPU memory to which they are copied while the
/// previous step runs, and pinned memory for the metrics. Work is ordered on
/// the compute stream. A function's first run issues its calls one by one; the
/// first later run in each slot is captured in a graph, which subsequent runs
/// replay.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_CUDADEVICE_H
#define MESHC_RUNTIME_DEVICE_CUDADEVICE_H

#include "runtime/Device/CudaCollectives.h"
#include "runtime/Device/CudaPlugin.h"
#include "runtime/Device/Device.h"

#include <unordered_map>
#include <unordered_set>

namespace meshc::runtime {

class CudaDevice : public Device {
public:
  /// All ranks construct one. Throws Failure (Device) if there is no GPU for
  /// this rank or no code for its chip, Failure (Internal) if its memory does
  /// not suffice.
  CudaDevice(Rank &rank, const DeviceOptions &options);
  ~CudaDevice() override;

  void useSettings(const std::vector<double> &values) override;
  void launch(const MeshcKernel &kernel, void *const *buffers) override;
  void multiply(const MeshcGemm &gemm, const void *a, const void *b,
                void *c) override;
  void multiplyWith(const MeshcEpilogue &epilogue, const MeshcGemm &gemm,
                    const void *a, const void *b, void *c, void *const *buffers,
                    void *mask) override;
  /// Computes a product with its epilogue in one call of cuBLAS; returns false,
  /// without doing anything, if cuBLAS does not support it.
  virtual bool multiplyAtOnce(const MeshcEpilogue &epilogue,
                              const MeshcGemm &gemm, const void *a,
                              const void *b, void *c, void *const *buffers,
                              void *mask);
  /// Counts how products were computed so far, captures included.
  struct ProductCounts {
    int64_t cublas = 0, ownKernel = 0; ///< with and without an epilogue
    int64_t epilogues = 0;             ///< inside cuBLAS' calls
  };
  const ProductCounts &productCounts() const { return products; }
  void communicate(const MeshcCollective &collective, void *const *send,
                   void *const *recv) override;
  void wait(const MeshcCollective &collective) override;
  bool isTrue(const void *condition) override;
  char *stage(const MeshcTensor &input) override;
  void run(StepFunction function) override;
  int runsAhead() const override { return 1; }
  void readMetrics(std::vector<float> &values) override;
  const char *read(const MeshcTensor &tensor) override;
  void write(const MeshcTensor &tensor,
             const std::function<void(char *)> &fill) override;
  void synchronize() override;
  std::string gpuKind() const override { return kindOfGpu; }
  std::vector<MemoryUse> memoryUse() const override;

  /// A rank's use of GPU memory for the program, as far as it is known without
  /// a GPU.
  static std::vector<MemoryUse> plannedMemory(const MeshcProgram &program);

protected:
  const MeshcCuda &cuda;
  MeshcCudaRank *gpu = nullptr;

private:
  /// For cuBLAS, on each rank. NVIDIA advises 32 MiB on its chips since Hopper.
  static constexpr int64_t workspaceBytes = int64_t(32) << 20;
  /// Places within a slot are aligned to this, more than the arena's buffers.
  static int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

  /// The memory and events of one run, beside the arena.
  struct Slot {
    char *host = nullptr;   ///< pinned: metrics, context, inputs
    char *device = nullptr; ///< on the GPU: context, inputs
    void *copied = nullptr; ///< event: they have arrived
    void *done = nullptr;   ///< event: metrics are on the host
    bool open = false;      ///< started, and its metrics not read
    bool staged = false;    ///< inputs changed since they were last copied
    void *graphs[stepFunctionCount] = {}; ///< by function, once captured
  };
  /// An input's or a metric's place in a slot.
  struct Staged {
    const MeshcTensor *tensor;
    int64_t offset;
  };

  /// Inputs or results (isStepResult) that lie side by side in the arena, and
  /// in the same way in a slot: one copy moves all of them.
  struct Span {
    int64_t inArena, bytes;
    int64_t offset = 0; ///< in a slot
  };
  static std::vector<Span> findSpans(const MeshcProgram &program,
                                     bool ofInputs);

  void open(const DeviceOptions &options);
  bool compute(const MeshcGemm &gemm, const MeshcCudaEpilogue *epilogue,
               const void *a, const void *b, void *c);
  void close();
  void makeArena();
  void makeSlots();
  void bring(Slot &slot);
  void copyToGpu(void *to, const void *values, int64_t bytes);
  void copyOnGpu(void *to, const void *from, int64_t bytes);
  void order(StepFunction function, const Slot &slot);
  void call(StepFunction function);
  void execute(StepFunction function, Slot &slot);
  void *capture(StepFunction function, const Slot &slot);
  void waitFor(void *event);
  char *staging(int64_t bytes);
  int64_t freeMemory() const;
  void *allocate(int64_t bytes, const std::string &what);
  char *allocateArena(int64_t bytes);
  void expectMemory(const char *error, int64_t bytes, const std::string &what,
                    int64_t available) const;
  char *allocateHost(int64_t bytes);

  MeshcCudaRounding rounding; ///< of f32 factors
  bool epilogues;
  double timeoutSeconds;
  std::string gpuName, kindOfGpu;
  std::unique_ptr<CudaCollectives> collectives; ///< null: a single rank
  void *ownArena = nullptr; ///< the arena, unless collectives own it
  /// Of the GPU: the rank's coordinates, and MeshcContext::settings.
  char *coordMemory = nullptr, *settingMemory = nullptr;
  char *runContext = nullptr; ///< of the GPU: the context of the current run
  Slot slots[2];
  int nextSlot = 0;  ///< of the next run
  int firstOpen = 0; ///< of the next readMetrics
  std::vector<Staged> inputs, metrics;
  std::vector<Span> inputSpans, metricSpans;
  int64_t contextOffset = 0;            ///< in a slot's host memory
  int64_t broughtBytes = 0;             ///< context and inputs
  bool ranOnce[stepFunctionCount] = {}; ///< by function
  /// By function: the host reads what it computes, so a graph cannot repeat it.
  bool readsResults[stepFunctionCount] = {};
  StepFunction running = StepFunction::Initialize; ///< the last one
  std::unordered_map<const MeshcKernel *, void *> kernels;
  std::vector<void *> parameters;
  ProductCounts products;
  std::unordered_set<const void *> masks; ///< that a call of this run wrote
  char *stagingMemory = nullptr;          ///< pinned, for read and write
  int64_t stagingSize = 0;
  uint64_t freeBefore = 0; ///< free GPU memory, before this rank's
  bool shares = false;     ///< shares the GPU with other ranks
  void *settled = nullptr; ///< event of synchronize
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_CUDADEVICE_H
