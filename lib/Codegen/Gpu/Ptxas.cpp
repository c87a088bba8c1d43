//===- Ptxas.cpp - PTX to machine code ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/Ptxas.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace meshc::codegen {

namespace {
/// Files that go when the run ends.
struct Files {
  SmallString<128> ptx, cubin, messages;
  ~Files() {
    for (const auto &file : {ptx, cubin, messages})
      if (!file.empty())
        (void)sys::fs::remove(file);
  }
};
} // namespace

static Error makeFile(StringRef suffix, StringRef text,
                      SmallString<128> &path) {
  int descriptor = 0;
  if (std::error_code code =
          sys::fs::createTemporaryFile("meshc", suffix, descriptor, path))
    return createStringError(code,
                             "cannot make a temporary file: " + code.message());
  raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << text;
  stream.close();
  if (std::error_code code = stream.error()) {
    stream.clear_error();
    return createStringError(code, "cannot write '" + path.str() +
                                       "': " + code.message());
  }
  return Error::success();
}

static Expected<std::string> readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(buffer.getError(), "cannot read '" + path + "'");
  return (*buffer)->getBuffer().str();
}

static Expected<std::string> findProgram(StringRef path) {
  if (sys::fs::can_execute(path))
    return path.str();
  if (auto found = sys::findProgramByName(path))
    return *found;
  return createStringError("no assembler for NVIDIA GPUs at '" + path +
                           "'; install the CUDA toolkit, or say where its "
                           "ptxas is");
}

/// The number before `what` in the line; 0 where it is not there.
static unsigned getNumberBefore(StringRef line, StringRef what) {
  size_t at = line.find(what);
  if (at == StringRef::npos)
    return 0;
  StringRef before = line.take_front(at).rtrim();
  unsigned number = 0;
  before.substr(before.find_last_not_of("0123456789") + 1)
      .getAsInteger(10, number);
  return number;
}

/// Of `ptxas -v`: for each kernel a line that names it, then its numbers.
static std::vector<KernelUsage> parseUsage(StringRef messages) {
  std::vector<KernelUsage> usage;
  for (StringRef line : split(messages, '\n')) {
    if (line.contains("Compiling entry function '")) {
      usage.emplace_back();
      usage.back().kernel =
          line.split("Compiling entry function '").second.split('\'').first;
    }
    if (usage.empty())
      continue;
    KernelUsage &last = usage.back();
    last.stackBytes += getNumberBefore(line, "bytes stack frame");
    last.spillBytes += getNumberBefore(line, "bytes spill stores");
    if (line.contains("Used ")) {
      last.registers = getNumberBefore(line, "registers");
      last.sharedBytes = getNumberBefore(line, "bytes smem");
    }
  }
  return usage;
}

Expected<Assembled> runPtxas(StringRef path, StringRef ptx, StringRef chip) {
  Expected<std::string> program = findProgram(path);
  if (!program)
    return program.takeError();
  Files files;
  if (Error error = makeFile("ptx", ptx, files.ptx))
    return std::move(error);
  if (Error error = makeFile("cubin", "", files.cubin))
    return std::move(error);
  if (Error error = makeFile("txt", "", files.messages))
    return std::move(error);
  std::string arch = ("-arch=" + chip).str();
  StringRef arguments[] = {*program,  arch, "-O3",      "-v",
                           files.ptx, "-o", files.cubin};
  std::string message;
  int code = sys::ExecuteAndWait(
      *program, arguments, std::nullopt,
      {std::nullopt, StringRef(files.messages), StringRef(files.messages)}, 0,
      0, &message);
  Expected<std::string> messages = readFile(files.messages);
  if (!messages)
    return messages.takeError();
  if (code != 0)
    return createStringError("'" + *program + "' failed for chip '" + chip +
                             "': " + message + *messages);
  Expected<std::string> cubin = readFile(files.cubin);
  if (!cubin)
    return cubin.takeError();
  return Assembled{std::move(*cubin), parseUsage(*messages)};
}

} // namespace meshc::codegen
