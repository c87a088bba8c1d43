//===- NpyHeader.cpp - the header of NPY files ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/NpyHeader.h"

#include "runtime/Base/Abridged.h"

#include <algorithm>
#include <map>
#include <optional>

using namespace meshc::runtime;

namespace {

/// Divides the text of a dictionary into keys and the texts of their values.
class DictionaryReader {
public:
  explicit DictionaryReader(const std::string &text) : text(text) {}

  /// Fills `values`. Returns what is wrong, or an empty string.
  std::string read(std::map<std::string, std::string> &values);

private:
  void skipBlanks();
  bool skip(char character);
  std::string expected(const std::string &what) const;
  std::optional<std::string> takeString();
  std::string takeValue();

  const std::string &text;
  size_t at = 0;
};

} // namespace

static constexpr char blanks[] = " \t\n\r";

static bool isQuote(char character) {
  return character == '\'' || character == '"';
}

void DictionaryReader::skipBlanks() {
  at = std::min(text.find_first_not_of(blanks, at), text.size());
}

bool DictionaryReader::skip(char character) {
  skipBlanks();
  const bool isThere = at < text.size() && text[at] == character;
  at += isThere ? 1 : 0;
  return isThere;
}

std::string DictionaryReader::expected(const std::string &what) const {
  return "has a damaged NPY header: expected " + what + " at its byte " +
         std::to_string(at);
}

/// The content of a string in single or double quotes; null if there is none.
std::optional<std::string> DictionaryReader::takeString() {
  skipBlanks();
  size_t begin = at;
  if (begin < text.size() && text[begin] == 'u') // Python 2's Unicode
    ++begin;
  if (begin >= text.size() || !isQuote(text[begin]))
    return std::nullopt;
  size_t end = begin + 1;
  while (end < text.size() && text[end] != text[begin])
    end += text[end] == '\\' ? 2 : 1;
  if (end >= text.size())
    return std::nullopt;
  at = end + 1;
  return text.substr(begin + 1, end - begin - 1);
}

/// The text up to the next comma or brace outside of strings and brackets;
/// empty if brackets or strings are not closed.
std::string DictionaryReader::takeValue() {
  skipBlanks();
  const size_t begin = at;
  std::string open; // the brackets that close those that are open
  while (at < text.size()) {
    const char next = text[at];
    if (isQuote(next)) {
      if (!takeString())
        return "";
      continue;
    }
    if (open.empty() && (next == ',' || next == '}'))
      break;
    if (next == '(' || next == '[' || next == '{')
      open += next == '(' ? ')' : next == '[' ? ']' : '}';
    else if (next == ')' || next == ']' || next == '}') {
      if (open.empty() || open.back() != next)
        return "";
      open.pop_back();
    }
    ++at;
  }
  if (at == text.size())
    return "";
  const size_t last = text.find_last_not_of(blanks, at - 1);
  return text.substr(begin, last + 1 - begin);
}

std::string DictionaryReader::read(std::map<std::string, std::string> &values) {
  if (!skip('{'))
    return expected("'{'");
  while (!skip('}')) {
    std::optional<std::string> key = takeString();
    if (!key)
      return expected("a key in quotes");
    if (*key != "descr" && *key != "fortran_order" && *key != "shape")
      return "has '" + abridged(*key) +
             "' in its NPY header; expected 'descr', 'fortran_order' and "
             "'shape'";
    if (!skip(':'))
      return expected("':' behind '" + *key + "'");
    std::string value = takeValue();
    if (value.empty())
      return expected("the value of '" + *key + "'");
    if (!values.emplace(*key, std::move(value)).second)
      return "has '" + *key + "' twice in its NPY header";
    if (skip('}'))
      break;
    if (!skip(','))
      return expected("',' or '}'");
  }
  skipBlanks();
  if (at != text.size())
    return expected("the end");
  for (const char *key : {"descr", "fortran_order", "shape"})
    if (!values.count(key))
      return std::string("has no '") + key + "' in its NPY header";
  return "";
}

/// The content of `text` if it is one string.
static std::optional<std::string> contentOf(const std::string &text) {
  const size_t begin = text[0] == 'u' ? 1 : 0;
  if (text.size() < begin + 2 || !isQuote(text[begin]) ||
      text.find(text[begin], begin + 1) != text.size() - 1)
    return std::nullopt;
  return text.substr(begin + 1, text.size() - begin - 2);
}

static std::string readType(const std::string &text, NpyHeader &header) {
  static const struct {
    const char *name;
    FileType type;
  } types[] = {{"b1", FileType::Bool}, {"u1", FileType::U8},
               {"i1", FileType::I8},   {"u2", FileType::U16},
               {"i2", FileType::I16},  {"i4", FileType::I32},
               {"i8", FileType::I64},  {"f2", FileType::F16},
               {"f4", FileType::F32},  {"f8", FileType::F64}};
  const std::optional<std::string> name = contentOf(text);
  const std::string expected =
      "; expected one of b1, u1, i1, u2, i2, i4, i8, f2, f4, f8";
  if (!name)
    return "is an NPY file of structured type " + abridged(text) + expected +
           ": save each field as a file of its own";
  const size_t order = name->find_first_of("<>|=") == 0 ? 1 : 0;
  for (const auto &entry : types)
    if (name->compare(order, std::string::npos, entry.name) == 0) {
      header.type = entry.type;
      header.bigEndian = order && name->front() == '>';
      return "";
    }
  return "is an NPY file of type '" + abridged(*name) + "'" + expected;
}

/// Reads a tuple of whole numbers.
static std::string readShape(const std::string &text, NpyHeader &header) {
  const std::string damaged =
      "has " + abridged(text) +
      " as 'shape' in its NPY header; expected a tuple of at most 32 sizes, "
      "such as (60000, 784)";
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    return damaged;
  bool hasComma = false;
  size_t at = 1;
  auto skipBlanks = [&] { at = text.find_first_not_of(blanks, at); };
  for (skipBlanks(); text[at] != ')'; skipBlanks()) {
    if (!header.dims.empty() && !hasComma)
      return damaged;
    const size_t first = at;
    int64_t dim = 0;
    for (; text[at] >= '0' && text[at] <= '9'; ++at)
      if (__builtin_mul_overflow(dim, 10, &dim) ||
          __builtin_add_overflow(dim, text[at] - '0', &dim))
        return damaged;
    if (at == first || header.dims.size() == 32)
      return damaged;
    if (text[at] == 'L')
      ++at;
    header.dims.push_back(dim);
    skipBlanks();
    hasComma = text[at] == ',';
    at += hasComma ? 1 : 0;
  }
  if (at + 1 != text.size())
    return damaged;
  if (header.dims.size() == 1 && !hasComma)
    return "has " + text +
           " as 'shape' in its NPY header, which is a number "
           "in Python and no tuple; expected (" +
           std::to_string(header.dims[0]) + ",)";
  return "";
}

std::string meshc::runtime::parseNpyHeader(const std::string &text,
                                           NpyHeader &header) {
  const auto control = std::find_if(text.begin(), text.end(), [](char letter) {
    return isControl(letter) && letter != '\t' && letter != '\n' &&
           letter != '\r';
  });
  if (control != text.end())
    return "has a damaged NPY header: a control character at its byte " +
           std::to_string(control - text.begin());
  std::map<std::string, std::string> values;
  std::string problem = DictionaryReader(text).read(values);
  if (problem.empty())
    problem = readType(values["descr"], header);
  if (problem.empty())
    problem = readShape(values["shape"], header);
  if (!problem.empty())
    return problem;
  const std::string &order = values["fortran_order"];
  if (order != "True" && order != "False")
    return "has " + abridged(order) +
           " as 'fortran_order' in its NPY header; expected True or False";
  header.isFortran = order == "True";
  return "";
}
