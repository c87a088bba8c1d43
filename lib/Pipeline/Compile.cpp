//===- Compile.cpp - one run of the compiler ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/FunctionPlans.h"
#include "lib/Pipeline/ChoosePartition.h"
#include "lib/Pipeline/ChooseSchedule.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Pipeline/DebugOutput.h"
#include "lib/Pipeline/Memory.h"
#include "lib/Pipeline/OptionRules.h"
#include "lib/Pipeline/RunPhase.h"
#include "lib/Report/Shapes.h"
#include "meshc/EscapeControls.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
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

std::vector<std::string> getMachineNames() {
  std::vector<std::string> names;
  for (const cost::Machine &machine : cost::getPresets())
    names.push_back(machine.name);
  return names;
}

ExitCode fail(ExitCode code, const Twine &message) {
  llvm::errs() << "meshc: error: " + escapeControls(message.str()) + "\n";
  return code;
}

ExitCode failWithLines(ExitCode code, StringRef text) {
  auto [message, details] = text.rtrim().split('\n');
  std::string lines = "meshc: error: " + escapeControls(message) + "\n";
  for (StringRef line : llvm::split(details, '\n'))
    if (!details.empty())
      lines += (line.starts_with(" ") ? "" : "  ") +
               escapeControls(line, "\t") + "\n";
  llvm::errs() << lines;
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

/// The file of --dump-dir. After the phase link there is no program any more,
/// and of --emit=ptx none after codegen.
ExitCode Compilation::dump(const Phase &phase) {
  bool isGenerated = getPhaseNumber(phase.name) >= getPhaseNumber("codegen");
  if (options.dumpDirectory.empty() || phase.name == "link" ||
      (isGenerated && !code))
    return ExitCode::Success;
  if (std::error_code error =
          llvm::sys::fs::create_directories(options.dumpDirectory))
    return fail(ExitCode::Input, "cannot make folder '" +
                                     options.dumpDirectory +
                                     "': " + error.message());
  std::string path = getDumpPath(phase);
  if (llvm::sys::fs::equivalent(path, options.input)) // it is there
    return ExitCode::Success;
  if (ExitCode code = write(path, print()); code != ExitCode::Success)
    return code;
  if (phase.name != "partition" || !plans)
    return ExitCode::Success;
  SmallString<128> beside(path);
  llvm::sys::path::replace_extension(beside, "plan");
  return write(beside, spmd::printPlans(plans));
}

/// Whether --stop-after or --emit=mlir ends the run after the phase, and prints
/// the program.
bool Compilation::isLast(const Phase &phase) const {
  if (options.emit == Emit::Mlir)
    return phase.name == "parse";
  return options.stopAfter == phase.name && phase.name != "link";
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
  return runChosen(
      phase, [this](auto &program, const auto &options, const auto &machine) {
        return partitionProgram(program, options, machine, &plans);
      });
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
             options.explain.empty() && options.report == ReportFormat::None;
  report::Json shapes = report::listShapes(*module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (options.shapes == ReportFormat::Json)
    stream << report::toText(shapes, 1) << '\n';
  else
    report::printShapes(shapes, stream);
  return options.shapes == ReportFormat::Json ? write("-", text)
                                              : printText(text);
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
  if (code = dump(phase); code != ExitCode::Success)
    return code;
  if (options.shapes != ReportFormat::None && phase.listShapes)
    if (code = (this->*phase.listShapes)();
        code != ExitCode::Success || hasEnded)
      return code;
  if (!options.explain.empty() && phase.explain)
    if (code = (this->*phase.explain)(); code != ExitCode::Success)
      return code;
  if (options.verify != Verify::None && phase.verify)
    if (code = (this->*phase.verify)(); code != ExitCode::Success)
      return code;
  if (!isLast(phase))
    return code;
  hasEnded = true;
  return write(getOutputPath(options), print());
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
  if (std::string conflict = findConflict(options); !conflict.empty())
    return fail(ExitCode::Usage, conflict);
  if (auto error = codegen::checkProcessor(options.march))
    return fail(ExitCode::Usage, llvm::toString(std::move(error)));
  return Compilation(options).run();
}

} // namespace meshc
