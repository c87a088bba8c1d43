//===- TraceTable.h - recordings as a table -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_TRACETABLE_H
#define MESHC_RUNTIME_MONITOR_TRACETABLE_H

#include "runtime/Device/Recorder.h"
#include "runtime/Monitor/CallOrder.h"

#include <map>
#include <string>
#include <vector>

namespace meshc::runtime {

/// What the compiler knows about a call: its place in the model, and the least
/// that it must move and compute.
struct CallCost {
  std::string location;  ///< "gpt.mesh:14:13"; may be empty
  std::string op;        ///< of a kernel of a single one: "attention"; or empty
  std::string lines;     ///< of a kernel: "12-14,20"; may be empty
  std::string tensor;    ///< a parameter that it writes; may be empty
  std::string iteration; ///< of a product: "iteration 3 of 'layers'", or empty
  double bytes = 0;      ///< 0: not known
  double flops = 0;
  bool hasEpilogue = false; ///< a product's call that does more
};

/// What the compiler predicts of a collective, in seconds: of all its calls in
/// a step, and the part in which the rank computes nothing because of it.
struct PredictedTime {
  double seconds = 0, exposed = 0;
};

/// The costs of a function's calls, from the program's manifest. If the
/// manifest does not have them, those that the call itself has.
class CallCosts {
public:
  CallCosts(const MeshcProgram &program, const std::string &function);

  CallCost of(const TracedCall &call) const;
  /// What the call is called: a kernel of a single op by that one, such as
  /// "attention".
  std::string nameOf(const TracedCall &call) const;

  /// The machine for which the times of the function's collectives are
  /// predicted; empty if they are not.
  const std::string &machine() const { return machineName; }
  /// Of the collective of a site; null if nothing is predicted of it.
  const PredictedTime *predicted(uint64_t site) const;
  /// Of the whole function; 0 if it is not predicted.
  double predictedSeconds() const { return seconds; }

private:
  void readTimes(const nlohmann::json &function);

  std::map<std::string, CallCost> kernels;
  std::vector<CallCost> products;
  CallOrder productOrder;
  std::vector<std::string> sites;
  std::string machineName;
  std::map<uint64_t, PredictedTime> times; ///< by site
  double seconds = 0;
};

/// One line for each of the ten kernels, products and collectives that take
/// longest in a step, the longest first, and one for all others; then the step
/// and the part of its time outside of all of them. Times
/// and counts are averages per step; those of a loop are summed up. `done`
/// steps came before; `events` says where the events are. Where the manifest
/// has predictions, describeCollectives() follows.
std::string describeTable(const Recording &recording, const CallCosts &costs,
                          int64_t done, const std::string &events);

/// One line for each collective of a step, in the order of their first calls:
/// its bytes, its predicted times beside the measured one, which is the median
/// of the recorded steps, and the quotient of the two; then a line for all
/// collectives, and one for the step. Empty if the manifest has no predictions,
/// or if there are no collectives.
std::string describeCollectives(const Recording &recording,
                                const CallCosts &costs);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_TRACETABLE_H
