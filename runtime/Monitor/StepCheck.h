//===- StepCheck.h - which values of a step are not finite ------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a step and checks everything that its calls compute, on one rank.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_STEPCHECK_H
#define MESHC_RUNTIME_MONITOR_STEPCHECK_H

#include "runtime/Base/Finiteness.h"
#include "runtime/Device/CallObserver.h"
#include "runtime/Device/Session.h"
#include "runtime/Monitor/CallManifest.h"

#include <functional>
#include <map>
#include <optional>

namespace meshc::runtime {

/// The result of a call, or a value from before the step. Values and calls are
/// numbered alike on all ranks; the findings differ.
struct CheckedValue {
  int call = -1;                       ///< of StepCheck::calls(); -1: none
  std::string name, location;          ///< in the model; may be empty
  const MeshcTensor *tensor = nullptr; ///< of a value from before the step
  uint8_t found = 0;                   ///< Finiteness
};

struct CheckedCall {
  std::string what;             ///< "kernel 'kernel_3'"
  std::string iteration;        ///< "iteration 3 of 'layers'"; may be empty
  std::vector<std::string> ops; ///< "exp gpt.mesh:14:13"; may be empty
  std::vector<size_t> operands; ///< of values(); each is older than the results
};

class StepCheck : public CallObserver {
public:
  /// `session` outlives it.
  StepCheck(Session &session, StepFunction function);
  ~StepCheck() override;
  StepCheck(const StepCheck &) = delete;
  StepCheck &operator=(const StepCheck &) = delete;

  /// Makes `runStep` run the function once, on inputs that it stages, and wait
  /// for its completion.
  void run(const std::function<void()> &runStep);

  // Results of the last run.

  const std::vector<CheckedValue> &values() const { return allValues; }
  const std::vector<CheckedCall> &calls() const { return allCalls; }
  /// The last value of a training's loss, null if it is unknown.
  std::optional<size_t> loss() const { return lossValue; }
  /// Those of parameters and optimizer state that the step changed; of an
  /// evaluation, those of statistics.
  const std::vector<size_t> &newState() const { return stateValues; }
  /// Of an evaluation, those of metrics, which may be finite only when all
  /// batches have been seen.
  const std::vector<size_t> &metrics() const { return metricValues; }

  void ordering() override;
  void launched(const MeshcKernel &kernel, void *const *buffers) override;
  void multiplied(const MeshcGemm &gemm, const MeshcEpilogue *epilogue,
                  const void *a, const void *b, void *c,
                  void *const *buffers) override;
  void communicated(const MeshcCollective &collective, void *const *send,
                    void *const *recv) override;
  void waited(const MeshcCollective &collective) override;
  void skipped(const MeshcLoop &loop, int64_t iterations) override;

private:
  /// Bytes of the arena.
  struct Range {
    int64_t begin, end;
  };
  struct Held {
    int64_t end;
    size_t value;
  };
  struct OpenCollective {
    const MeshcCollective *collective;
    std::string location;
    std::vector<void *> recv;
    size_t call;
  };

  int64_t offsetOf(const void *address) const;
  /// What the arena holds at `offset`.
  const char *read(int64_t offset, MeshcType type, int64_t count);
  /// From now on, `range` holds the value.
  void hold(Range range, size_t value);
  /// Enters the values that overlap `range`.
  void addOperands(std::vector<size_t> &operands, Range range) const;
  void addOperand(CheckedCall &call, const void *at, int64_t bytes) const;
  uint8_t find(const CallResult &result, int64_t offset);
  void addResult(const CallResult &result, const void *at);
  void addProductResult(const CallEntry &entry, const MeshcGemm &gemm,
                        const void *c);
  void addResults(const CallEntry &entry, void *const *buffers);
  const CallEntry *findLaunch(const MeshcKernel &kernel, CheckedCall &call);
  void finish(const OpenCollective &ended);
  void findLast(const MeshcTensor &tensor, bool isLoss);
  void add(std::vector<size_t> &to, const MeshcTensor &tensor,
           const std::vector<size_t> &found);

  Session &session;
  const bool isTraining;
  CallManifest manifest;
  std::vector<CheckedValue> allValues;
  std::vector<CheckedCall> allCalls;
  std::map<int64_t, Held> held; ///< by their start in the arena
  std::vector<OpenCollective> open;
  size_t nextLaunch = 0, nextProduct = 0; ///< calls so far
  bool hasBegun = false;
  std::optional<size_t> lossValue;
  std::vector<size_t> stateValues, metricValues;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_STEPCHECK_H
