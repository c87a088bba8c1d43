//===- Report.h - how errors are told ---------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_REPORT_H
#define MESHC_RUNTIME_COMMANDS_REPORT_H

#include <exception>
#include <string>

namespace meshc::runtime {

/// Prints an error in one line on stderr, unless `silent`, and returns its exit
/// code. `program` begins the line; `rank` ("rank 2 failed: ", may be empty)
/// precedes errors that are one rank's and not the input's.
int reportError(const std::string &program, const std::exception_ptr &error,
                const std::string &rank, bool silent);

/// The same for an error before the ranks have met. All ranks usually have the
/// same problem: rank 0 prints it, and mpirun ends the others when rank 0 ends.
/// Another rank waits for that; if it is still there after 2 s, the problem is
/// its own, and it prints it after "rank 2 failed: ".
int reportEarlyError(const std::string &program,
                     const std::exception_ptr &error, int rank);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_REPORT_H
