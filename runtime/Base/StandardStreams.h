//===- StandardStreams.h - stdout and stderr --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a program prints. Texts are written whole, by one system call each, so
/// that the lines of several ranks do not mix. A failed write is reported at
/// the end.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_STANDARDSTREAMS_H
#define MESHC_RUNTIME_BASE_STANDARDSTREAMS_H

#include <string>

namespace meshc::runtime {

/// Call it before any file is opened: opens /dev/null in place of a closed
/// stdin, stdout or stderr, so that no file gets its number. Turns writes into
/// a pipe without a reader, and beyond a file size limit, into errors instead
/// of signals.
void openStandardStreams();

/// Writes lines to stdout. Names in them may hold any bytes: control characters
/// but tabs and ends of lines are escaped (EscapeControls.h). Remembers
/// failures.
void printOut(const std::string &text);

/// Writes the bytes to stdout as they are: a model's text, or what a terminal
/// obeys. Remembers failures.
void printRaw(const std::string &text);

/// Writes one line to stderr, or nothing if it is empty. Ends of lines in it
/// are escaped, too; the last character may be one.
void printError(const std::string &line);

/// The exit code of a run of `program` that would end with `code`: `code`
/// itself if it is not 0 or all of stdout was written; otherwise prints why it
/// was not, and returns ExitCode::Output.
int codeAfterOutput(const std::string &program, int code);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_STANDARDSTREAMS_H
