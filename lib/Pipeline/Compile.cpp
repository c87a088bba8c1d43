//===- Compile.cpp - one run of the compiler ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/ChoosePartition.h"
#include "lib/Pipeline/ChooseSchedule.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Pipeline/DebugOutput.h"
#include "lib/Pipeline/Memory.h"
#include "lib/Pipeline/RunPhase.h"
#include "lib/Report/Shapes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace meshc {

std::string getPhaseNames() {
  std::string names;
  for (const Phase &phase : getPhases())
    names += (names.empty() ? "" : ", ") + phase.name.str();
  return names;
}

ExitCode fail(ExitCode code, const Twine &message) {
  llvm::errs() << ("meshc: error: " + message + "\n").str();
  return code;
}

/// "DIR/03-partition.mlir"
std::string Compilation::getDumpPath(const Phase &phase) const {
  size_t number = getPhaseNumber(phase.name);
  SmallString<128> path(options.dumpDirectory);
  llvm::sys::path::append(path, (number < 10 ? "0" : "") + Twine(number) + "-" +
                                    phase.name + (code ? ".ll" : ".mlir"));
  return path.str().str();
}

std::string Compilation::print() {
  if (!code)
    return printDump(*module, state);
  std::string text;
  llvm::raw_string_ostream stream(text);
  code->printIr(stream);
  return text;
}

/// What the options want of the program after a phase: a file in --dump-dir,
/// and an end at --stop-after. After the phase link there is no program any
/// more, and of --emit=ptx none after codegen.
ExitCode Compilation::afterPhase(const Phase &phase) {
  bool isGenerated = getPhaseNumber(phase.name) >= getPhaseNumber("codegen");
  if (phase.name == "link" || (isGenerated && !code))
    return ExitCode::Success;
  if (!options.dumpDirectory.empty()) {
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpDirectory))
      return fail(ExitCode::Input, "cannot make folder '" +
                                       options.dumpDirectory +
                                       "': " + error.message());
    std::string path = getDumpPath(phase);
    if (!llvm::sys::fs::equivalent(path, options.input)) // else it is there
      if (ExitCode code = write(path, print()); code != ExitCode::Success)
        return code;
  }
  if (options.stopAfter != phase.name)
    return ExitCode::Success;
  hasEnded = true;
  return write(options.output.empty() ? "-" : options.output, print());
}

ExitCode Compilation::runPasses(const Phase &phase) {
  if (phase.describeOptions)
    phase.describeOptions(*module, options);
  ExitCode code = runPhase(phase, *module, options);
  if (code == ExitCode::Success)
    state.phase = phase.name.str();
  return code;
}

ExitCode Compilation::runChosen(const Phase &phase, ProgramChoice choose) {
  if (phase.describeOptions)
    phase.describeOptions(*module, options);
  ExitCode code = choose(module, options, machine);
  if (code == ExitCode::Internal)
    return reportDefect(("phase '" + phase.name + "'").str());
  if (code == ExitCode::Success)
    state.phase = phase.name.str();
  return code;
}

ExitCode Compilation::runPartition(const Phase &phase) {
  return runChosen(phase, partitionProgram);
}

ExitCode Compilation::runSchedule(const Phase &phase) {
  return runChosen(phase,
                   [](auto &program, const auto &options, const auto &machine) {
                     return scheduleProgram(program, options, machine);
                   });
}

ExitCode Compilation::runCollectives(const Phase &phase) {
  ExitCode code = runPasses(phase);
  if (code != ExitCode::Success)
    return code;
  state.buildManifest(*module);
  return code;
}

ExitCode Compilation::listShapes() {
  hasEnded = !isToWrite(options) && options.verify == Verify::None &&
             options.explain.empty() && options.stopAfter.empty() &&
             options.report == ReportFormat::None;
  report::Json shapes = report::listShapes(*module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (options.shapes == ReportFormat::Json)
    stream << shapes.dump(1) << '\n';
  else
    report::printShapes(shapes, stream);
  return write("-", text);
}

ExitCode Compilation::keepWhole() {
  verification.keepWhole(*module);
  return ExitCode::Success;
}

ExitCode Compilation::comparePartitioned() {
  hasEnded = !isToWrite(options) && options.verify != Verify::Compiled &&
             options.report == ReportFormat::None;
  return verification.comparePartitioned(*module);
}

ExitCode Compilation::compareCompiled() {
  if (options.verify != Verify::Compiled)
    return ExitCode::Success;
  if (ExitCode code = emitCode(); code != ExitCode::Success)
    return code;
  hasEnded = !isToWrite(options);
  return verification.compareCompiled(bytes);
}

ExitCode Compilation::runOne(const Phase &phase) {
  times.begin(phase.name);
  ExitCode code = (this->*phase.run)(phase);
  times.end();
  // A dump has been through this phase and others before.
  bool isDump = phase.name == "parse" && state.phase != "parse";
  if (code != ExitCode::Success || hasEnded || isDump)
    return code;
  if (options.shapes != ReportFormat::None && phase.listShapes)
    if (code = (this->*phase.listShapes)();
        code != ExitCode::Success || hasEnded)
      return code;
  if (!options.explain.empty() && phase.explain)
    if (code = (this->*phase.explain)(); code != ExitCode::Success)
      return code;
  code = afterPhase(phase);
  if (code != ExitCode::Success || hasEnded)
    return code;
  return options.verify != Verify::None && phase.verify
             ? (this->*phase.verify)()
             : code;
}

ExitCode Compilation::runPhases() {
  for (const Phase &phase : getPhases()) {
    bool isDone = phase.name != "parse" &&
                  getPhaseNumber(phase.name) <= getPhaseNumber(state.phase);
    if (isDone)
      continue;
    ExitCode code = runOne(phase);
    if (code != ExitCode::Success || hasEnded)
      return code;
  }
  return ExitCode::Success;
}

ExitCode Compilation::run() {
  if (ExitCode code = chooseTarget(); code != ExitCode::Success)
    return code;
  if (ExitCode code = chooseMachine(); code != ExitCode::Success)
    return code;
  if (!options.depfile.empty() && getOutputPath() == "-")
    return fail(ExitCode::Usage, "'--depfile' needs a file that depends on "
                                 "others; name the output with -o");
  ExitCode code = runPhases();
  if (code == ExitCode::Success && !options.depfile.empty())
    code = writeDepfile();
  if (options.timePhases)
    times.print(llvm::errs());
  return code;
}

ExitCode compile(const CompileOptions &options) {
  exitWhereMemoryEnds();
  // What cannot be told on stderr is in the exit code still.
  llvm::scope_exit clear([] { llvm::errs().clear_error(); });
  if (!options.stopAfter.empty() &&
      getPhaseNumber(options.stopAfter) == getPhases().size())
    return fail(ExitCode::Usage, "there is no phase '" + options.stopAfter +
                                     "'; phases are " + getPhaseNames());
  if (!options.debugOnly.empty())
    if (std::string error = enableDebugOutput(options.debugOnly);
        !error.empty())
      return fail(ExitCode::Usage, "--debug-only: " + error);
  if (options.verifySeed && options.verify == Verify::None)
    return fail(ExitCode::Usage, "'--seed' requires '--verify'");
  if (!options.reportFile.empty() && options.report == ReportFormat::None)
    return fail(ExitCode::Usage, "'--report-file' requires '--report'");
  if (options.emit == Emit::Mlir &&
      (options.verify != Verify::None || !options.stopAfter.empty() ||
       options.report != ReportFormat::None ||
       options.shapes != ReportFormat::None))
    return fail(ExitCode::Usage,
                "'--emit=mlir' ends after the phase 'parse'; leave '--verify', "
                "'--report', '--shapes' and '--stop-after' out");
  if (!options.explain.empty() &&
      (options.emit == Emit::Mlir ||
       (!options.stopAfter.empty() &&
        getPhaseNumber(options.stopAfter) < getPhaseNumber("partition"))))
    return fail(ExitCode::Usage,
                "'--explain' is about the program after the phase 'partition'; "
                "leave '--emit=mlir' and earlier ends out");
  if (options.verify == Verify::Compiled && options.emit != Emit::Executable)
    return fail(ExitCode::Usage, "'--verify' runs the program; leave '--emit' "
                                 "out, or use '--verify=program'");
  if (auto error = codegen::checkProcessor(options.march))
    return fail(ExitCode::Usage, llvm::toString(std::move(error)));
  return Compilation(options).run();
}

} // namespace meshc
