//===- Failure.h - errors that end a run, and exit codes --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a compiled program ends: one exit code per kind of failure, the same on
/// every rank, and one readable message. docs/exit-codes.md is the table.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_FAILURE_H
#define MESHC_RUNTIME_BASE_FAILURE_H

#include <stdexcept>
#include <string>

namespace meshc::runtime {

/// The exit code of a compiled program.
enum class ExitCode : int {
  Success = 0,
  Internal = 1,      ///< a bug in meshc, or too little memory
  Usage = 2,         ///< the command line
  Data = 3,          ///< a data file
  Checkpoint = 4,    ///< a checkpoint could not be read or written
  Mesh = 5,          ///< the number of ranks does not match the mesh
  Communication = 6, ///< a rank, or the connection to it, failed
  Numeric = 7,       ///< the loss is not a number
  Device = 8,        ///< no device, processor or library that is needed
  Output = 9,        ///< stdout or a trace was not written; all else is done
  Disagreement = 10, ///< ranks have different programs, options or files
  Interrupted = 130, ///< SIGINT; the last checkpoint is written
  Terminated = 143   ///< SIGTERM; the last checkpoint is written
};

/// An error with a message for people (lower case, names in quotes, what was
/// found, what was expected) and the exit code that it causes.
class Failure : public std::runtime_error {
public:
  Failure(ExitCode code, const std::string &message)
      : std::runtime_error(message), exitCode(code) {}

  ExitCode code() const { return exitCode; }

private:
  ExitCode exitCode;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_FAILURE_H
