//===- Runtime.cpp - devices, errors and what is forbidden ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeCuda.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace meshc;
using namespace meshc::fake;

std::atomic<Observer *> fake::observer{nullptr};

namespace {

std::mutex mutex;
std::set<const void *> alive; ///< handles

/// Streams that still exist when the process unloads the library: their work
/// would continue during that.
struct OpenThreads {
  std::atomic<int> count{0};
  ~OpenThreads() {
    if (count > 0)
      violate("the process ends its libraries while a rank is at work");
  }
} openThreads;

int countGpus() {
  int gpus = static_cast<int>(setting("FAKE_CUDA_GPUS", 1));
  // "0", "0,3": like CUDA, which renumbers the visible GPUs.
  if (const char *visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    gpus =
        std::min(gpus, 1 + static_cast<int>(std::count(
                               visible, visible + std::strlen(visible), ',')));
  return gpus;
}

struct ErrorText {
  cudaError_t error;
  const char *name, *text;
};
const ErrorText errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorNoDevice, "cudaErrorNoDevice",
     "no CUDA-capable device is detected"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "the driver is older than the runtime"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound",
     "named symbol not found"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "a stream was not joined again at the capture's end"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"}};

const ErrorText &find(cudaError_t error) {
  for (const ErrorText &known : errors)
    if (known.error == error)
      return known;
  violate("an error that the fake does not give is asked for");
}

} // namespace

void fake::violate(const std::string &rule) {
  std::fprintf(stderr, "fake CUDA: %s\n", rule.c_str());
  std::fflush(stderr);
  std::abort();
}

long long fake::setting(const char *name, long long otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

bool fake::isSet(const char *name, const std::string &value) {
  const char *text = std::getenv(name);
  return text && text == value;
}

void fake::note(const char *format, ...) {
  static std::FILE *file = nullptr;
  static std::string opened;
  const char *path = std::getenv("FAKE_CUDA_LOG");
  if (!path)
    return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  std::lock_guard<std::mutex> lock(mutex);
  if (opened != path) {
    opened = path;
    file = std::fopen(path, "a");
    if (!file)
      violate("the log cannot be written");
  }
  std::fprintf(file, "%s%s\n", line, self().capture ? " in a capture" : "");
  std::fflush(file);
}

Thread &fake::self() {
  // Streams point to it: it stays after the thread.
  static thread_local Thread *thread = new Thread;
  return *thread;
}

void fake::forbidInCapture(const char *call) {
  if (self().capture)
    violate(std::string(call) + " during a capture");
}

void fake::useFirst(const void *what, int64_t bytes, const std::string &name) {
  Thread &thread = self();
  if (!thread.used.insert(what).second)
    return;
  if (thread.capture)
    violate(name + " is used for the first time in a capture: its code would "
                   "be loaded");
  thread.taken += bytes;
  changeUsedBytes(thread.gpu, bytes);
}

void fake::expectAlive(const void *handle, const char *what) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!alive.count(handle))
    violate(std::string(what) + " is used that does not exist (any more)");
}

void fake::noteBorn(const void *handle) {
  std::lock_guard<std::mutex> lock(mutex);
  alive.insert(handle);
  openThreads.count = static_cast<int>(alive.size());
}

void fake::noteDead(const void *handle, const char *what) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!alive.erase(handle))
    violate(std::string(what) + " is destroyed that does not exist (any more)");
  openThreads.count = static_cast<int>(alive.size());
}

//===----------------------------------------------------------------------===//
// CUDA's functions
//===----------------------------------------------------------------------===//

extern "C" {

cudaError_t cudaDriverGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
  *count = countGpus();
  if (setting("FAKE_CUDA_REFUSES", 0))
    return self().lastError = cudaErrorInsufficientDriver;
  if (*count == 0)
    return self().lastError = cudaErrorNoDevice;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int gpu) {
  *properties = {};
  std::strcpy(properties->name,
              gpu == setting("FAKE_CUDA_OTHER_GPU", -1) ? "other" : "fake");
  const int chip = static_cast<int>(setting("FAKE_CUDA_CHIP", 90));
  properties->major = chip / 10;
  properties->minor = chip % 10;
  properties->totalGlobalMem = freeBytesOf(gpu);
  properties->uuid.bytes[0] = static_cast<char>(1 + gpu);
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int gpu) {
  note("cudaSetDevice(%d)", gpu);
  if (gpu < 0 || gpu >= countGpus())
    violate("a GPU that does not exist");
  if (self().streams > 0 && self().gpu != gpu)
    violate("a thread with streams goes to another GPU");
  self().gpu = gpu;
  self().random.seed(static_cast<unsigned>(setting("FAKE_CUDA_SEED", 1)) * 64 +
                     static_cast<unsigned>(gpu));
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaGetLastError(void) {
  cudaError_t error = self().lastError;
  self().lastError = cudaSuccess;
  return error;
}

const char *cudaGetErrorName(cudaError_t error) { return find(error).name; }
const char *cudaGetErrorString(cudaError_t error) { return find(error).text; }
}
