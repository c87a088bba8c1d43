//===- NameMap.cpp - names and shapes of other tools' tensors -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/NameMap.h"

#include "runtime/Base/Abridged.h"
#include "runtime/Base/Failure.h"
#include "runtime/Data/MappedFile.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace meshc::runtime {

static constexpr int64_t mostWhole = 1'000'000'000'000;

/// Parses the lines of a map. All `take…` functions begin at `at`, and leave it
/// behind what they took.
class MapParser {
public:
  explicit MapParser(NameMap &map) : map(map) {}

  void parseLine(const std::string &line, int number);

private:
  [[noreturn]] void fail(size_t where, const std::string &what) const;
  bool isAtEnd() const { return at == text.size(); }
  char next() const { return isAtEnd() ? '\0' : text[at]; }
  void skipSpaces();
  bool skip(char character);
  void expect(char character, const std::string &where);
  /// The text up to the next space.
  std::string takeWord(const std::string &wanted);
  /// A name of a dim.
  std::string takeDim();
  bool isAtDigit() const { return std::isdigit(next()) != 0; }
  int64_t takeWhole();
  NamePattern takeExpression(const std::string &wanted);

  void beginLine(const std::string &content, int number);
  void parseRule();
  void parseTensor(MapRule &rule);
  NamePart takePlaceholder(const MapRule &rule, const std::string &word,
                           size_t begin);
  std::vector<AxisFactor> takeAxis();
  AxisFactor takeFactor();

  NameMap &map;
  std::string text;
  int line = 0;
  size_t at = 0;
};

void MapParser::fail(size_t where, const std::string &what) const {
  throw Failure(ExitCode::Checkpoint,
                map.place(line, static_cast<int>(where) + 1) + ": " + what);
}

void MapParser::skipSpaces() {
  while (!isAtEnd() && std::isspace(static_cast<unsigned char>(next())))
    ++at;
}

bool MapParser::skip(char character) {
  skipSpaces();
  bool isThere = next() == character;
  at += isThere ? 1 : 0;
  return isThere;
}

void MapParser::expect(char character, const std::string &where) {
  if (!skip(character))
    fail(at, std::string("expected '") + character + "' " + where +
                 (isAtEnd() ? "" : ", found '" + std::string(1, next()) + "'"));
}

std::string MapParser::takeWord(const std::string &wanted) {
  skipSpaces();
  size_t end = at;
  while (end < text.size() &&
         !std::isspace(static_cast<unsigned char>(text[end])))
    ++end;
  if (end == at)
    fail(at, "expected " + wanted);
  std::string word = text.substr(at, end - at);
  at = end;
  return word;
}

std::string MapParser::takeDim() {
  skipSpaces();
  size_t end = at;
  auto isPart = [&](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_' ||
           (end > at && std::isdigit(static_cast<unsigned char>(c)));
  };
  while (end < text.size() && isPart(text[end]))
    ++end;
  if (end == at)
    fail(at, "expected the name of a dim" +
                 (isAtEnd() ? "" : ", found '" + std::string(1, next()) + "'"));
  std::string dim = text.substr(at, end - at);
  at = end;
  return dim;
}

int64_t MapParser::takeWhole() {
  size_t begin = at;
  int64_t value = 0;
  for (; isAtDigit(); ++at) {
    value = 10 * value + (next() - '0');
    if (value > mostWhole)
      fail(begin, "the number is too large; expected at most " +
                      std::to_string(mostWhole));
  }
  if (at == begin)
    fail(at, "expected a whole number");
  return value;
}

NamePattern MapParser::takeExpression(const std::string &wanted) {
  skipSpaces();
  size_t begin = at;
  std::string word = takeWord(wanted), problem;
  NamePattern expression(word, problem);
  if (!problem.empty())
    fail(begin,
         "'" + abridged(word) + "' is not a regular expression: " + problem);
  return expression;
}

/// `{layers}`, `{$1}`, `{2*layers+1}`: the characters of `word` from `begin`
/// on.
NamePart MapParser::takePlaceholder(const MapRule &rule,
                                    const std::string &word, size_t begin) {
  NamePart part;
  part.column = static_cast<int>(begin) + 1;
  at = begin + 1;
  if (isAtDigit()) {
    part.factor = takeWhole();
    part.isNumber = true;
    expect('*', "behind a factor");
  }
  if (skip('$')) {
    size_t number = at;
    int64_t group = takeWhole();
    if (group < 1 || group > rule.parameters.groups())
      fail(number, "'" + abridged(rule.text) + "' has no group " +
                       std::to_string(group));
    part.group = static_cast<int>(group);
  } else {
    part.dim = takeDim();
    part.isNumber = true;
  }
  bool isLess = next() == '-';
  if (isLess || next() == '+') {
    ++at;
    part.summand = isLess ? -takeWhole() : takeWhole();
    part.isNumber = true;
  }
  if (next() != '}')
    fail(at, "expected '}' in the name '" + abridged(word) + "'");
  ++at;
  return part;
}

void MapParser::parseTensor(MapRule &rule) {
  skipSpaces();
  size_t begin = at;
  rule.tensorColumn = static_cast<int>(begin) + 1;
  std::string word = takeWord("the name of a tensor, or a number");
  char *end = nullptr;
  double value = std::strtod(word.c_str(), &end);
  if (!*end) {
    rule.constant = value;
    return;
  }
  const size_t wordEnd = at;
  for (at = begin; at < wordEnd;) {
    if (next() == '{') {
      rule.tensor.push_back(takePlaceholder(rule, word, at));
      continue;
    }
    NamePart part;
    while (at < wordEnd && next() != '{')
      part.text += text[at++];
    rule.tensor.push_back(part);
  }
}

AxisFactor MapParser::takeFactor() {
  skipSpaces();
  AxisFactor factor;
  factor.column = static_cast<int>(at) + 1;
  if (isAtDigit()) {
    factor.first = takeWhole();
    if (next() == '+') {
      ++at;
      factor.dim = takeDim();
    }
    if (next() != '/')
      fail(at, "expected '/' and the size of the axis, as in '0/3' or "
               "'4+kv/12'");
    ++at;
    size_t where = at;
    factor.size = takeWhole();
    if (factor.first >= factor.size)
      fail(where, "entry " + std::to_string(factor.first) +
                      " is not below the size " + std::to_string(factor.size));
    return factor;
  }
  factor.dim = takeDim();
  if (next() == '/') {
    ++at;
    factor.size = takeWhole();
  }
  return factor;
}

std::vector<AxisFactor> MapParser::takeAxis() {
  std::vector<AxisFactor> factors;
  if (!skip('('))
    return {takeFactor()};
  while (!skip(')')) {
    if (isAtEnd())
      fail(at, "expected ')' behind the factors of an axis");
    factors.push_back(takeFactor());
  }
  return factors;
}

void MapParser::parseRule() {
  MapRule rule;
  rule.line = line;
  rule.parameters = takeExpression("a regular expression of parameters");
  rule.text = text.substr(0, at);
  rule.text.erase(0, rule.text.find_first_not_of(" \t"));
  expect('=', "behind the parameters '" + abridged(rule.text) + "'");
  parseTensor(rule);
  if (!rule.constant && skip('[')) {
    rule.hasAxes = true;
    bool isEmpty = skip(']');
    while (!isEmpty) {
      rule.axes.push_back(takeAxis());
      if (skip(']'))
        break;
      expect(',', "or ']' behind an axis");
    }
  }
  skipSpaces();
  if (!isAtEnd())
    fail(at, "expected the end of the line, found '" +
                 abridged(text.substr(at)) + "'");
  map.parameterRules.push_back(std::move(rule));
}

/// Sets `text` to a line without its comment and the spaces at its end.
void MapParser::beginLine(const std::string &content, int number) {
  // A comment is a line, or follows a space.
  size_t end = 0;
  while (end < content.size() &&
         (content[end] != '#' ||
          (end && !std::isspace(static_cast<unsigned char>(content[end - 1])))))
    ++end;
  text = content.substr(0, end);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.pop_back();
  line = number;
  at = 0;
  const auto control = std::find_if(text.begin(), text.end(), [](char letter) {
    return isControl(letter) && letter != '\t';
  });
  if (control != text.end())
    fail(static_cast<size_t>(control - text.begin()),
         "found a control character; expected text");
}

void MapParser::parseLine(const std::string &content, int number) {
  beginLine(content, number);
  skipSpaces();
  if (isAtEnd())
    return;
  const size_t begin = at;
  const std::string word = takeWord("a line");
  if (word == "ignore") {
    map.ignored.push_back(takeExpression("a regular expression of tensors"));
  } else if (word == "optional") {
    skipSpaces();
    size_t where = at;
    if (takeWord("'prefix'") != "prefix")
      fail(where, "expected 'prefix' behind 'optional'");
    map.optionalPrefixes.push_back(takeWord("a prefix of names"));
  } else {
    at = begin;
    return parseRule();
  }
  skipSpaces();
  if (!isAtEnd())
    fail(at, "expected the end of the line, found '" +
                 abridged(text.substr(at)) + "'");
}

NameMap::NameMap(const std::string &path) : name(path) {
  MappedFile file(path, ExitCode::Checkpoint, "name map");
  std::string content(reinterpret_cast<const char *>(file.data()), file.size());
  file.checkIntact();
  std::istringstream lines(content);
  std::string line;
  MapParser parser(*this);
  for (int number = 1; std::getline(lines, line); ++number)
    parser.parseLine(line, number);
}

bool NameMap::matchesIgnored(const std::string &tensor) const {
  return std::any_of(ignored.begin(), ignored.end(),
                     [&](const NamePattern &expression) {
                       return expression.matches(tensor);
                     });
}

bool NameMap::isIgnored(const std::string &tensor) const {
  return matchesIgnored(tensor) ||
         std::any_of(optionalPrefixes.begin(), optionalPrefixes.end(),
                     [&](const std::string &prefix) {
                       return tensor.compare(0, prefix.size(), prefix) == 0 &&
                              matchesIgnored(tensor.substr(prefix.size()));
                     });
}

std::string NameMap::place(int line, int column) const {
  return name + ":" + std::to_string(line) + ":" + std::to_string(column);
}

} // namespace meshc::runtime
