//===- ReplacedFiles.cpp - files that a run would empty -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/ReplacedFiles.h"

#include "runtime/Base/Failure.h"
#include "runtime/Checkpoint/AtomicFile.h"
#include "runtime/Monitor/Log.h"
#include "runtime/Monitor/TraceEvents.h"

#include <unistd.h>

using namespace meshc::runtime;

/// Whether an open file begins with `text`. A file whose first write was cut
/// short holds the beginning of it.
static bool beginsWith(int descriptor, const std::string &text) {
  std::string found(text.size(), '\0');
  const ssize_t length = pread(descriptor, found.data(), found.size(), 0);
  return length > 0 && text.compare(0, static_cast<size_t>(length), found, 0,
                                    static_cast<size_t>(length)) == 0;
}

void meshc::runtime::checkReplacedFiles(const Options &options) {
  const struct {
    const char *option, *kind;
    const std::string &path;
    std::string beginning;
  } written[] = {{"--log", "log", options.log, logBeginning},
                 {"--trace", "trace", options.trace, traceHeader()}};
  for (const auto &file : written)
    if (!options.overwrite && !file.path.empty() &&
        holdsOther(file.path, [&](int descriptor) {
          return beginsWith(descriptor, file.beginning);
        }))
      throw Failure(ExitCode::Usage,
                    std::string("'") + file.option + "' is '" + file.path +
                        "', which exists and is no " + file.kind +
                        " that a run wrote; give another name, or "
                        "'--overwrite'");
}
