//===- Completion.cpp - what may follow on a command line -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Completion.h"

#include "runtime/Base/Failure.h"

#include <cstring>

using namespace meshc::runtime;

using Words = std::vector<std::string>;

static bool startsWith(const std::string &text, const std::string &begin) {
  return text.compare(0, begin.size(), begin) == 0;
}

/// "--report" or "-o".
static std::string nameOf(const CLI::Option &option) {
  return option.get_lnames().empty() ? "-" + option.get_snames().front()
                                     : "--" + option.get_lnames().front();
}

/// Those of a validator that describes itself as "{text,json}".
static Words listChoices(const CLI::Option &option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.find('}');
  Words choices;
  if (open == std::string::npos || close == std::string::npos || close < open)
    return choices;
  std::string list = type.substr(open + 1, close - open - 1);
  for (size_t comma; !list.empty(); list.erase(0, comma)) {
    comma = std::min(list.find(','), list.size());
    choices.push_back(list.substr(0, comma));
    comma += comma < list.size();
  }
  return choices;
}

/// The values of an option, each after `before`.
static std::vector<Candidate> completeValue(const CLI::Option &option,
                                            const Words &words,
                                            const std::string &before,
                                            const std::string &begun,
                                            const OptionValues &values) {
  Words found = listChoices(option);
  if (found.empty() && values)
    found = values(nameOf(option), words, begun);
  std::vector<Candidate> candidates;
  for (const std::string &value : found)
    if (startsWith(value, begun))
      candidates.push_back({before + value, ""});
  return candidates;
}

/// The first words of a text, on one line.
static std::string shorten(std::string text) {
  constexpr size_t mostBytes = 60;
  for (char &c : text)
    if (c == '\n' || c == '\t')
      c = ' ';
  if (text.size() <= mostBytes)
    return text;
  const size_t blank = text.rfind(' ', mostBytes);
  return text.substr(0, blank == std::string::npos ? mostBytes : blank) +
         " ...";
}

static std::vector<Candidate> completeOption(const CLI::App &app,
                                             const std::string &begun) {
  std::vector<Candidate> candidates;
  for (const CLI::Option *option : app.get_options())
    if (option->nonpositional() && !option->get_group().empty())
      if (std::string name = nameOf(*option); startsWith(name, begun))
        candidates.push_back({name, shorten(option->get_description())});
  return candidates;
}

static std::vector<Candidate> completeCommand(const CLI::App &app,
                                              const std::string &begun) {
  std::vector<Candidate> candidates;
  for (const CLI::App *command : app.get_subcommands({}))
    if (!command->get_group().empty() && startsWith(command->get_name(), begun))
      candidates.push_back(
          {command->get_name(), shorten(command->get_description())});
  return candidates;
}

std::vector<Candidate> meshc::runtime::complete(const CLI::App &app,
                                                const Words &words,
                                                const OptionValues &values) {
  const CLI::App *command = &app;
  const CLI::Option *waiting = nullptr; // for its value
  const Words before(words.begin(), words.end() - 1);
  const std::string &last = words.back();
  for (const std::string &word : before) {
    const bool isValue = waiting != nullptr;
    waiting = nullptr;
    if (isValue)
      continue;
    const bool isOption = word.size() > 1 && word[0] == '-';
    if (!isOption) {
      for (const CLI::App *chosen : command->get_subcommands({}))
        if (chosen->get_name() == word)
          command = chosen;
    } else if (const CLI::Option *option = command->get_option_no_throw(word)) {
      waiting = option->get_items_expected_min() > 0 ? option : nullptr;
    }
  }
  if (waiting)
    return completeValue(*waiting, before, "", last, values);
  const size_t equals = last.find('=');
  if (last.empty() || last[0] != '-')
    return completeCommand(*command, last);
  if (equals == std::string::npos)
    return completeOption(*command, last);
  const CLI::Option *option =
      command->get_option_no_throw(last.substr(0, equals));
  return option ? completeValue(*option, before, last.substr(0, equals + 1),
                                last.substr(equals + 1), values)
                : std::vector<Candidate>();
}

//===----------------------------------------------------------------------===//
// Scripts
//===----------------------------------------------------------------------===//

// Each line of the answer is a word, and after a tab its description. NAME is
// the program, FUNCTION the name of the shell's function.

static const char *const bashScript = R"(# Completion of NAME for bash.
FUNCTION() {
  local line=${COMP_LINE:0:COMP_POINT} answer breaks= c
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  answer=$("${words[0]/#\~/$HOME}" --complete "${words[@]:1}" 2>/dev/null)
  local IFS=$'\n'
  COMPREPLY=($(cut -f1 <<<"$answer"))
  # Bash completes what follows the last break of a word.
  for c in = :; do [[ $COMP_WORDBREAKS == *$c* ]] && breaks+=$c; done
  local word=${words[-1]}
  [ -z "$breaks" ] || word=${word%"${word##*[$breaks]}"}
  [ -z "$breaks" ] || COMPREPLY=("${COMPREPLY[@]#"$word"}")
  [[ ${COMPREPLY[0]} == *[=:,+] ]] && compopt -o nospace
  return 0
}
complete -o bashdefault -o default -F FUNCTION NAME
)";

static const char *const zshScript = R"(#compdef NAME
# Completion of NAME for zsh.
FUNCTION() {
  local -a lines found shown
  local line
  lines=("${(@f)$("${words[1]/#\~/$HOME}" --complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  for line in $lines; do
    found+=("${line%%$'\t'*}")
    shown+=("${line%%$'\t'*}${${line#*$'\t'}:+  -- ${line#*$'\t'}}")
  done
  if (( $#found )); then
    [[ $found[1] == *[=:,+] ]] && compadd -l -S '' -d shown -- $found || compadd -l -d shown -- $found
  else
    compset -P '*='
    _files
  fi
}
if [[ $funcstack[1] == _NAME ]]; then FUNCTION; else compdef FUNCTION NAME; fi
)";

static const char *const fishScript = R"(# Completion of NAME for fish.
function FUNCTION
  set -l words (commandline -opc)
  set -l last (commandline -ct)
  set -l found ($words[1] --complete $words[2..-1] "$last" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path $last
  end
end
complete -c NAME -f -a '(FUNCTION)'
)";

std::string meshc::runtime::makeCompletionScript(const std::string &program,
                                                 const std::string &shell) {
  std::string script = shell == "bash"   ? bashScript
                       : shell == "zsh"  ? zshScript
                       : shell == "fish" ? fishScript
                                         : "";
  std::string function = "_complete_";
  for (const char c : program)
    function += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = script.find(from, at)) != std::string::npos;
         at += to.size())
      script.replace(at, from.size(), to);
  };
  replace("FUNCTION", function);
  replace("NAME", program);
  return script;
}

std::optional<std::string>
meshc::runtime::answerCompletion(const CLI::App &app, int argc,
                                 const char *const *argv,
                                 const OptionValues &values) {
  if (argc >= 2 && std::strcmp(argv[1], "--complete") == 0) {
    Words words(argv + 2, argv + argc);
    if (words.empty())
      words.emplace_back();
    std::string text;
    for (const Candidate &candidate : complete(app, words, values))
      text += candidate.word + (candidate.description.empty() ? "" : "\t") +
              candidate.description + '\n';
    return text;
  }
  const std::string option = "--completion";
  std::string first = argc >= 2 ? argv[1] : "";
  if (first.rfind(option, 0) != 0)
    return std::nullopt;
  const std::string path = argv[0];
  const bool isJoined = first.size() > option.size();
  const std::string shell = isJoined    ? first.substr(option.size() + 1)
                            : argc == 3 ? argv[2]
                                        : "";
  std::string script =
      makeCompletionScript(path.substr(path.rfind('/') + 1), shell);
  if (script.empty())
    throw Failure(ExitCode::Usage, "'--completion' is '" + shell +
                                       "'; expected 'bash', 'zsh' or 'fish'");
  return script;
}
