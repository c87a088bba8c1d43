//===- OptionRules.cpp - which options go together ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/OptionRules.h"
#include "lib/Pipeline/Pipeline.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cassert>

using llvm::StringRef;

namespace meshc {

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// When an option has an effect.
struct OptionRule {
  /// As on the command line; with a value, the row is about that value.
  llvm::StringLiteral option;
  /// The phase that obeys it: a run must not end before.
  llvm::StringLiteral obeyed;
  /// The input may be a dump of this phase or an earlier one. "text": it must
  /// be a .mesh file.
  llvm::StringLiteral lastInput;
  /// An option that it belongs to; may be empty.
  llvm::StringLiteral needs = "";
  /// Whether --calibrate obeys it.
  bool calibrates = false;
};
} // namespace

/// All options but --help and --version, which end the run.
static constexpr OptionRule optionRules[] = {
    {"--mesh", "parse", "text"},
    {"--layout", "parse", "text"},
    {"--set", "parse", "text"},
    {"-I", "parse", "text"},
    {"--unroll", "steps", "collectives"},
    {"--recompute", "steps", "parse"},
    {"--memory-budget", "steps", "parse"},
    {"--memory-bound", "parse", "partition"},
    {"--machine", "parse", "schedule"},
    {"--target=cuda", "parse", "schedule"},
    {"--target", "parse", "schedule"},
    {"--chip", "codegen", "schedule", "--target=cuda"},
    {"--cuda-path", "codegen", "schedule", "--target=cuda"},
    {"--gpu-kernels", "kernels", "schedule"},
    {"--march", "codegen", "codegen", "", true},
    {"--shapes", "parse", "parse"},
    {"--explain", "partition", "layout"},
    {"--verify=program", "collectives", "parse"},
    {"--verify", "codegen", "parse"},
    {"--seed", "parse", "parse", "--verify"},
    {"--report", "codegen", "schedule"},
    {"--report-file", "codegen", "schedule", "--report"},
    {"--emit=mlir", "parse", "schedule"},
    {"--emit=ptx", "link", "schedule", "--target=cuda"},
    {"--emit", "link", "codegen"},
    {"--stop-after", "parse", "codegen"},
    {"--dump-dir", "parse", "codegen"},
    {"--depfile", "parse", "codegen"},
    {"--time-phases", "parse", "codegen"},
    {"--debug-only", "parse", "codegen"},
    {"--calibrate", "parse", "codegen", "", true},
    {"--ranks", "parse", "codegen", "--calibrate", true},
    {"-o", "parse", "codegen", "", true},
};

//===----------------------------------------------------------------------===//
// Given options
//===----------------------------------------------------------------------===//

static std::string getText(const GivenOption &given) {
  return given.name + "=" + given.value;
}

static const OptionRule &getRule(const GivenOption &given) {
  const OptionRule *found =
      llvm::find_if(optionRules, [&](const OptionRule &rule) {
        return rule.option == getText(given) || rule.option == given.name;
      });
  assert(found != std::end(optionRules) && "an option without a rule");
  return *found;
}

/// The option of that name; null if it was not given.
static const GivenOption *findGiven(const CompileOptions &options,
                                    StringRef name) {
  for (const GivenOption &given : options.given)
    if (given.name == name || getText(given) == name)
      return &given;
  return nullptr;
}

/// How messages name an option: with its value where that has a row.
static std::string nameOption(const GivenOption &given) {
  bool hasRow = getRule(given).option != given.name;
  return "'" +
         (hasRow || given.name == "--emit" ? getText(given) : given.name) + "'";
}

bool isToWrite(const CompileOptions &options) {
  return (options.verify == Verify::None && options.explain.empty() &&
          options.shapes == ReportFormat::None) ||
         !options.output.empty() || !options.stopAfter.empty() ||
         findGiven(options, "--emit");
}

//===----------------------------------------------------------------------===//
// The end of the run
//===----------------------------------------------------------------------===//

namespace {
/// Where a run ends.
struct End {
  llvm::StringLiteral phase;
  std::string option; ///< that says so, in quotes; empty: nothing is written
};
} // namespace

static End findEnd(const CompileOptions &options) {
  if (options.emit == Emit::Mlir)
    return {"parse", "'--emit=mlir'"};
  if (!options.stopAfter.empty())
    return {getPhases()[getPhaseNumber(options.stopAfter)].name,
            "'--stop-after=" + options.stopAfter + "'"};
  if (isToWrite(options))
    return {"link", ""};
  if (options.verify == Verify::Compiled ||
      options.report != ReportFormat::None)
    return {"codegen", ""};
  if (options.verify == Verify::Program)
    return {"collectives", ""};
  return {options.explain.empty() ? llvm::StringLiteral("parse")
                                  : llvm::StringLiteral("partition"),
          ""};
}

/// The first option that no phase of the run obeys.
static std::string findUnreached(const CompileOptions &options) {
  End end = findEnd(options);
  for (const GivenOption &given : options.given) {
    StringRef phase = getRule(given).obeyed;
    if (getPhaseNumber(phase) <= getPhaseNumber(end.phase))
      continue;
    std::string text = nameOption(given) + " takes effect in the phase '" +
                       phase.str() + "', and ";
    if (!end.option.empty())
      return text + end.option + " ends before it; leave one of them out";
    return text + "without -o this run ends after the phase '" +
           end.phase.str() + "'; name an output with -o, or leave " +
           nameOption(given) + " out";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

static std::string findMissing(const CompileOptions &options) {
  for (const GivenOption &given : options.given) {
    StringRef needs = getRule(given).needs;
    if (!needs.empty() && !findGiven(options, needs))
      return nameOption(given) + " requires '" + needs.str() + "'";
  }
  return "";
}

static std::string findCalibrated(const CompileOptions &options) {
  if (!findGiven(options, "--calibrate"))
    return "";
  for (const GivenOption &given : options.given)
    if (!getRule(given).calibrates)
      return "'--calibrate' compiles models of its own; leave " +
             nameOption(given) + " out";
  return "";
}

/// Options of which each would undo the other.
static std::string findContradiction(const CompileOptions &options) {
  if (options.emit == Emit::Mlir && !options.stopAfter.empty())
    return "'--emit=mlir' ends after the phase 'parse'; leave '--stop-after' "
           "out";
  if (options.emit == Emit::Ptx && findGiven(options, "--march"))
    return "'--emit=ptx' writes no code for the CPU of '--march'; leave one of "
           "them out";
  if (options.verify == Verify::Compiled && options.emit != Emit::Executable)
    return "'--verify' runs the program; leave '--emit' out, or use "
           "'--verify=program'";
  if (options.verify == Verify::Compiled && options.target == Target::Cuda)
    for (const char *option :
         {"-o", "--emit", "--chip", "--cuda-path", "--report"})
      if (const GivenOption *given = findGiven(options, option))
        return "--verify emulates the kernels of a GPU on the host and writes "
               "no program or report for it; leave " +
               (given->name == "-o" ? "-o" : nameOption(*given)) + " out";
  if (options.emulateGpu)
    for (const char *option : {"--chip", "--cuda-path", "--emit=ptx"})
      if (const GivenOption *given = findGiven(options, option))
        return "emulated kernels are code of the host; leave " +
               nameOption(*given) + " out";
  return "";
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

std::string getStem(const CompileOptions &options) {
  return options.input == "-" ? "a"
                              : llvm::sys::path::stem(options.input).str();
}

std::string getOutputPath(const CompileOptions &options) {
  bool isText = !options.stopAfter.empty() && options.stopAfter != "link";
  if (!options.output.empty())
    return options.output;
  if (isText)
    return "-";
  if (options.emit == Emit::Object)
    return getStem(options) + ".o";
  if (options.emit != Emit::Executable)
    return "-";
  return llvm::sys::path::has_extension(options.input) ? getStem(options)
                                                       : "a.out";
}

std::string getReportPath(const CompileOptions &options) {
  if (!options.reportFile.empty())
    return options.reportFile;
  return options.report == ReportFormat::Html ? getStem(options) + ".html"
                                              : "-";
}

namespace {
/// Something that a run writes.
struct Output {
  std::string path;
  std::string what;         ///< for messages
  std::string remedy;       ///< the option that gives it another place
  bool isForPeople = false; ///< others may be printed after it
};
} // namespace

static llvm::SmallVector<Output> listOutputs(const CompileOptions &options) {
  llvm::SmallVector<Output> outputs;
  if (options.shapes != ReportFormat::None)
    outputs.push_back({"-", "what '--shapes' prints", "",
                       options.shapes == ReportFormat::Text});
  if (!options.explain.empty())
    outputs.push_back({"-", "what '--explain' prints", "", true});
  if (options.verify != Verify::None)
    outputs.push_back({"-", "what '--verify' prints", "", true});
  if (options.report != ReportFormat::None)
    outputs.push_back({getReportPath(options), "what '--report' prints",
                       "--report-file", options.report == ReportFormat::Text});
  if (isToWrite(options))
    outputs.push_back({getOutputPath(options),
                       !options.stopAfter.empty() ? "what '--stop-after' prints"
                       : findGiven(options, "--emit") ? "what '--emit' writes"
                                                      : "the program",
                       "-o"});
  if (!options.depfile.empty())
    outputs.push_back(
        {options.depfile, "the rule of '--depfile'", "--depfile"});
  return outputs;
}

static bool isSameFile(StringRef a, StringRef b) {
  llvm::SmallString<128> paths[] = {a, b};
  for (auto &path : paths) {
    if (llvm::sys::fs::make_absolute(path))
      return a == b;
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/false);
  }
  return paths[0] == paths[1] || llvm::sys::fs::equivalent(a, b);
}

/// Whether something would be lost, or be no longer what its readers expect.
static bool collide(const Output &a, const Output &b) {
  bool areStandard = a.path == "-" && b.path == "-";
  if (areStandard || a.path == "-" || b.path == "-")
    return areStandard && !(a.isForPeople && b.isForPeople);
  // Whatever is written into a device stays in order.
  return isSameFile(a.path, b.path) && (!llvm::sys::fs::exists(a.path) ||
                                        llvm::sys::fs::is_regular_file(a.path));
}

static std::string findCollision(const CompileOptions &options) {
  llvm::SmallVector<Output> outputs = listOutputs(options);
  for (size_t i = 0; i < outputs.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Output &a = outputs[j], &b = outputs[i];
      if (!collide(a, b))
        continue;
      std::string place =
          a.path == "-" ? "standard output" : "'" + a.path + "'";
      const Output &moved = b.remedy.empty() ? a : b;
      return a.what + " and " + b.what + " would both be written to " + place +
             (moved.remedy.empty() ? "; leave one of them out"
                                   : "; name a file for one of them with '" +
                                         moved.remedy + "'");
    }
  return "";
}

/// --depfile is about a file that make knows.
static std::string findUnnamed(const CompileOptions &options) {
  bool isFile = isToWrite(options) && getOutputPath(options) != "-";
  if (!options.depfile.empty() && !isFile)
    return "'--depfile' needs a file that depends on others; name the output "
           "with -o";
  bool isProgram = options.emit == Emit::Executable &&
                   (options.stopAfter.empty() || options.stopAfter == "link");
  if (options.output == "-" && isProgram && !options.calibrate)
    return "'-o -' is standard output, and a program is a file; give its name, "
           "or the text to print with '--emit'";
  return "";
}

std::string findConflict(const CompileOptions &options) {
  for (auto find : {findCalibrated, findMissing, findContradiction,
                    findUnreached, findUnnamed, findCollision})
    if (std::string text = find(options); !text.empty())
      return text;
  return "";
}

//===----------------------------------------------------------------------===//
// Dumps
//===----------------------------------------------------------------------===//

std::string findLateOption(const CompileOptions &options, StringRef phase,
                           bool isText) {
  size_t done = getPhaseNumber(phase);
  std::string input = "'" + options.input + "'";
  for (const GivenOption &given : options.given) {
    StringRef last = getRule(given).lastInput;
    if (last == "text" && !isText)
      return nameOption(given) + " needs a .mesh model; " +
             (phase == "codegen"   ? input + " is generated code"
              : given.name == "-I" ? input + " imports nothing"
                                   : "edit nd.mesh, nd.rule and the sizes "
                                     "in " +
                                         input);
    if (last == "text" || done <= getPhaseNumber(last))
      continue;
    return nameOption(given) + " needs the model or a dump up to phase '" +
           last.str() + "'; " + input +
           (phase == "codegen"
                ? " is generated code"
                : " is a dump after phase '" + phase.str() + "'");
  }
  End end = findEnd(options);
  if (done > 0 && getPhaseNumber(end.phase) <= done)
    return end.option + " ends after the phase '" + end.phase.str() + "'; " +
           input + " is a dump after phase '" + phase.str() + "'";
  return "";
}

} // namespace meshc
