//===- CommandLine.cpp - the options of meshc-tokens ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/meshc-tokens/CommandLine.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Base/Version.h"
#include "runtime/Commands/Completion.h"
#include "runtime/Commands/HelpText.h"
#include "runtime/Commands/OptionErrors.h"
#include "runtime/Commands/OptionParts.h"

#include <CLI/CLI.hpp>
#include <sstream>

using namespace meshc::tokens;
using meshc::runtime::ExitCode;
using meshc::runtime::Failure;
namespace runtime = meshc::runtime;

static const char *const tokenizerHelp =
    "bytes, characters:FILE (a vocabulary that 'characters' wrote), "
    "gpt2:FOLDER (with vocab.bpe and encoder.json) or sentencepiece:FILE (BPE, "
    "as llama2.c writes it)";

static const char *const footer =
    "Examples:\n"
    "  meshc-tokens characters books/ -o books.vocabulary\n"
    "  meshc-tokens encode --tokenizer characters:books.vocabulary books/ \\\n"
    "    -o books.tokens\n"
    "  meshc-tokens encode --tokenizer gpt2:gpt2/ --end-of-text a.txt -o "
    "a.tokens\n"
    "  meshc-tokens decode --tokenizer gpt2:gpt2/ --count 100 a.tokens\n"
    "  source <(meshc-tokens --completion bash)    Tab completes the rest\n"
    "\n"
    "Exit codes: 0 done, 1 internal error or too little memory, 2 command "
    "line, 3 an input cannot be read, or the vocabulary cannot represent it, 4 "
    "the output cannot be written, 9 standard output could not be written.";

/// What may stand in place of the options' values.
static std::vector<std::string> listValues(const std::string &option,
                                           const std::vector<std::string> &,
                                           const std::string &begun) {
  if (option == "--type")
    return {"u16", "i32"};
  if (option == "--tokenizer" && begun.find(':') == std::string::npos)
    return {"bytes", "characters:", "gpt2:", "sentencepiece:"};
  return {};
}

static void addInputs(CLI::App &app, Options &options) {
  app.add_option("input", options.inputs,
                 "Files, each a document, and folders of such files; they may "
                 "be gzipped")
      ->required()
      ->type_name("FILE");
}

/// "-" would be a file of that name, and not standard output.
static void addOutput(CLI::App &app, Options &options) {
  app.add_option_function<std::string>(
         "-o,--output",
         [&options](const std::string &path) {
           if (path == "-")
             throw runtime::valueFailure(
                 "--output", path,
                 "the name of a file: the output is written as a whole and not "
                 "to standard output (a file called '-' is './-')");
           options.output = path;
         },
         "The file to write")
      ->required()
      ->type_name("FILE");
}

static void addTokenFile(CLI::App &app, Options &options) {
  app.add_option("file", options.inputs, "A file that 'encode' wrote")
      ->required()
      ->expected(1)
      ->type_name("FILE");
}

static void addTokenizer(CLI::App &app, Options &options) {
  app.add_option("--tokenizer", options.tokenizer, tokenizerHelp)
      ->required()
      ->type_name("KIND");
}

static CLI::App *addEncode(CLI::App &app, Options &options) {
  CLI::App *encode = app.add_subcommand(
      "encode", "Write the tokens of texts to a file, which '--data' of a "
                "compiled program reads");
  addTokenizer(*encode, options);
  addOutput(*encode, options);
  encode
      ->add_option_function<std::string>(
          "--type",
          [&options](const std::string &text) {
            if (text != "u16" && text != "i32")
              throw runtime::valueFailure("--type", text, "'u16' or 'i32'");
            options.type = text;
          },
          "How a token is stored: u16 or i32 (default: u16 if the vocabulary "
          "has at most 65536 tokens)")
      ->type_name("TYPE");
  encode->add_flag("--end-of-text", options.endOfText,
                   "End each document with the tokenizer's special token, such "
                   "as GPT-2's <|endoftext|>");
  addInputs(*encode, options);
  return encode;
}

static CLI::App *addDecode(CLI::App &app, Options &options) {
  CLI::App *decode =
      app.add_subcommand("decode", "Print the text of a file of tokens");
  addTokenizer(*decode, options);
  runtime::addWhole(*decode, "--first", options.first, 0, INT64_MAX,
                    "Begin with the token of this number, from 0 on");
  runtime::addWhole(*decode, "--count", options.count, 0, INT64_MAX,
                    "Print so many tokens (default: all that follow)");
  addTokenFile(*decode, options);
  return decode;
}

/// The parser's words about arguments that are no options, in others.
static std::string describeArguments(const std::string &message) {
  if (message == "file is required")
    return "there is no token file; expected one that 'encode' wrote";
  if (message.rfind("file: At Most 1 ", 0) == 0)
    return "there is more than one token file; expected one";
  if (message == "input is required")
    return "there is no input; expected files or folders of texts";
  return message;
}

static int failUsage(const std::string &message) {
  meshc::runtime::printError("meshc-tokens: error: " + message +
                             "; see 'meshc-tokens --help'\n");
  return static_cast<int>(ExitCode::Usage);
}

std::optional<int> meshc::tokens::parseCommandLine(int argc, char **argv,
                                                   Options &options) {
  CLI::App app("Makes files of tokens from texts.", "meshc-tokens");
  app.set_version_flag("--version",
                       std::string("meshc-tokens ") + runtime::meshcVersion);
  app.require_subcommand(1);
  app.formatter(std::make_shared<runtime::HelpText>(26));
  CLI::App *encode = addEncode(app, options);
  CLI::App *decode = addDecode(app, options);
  CLI::App *characters = app.add_subcommand(
      "characters", "Write the vocabulary of the characters of texts in UTF-8");
  addOutput(*characters, options);
  addInputs(*characters, options);
  CLI::App *info = app.add_subcommand(
      "info", "Check a file of tokens and print what it holds");
  addTokenFile(*info, options);
  app.footer(footer);
  for (CLI::App *command : {encode, decode, characters, info})
    command->footer(footer);
  try {
    if (auto text = runtime::answerCompletion(app, argc, argv, listValues)) {
      runtime::printRaw(*text);
      return static_cast<int>(ExitCode::Success);
    }
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    std::ostringstream out, err;
    if (app.exit(error, out, err) == 0) {
      runtime::printOut(out.str());
      return static_cast<int>(ExitCode::Success);
    }
    std::string message =
        describeArguments(runtime::describeParseError(app, error));
    if (app.get_subcommands().empty())
      message = (argc < 2 ? "there is no command"
                          : "'" + std::string(argv[1]) + "' is not a command") +
                "; expected 'encode', 'decode', 'characters' or 'info'";
    return failUsage(message);
  } catch (const Failure &failure) {
    return failUsage(failure.what());
  }
  options.command = encode->parsed()       ? Command::Encode
                    : decode->parsed()     ? Command::Decode
                    : characters->parsed() ? Command::Characters
                                           : Command::Info;
  return std::nullopt;
}
