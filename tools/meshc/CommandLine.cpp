//===- CommandLine.cpp - meshc's options ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/meshc/CommandLine.h"
#include "lib/Frontend/Syntax/Spelling.h"
#include "meshc/EscapeControls.h"
#include "runtime/Base/ByteCount.h"
#include "runtime/Base/Failure.h"
#include "runtime/Commands/Completion.h"
#include "runtime/Commands/HelpText.h"
#include "runtime/Commands/OptionErrors.h"
#include "tools/meshc/Completion.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

namespace meshc {

using steps::Recompute;

static ExitCode failUsage(std::string message) {
  message = escapeControls(message);
  if (message.size() > 1 && std::islower(message[1]))
    message[0] = static_cast<char>(std::tolower(message[0]));
  std::cerr << "meshc: error: " + message + "; see 'meshc --help'\n";
  return ExitCode::Usage;
}

/// The texts of --help and --version.
static ExitCode print(const std::string &text) {
  if (std::cout << text << std::flush)
    return ExitCode::Success;
  std::cerr << std::string("meshc: error: cannot write standard output: ") +
                   std::strerror(errno) + "\n";
  return ExitCode::Input;
}

static uint64_t parseSeed(const std::string &text) {
  bool isWhole = !text.empty() &&
                 text.find_first_not_of("0123456789") == std::string::npos;
  errno = 0;
  uint64_t value = isWhole ? std::strtoull(text.c_str(), nullptr, 10) : 0;
  if (!isWhole || errno == ERANGE)
    throw CLI::ValidationError("'--seed' is '" + text +
                               "'; expected a whole number from 0 to " +
                               std::to_string(UINT64_MAX));
  return value;
}

static int64_t parseBytes(const std::string &option, const std::string &text) {
  std::optional<int64_t> bytes = runtime::parseByteCount(text);
  if (!bytes)
    throw CLI::ValidationError("'" + option + "' is '" + text + "'; expected " +
                               runtime::byteCountForm);
  return *bytes;
}

/// Fails if a value is none of these.
static CLI::Validator isOneOf(std::vector<std::string> values) {
  std::string list, description;
  for (const std::string &value : values) {
    list += (list.empty() ? "'" : ", '") + value + "'";
    description += (description.empty() ? "{" : ",") + value;
  }
  return CLI::Validator(
      [=](std::string &value) {
        if (std::find(values.begin(), values.end(), value) != values.end())
          return std::string();
        return "got '" + value + "', expected one of " + list;
      },
      description + "}");
}

/// The names of an option's values.
template <typename Value>
using Choices = std::vector<std::pair<std::string, Value>>;

template <typename Value>
static std::vector<std::string> getNames(const Choices<Value> &choices) {
  std::vector<std::string> names;
  for (const auto &choice : choices)
    names.push_back(choice.first);
  return names;
}

/// Whether the option has a value that is not empty.
static CLI::Validator isNotEmpty(const std::string &expected) {
  return CLI::Validator(
      [=](std::string &value) {
        return value.empty() ? "got '', expected " + expected : std::string();
      },
      "");
}

/// A callback that sets `target` to the value of a name, which isOneOf has
/// checked.
template <typename Value, typename Target>
static std::function<void(const std::string &)> choose(Choices<Value> choices,
                                                       Target &target) {
  return [choices = std::move(choices), &target](const std::string &name) {
    for (const auto &choice : choices)
      if (choice.first == name)
        target = choice.second;
  };
}

/// What is wrong with arguments that no option took; empty if all were taken.
static std::string describeExtras(const CLI::App &app) {
  std::vector<std::string> extras = app.remaining();
  if (extras.empty())
    return "";
  auto option =
      std::find_if(extras.begin(), extras.end(), [](const std::string &text) {
        return text.size() > 1 && text[0] == '-';
      });
  // "--report html m.mesh": such an option takes its value after '=' alone, so
  // that it does not take the model for one.
  const std::string input = app.get_option("input")->as<std::string>();
  for (auto [flag, values] :
       {std::pair("--report", std::vector<std::string>{"text", "json", "html"}),
        std::pair("--verify", std::vector<std::string>{"program", "compiled"})})
    if (option == extras.end() && app.count(flag) &&
        std::find(values.begin(), values.end(), input) != values.end())
      return "'" + input + "' stands where the model does; write '" + flag +
             "=" + input + "'";
  if (option == extras.end())
    return "'" + extras.front() + "' is one file too many; meshc compiles one";
  std::string name = option->substr(0, option->find('='));
  std::vector<std::string> names;
  for (const CLI::Option *known : app.get_options())
    if (!known->get_lnames().empty() && !known->get_group().empty())
      names.push_back("--" + known->get_lnames().front());
  return "unknown option '" + name + "'" +
         syntax::didYouMean(name, {names.begin(), names.end()});
}

/// Options for input and output files.
static void addFiles(CLI::App &app, CompileOptions &options) {
  app.add_option("input", options.input,
                 "the model: a .mesh file, a .mlir file, or - for .mesh text "
                 "on standard input; or a dump of a phase, to go on from");
  app.add_option("-o", options.output,
                 "file to write (default: the input's name without ending; "
                 "standard output for text)");
  app.add_option("--depfile", options.depfile,
                 "file to write with a rule for make: the output depends on "
                 "the model and the files that it imports");
  app.add_option("--mesh", options.mesh,
                 "mesh axes instead of the text's, as in data=2,tensor=4");
  app.add_option("--layout", options.layout,
                 "layout rules instead of the text's, as in "
                 "batch:data,ffn:tensor");
  app.add_option("--set", options.set,
                 "size of a dim or value of a constant, as in batch=64")
      ->allow_extra_args(false);
  app.add_option("-I", options.moduleFolders,
                 "folder in which 'import NAME' looks for NAME.mesh before "
                 "it looks among the modules of meshc")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  app.add_flag("--unroll", options.unrollLoops,
               "replace each loop by its iterations before anything else (one "
               "with 'while' once gradients are derived, and one over the "
               "positions of 'generate' once generation is derived from it); "
               "the results are the same");
  Choices<Recompute> policies = {{"none", Recompute::None},
                                 {"cheap", Recompute::Cheap},
                                 {"full", Recompute::Full}};
  app.add_option_function<std::string>(
         "--recompute", choose(policies, options.recompute),
         "what the gradients of loops compute again instead of storing it: "
         "nothing, what a few pointwise ops give, or all but carried values; "
         "outside of loops, full computes again what is cheap and makes the "
         "arena smaller")
      ->check(isOneOf(getNames(policies)))
      ->default_str("cheap");
  Choices<Emit> emits = {{"mlir", Emit::Mlir},  {"llvm", Emit::Llvm},
                         {"asm", Emit::Asm},    {"ptx", Emit::Ptx},
                         {"obj", Emit::Object}, {"exe", Emit::Executable}};
  app.add_option_function<std::string>("--emit", choose(emits, options.emit),
                                       "what to write")
      ->check(isOneOf(getNames(emits)))
      ->default_str("exe");
  app.add_option("--stop-after", options.stopAfter,
                 "print the program after this phase");
  app.add_option("--dump-dir", options.dumpDirectory,
                 "write the program after each phase into this folder; meshc "
                 "goes on from each of these files");
  app.add_option("--march", options.march,
                 "CPU to generate code for, as in x86-64-v3")
      ->capture_default_str();
}

/// Options for the memory of a rank.
static void addMemory(CLI::App &app, CompileOptions &options) {
  app.add_option_function<std::string>(
         "--memory-budget",
         [&](const std::string &text) {
           options.memoryBudget = parseBytes("--memory-budget", text);
         },
         "bytes that the arena of a rank may take, as in 800M or 1.5G (powers "
         "of 1000): chooses --recompute so that it fits, or ends with an error "
         "that names the "
         "largest tensors. Loops may use the room that is left for copies, "
         "where they shorten the step")
      ->type_name("BYTES");
  app.add_option_function<std::string>(
         "--memory-bound",
         [&](const std::string &text) {
           options.memoryBound = parseBytes("--memory-bound", text);
         },
         "bytes that a rank may use to reshard a tensor, as in 800M: the input "
         "and the output of each collective on the way together; if no "
         "sequence of collectives fits, meshc takes the one that needs the "
         "least (default: twice the larger block)")
      ->type_name("BYTES");
}

/// Options for the target.
static void addTargets(CLI::App &app, CompileOptions &options) {
  Choices<Target> targets = {{"host", Target::Host}, {"cuda", Target::Cuda}};
  app.add_option_function<std::string>(
         "--target", choose(targets, options.target),
         "what the program computes on: host, or cuda for NVIDIA GPUs")
      ->check(isOneOf(getNames(targets)))
      ->default_str("host");
  app.add_option(
         "--chip", options.chips,
         "GPUs to make machine code for, as in sm_90,sm_100; newer ones "
         "run the PTX of the oldest (default: sm_90)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--cuda-path", options.cudaPath,
                 "folder of the CUDA toolkit (default: CUDA_HOME, "
                 "/usr/local/cuda, or where PATH has ptxas)");
  // For tests, not in the help.
  app.add_option("--gpu-kernels", "emulated: kernels of GPUs, on the host")
      ->check(isOneOf({"emulated"}))
      ->each([&](const std::string &) { options.emulateGpu = true; })
      ->group("");
}

/// Options for the machine whose times are predicted.
static void addMachines(CLI::App &app, CompileOptions &options) {
  app.add_option(
         "--machine", options.machine,
         "machine to compile for, whose times --report and the "
         "program's --trace predict: host, h100 (nodes of 8), h100-ib "
         "(the same over InfiniBand), or a JSON file (default: host, or "
         "h100 with --target=cuda)")
      ->check(isNotEmpty("the name of a machine or of a file"))
      ->type_name("NAME|FILE");
  app.add_flag("--calibrate", options.calibrate,
               "measure the processors and the memory of this host, and write "
               "a file for --machine to -o; takes no model");
  app.add_option("--ranks", options.ranks,
                 "ranks of one thread each that --calibrate runs")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->capture_default_str();
}

/// --shapes, a flag like --report.
static void addShapes(CLI::App &app, CompileOptions &options) {
  const std::string shapes =
      "list the model's values with their dims, sizes, bytes and lines; "
      "--shapes=json: for programs; writes no program without -o";
  Choices<ReportFormat> lists = {{"text", ReportFormat::Text},
                                 {"json", ReportFormat::Json}};
  app.add_flag("--shapes{text}", shapes)
      ->check(isOneOf(getNames(lists)))
      ->each(choose(lists, options.shapes))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

/// Options for reports about the program.
static void addReports(CLI::App &app, CompileOptions &options) {
  // A flag, so that it does not take the model's name for its value.
  Choices<ReportFormat> formats = {{"text", ReportFormat::Text},
                                   {"json", ReportFormat::Json},
                                   {"html", ReportFormat::Html}};
  const std::string report =
      "print collectives, bytes, memory and predicted times; "
      "--report=json: for programs; "
      "--report=html: as a page for browsers";
  app.add_flag("--report", report)
      ->transform([](std::string value) {
        return value == "true" ? std::string("text") : value;
      })
      ->check(isOneOf(getNames(formats)))
      ->each(choose(formats, options.report))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--report-file", options.reportFile,
                 "file for --report (default: standard output; for "
                 "--report=html the input's name with .html)");
  app.add_option_function<std::string>(
         "--explain",
         [&](const std::string &text) {
           if (text.empty())
             throw CLI::ValidationError("'--explain' is empty; expected the "
                                        "name of a value or a line's number");
           options.explain = text;
         },
         "print why a value lies as it does: which rules or ops decide, which "
         "collectives move it for whom, and what other rules would cost; of a "
         "line, its values; writes no program without -o")
      ->type_name("NAME|LINE");
  app.add_flag("--time-phases", options.timePhases,
               "print how long each phase took, on standard error");
  app.add_option("--debug-only", options.debugOnly,
                 "print the decisions of these passes, as in "
                 "meshc-plan-arena, on standard error (debug builds only)")
      ->delimiter(',')
      ->allow_extra_args(false);
  Choices<Verify> modes = {{"program", Verify::Program},
                           {"compiled", Verify::Compiled}};
  const std::string verify =
      "run the partitioned program on virtual ranks, and the compiled one, on "
      "random inputs, and compare both with one device; --verify=program: the "
      "partitioned one only";
  app.add_flag("--verify{compiled}", verify)
      ->check(isOneOf(getNames(modes)))
      ->each(choose(modes, options.verify))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option_function<std::string>(
         "--seed",
         [&](const std::string &text) { options.verifySeed = parseSeed(text); },
         "seed of --verify")
      ->type_name("N")
      ->default_str("0");
}

/// The options that were given, which lib/Pipeline/OptionRules.h judges.
static std::vector<GivenOption> listGiven(const CLI::App &app) {
  std::vector<GivenOption> given;
  for (const CLI::Option *option : app.get_options()) {
    bool isInput = option->get_lnames().empty() && option->get_snames().empty();
    if (option->count() == 0 || isInput)
      continue;
    std::string name = option->get_lnames().empty()
                           ? "-" + option->get_snames().front()
                           : "--" + option->get_lnames().front();
    const std::vector<std::string> &values = option->results();
    given.push_back({name, values.empty() ? "" : values.back()});
  }
  return given;
}

static const char *const footer =
    "Examples:\n"
    "  meshc gpt.mesh -o gpt          compile for the mesh that the text "
    "names\n"
    "  mpirun -n 4 ./gpt train --data corpus.txt --checkpoint gpt.safetensors\n"
    "  meshc gpt.mesh --mesh data=4 --layout batch:data --report -o wide\n"
    "  meshc gpt.mesh --explain hidden      why 'hidden' lies as it does\n"
    "  meshc gpt.mesh --verify              compare it with one device\n"
    "  source <(meshc --completion bash)    Tab completes options, dims, axes\n"
    "\n";

static void addFooter(CLI::App &app) {
  app.footer(footer + ("Phases: " + getPhaseNames()) +
             ".\n\nExit codes: 0 success, 1 defect of meshc, 2 usage, 3 error "
             "in the input or an output that cannot be written, 4 too little "
             "memory, 8 --verify found a difference.");
}

/// Options that end the run; CLI11 and the completion see to their effect.
static void addEnds(CLI::App &app) {
  app.set_version_flag("--version", "meshc " MESHC_VERSION);
  app.add_option("--completion",
                 "print a script that completes command lines of meshc")
      ->check(isOneOf({"bash", "zsh", "fish"}));
}

std::optional<ExitCode> parseCommandLine(int argc, char **argv,
                                         CompileOptions &options) {
  options.tool = argv[0];
  CLI::App app{"meshc compiles a model whose tensor dims have names, and a "
               "layout that maps them onto a device mesh, into one program."};
  app.formatter(std::make_shared<runtime::HelpText>(30));
  addFooter(app);
  addEnds(app);
  addFiles(app, options);
  addMemory(app, options);
  addTargets(app, options);
  addShapes(app, options);
  addReports(app, options);
  addMachines(app, options);
  try {
    if (auto text =
            runtime::answerCompletion(app, argc, argv, listOptionValues))
      return print(*text);
    app.parse(argc, argv);
  } catch (const runtime::Failure &failure) {
    return failUsage(failure.what());
  } catch (const CLI::ParseError &error) {
    std::ostringstream out, err;
    if (app.exit(error, out, err) == 0)
      return print(out.str());
    std::string message = describeExtras(app);
    if (message.empty())
      message = runtime::rephrase(app, error.what());
    return failUsage(message.empty() ? error.what() : message);
  }
  if (options.input.empty() && !options.calibrate)
    return failUsage("input is required");
  if (app.count("--completion") > 0)
    return failUsage("'--completion' prints a script; leave all else out");
  options.given = listGiven(app);
  return std::nullopt;
}

} // namespace meshc
