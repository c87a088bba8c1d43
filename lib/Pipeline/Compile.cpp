//===- Compile.cpp - one run of the compiler ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Scratch.h"
#include "dialects/Nd/NdInterfaces.h"
#include "lib/Link/Link.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Pipeline/DebugOutput.h"
#include "lib/Pipeline/Memory.h"
#include "lib/Pipeline/RunPhase.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace meshc {

std::string getPhaseNames() {
  std::string names = "parse";
  for (const Phase &phase : getPhases())
    names += ", " + phase.name.str();
  return names + ", codegen, link";
}

/// Text to a file or, for "-", to standard output.
static llvm::Error writeText(StringRef path, StringRef text) {
  return link::writeFile(path, llvm::ArrayRef(text.data(), text.size()));
}

ExitCode fail(ExitCode code, const Twine &message) {
  llvm::errs() << ("meshc: error: " + message + "\n").str();
  return code;
}

/// Whether a program is to be written. --verify alone builds none.
static bool isToWrite(const CompileOptions &options) {
  return options.verify.empty() || !options.output.empty() ||
         options.emit != "exe";
}

/// Whether the phases behind the first comparison are needed.
static bool isToBuild(const CompileOptions &options) {
  return isToWrite(options) || options.verify == "compiled" ||
         !options.report.empty();
}

/// Fails where the file to write is the model.
ExitCode Compilation::checkOutput(StringRef path) {
  if (path == "-" || options.input == "-" ||
      !llvm::sys::fs::equivalent(path, options.input))
    return ExitCode::Success;
  return fail(ExitCode::Usage,
              "'" + path +
                  "' is the model, which would be lost; name another output "
                  "with -o");
}

ExitCode Compilation::write(StringRef path, StringRef text) {
  ExitCode code = checkOutput(path);
  if (code != ExitCode::Success)
    return code;
  if (auto error = writeText(path, text))
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  return code;
}

/// "DIR/03-partition.mlir"
std::string Compilation::getDumpPath(StringRef phase) const {
  unsigned number = 0;
  if (phase != "parse")
    for (const Phase &each : getPhases()) {
      ++number;
      if (each.name == phase)
        break;
    }
  if (phase == "codegen")
    ++number;
  SmallString<128> path(options.dumpDirectory);
  llvm::sys::path::append(path, (number < 10 ? "0" : "") + Twine(number) + "-" +
                                    phase +
                                    (phase == "codegen" ? ".ll" : ".mlir"));
  return path.str().str();
}

/// What the options want of the program after a phase: a file in --dump-dir,
/// and the end of the road at --stop-after.
ExitCode Compilation::afterPhase(StringRef phase,
                                 llvm::function_ref<std::string()> print) {
  times.end();
  if (!options.dumpDirectory.empty()) {
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpDirectory))
      return fail(ExitCode::Input, "cannot make folder '" +
                                       options.dumpDirectory +
                                       "': " + error.message());
    if (ExitCode code = write(getDumpPath(phase), print());
        code != ExitCode::Success)
      return code;
  }
  if (options.stopAfter == phase)
    ended = write(options.output.empty() ? "-" : options.output, print());
  return ended.value_or(ExitCode::Success);
}

ExitCode Compilation::runPhases() {
  auto print = [&] { return printDump(*module, state); };
  ExitCode code =
      state.phase == "parse" ? afterPhase("parse", print) : ExitCode::Success;
  bool isBehind = state.phase == "parse"; // behind what was read
  if (code == ExitCode::Success && !options.verify.empty())
    verification.keepModel(*module);
  for (const Phase &phase : getPhases()) {
    if (code != ExitCode::Success || ended)
      return code;
    if (!isBehind) {
      isBehind = phase.name == state.phase;
      continue;
    }
    // Kernels are chosen for the target: on GPUs, what follows a product is
    // done in its call.
    if (phase.name == "kernels" && isForGpus(options))
      (*module)->setAttr("exec.epilogues", UnitAttr::get(&context));
    if (phase.name == "schedule" && options.target == "cuda")
      (*module)->setAttr(exec::libraryWorkspaceAttrName,
                         UnitAttr::get(&context));
    times.begin(phase.name);
    code = runPhase(phase, *module);
    if (code != ExitCode::Success)
      return code;
    state.phase = phase.name.str();
    if (phase.name == "collectives") {
      state.manifest = report::buildReport(*module);
      state.manifest["targets"] = state.targets;
    }
    code = afterPhase(phase.name, print);
    if (code != ExitCode::Success || ended)
      return code;
    if (phase.name == "layout" && !options.verify.empty())
      verification.keepWhole(*module);
    if (phase.name == "collectives" && !options.verify.empty()) {
      code = verification.comparePartitioned(*module);
      if (code != ExitCode::Success || !isToBuild(options))
        ended = code;
    }
  }
  return code;
}

/// --report
ExitCode Compilation::printReport() {
  if (auto bytes = (*module)->getAttrOfType<IntegerAttr>("exec.arena_bytes"))
    report::setArenaBytes(state.manifest, bytes.getInt());
  report::addCalls(state.manifest, *module);
  if (options.report.empty())
    return ExitCode::Success;
  std::string text, path = options.reportFile;
  llvm::raw_string_ostream stream(text);
  if (options.report == "text") {
    report::printReport(state.manifest, stream);
  } else { // with what programs have no use for
    report::Json full = state.manifest;
    report::addMemory(full, *module);
    if (options.report == "json")
      stream << full.dump(1) << '\n';
    else
      stream << report::makePage(full, getModelText(), options.input);
  }
  if (path.empty())
    path = options.report == "html"
               ? (llvm::sys::path::stem(options.input) + ".html").str()
               : "-";
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

/// From the last phase on modules to the program.
ExitCode Compilation::finish() {
  if (!code) {
    times.begin("codegen");
    // The report says what kernels take.
    if (options.target == "cuda" && !options.emulateGpu)
      if (ExitCode code = generateKernels(kernels); code != ExitCode::Success)
        return code;
    if (ExitCode code = printReport(); code != ExitCode::Success)
      return code;
    if (options.verify == "program" && !isToWrite(options))
      return ExitCode::Success;
    if (ExitCode code = generate(); code != ExitCode::Success || ended)
      return code;
  }
  return writeProgram();
}

/// The program as --emit wants it.
ExitCode Compilation::writeProgram() {
  times.begin("codegen"); // machine code is a part of it
  llvm::SmallVector<char> bytes;
  if (options.emit == "ptx") {
    if (!kernels.images.empty()) // the last one is of PTX, with a zero byte
      llvm::append_range(
          bytes, llvm::StringRef(kernels.images.back().bytes).drop_back());
  } else if (options.emit == "llvm") {
    llvm::raw_svector_ostream stream(bytes);
    code->printIr(stream);
  } else if (auto error = code->emit(options.emit == "asm"
                                         ? llvm::CodeGenFileType::AssemblyFile
                                         : llvm::CodeGenFileType::ObjectFile,
                                     bytes)) {
    return fail(ExitCode::Internal, llvm::toString(std::move(error)));
  }
  if (options.verify == "compiled") {
    ExitCode code = verification.compareCompiled(bytes);
    if (code != ExitCode::Success || !isToWrite(options))
      return code;
  }
  StringRef stem = llvm::sys::path::stem(options.input);
  std::string output = options.output;
  if (output.empty())
    output = options.emit == "obj"   ? (stem + ".o").str()
             : options.emit != "exe" ? "-"
             : llvm::sys::path::has_extension(options.input) ? stem.str()
                                                             : "a.out";
  if (ExitCode code = checkOutput(output); code != ExitCode::Success)
    return code;
  times.begin("link");
  llvm::Error error =
      options.emit == "exe"
          ? link::linkProgram(bytes, output, {"", "", options.tool})
          : link::writeFile(output, bytes);
  times.end();
  if (error)
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  return ExitCode::Success;
}

/// The code phase; of --emit=ptx there is no code of the host.
ExitCode Compilation::generate() {
  if (options.emit == "ptx")
    return ExitCode::Success;
  codegen::ProgramOptions program;
  program.emulatesDevice = options.target == "cuda" && options.emulateGpu;
  if (options.target == "cuda" && !options.emulateGpu)
    program.gpu = &kernels;
  program.march = options.march;
  if (auto name = (*module)->getAttrOfType<StringAttr>("nd.model"))
    program.name = name.str();
  program.manifest = state.manifest.dump();
  if (options.emulateGpu)
    program.emulated.emplace();
  auto generated = codegen::Program::generate(*module, program);
  if (failed(generated))
    return reportDefect("phase 'codegen'");
  code = std::move(*generated);
  return afterPhase("codegen", [&] {
    std::string text;
    llvm::raw_string_ostream stream(text);
    code->printIr(stream);
    return text;
  });
}

ExitCode Compilation::run() {
  if (ExitCode code = chooseTarget(); code != ExitCode::Success)
    return code;
  if (ExitCode code = parse(); code != ExitCode::Success)
    return code;
  if (options.emit == "mlir")
    return write(options.output.empty() ? "-" : options.output,
                 printDump(*module, state));
  ExitCode code = module ? runPhases() : ExitCode::Success;
  if (code == ExitCode::Success && !ended)
    code = finish();
  times.end();
  if (options.timePhases)
    times.print(llvm::errs());
  return code;
}

ExitCode compile(const CompileOptions &options) {
  exitWhereMemoryEnds();
  // What cannot be told on stderr is in the exit code still.
  llvm::scope_exit clear([] { llvm::errs().clear_error(); });
  llvm::SmallVector<StringRef> names;
  std::string list = getPhaseNames();
  StringRef(list).split(names, ", ");
  if (!options.stopAfter.empty() &&
      !llvm::is_contained(names, options.stopAfter))
    return fail(ExitCode::Usage, "there is no phase '" + options.stopAfter +
                                     "'; phases are " + getPhaseNames());
  if (!options.debugOnly.empty())
    if (std::string error = enableDebugOutput(options.debugOnly);
        !error.empty())
      return fail(ExitCode::Usage, "--debug-only: " + error);
  if (options.verify == "compiled" && options.emit != "exe")
    return fail(ExitCode::Usage,
                "--verify runs the program; leave --emit=" + options.emit +
                    " out, or use --verify=program");
  if (auto error = codegen::checkProcessor(options.march))
    return fail(ExitCode::Usage, llvm::toString(std::move(error)));
  return Compilation(options).run();
}

} // namespace meshc
