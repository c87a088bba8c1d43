//===- Report.cpp - how errors are told -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Report.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/StandardStreams.h"

#include <new>

using namespace meshc::runtime;

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
    message = "out of memory";
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
