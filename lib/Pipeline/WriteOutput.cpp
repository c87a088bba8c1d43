//===- WriteOutput.cpp - the report and the program, as files -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "lib/Link/Link.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Pipeline/OptionRules.h"
#include "meshc/EscapeControls.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace meshc {

/// Fails if the file to write is the model, or one that it imports.
ExitCode Compilation::checkOutput(StringRef path) {
  if (path == "-")
    return ExitCode::Success;
  if (options.input != "-" && llvm::sys::fs::equivalent(path, options.input))
    return fail(ExitCode::Usage,
                "'" + path +
                    "' is the model, which would be lost; name another output "
                    "with -o");
  for (unsigned i = 1; i <= sources.getNumBuffers(); ++i)
    if (llvm::sys::fs::equivalent(
            path, sources.getMemoryBuffer(i)->getBufferIdentifier()))
      return fail(ExitCode::Usage,
                  "'" + path +
                      "' is imported by the model, and would be lost; name "
                      "another output with -o");
  return ExitCode::Success;
}

/// Prints text for people.
ExitCode Compilation::printText(StringRef text) {
  return write("-", escapeControls(text, "\n"));
}

/// Writes text to a file or, for "-", to standard output.
ExitCode Compilation::write(StringRef path, StringRef text) {
  ExitCode code = checkOutput(path);
  if (code != ExitCode::Success)
    return code;
  if (auto error =
          link::writeFile(path, llvm::ArrayRef(text.data(), text.size())))
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  return code;
}

/// Completes the manifest, and prints --report.
ExitCode Compilation::printReport() {
  if (std::optional<int64_t> bytes = exec::getArenaBytes(*module))
    report::setArenaBytes(state.manifest, *bytes);
  report::addCalls(state.manifest, *module);
  report::addTimes(state.manifest, *module, machine);
  if (options.report == ReportFormat::None)
    return ExitCode::Success;
  std::string text;
  llvm::raw_string_ostream stream(text);
  report::Json full = state.manifest; // with what programs have no use for
  report::addMemory(full, *module);
  if (full.contains("memory")) {
    report::addPeak(full);
    if (!budget.is_null())
      report::addBudget(full, budget);
  }
  if (options.report == ReportFormat::Json)
    stream << report::toText(full, 1) << '\n';
  else if (options.report == ReportFormat::Html)
    stream << report::makePage(full, getModelText(), options.input);
  else {
    report::printReport(full, stream);
    text = escapeControls(text, "\n");
  }
  return write(getReportPath(options), text);
}

/// The text of a .mesh model; empty if the input was MLIR, where the lines of
/// locations are those of another file.
StringRef Compilation::getModelText() const {
  StringRef ending = llvm::sys::path::extension(options.input);
  return ending == ".mlir"
             ? StringRef()
             : sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
}

ExitCode Compilation::writeProgram(const Phase &phase) {
  times.begin("codegen"); // machine code is a part of it
  if (ExitCode code = emitCode(); code != ExitCode::Success)
    return code;
  std::string output = getOutputPath(options);
  if (ExitCode code = checkOutput(output); code != ExitCode::Success)
    return code;
  times.begin(phase.name);
  llvm::Error error =
      options.emit == Emit::Executable
          ? link::linkProgram(bytes, output, {"", "", options.tool})
          : link::writeFile(output, bytes);
  if (error)
    return failWithLines(ExitCode::Input, llvm::toString(std::move(error)));
  return ExitCode::Success;
}

/// A name in a rule, as compilers write it: backslashes count only before a
/// blank and '#'.
static std::string escapeForMake(StringRef path) {
  std::string text;
  size_t backslashes = 0;
  for (char c : path) {
    if (c == ' ' || c == '#')
      text += std::string(backslashes + 1, '\\');
    text += c == '$' ? "$$" : std::string(1, c);
    backslashes = c == '\\' ? backslashes + 1 : 0;
  }
  return text;
}

/// --depfile: a rule of make, by which the output depends on the model and what
/// it imports.
ExitCode Compilation::writeDepfile() {
  SmallVector<std::string> names{getOutputPath(options)};
  for (unsigned i = 1; i <= sources.getNumBuffers(); ++i) {
    StringRef name = sources.getMemoryBuffer(i)->getBufferIdentifier();
    bool isFile = !name.starts_with("<"); // not <stdin> and <--mesh>
    if (isFile)
      names.push_back(name.str());
  }
  for (const std::string &name : names)
    if (llvm::any_of(name,
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      return fail(ExitCode::Input,
                  "'" + name +
                      "' cannot stand in a rule for make, as its name has a "
                      "control character; rename it, or leave '--depfile' out");
  std::string rule = escapeForMake(names.front()) + ":";
  for (const std::string &name : llvm::drop_begin(names))
    rule += " \\\n  " + escapeForMake(name);
  return write(options.depfile, rule + "\n");
}

} // namespace meshc
