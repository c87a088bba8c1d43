//===- WriteOutput.cpp - the report and the program, as files -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "lib/Link/Link.h"
#include "lib/Pipeline/Compilation.h"
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
  std::string text, path = options.reportFile;
  llvm::raw_string_ostream stream(text);
  report::Json full = state.manifest; // with what programs have no use for
  report::addMemory(full, *module);
  if (full.contains("memory")) {
    report::addPeak(full);
    if (!budget.is_null())
      report::addBudget(full, budget);
  }
  if (options.report == ReportFormat::Text)
    report::printReport(full, stream);
  else if (options.report == ReportFormat::Json)
    stream << full.dump(1) << '\n';
  else
    stream << report::makePage(full, getModelText(), options.input);
  if (path.empty())
    path = options.report == ReportFormat::Html ? getStem() + ".html" : "-";
  return write(path, text);
}

/// The text of a .mesh model; empty if the input was MLIR, where the lines of
/// locations are those of another file.
StringRef Compilation::getModelText() const {
  StringRef ending = llvm::sys::path::extension(options.input);
  return ending == ".mlir"
             ? StringRef()
             : sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
}

/// What files without a name of their own are named after: the input's name
/// without its ending, or "a" if the input is stdin.
std::string Compilation::getStem() const {
  return options.input == "-" ? "a"
                              : llvm::sys::path::stem(options.input).str();
}

/// -o, or a file named after the input.
std::string Compilation::getOutputPath() const {
  if (!options.output.empty())
    return options.output;
  if (options.emit == Emit::Object)
    return getStem() + ".o";
  if (options.emit != Emit::Executable)
    return "-";
  return llvm::sys::path::has_extension(options.input) ? getStem() : "a.out";
}

ExitCode Compilation::writeProgram(const Phase &phase) {
  times.begin("codegen"); // machine code is a part of it
  if (ExitCode code = emitCode(); code != ExitCode::Success)
    return code;
  std::string output = getOutputPath();
  if (ExitCode code = checkOutput(output); code != ExitCode::Success)
    return code;
  times.begin(phase.name);
  llvm::Error error =
      options.emit == Emit::Executable
          ? link::linkProgram(bytes, output, {"", "", options.tool})
          : link::writeFile(output, bytes);
  if (error)
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  return ExitCode::Success;
}

/// --depfile: a rule of make, by which the output depends on the model and what
/// it imports.
ExitCode Compilation::writeDepfile() {
  auto escape = [](StringRef path) {
    std::string text;
    for (char c : path)
      text += c == ' ' || c == '#' ? std::string("\\") + c
              : c == '$'           ? std::string("$$")
                                   : std::string(1, c);
    return text;
  };
  std::string rule = escape(getOutputPath()) + ":";
  for (unsigned i = 1; i <= sources.getNumBuffers(); ++i) {
    StringRef name = sources.getMemoryBuffer(i)->getBufferIdentifier();
    bool isFile = !name.starts_with("<"); // not <stdin> and <--mesh>
    if (isFile)
      rule += " \\\n  " + escape(name);
  }
  return write(options.depfile, rule + "\n");
}

} // namespace meshc
