//===- EventWait.h - waiting for a GPU ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_EVENTWAIT_H
#define MESHC_RUNTIME_DEVICE_EVENTWAIT_H

#include "runtime/Device/CudaPlugin.h"

#include <functional>
#include <string>

namespace meshc::runtime {

/// Waits for the event: spins for some microseconds, then sleeps in short
/// intervals. Meanwhile `check` is called now and then, with whether the wait
/// is longer than `timeoutSeconds` (0: it never is), and ends the wait by
/// throwing. If it does not, a wait that is too long throws Failure
/// (Communication): a kernel may never end. Throws Failure (Internal) if the
/// work before the event failed. `work` names what is waited for: "a step".
void waitForEvent(const MeshcCuda &cuda, MeshcCudaRank *gpu, void *event,
                  double timeoutSeconds, const std::string &work,
                  const std::function<void(bool late)> &check = nullptr);

/// "longer than MESHC_TIMEOUT, 600 s"
std::string describePatience(double timeoutSeconds);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_EVENTWAIT_H
