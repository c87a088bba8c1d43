//===- Options.cpp - the command line of a compiled program ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Options.h"

#include "runtime/Base/ByteCount.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Base/Version.h"
#include "runtime/Commands/Completion.h"
#include "runtime/Commands/HelpText.h"
#include "runtime/Commands/OptionErrors.h"
#include "runtime/Commands/OptionExamples.h"
#include "runtime/Commands/OptionParts.h"
#include "runtime/Commands/Report.h"
#include "runtime/Commands/RunSettings.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

using namespace meshc::runtime;

/// Limit on the steps of a run, so that example counts still fit 64 bits.
static constexpr uint64_t mostSteps = 1'000'000'000'000'000;
static constexpr double mostEpochs = 1e9;
static constexpr uint64_t mostStride = 1'000'000'000;

static const char *const dataHelp =
    "NAME=FILE: examples for the input NAME from an IDX or NPY file. FILE "
    "alone: a corpus for all i32 inputs, of the tokens that 'meshc-tokens "
    "encode' or llm.c wrote, or else of bytes; an example is a window of it. "
    "NAME=@segments, @positions, @mask: the documents in the window, for the "
    "input NAME. Files may be gzipped. Repeatable";

/// The options of how corpora are read.
static void addCorpus(CLI::App &app, Options &options,
                      const std::string &usual) {
  app.add_option_function<std::string>(
         "--token-type",
         [&options](const std::string &text) {
           if (text != "u8" && text != "u16" && text != "i32")
             throw valueFailure("--token-type", text, "'u8', 'u16' or 'i32'");
           options.tokenType = text == "u8"    ? FileType::U8
                               : text == "u16" ? FileType::U16
                                               : FileType::I32;
         },
         "The tokens of a corpus without a header: u8 (default), u16 or i32, "
         "little-endian")
      ->type_name("TYPE");
  addWhole(app, "--window-stride", options.windowStride, 1, mostStride,
           "Tokens from one window of the corpus to the next (default: " +
               usual + ")");
  app.add_flag("--within-documents", options.withinDocuments,
               "Take windows from single documents of a corpus only: none "
               "crosses from one into the next");
}

/// Parses the starting point of a training run.
static void addBeginning(CLI::App &app, Options &options,
                         MayDiffer &mayDiffer) {
  CLI::Option *resume =
      app.add_option_function<std::vector<std::string>>(
             "--resume",
             [&options](const std::vector<std::string> &values) {
               options.resume = true;
               options.resumeAuto = values == std::vector<std::string>{"auto"};
               if (!values.empty() && !options.resumeAuto)
                 options.resumeFrom = values.front();
             },
             "Go on from this checkpoint (default: that of --checkpoint), or "
             "from "
             "its newest generation that is intact; 'auto': from that of "
             "--checkpoint, and from the beginning where there is none")
          ->type_name("[FILE]")
          ->expected(0, 1);
  mayDiffer.inValue(resume);
  CLI::Option *weights = mayDiffer.inValue(
      app.add_option("--weights", options.weights,
                     "Begin from the parameters of this file, which may be "
                     "another tool's: safetensors, an index (.json) of such "
                     "files, or llama2.c's"));
  addWeightsMap(app, options, mayDiffer)->needs(weights);
}

/// Parses what a training run writes. Returns the option of the file.
static CLI::Option *addCheckpoint(CLI::App &app, Options &options,
                                  MayDiffer &mayDiffer) {
  CLI::Option *checkpoint = mayDiffer.inValue(app.add_option(
      "--checkpoint", options.checkpoint,
      "Write a checkpoint (safetensors) to this file at the end"));
  addWhole(app, "--save-every", options.saveEvery, 1, mostSteps,
           "Write it also every so many steps")
      ->needs(checkpoint);
  addWhole(app, "--keep", options.keep, 1, 1000,
           "Keep so many checkpoints: FILE, FILE.1 (the one before), FILE.2 … "
           "(default: 1)")
      ->needs(checkpoint);
  app.add_option_function<std::string>(
         "--save",
         [&options](const std::string &text) {
           if (text != "sync" && text != "background")
             throw valueFailure("--save", text, "'background' or 'sync'");
           options.saveSync = text == "sync";
         },
         "How --save-every writes: 'background' (default): steps go on, with a "
         "copy of the state in memory; 'sync': steps wait")
      ->type_name("WAY")
      ->needs(checkpoint);
  app.add_flag("--overwrite", options.overwrite,
               "Replace a checkpoint of more steps that another run wrote, and "
               "files of --log and --trace that hold something else");
  return checkpoint;
}

static void addLength(CLI::App &app, Options &options) {
  auto *steps = addWhole(app, "--steps", options.steps, 0, mostSteps,
                         "Train until this many steps are done, in all");
  app.add_option_function<std::string>(
         "--epochs",
         [&options](const std::string &text) {
           options.epochs = parsePositive("--epochs", text, mostEpochs,
                                          "a number above 0, at most 1e9");
         },
         "Train until every example was seen this many times (default: 1)")
      ->type_name("NUMBER")
      ->excludes(steps);
}

/// Files that people look at: metrics and a trace.
static void addRecords(CLI::App &app, Options &options, MayDiffer &mayDiffer) {
  mayDiffer.inValue(
      app.add_option(
             "--tensorboard", options.tensorboard,
             "Write metrics as event files for TensorBoard to this folder")
          ->type_name("DIR"));
  auto *trace = mayDiffer.inValue(app.add_option(
      "--trace", options.trace,
      "Write to this file what some steps after the first ten spend their time "
      "on (Trace Event JSON, for Perfetto), and print a table of it at the "
      "end"));
  addWhole(app, "--trace-steps", options.traceSteps, 1, 1000,
           "Trace so many steps (default: 5)")
      ->needs(trace);
}

/// Parses what evaluations decide.
static void addBest(CLI::App &app, Options &options, CLI::Option *checkpoint,
                    CLI::Option *evalData) {
  CLI::Option *best =
      app.add_option_function<std::string>(
             "--keep-best",
             [&options](const std::string &text) {
               const size_t colon = text.find(':');
               options.bestMetric = text.substr(0, colon);
               const std::string way =
                   colon == std::string::npos ? "min" : text.substr(colon + 1);
               if (options.bestMetric.empty() || (way != "min" && way != "max"))
                 throw valueFailure("--keep-best", text,
                                    "a metric, such as 'loss', or one whose "
                                    "largest value is best, such as "
                                    "'accuracy:max'");
               options.bestIsLargest = way == "max";
             },
             "Keep the checkpoint of the best evaluation as FILE.best: the one "
             "with the lowest METRIC; if higher is better, as for an accuracy, "
             "write METRIC:max")
          ->type_name("METRIC")
          ->needs(checkpoint)
          ->needs(evalData);
  CLI::Option *stop =
      addWhole(app, "--stop-after", options.stopAfter, 1, 1'000'000,
               "End the training after so many evaluations in a row without an "
               "improvement")
          ->needs(best);
  app.add_option_function<std::string>(
         "--least-improvement",
         [&options](const std::string &text) {
           options.leastImprovement =
               parsePositive("--least-improvement", text, 1e300,
                             "a number above 0, at most 1e300");
         },
         "What counts as an improvement for --stop-after (default: any)")
      ->type_name("NUMBER")
      ->needs(stop);
}

static void addSettings(CLI::App &app, const MeshcProgram &program,
                        Options &options) {
  app.add_option_function<std::vector<std::string>>(
         "--set-setting",
         [&program, &options](const std::vector<std::string> &texts) {
           options.settings = parseSettings(program, texts);
         },
         "Another value for a setting that 'train' gives as a number in the "
         "model's text, such as lr=3e-4; 'info' lists them. Checkpoints record "
         "it; lr=default returns to the program's value")
      ->type_name("NAME=VALUE")
      ->delimiter(',');
}

static void addTrain(CLI::App &app, const MeshcProgram &program,
                     Options &options, MayDiffer &mayDiffer) {
  mayDiffer.inValue(
      app.add_option("--data", options.data, dataHelp)->required());
  addCorpus(app, options, "1");
  addLength(app, options);
  addWhole(app, "--seed", options.seed, 0, UINT64_MAX,
           "Seed of the initial values, of the order of examples and of all "
           "random numbers (default: 0)");
  addSettings(app, program, options);
  app.add_flag("--no-shuffle", options.noShuffle,
               "Take the examples in the order of the files in every epoch");
  CLI::Option *checkpoint = addCheckpoint(app, options, mayDiffer);
  auto *holdBatch = app.add_flag(
      "--hold-batch", options.holdBatch,
      "On a GPU: read no batches but the first two, which stay there; times "
      "steps without their input");
  auto *evalData = mayDiffer.inValue(app.add_option(
      "--eval-data", options.evalData,
      "As --data: evaluate on these examples, at the end and as --eval-every "
      "says"));
  addWhole(app, "--eval-window-stride", options.evalWindowStride, 1, mostStride,
           "As --window-stride, for --eval-data (default: as many as a "
           "window has targets)")
      ->needs(evalData);
  holdBatch->excludes(evalData)->excludes(checkpoint);
  addBest(app, options, checkpoint, evalData);
  addBeginning(app, options, mayDiffer);
  addWhole(app, "--eval-every", options.evalEvery, 1, mostSteps,
           "Evaluate also every so many steps")
      ->needs(evalData);
  mayDiffer.freely(
      addWhole(app, "--log-every", options.logEvery, 1, mostSteps,
               "Log every so many steps (default: each in the --log and "
               "--tensorboard files)"));
  app.add_option_function<std::string>(
         "--on-nonfinite",
         [&options](const std::string &text) {
           if (text != "stop" && text != "skip")
             throw valueFailure("--on-nonfinite", text, "'stop' or 'skip'");
           options.skipNonFinite = text == "skip";
         },
         "Where the loss or a parameter is not finite: stop (default), or skip "
         "the update of that step, for which a copy of parameters and "
         "optimizer state is kept")
      ->type_name("WHAT");
  addParameterValues(
      app, options,
      "What evaluations use, and the run begins from in a checkpoint given "
      "as --weights: 'average': the averages of the parameters over the steps; "
      "'last': the parameters. Default: averages if there are some");
  addRecords(app, options, mayDiffer);
  addRunOptions(app, options, mayDiffer);
}

static void addEval(CLI::App &app, const MeshcProgram &program,
                    Options &options, MayDiffer &mayDiffer) {
  mayDiffer.inValue(
      app.add_option("--data", options.data, dataHelp)->required());
  addCorpus(app, options, "as many as a window has targets");
  addParameters(app, program, options, mayDiffer);
  addRunOptions(app, options, mayDiffer);
  addOverwrite(app, options, mayDiffer);
}

/// At least one byte.
static int64_t parseBytes(const std::string &option, const std::string &text) {
  const std::optional<int64_t> bytes = parseByteCount(text);
  if (!bytes)
    throw valueFailure(option, text, byteCountForm);
  if (*bytes < 1)
    throw valueFailure(option, text, "1 byte or more");
  return *bytes;
}

static void addExport(CLI::App &app, Options &options, MayDiffer &mayDiffer) {
  app.add_option("--checkpoint", options.checkpoint,
                 "The parameters, as train wrote them")
      ->required();
  app.add_option("--to", options.to,
                 "Write them to this file, of the format safetensors, without "
                 "the optimizer's state, such as model.safetensors")
      ->required();
  addWeightsMap(app, options, mayDiffer);
  addParameterValues(app, options, storedParametersHelp);
  app.add_flag("--overwrite", options.overwrite,
               "Replace also files that no export wrote");
  app.add_option_function<std::string>(
         "--shard-size",
         [&options](const std::string &text) {
           options.shardBytes = parseBytes("--shard-size", text);
         },
         "Write files of at most so many bytes of tensors, such as 5G, and "
         "their index FILE.index.json")
      ->type_name("BYTES");
}

/// A resume without a file needs to know the checkpoint, and does not start
/// from other weights.
static void checkTogether(const Options &options) {
  if (options.resume && !options.resumeAuto && !options.weights.empty())
    throw Failure(ExitCode::Usage,
                  "'--weights' begins a run and '--resume' goes on with one; "
                  "give one of them, or '--resume=auto'");
  if (options.resume && options.resumeFrom.empty() &&
      options.checkpoint.empty())
    throw Failure(
        ExitCode::Usage,
        "'--resume' names no file, and there is no '--checkpoint' either");
}

/// An empty value, as of a variable that a script has not set, is no name of a
/// file, and not the default either. A prompt may be empty, and an option that
/// needs no value has an empty one.
static void checkValues(const CLI::App &command) {
  for (const CLI::Option *option : command.get_options())
    if (option->count() > 0 && option->get_expected_min() > 0 &&
        !option->check_lname("prompt"))
      for (const std::string &value : option->results())
        if (value.empty())
          throw Failure(ExitCode::Usage, "the value of '" + option->get_name() +
                                             "' is empty; give one, or leave "
                                             "the option out");
}

CorpusOptions meshc::runtime::dataCorpus(const Options &options) {
  const int64_t usual = options.command == Command::Train ? 1 : 0;
  return {options.tokenType, options.windowStride.value_or(usual),
          options.withinDocuments, "--data"};
}

CorpusOptions meshc::runtime::evalCorpus(const Options &options) {
  return {options.tokenType, options.evalWindowStride.value_or(0),
          options.withinDocuments, "--eval-data"};
}

/// The commands and their parsers. The help of a program names those that it
/// has.
using Commands = std::vector<std::pair<Command, CLI::App *>>;

static Commands addCommands(CLI::App &app, const MeshcProgram &program,
                            Options &options, MayDiffer &mayDiffer) {
  CLI::App *train = app.add_subcommand("train", "Train the model");
  CLI::App *eval = app.add_subcommand(
      "eval", "Print the metrics over all examples of data files");
  CLI::App *generate =
      app.add_subcommand("generate", "Go on with a text, token by token");
  CLI::App *exporting = app.add_subcommand(
      "export", "Write a checkpoint's parameters for other tools");
  CLI::App *info =
      app.add_subcommand("info", "Print mesh, tensors, memory and collectives");
  addTrain(*train, program, options, mayDiffer);
  addEval(*eval, program, options, mayDiffer);
  addGenerate(*generate, program, options, mayDiffer);
  addExport(*exporting, options, mayDiffer);
  CLI::Option *json =
      info->add_flag("--json", options.json, "Print the compiler's report");
  info->add_option("--checkpoint", options.checkpoint,
                   "Print also how far the run is that wrote this checkpoint, "
                   "and its best evaluation")
      ->excludes(json);
  Commands commands{{Command::Train, train},
                    {Command::Eval, eval},
                    {Command::Generate, generate},
                    {Command::Export, exporting},
                    {Command::Info, info}};
  for (auto [command, parser] : commands)
    parser->footer(describeExamples(program, command) + exitCodesText);
  if (!program.trainStep)
    train->group("");
  if (!program.generateStep)
    generate->group("");
  return commands;
}

/// Reports a command line that is wrong. Returns the exit code.
static int refuse(const MeshcProgram &program, const Commands &commands,
                  int argc, const char *const *argv, int rank,
                  std::string message) {
  std::string command = argc > 0 ? argv[0] : program.name, names;
  bool chosen = false;
  for (auto [one, parser] : commands) {
    if (!parser->get_group().empty())
      names += (names.empty()                  ? "'"
                : one == commands.back().first ? " or '"
                                               : ", '") +
               parser->get_name() + "'";
    if (parser->parsed()) {
      chosen = true;
      command += ' ' + parser->get_name();
    }
  }
  if (!chosen && (argc < 2 || argv[1][0] != '-'))
    message = (argc < 2 ? "there is no command"
                        : "'" + std::string(argv[1]) + "' is not a command") +
              "; expected " + names;
  message += "; see '" + command + " --help'";
  return reportEarlyError(
      program.name, std::make_exception_ptr(Failure(ExitCode::Usage, message)),
      rank);
}

std::optional<int> meshc::runtime::parseOptions(const MeshcProgram &program,
                                                int argc,
                                                const char *const *argv,
                                                int rank, Options &options) {
  CLI::App app(std::string("The model '") + program.name +
               "', compiled by meshc for its mesh of ranks.");
  app.footer(describeExamples(program, std::nullopt) + exitCodesText);
  app.set_version_flag("--version", std::string(program.name) +
                                        ", meshc runtime " + meshcVersion);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpText>(26));
  MayDiffer mayDiffer;
  const Commands commands = addCommands(app, program, options, mayDiffer);
  std::string message;
  try {
    if (auto text = answerCompletion(app, argc, argv, valuesOf(program))) {
      if (rank == 0)
        printRaw(*text);
      return static_cast<int>(ExitCode::Success);
    }
    app.parse(argc, argv);
    for (auto [command, parser] : commands)
      if (parser->parsed())
        checkValues(*parser);
    checkTogether(options);
    for (auto [command, parser] : commands)
      if (parser->parsed()) {
        options.command = command;
        options.agreed = mayDiffer.list(*parser);
      }
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    std::ostringstream out, err;
    if (app.exit(error, out, err) == 0) {
      if (rank == 0)
        printOut(out.str());
      return static_cast<int>(ExitCode::Success);
    }
    std::vector<std::string> settings;
    for (const MeshcSetting *setting : findAdjustable(program))
      settings.emplace_back(setting->name);
    message = describeParseError(app, error, settings);
  } catch (const Failure &failure) {
    message = failure.what();
  }
  return refuse(program, commands, argc, argv, rank, std::move(message));
}
