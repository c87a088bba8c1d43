//===- StandardStreams.h - stdout and stderr -------------------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a program prints. Texts go to the system whole, by one write each, so
/// that the lines of several ranks do not mix; and that a text could not be
/// written is known at the end.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CORE_STANDARDSTREAMS_H
#define MESHC_RUNTIME_CORE_STANDARDSTREAMS_H

#include <string>

namespace meshc::runtime {

/// To be called before any file is opened: opens /dev/null where stdin, stdout
/// or stderr is closed, so that no file gets its number. Makes writing into a
/// pipe that nobody reads, and beyond a file size limit, an error and not a
/// signal.
void openStandardStreams();

/// Writes `text` to stdout. What goes wrong is remembered.
void printOut(const std::string &text);

/// Writes `text` to stderr.
void printError(const std::string &text);

/// The exit code of a run of `program` that would end with `code`: that where
/// it is not 0 or all of stdout was written; else tells why it was not, and
/// returns ExitCode::Output.
int codeAfterOutput(const std::string &program, int code);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CORE_STANDARDSTREAMS_H
