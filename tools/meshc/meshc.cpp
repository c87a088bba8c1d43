//===- meshc.cpp - the compiler -------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Calibrate.h"
#include "tools/meshc/CommandLine.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

using namespace meshc;

/// Opens /dev/null in place of a closed stdin, stdout or stderr, so that no
/// output file gets its number. Turns writes into a pipe without a reader into
/// errors instead of signals.
static void openStandardStreams() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      (void)!open("/dev/null", O_RDWR);
  std::signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv) {
  openStandardStreams();
  CompileOptions options;
  std::optional<ExitCode> ended = parseCommandLine(argc, argv, options);
  if (ended)
    return static_cast<int>(*ended);
  return static_cast<int>(options.calibrate ? calibrate(options)
                                            : compile(options));
}
