//===- Memory.cpp - where memory is not enough ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Memory.h"
#include "lib/Pipeline/Compile.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

namespace meshc {

/// Takes no memory itself.
[[noreturn]] static void exitWithoutMemory() {
  static constexpr char message[] =
      "meshc: error: memory ended before the program was compiled; give the "
      "process more of it, or compile a smaller model\n";
  (void)!write(STDERR_FILENO, message, sizeof(message) - 1);
  _exit(static_cast<int>(ExitCode::Memory));
}

void exitWhereMemoryEnds() {
  std::set_new_handler([] { exitWithoutMemory(); });
  // What LLVM takes by malloc.
  llvm::remove_bad_alloc_error_handler();
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { exitWithoutMemory(); });
}

/// Of the lines "NAME:   NUMBER kB" of /proc/meminfo.
static double readMeminfo(llvm::StringRef text, llvm::StringRef name) {
  llvm::StringRef line = text.split(("\n" + name + ":").str()).second;
  uint64_t kilobytes = 0;
  line.ltrim().consumeInteger(10, kilobytes);
  return 1024.0 * static_cast<double>(kilobytes);
}

double getAvailableMemory() {
  double bytes = std::numeric_limits<double>::infinity();
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = static_cast<double>(limit.rlim_cur);
  auto file = llvm::MemoryBuffer::getFileAsStream("/proc/meminfo");
  if (!file)
    return bytes;
  llvm::StringRef text = (*file)->getBuffer();
  double available = readMeminfo(text, "MemAvailable");
  return available > 0
             ? std::min(bytes, available + readMeminfo(text, "SwapFree"))
             : bytes;
}

std::string formatMemory(double bytes) {
  static constexpr const char *units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  unsigned unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit)
    bytes /= 1000;
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

} // namespace meshc
