//===- Dataset.cpp - which file feeds which input -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Dataset.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/Finiteness.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Data/InputLimits.h"

#include <algorithm>
#include <set>
#include <unistd.h>

using namespace meshc::runtime;

static std::vector<const MeshcTensor *> inputsOf(const MeshcProgram &program) {
  std::vector<const MeshcTensor *> inputs;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (program.tensors[i].role == MESHC_INPUT)
      inputs.push_back(&program.tensors[i]);
  return inputs;
}

int64_t meshc::runtime::batchOf(const MeshcProgram &program) {
  const MeshcTensor *first = nullptr;
  for (const MeshcTensor *input : inputsOf(program)) {
    if (input->rank == 0)
      throw Failure(ExitCode::Internal, std::string("input '") + input->name +
                                            "' has no dim of examples");
    if (!first)
      first = input;
    if (input->dims[0].size != first->dims[0].size)
      throw Failure(ExitCode::Internal,
                    std::string("inputs '") + first->name + "' " +
                        describeDims(*first) + " and '" + input->name + "' " +
                        describeDims(*input) +
                        " differ in their first dim, which counts examples");
  }
  if (!first)
    throw Failure(ExitCode::Internal, "the program has no inputs");
  return first->dims[0].size;
}

/// The quoted names of `inputs`, for messages.
static std::string listNames(const std::vector<const MeshcTensor *> &inputs) {
  std::string text;
  for (const MeshcTensor *input : inputs)
    text += (text.empty() ? "'" : ", '") + std::string(input->name) + "'";
  return text;
}

/// Elements of one example.
static int64_t rowElementsOf(const MeshcTensor &input) {
  return globalElements(input) / std::max<int64_t>(input.dims[0].size, 1);
}

namespace {
/// What the command line says about each input.
struct Assignment {
  std::vector<std::pair<const MeshcTensor *, std::string>> named;
  std::vector<std::pair<const MeshcTensor *, WindowRole>> described;
  std::string corpus; ///< a path; empty if there is none
  std::vector<const MeshcTensor *> unnamed;
};
} // namespace

/// Separates "NAME=FILE" from "FILE", the values of `option`.
static Assignment assignFiles(const MeshcProgram &program,
                              const std::vector<std::string> &specs,
                              const std::string &option) {
  Assignment result;
  result.unnamed = inputsOf(program);
  std::string names = listNames(result.unnamed);
  std::set<std::string> all, given;
  for (const MeshcTensor *input : result.unnamed)
    all.insert(input->name);
  for (const std::string &spec : specs) {
    size_t equals = spec.find('=');
    std::string name = spec.substr(0, equals);
    if (equals != std::string::npos && all.count(name)) {
      if (!given.insert(name).second)
        throw Failure(ExitCode::Usage,
                      "input '" + name + "' is given two files");
      auto at = std::find_if(
          result.unnamed.begin(), result.unnamed.end(),
          [&](const MeshcTensor *input) { return name == input->name; });
      std::string file = spec.substr(equals + 1);
      if (file[0] == '@')
        result.described.emplace_back(*at, parseWindowRole(file));
      else
        result.named.emplace_back(*at, file);
      result.unnamed.erase(at);
      continue;
    }
    if (equals != std::string::npos && access(spec.c_str(), F_OK) != 0)
      throw Failure(ExitCode::Usage, "no input is named '" + name +
                                         "'; the inputs of '" + program.name +
                                         "' are " + names);
    if (!result.corpus.empty())
      throw Failure(ExitCode::Usage,
                    "'" + result.corpus + "' and '" + spec +
                        "' are both given as corpus; an array is given as " +
                        option + " NAME=FILE, NAME one of " + names);
    result.corpus = spec;
  }
  return result;
}

/// The tokens of a corpus must be below the model's vocabulary.
void Dataset::applyLimits(const MeshcProgram &program) {
  std::map<std::string, InputLimits> limits = readLimits(program);
  for (Source &source : inputSources) {
    const InputLimits &limit = limits[source.input->name];
    source.classes = limit.classes;
    source.ignored = limit.ignored;
    if (!source.corpus || source.role != WindowRole::Tokens)
      continue;
    source.vocabulary = limit.vocabulary();
    if (source.vocabulary && source.corpus->largest >= source.vocabulary)
      throw Failure(ExitCode::Data,
                    "token file '" + source.bytes->path() + "' holds token " +
                        std::to_string(source.corpus->largest) +
                        ", and input '" + source.input->name + "' of '" +
                        program.name + "' takes tokens below " +
                        std::to_string(source.vocabulary) +
                        "; compile the model for the vocabulary of the file");
  }
}

const uint8_t *Source::row(int64_t example, int32_t *scratch) const {
  if (role == WindowRole::Tokens)
    return base + (corpus ? corpus->firstOf(example) * elementBytes
                          : example * rowBytes);
  corpus->describe(example, role, scratch);
  return reinterpret_cast<const uint8_t *>(scratch);
}

const Corpus *Dataset::corpus() const {
  for (const Source &source : inputSources)
    if (source.corpus)
      return source.corpus.get();
  return nullptr;
}

std::string Dataset::findBadTarget(const Selection &selection) const {
  std::vector<int32_t> values, scratch;
  for (int64_t row = 0; row < selection.rows; ++row)
    for (const Source &source : inputSources) {
      if (source.classes == 0 || source.input->type != MESHC_I32)
        continue;
      int64_t example = selection.example(row);
      values.resize(static_cast<size_t>(source.rowElements));
      scratch.resize(values.size());
      source.convert(values.data(), 1, source.row(example, scratch.data()),
                     source.rowElements);
      source.bytes->checkIntact();
      for (int32_t value : values)
        if (source.isBadTarget(value))
          return "data file '" + source.bytes->path() + "': example " +
                 std::to_string(example) + " has " + std::to_string(value) +
                 " for input '" + source.input->name +
                 "', a target of 'cross_entropy'; expected 0 to " +
                 std::to_string(source.classes - 1);
    }
  return "";
}

std::string Dataset::findNotFinite(const Selection &selection,
                                   const std::string &name,
                                   uint8_t kinds) const {
  std::vector<char> values;
  std::vector<int32_t> scratch;
  for (int64_t row = 0; row < selection.rows; ++row)
    for (const Source &source : inputSources) {
      if (!name.empty() && name != source.input->name)
        continue;
      MeshcType type = typeOf(*source.input);
      int64_t example = selection.example(row), size = sizeOf(type);
      values.resize(static_cast<size_t>(source.rowElements * size));
      scratch.resize(static_cast<size_t>(source.rowElements));
      source.convert(values.data(), 1, source.row(example, scratch.data()),
                     source.rowElements);
      source.bytes->checkIntact();
      if (!(classify(type, values.data(), source.rowElements) & kinds))
        continue;
      int64_t element = 0;
      while (!(classify(type, values.data() + element * size, 1) & kinds))
        ++element;
      uint8_t kind = classify(type, values.data() + element * size, 1);
      return "data file '" + source.bytes->path() + "': example " +
             std::to_string(example) +
             (kind == HasNan ? " has a NaN" : " has an infinite value") +
             " for input '" + source.input->name + "', its element " +
             std::to_string(element);
    }
  return "";
}

/// The first of the inputs that a corpus feeds, whose dims are a batch and a
/// window.
static const MeshcTensor &
findWindow(const std::vector<const MeshcTensor *> &inputs,
           const std::string &path, const std::string &option) {
  if (inputs.empty() || inputs.front()->rank != 2)
    throw Failure(ExitCode::Usage,
                  "'" + path +
                      "' is given as a corpus of tokens, and the program's " +
                      (inputs.empty() ? std::string("inputs hold no i32")
                                      : std::string("first i32 input '") +
                                            inputs.front()->name + "' is " +
                                            describeDims(*inputs.front()) +
                                            ", not [batch, window]") +
                      "; give '" + option + " NAME=FILE' for each input");
  return *inputs.front();
}

/// How many tokens a window has as targets: one if the model takes only the
/// token after the window, otherwise those of the window.
static int64_t targetsOf(const MeshcTensor &first,
                         const std::vector<const MeshcTensor *> &inputs) {
  bool hasNext = false, hasShifted = false;
  for (const MeshcTensor *input : inputs) {
    hasNext |= input->rank == 1;
    hasShifted |= input != &first && input->rank == 2;
  }
  return hasNext && !hasShifted ? 1 : first.dims[1].size;
}

Dataset::Dataset(const MeshcProgram &program,
                 const std::vector<std::string> &specs,
                 const CorpusOptions &options)
    : batchSize(batchOf(program)) {
  const std::string option = options.option;
  Assignment files = assignFiles(program, specs, option);
  if (!files.corpus.empty()) {
    std::vector<const MeshcTensor *> tokens, others;
    for (const MeshcTensor *input : files.unnamed)
      (input->type == MESHC_I32 ? tokens : others).push_back(input);
    files.unnamed = others;
    auto bytes = Bytes::open(files.corpus);
    if (options.type.value_or(FileType::U8) == FileType::U8 &&
        looksLikeArray(*bytes))
      throw Failure(ExitCode::Usage,
                    "'" + files.corpus +
                        "' is an array file; name its input: '" + option +
                        " NAME=" + files.corpus + "'");
    const MeshcTensor &first = findWindow(tokens, files.corpus, option);
    CorpusOptions read = options;
    if (read.stride == 0)
      read.stride = targetsOf(first, tokens);
    auto corpus = openCorpus(bytes, first.dims[1].size, read);
    for (const MeshcTensor *input : tokens)
      bindCorpus(*input, input == &first, corpus, WindowRole::Tokens, option);
    for (const auto &[input, role] : files.described)
      bindCorpus(*input, false, corpus, role, option);
  } else if (!files.described.empty()) {
    throw Failure(ExitCode::Usage,
                  std::string("input '") + files.described.front().first->name +
                      "' describes the windows of a corpus, and no corpus is "
                      "given; give '" +
                      option + " FILE'");
  }
  if (!files.unnamed.empty())
    throw Failure(ExitCode::Usage,
                  "no data for input " + listNames(files.unnamed) + "; give '" +
                      option + " " + files.unnamed.front()->name + "=FILE'");
  for (const auto &[input, path] : files.named)
    bindArray(*input, Bytes::open(path));

  const Source &first = inputSources.front();
  for (const Source &source : inputSources)
    if (source.count != first.count)
      throw Failure(ExitCode::Data,
                    "'" + first.bytes->path() + "' has " +
                        std::to_string(first.count) + " examples for '" +
                        first.input->name + "' and '" + source.bytes->path() +
                        "' has " + std::to_string(source.count) + " for '" +
                        source.input->name + "'");
  applyLimits(program);
  exampleCount = first.count;
  if (exampleCount == 0)
    throw Failure(ExitCode::Data,
                  "'" + first.bytes->path() + "' holds no examples");
}

void Dataset::bindArray(const MeshcTensor &input,
                        std::shared_ptr<const Bytes> bytes) {
  Array array = readArray(std::move(bytes));
  const std::string where = "data file '" + array.bytes->path() + "' ";
  Source source;
  source.input = &input;
  source.bytes = array.bytes;
  source.base = array.bytes->data() + array.offset;
  source.count = array.dims.front();
  source.rowElements = 1;
  for (size_t i = 1; i < array.dims.size(); ++i)
    source.rowElements *= array.dims[i];
  source.elementBytes = sizeOf(array.type);
  source.rowBytes = source.rowElements * source.elementBytes;
  if (source.rowElements != rowElementsOf(input))
    throw Failure(ExitCode::Data, where + "holds " + array.describe() + ", " +
                                      std::to_string(source.rowElements) +
                                      " elements per example; input '" +
                                      input.name + "' " + describeDims(input) +
                                      " needs " +
                                      std::to_string(rowElementsOf(input)));
  source.convert = findConvert(array.type, array.bigEndian, typeOf(input));
  if (!source.convert)
    throw Failure(ExitCode::Data, where + "holds " + nameOf(array.type) +
                                      "; input '" + input.name +
                                      "' needs integers (" +
                                      nameOf(typeOf(input)) + ")");
  inputSources.push_back(std::move(source));
}

void Dataset::bindCorpus(const MeshcTensor &input, bool isFirst,
                         std::shared_ptr<const Corpus> corpus, WindowRole role,
                         const std::string &option) {
  const bool isTokens = role == WindowRole::Tokens;
  const bool whole = input.rank == 2 && input.dims[1].size == corpus->window;
  if (!whole && (input.rank != 1 || !isTokens))
    throw Failure(ExitCode::Usage,
                  std::string("input '") + input.name + "' " +
                      describeDims(input) + " fits no window of '" +
                      corpus->bytes->path() + "': expected [batch, " +
                      std::to_string(corpus->window) + "]" +
                      (isTokens ? " or [batch]; give '" + option + " " +
                                      std::string(input.name) + "=FILE'"
                                : ""));
  Source source;
  source.input = &input;
  source.bytes = corpus->bytes;
  source.role = role;
  source.rowElements = whole ? corpus->window : 1;
  source.count = corpus->windows();
  const FileType type = isTokens ? corpus->type : FileType::I32;
  source.elementBytes = sizeOf(type);
  source.convert = findConvert(type, false, typeOf(input));
  if (isTokens) {
    const int64_t shift = isFirst ? 0 : whole ? 1 : corpus->window;
    source.base = corpus->tokens + shift * source.elementBytes;
  }
  source.corpus = std::move(corpus);
  inputSources.push_back(std::move(source));
}

int64_t Dataset::residentBytes() const {
  std::set<const Bytes *> files;
  int64_t total = 0;
  for (const Source &source : inputSources)
    if (files.insert(source.bytes.get()).second)
      total += source.bytes->residentBytes();
  return total;
}
