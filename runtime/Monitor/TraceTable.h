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
  std::string lines;     ///< of a kernel: "12-14,20"; may be empty
  std::string tensor;    ///< a parameter that it writes; may be empty
  std::string iteration; ///< of a product: "iteration 3 of 'layers'", or empty
  double bytes = 0;      ///< 0: not known
  double flops = 0;
  bool hasEpilogue = false; ///< a product's call that does more
};

/// The costs of a function's calls, from the program's manifest. If the
/// manifest does not have them, those that the call itself has.
class CallCosts {
public:
  CallCosts(const MeshcProgram &program, const std::string &function);

  CallCost of(const TracedCall &call) const;

private:
  std::map<std::string, CallCost> kernels;
  std::vector<CallCost> products;
  CallOrder productOrder;
  std::vector<std::string> sites;
};

/// One line for each kernel, product and collective of a step, the longest
/// first, then the step and the part of its time outside of all of them. Times
/// and counts are averages per step; those of a loop are summed up. `done`
/// steps came before; the events are in `path`.
std::string describeTable(const Recording &recording, const CallCosts &costs,
                          int64_t done, const std::string &path);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_TRACETABLE_H
