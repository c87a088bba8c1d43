//===- Report.cpp - reporting errors --------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Report.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/StandardStreams.h"

#include <chrono>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

using namespace meshc::runtime;

/// Runs out of memory itself only if there is none at all.
static std::string describeLack() {
  try {
    return tooLittleMemory("hold what the run needs").what();
  } catch (const std::bad_alloc &) {
    return "out of memory"; // short: it takes none
  }
}

int meshc::runtime::reportError(const std::string &program,
                                const std::exception_ptr &error,
                                const std::string &rank, bool silent) {
  ExitCode code = ExitCode::Internal;
  std::string message = "unknown error";
  try {
    std::rethrow_exception(error);
  } catch (const Failure &failure) {
    code = failure.code();
    message = failure.what();
  } catch (const std::bad_alloc &) {
    message = describeLack();
  } catch (const std::system_error &failure) {
    std::optional<Failure> lack = noRoomForStacks("a thread");
    message = lack ? lack->what() : failure.what();
  } catch (const std::exception &other) {
    message = other.what();
  } catch (...) {
  }
  bool ofOneRank =
      code == ExitCode::Internal || code == ExitCode::Communication;
  if (!silent)
    printError(program + ": error: " + (ofOneRank ? rank : "") + message +
               '\n');
  return static_cast<int>(code);
}

int meshc::runtime::reportEarlyError(const std::string &program,
                                     const std::exception_ptr &error,
                                     int rank) {
  if (rank == 0)
    return reportError(program, error, "", /*silent=*/false);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  std::string prefix = "rank " + std::to_string(rank) + " failed: ";
  try {
    std::rethrow_exception(error);
  } catch (const Failure &failure) {
    printError(program + ": error: " + prefix + failure.what() + '\n');
    return static_cast<int>(failure.code());
  } catch (...) {
    return reportError(program, error, prefix, /*silent=*/false);
  }
}
