//===- Device.h - where a rank computes -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One interface for what a rank computes on: the host's processors, or a GPU
/// with memory of its own. A device owns the rank's arena, carries out what the
/// program's step functions order, and is the only way to what the arena holds.
///
/// A device is one rank's and is called by the thread that made it. Orders are
/// carried out in their order; a device may still be at work when a call
/// returns, unless the call says otherwise. What then goes wrong is thrown by a
/// later call.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_DEVICE_H
#define MESHC_RUNTIME_DEVICE_DEVICE_H

#include "meshc/RuntimeAbi.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

struct Rank;
class Recorder;

/// The functions of a program.
enum class StepFunction { Initialize, Train, Eval };

/// How the device rounds the factors of f32 products.
enum class MatmulPrecision {
  F32,  ///< not at all
  TF32, ///< to 10 bits of fraction, on devices that have units for this
  BF16  ///< to bf16, 7 bits of fraction; products are summed in f32
};

struct DeviceOptions {
  bool holdsInputs = false; ///< not for every run inputs are staged
  MatmulPrecision matmul = MatmulPrecision::F32;
  bool epilogues = true; ///< of products, in one call where there is one
  /// For a GPU's work, and for other ranks in it; 0: for ever.
  double timeoutSeconds = 600;
  bool trace = false; ///< the device has a recorder
};

/// One entry of what a device's memory is used for.
struct MemoryUse {
  std::string name;
  int64_t bytes;
};

class Device {
public:
  virtual ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// What step functions get. `arena` is an address of the device, which the
  /// host may not follow; `seed` and `step` are the caller's to set before
  /// run().
  MeshcContext &context() { return ctx; }

  // What step functions order (meshc_launch, meshc_gemm, meshc_gemm_epilogue,
  // meshc_collective, meshc_wait).

  virtual void launch(const MeshcKernel &kernel, void *const *buffers) = 0;
  virtual void multiply(const MeshcGemm &gemm, const void *a, const void *b,
                        void *c) = 0;
  /// Of a device without such calls: the product, then the epilogue's kernel.
  virtual void multiplyWith(const MeshcEpilogue &epilogue,
                            const MeshcGemm &gemm, const void *a, const void *b,
                            void *c, void *const *buffers, void *mask);
  virtual void communicate(const MeshcCollective &collective, void *const *send,
                           void *const *recv) = 0;
  virtual void wait(const MeshcCollective &collective) = 0;

  // A step, as the loops of training and evaluation run it: fill inputs, run
  // the function, read the metrics.

  /// Where the host writes this rank's block of `input` for the next run, in
  /// the order of its local strides. To be written in full before each run of
  /// Train or Eval; with `holdsInputs`, a run for which no input is staged has
  /// those of the run that was begun runsAhead() + 1 runs before.
  virtual char *stage(const MeshcTensor &input) = 0;
  /// Runs a function of the program on the staged inputs.
  virtual void run(StepFunction function) = 0;
  /// How many runs of Train and Eval may be begun before the metrics of one are
  /// read. 0: a run is done when run() returns.
  virtual int runsAhead() const = 0;
  /// The metrics of the first run of Train or Eval whose metrics were not read
  /// yet, in the order of the program's tensors. Waits for that run.
  virtual void readMetrics(std::vector<float> &values) = 0;

  // What the arena holds, between runs. Blocks are in the order of the tensor's
  // local strides.

  /// This rank's block of `tensor`, after all runs so far; for reading, until
  /// the next call of any function.
  virtual const char *read(const MeshcTensor &tensor) = 0;
  /// Replaces this rank's block of `tensor` by what `fill` writes.
  virtual void write(const MeshcTensor &tensor,
                     const std::function<void(char *block)> &fill) = 0;

  /// Waits for all runs.
  virtual void synchronize() = 0;
  /// Seconds that this rank has spent in collectives so far, waits for other
  /// ranks included. Null where there are no other ranks, or where collectives
  /// run beside the host, which then cannot tell.
  virtual std::optional<double> communicationTime() const {
    return std::nullopt;
  }
  /// What of the device's own memory this rank uses; empty on the host.
  virtual std::vector<MemoryUse> memoryUse() const = 0;

  /// What records steps (Recorder.h); null without DeviceOptions::trace.
  virtual Recorder *recorder() { return nullptr; }

protected:
  /// Becomes the device of `rank`, which outlives it.
  explicit Device(Rank &rank);

  Rank &rank;
  MeshcContext ctx;
};

/// Whether this machine has what the target of `program` needs; something to
/// be asked before a run begins. Throws Failure: Device where it has not, Usage
/// for options that the target does not take.
void checkDevice(const MeshcProgram &program, const DeviceOptions &options);

/// Makes the device of the program's target for `rank`, which outlives it, with
/// an arena of zeros. Throws as checkDevice, and where the device's memory
/// does not suffice. All ranks call it.
std::unique_ptr<Device> makeDevice(Rank &rank, const DeviceOptions &options);

/// What one rank of the program will take of its device's memory, as far as
/// that is known beforehand; empty on the host.
std::vector<MemoryUse> plannedMemory(const MeshcProgram &program);

/// Notes that a rank leaves work, or threads of a library, behind on its
/// device.
void leaveWork();
/// Whether a rank of this process did: it is then to end without the
/// destructors of static objects, which would run beside that work.
bool workIsLeft();

/// The precision that `--matmul NAME` names (f32, tf32, bf16). Throws Failure
/// (Usage) for any other.
MatmulPrecision parseMatmulPrecision(const std::string &name);

/// Elements from the first to behind the last of this rank's block.
int64_t blockSpan(const MeshcTensor &tensor);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_DEVICE_H
