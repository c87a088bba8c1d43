//===- StandardStreams.cpp - stdout and stderr ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/StandardStreams.h"

#include "meshc/EscapeControls.h"
#include "runtime/Base/Failure.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

using namespace meshc::runtime;

/// errno of the first write to stdout that failed.
static std::atomic<int> outputError{0};

void meshc::runtime::openStandardStreams() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      // open() returns the lowest free number, which is this one.
      (void)!::open("/dev/null", O_RDWR);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

/// 0, or errno of the failure.
static int writeAll(int descriptor, const std::string &text) {
  size_t at = 0;
  while (at < text.size()) {
    ssize_t written = ::write(descriptor, text.data() + at, text.size() - at);
    if (written >= 0) {
      at += static_cast<size_t>(written);
    } else if (errno == EAGAIN) { // a terminal that someone made so
      pollfd ready = {descriptor, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

void meshc::runtime::printRaw(const std::string &text) {
  int error = writeAll(STDOUT_FILENO, text), none = 0;
  if (error)
    outputError.compare_exchange_strong(none, error);
}

void meshc::runtime::printOut(const std::string &text) {
  printRaw(meshc::escapeControls(text, "\n\t"));
}

void meshc::runtime::printError(const std::string &line) {
  if (line.empty())
    return;
  std::string_view message = line;
  if (message.back() == '\n')
    message.remove_suffix(1);
  writeAll(STDERR_FILENO, meshc::escapeControls(message) + '\n');
}

int meshc::runtime::codeAfterOutput(const std::string &program, int code) {
  int error = outputError;
  if (code != 0 || error == 0)
    return code;
  printError(program + ": error: standard output cannot be written: " +
             std::strerror(error) + "; all else is done\n");
  return static_cast<int>(ExitCode::Output);
}
