//===- Device.h - where a rank computes -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One interface for what a rank computes on: the host's processors, or a GPU
/// with its own memory. A device owns the rank's arena, carries out the orders
/// of the program's step functions, and is the only access to the contents of
/// the arena.
///
/// A device belongs to one rank and is called by the thread that created it.
/// Orders are carried out in sequence; a device may still be at work when a
/// call returns, unless the call says otherwise. A later call throws errors of
/// that work.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_DEVICE_H
#define MESHC_RUNTIME_DEVICE_DEVICE_H

#include "meshc/RuntimeAbi.h"

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

struct Rank;
class Recorder;

/// The functions of a program.
enum class StepFunction {
#define MESHC_STEP_FUNCTION(Kind, field, name) Kind,
#include "meshc/StepFunctions.def"
};
inline constexpr StepFunction stepFunctions[] = {
#define MESHC_STEP_FUNCTION(Kind, field, name) StepFunction::Kind,
#include "meshc/StepFunctions.def"
};
inline constexpr size_t stepFunctionCount = std::size(stepFunctions);

/// The code of a function, and its name in reports.
struct StepCode {
  void (*code)(MeshcContext *ctx); ///< null if the program has no such function
  const char *name;
};
StepCode codeOf(const MeshcProgram &program, StepFunction function);

/// Whether the function computes metrics from staged inputs. The others work on
/// what the arena contains.
inline bool takesBatch(StepFunction function) {
  return function == StepFunction::Train || function == StepFunction::Eval ||
         function == StepFunction::EvalAverages;
}

/// How the device rounds the factors of f32 products.
enum class MatmulPrecision {
  F32,  ///< not at all
  TF32, ///< to 10 bits of fraction, on devices with units for this
  BF16  ///< to bf16, 7 bits of fraction; products are summed in f32
};

struct DeviceOptions {
  bool holdsInputs = false; ///< some runs do not stage inputs
  MatmulPrecision matmul = MatmulPrecision::F32;
  bool epilogues = true; ///< of products, in one call if there is one
  /// NCCL sums bf16 and f16 itself: faster, and rounded on each rank.
  bool ncclSums = false;
  /// Buffers of collectives are NCCL's memory, which other GPUs may access.
  bool ncclMemory = false;
  /// For a GPU's work, and for other ranks in it; 0: forever.
  double timeoutSeconds = 600;
  bool trace = false; ///< the device has a recorder
};

/// One entry in the list of uses of a device's memory.
struct MemoryUse {
  std::string name;
  int64_t bytes;
};

class Device {
public:
  virtual ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// The context of step functions. `arena` is an address of the device, which
  /// the host may not be able to dereference; the caller sets `seed` and `step`
  /// before run().
  MeshcContext &context() { return ctx; }

  /// Sets the values of the program's settings, in their order, for all later
  /// runs. At first they are the program's.
  virtual void useSettings(const std::vector<double> &values);

  // The orders of step functions (meshc_launch, meshc_gemm,
  // meshc_gemm_epilogue, meshc_collective, meshc_wait, meshc_goes_on).

  virtual void launch(const MeshcKernel &kernel, void *const *buffers) = 0;
  virtual void multiply(const MeshcGemm &gemm, const void *a, const void *b,
                        void *c) = 0;
  /// For devices without fused calls: the product, then the epilogue's kernel.
  virtual void multiplyWith(const MeshcEpilogue &epilogue,
                            const MeshcGemm &gemm, const void *a, const void *b,
                            void *c, void *const *buffers, void *mask);
  virtual void communicate(const MeshcCollective &collective, void *const *send,
                           void *const *recv) = 0;
  virtual void wait(const MeshcCollective &collective) = 0;
  /// Whether the I1 at `condition` is true after all earlier orders, which it
  /// waits for.
  virtual bool isTrue(const void *condition) = 0;
  /// A loop ends, and these iterations of it do not run.
  virtual void skip(const MeshcLoop &, int64_t iterations) { (void)iterations; }

  // A step, as the loops of training and evaluation run it: fill the inputs,
  // run the function, read the metrics.

  /// The address at which the host writes this rank's block of `input` for the
  /// next run, in the order of its local strides. Write it completely before
  /// each run that takes a batch; with `holdsInputs`, a run for which no input
  /// is staged uses those of the run that was started runsAhead() + 1 runs
  /// before.
  virtual char *stage(const MeshcTensor &input) = 0;
  /// Runs a function of the program on the staged inputs.
  virtual void run(StepFunction function) = 0;
  /// How many runs that take a batch may be started before the results of one
  /// are read. 0: a run is done when run() returns.
  virtual int runsAhead() const = 0;
  /// The results (isStepResult) of the first run that took a batch and whose
  /// results were not read yet, in the order of the program's tensors: its
  /// metrics first. Those that only training computes are undefined after
  /// another run. Waits for that run.
  virtual void readMetrics(std::vector<float> &values) = 0;

  // The contents of the arena, between runs. Blocks are in the order of the
  // tensor's local strides.

  /// This rank's block of `tensor`, after all runs so far; read-only, valid
  /// until the next call of any function.
  virtual const char *read(const MeshcTensor &tensor) = 0;
  /// Replaces this rank's block of `tensor` with what `fill` writes.
  virtual void write(const MeshcTensor &tensor,
                     const std::function<void(char *block)> &fill) = 0;

  /// Waits for all runs.
  virtual void synchronize() = 0;
  /// Seconds that this rank has spent in collectives so far, including waits
  /// for other ranks. Null if there are no other ranks, or if collectives run
  /// asynchronously to the host, which then cannot tell.
  virtual std::optional<double> communicationTime() const {
    return std::nullopt;
  }
  /// The kind of GPU, as in "NVIDIA H100 (sm_90)", on which the bits of
  /// products depend; empty on the host.
  virtual std::string gpuKind() const { return ""; }
  /// This rank's uses of the device's own memory; empty on the host.
  virtual std::vector<MemoryUse> memoryUse() const = 0;

  /// The recorder of steps (Recorder.h); null without DeviceOptions::trace.
  virtual Recorder *recorder() { return nullptr; }

protected:
  /// Becomes the device of `rank`, which outlives it.
  explicit Device(Rank &rank);

  Rank &rank;
  MeshcContext ctx;
  std::vector<float> settings; ///< MeshcContext::settings, on the host
};

/// Checks whether this machine has what the target of `program` needs; call it
/// before a run begins. Throws Failure: Device if it does not, Usage for
/// options that the target does not accept.
void checkDevice(const MeshcProgram &program, const DeviceOptions &options);

/// Creates the device of the program's target for `rank`, which outlives it,
/// with an arena of zeros. Throws the failures of checkDevice, and fails if the
/// device's memory does not suffice. All ranks call it.
std::unique_ptr<Device> makeDevice(Rank &rank, const DeviceOptions &options);

/// One rank's use of its device's memory for the program, as far as it is known
/// in advance; empty on the host.
std::vector<MemoryUse> plannedMemory(const MeshcProgram &program);

/// Notes that a rank leaves unfinished work, or threads of a library, on its
/// device.
void leaveWork();
/// Whether a rank of this process did. The process must then end without the
/// destructors of static objects, which would run concurrently with that work.
bool workIsLeft();

/// The precision that `--matmul NAME` names (f32, tf32, bf16). Throws Failure
/// (Usage) for any other.
MatmulPrecision parseMatmulPrecision(const std::string &name);

/// The span of this rank's block in elements, from the first to one past the
/// last.
int64_t blockSpan(const MeshcTensor &tensor);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_DEVICE_H
