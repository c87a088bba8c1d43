//===- meshc.cpp - the compiler -------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Calibrate.h"
#include "tools/meshc/CommandLine.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace meshc;

/// Opens /dev/null in place of a closed stdin, stdout or stderr, so that no
/// output file gets its number. Turns writes into a pipe without a reader, and
/// beyond a file size limit, into errors instead of signals.
static void openStandardStreams() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      (void)!open("/dev/null", O_RDWR);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

/// Calls `run` on a stack that is large enough for recursion over programs of a
/// million ops, which --unroll may make. The system gives it memory as it is
/// used. Where the address space is limited, the stack is a small part of it.
static ExitCode runOnLargeStack(std::function<ExitCode()> run) {
  struct Task {
    std::function<ExitCode()> run;
    ExitCode code = ExitCode::Internal;
  } task{std::move(run)};
  auto start = [](void *argument) -> void * {
    auto *task = static_cast<Task *>(argument);
    task->code = task->run();
    return nullptr;
  };
  size_t bytes = size_t(2) << 30, least = size_t(32) << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min<size_t>(bytes, limit.rlim_cur / 16);
  for (; bytes >= least; bytes /= 2) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    bool isStarted =
        pthread_attr_setstacksize(&attributes, bytes & ~size_t(0xfff)) == 0 &&
        pthread_create(&thread, &attributes, start, &task) == 0;
    pthread_attr_destroy(&attributes);
    if (isStarted) {
      pthread_join(thread, nullptr);
      return task.code;
    }
  }
  return task.run();
}

int main(int argc, char **argv) {
  openStandardStreams();
  CompileOptions options;
  std::optional<ExitCode> ended = parseCommandLine(argc, argv, options);
  if (ended)
    return static_cast<int>(*ended);
  return static_cast<int>(runOnLargeStack([&] {
    return options.calibrate ? calibrate(options) : compile(options);
  }));
}
