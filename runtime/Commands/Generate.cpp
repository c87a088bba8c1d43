//===- Generate.cpp - texts from a model ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Generate.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Commands/ReorderCaches.h"
#include "runtime/Commands/Weights.h"
#include "runtime/Commands/Writer.h"
#include "runtime/Monitor/Log.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>

using namespace meshc::runtime;

static const MeshcTensor &findTensor(const MeshcProgram &program,
                                     MeshcRole role) {
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (program.tensors[i].role == role)
      return program.tensors[i];
  throw Failure(ExitCode::Internal,
                "the program has no tensor of role " + std::to_string(role));
}

int64_t meshc::runtime::countTexts(const MeshcProgram &program) {
  return findTensor(program, MESHC_TOKEN).dims[0].size;
}

//===----------------------------------------------------------------------===//
// Prompts
//===----------------------------------------------------------------------===//

static std::vector<int32_t>
encodePrompt(Tokenizer &tokenizer, const std::string &text, int64_t positions) {
  std::vector<int32_t> tokens;
  if (auto start = tokenizer.startOfText())
    tokens.push_back(*start);
  if (!text.empty())
    for (int32_t token : tokenizer.encode(text))
      tokens.push_back(token);
  if (tokens.empty())
    throw Failure(ExitCode::Usage,
                  "the prompt is empty, and the tokenizer '" +
                      tokenizer.identity() +
                      "' has no token for the start of a text; give '--prompt' "
                      "at least one character");
  auto count = static_cast<int64_t>(tokens.size());
  if (count > positions)
    throw Failure(ExitCode::Usage, "the prompt has " + std::to_string(count) +
                                       " tokens, and the model has " +
                                       std::to_string(positions) +
                                       " positions; shorten it");
  return tokens;
}

Prompts meshc::runtime::openPrompts(const MeshcProgram &program,
                                    const Options &options) {
  Prompts prompts;
  prompts.tokenizer = openTokenizer(options.tokenizer);
  int64_t known = findTensor(program, MESHC_LOGITS).dims[1].size;
  if (prompts.tokenizer->vocabularySize() > known)
    throw Failure(ExitCode::Data,
                  "tokenizer '" + options.tokenizer + "' has " +
                      std::to_string(prompts.tokenizer->vocabularySize()) +
                      " tokens, and the model's vocabulary has " +
                      std::to_string(known) +
                      "; give the '--tokenizer' of "
                      "the training data");
  std::vector<std::string> texts = options.prompts;
  if (texts.empty())
    texts.emplace_back();
  int64_t most = countTexts(program);
  if (static_cast<int64_t>(texts.size()) > most)
    throw Failure(ExitCode::Usage, "there are " + std::to_string(texts.size()) +
                                       " prompts, and the program generates " +
                                       std::to_string(most) +
                                       (most == 1 ? " text" : " texts") +
                                       " at once");
  if (options.beams.count && texts.size() > 1)
    throw Failure(ExitCode::Usage, "there are " + std::to_string(texts.size()) +
                                       " prompts; '--beams' goes on with one");
  if (options.beams.count > most)
    throw Failure(ExitCode::Usage,
                  "'--beams' is " + std::to_string(options.beams.count) +
                      ", and the program generates " + std::to_string(most) +
                      (most == 1 ? " text" : " texts") +
                      " at once; compile it with a larger '--set' of the dim "
                      "that counts the texts");
  for (const std::string &text : texts)
    prompts.texts.push_back(
        encodePrompt(*prompts.tokenizer, text, program.positions));
  return prompts;
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

std::string meshc::runtime::describeFullText(int64_t positions) {
  return "stopped at the last of the model's " + std::to_string(positions) +
         " positions\n";
}

void meshc::runtime::failByLogits(int64_t tokens) {
  throw Failure(ExitCode::Numeric,
                "the logits after token " + std::to_string(tokens) +
                    " are not finite; look for weights that are not, with "
                    "'eval'");
}

namespace {

/// A text that grows.
struct Text {
  std::vector<int32_t> tokens;
  size_t prompt; ///< tokens of the prompt
  bool ended = false;

  size_t added() const { return tokens.size() - prompt; }
};

/// Texts whose tokens are chosen one by one.
class TextWriter final : public Writer {
public:
  TextWriter(const MeshcProgram &program, const Options &options,
             const Prompts &prompts);

  bool fill(int64_t position, int32_t *tokens) const override;
  void fillParents(int32_t *parents) const override;
  bool wants(int64_t position) const override;
  void read(int64_t position, const MeshcTensor &tensor,
            const char *block) override;
  void print() const override;
  int64_t added() const override;
  std::string describeEnd() const override;

private:
  bool isOpen(const Text &text) const;
  void stream(size_t from) const;

  const Tokenizer &tokenizer;
  Sampler sampler;
  int64_t most;            ///< new tokens of a text; as many as fit if 0
  int64_t positions, rows; ///< rows: texts that the program generates at once
  std::vector<Text> texts;
};

} // namespace

TextWriter::TextWriter(const MeshcProgram &program, const Options &options,
                       const Prompts &prompts)
    : tokenizer(*prompts.tokenizer), sampler(options.sampling),
      most(options.tokens), positions(program.positions),
      rows(countTexts(program)) {
  for (const std::vector<int32_t> &prompt : prompts.texts)
    texts.push_back({prompt, prompt.size()});
  stream(0);
}

bool TextWriter::isOpen(const Text &text) const {
  return !text.ended && (!most || static_cast<int64_t>(text.added()) < most) &&
         static_cast<int64_t>(text.tokens.size()) <= positions;
}

bool TextWriter::fill(int64_t position, int32_t *tokens) const {
  bool goesOn = false;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Text &text = texts[i];
    auto at = static_cast<size_t>(position);
    goesOn |= isOpen(text) && at < text.tokens.size();
    tokens[i] = text.tokens[std::min(at, text.tokens.size() - 1)];
  }
  return goesOn && position < positions;
}

void TextWriter::fillParents(int32_t *parents) const {
  std::iota(parents, parents + rows, 0);
}

bool TextWriter::wants(int64_t position) const {
  return std::any_of(texts.begin(), texts.end(), [&](const Text &text) {
    return isOpen(text) &&
           static_cast<int64_t>(text.tokens.size()) == position + 1;
  });
}

void TextWriter::read(int64_t position, const MeshcTensor &tensor,
                      const char *block) {
  const MeshcDim &row = tensor.dims[0], &entry = tensor.dims[1];
  const auto *logits = reinterpret_cast<const float *>(block);
  int64_t count = tokenizer.vocabularySize();
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < texts.size(); ++i) {
    Text &text = texts[i];
    if (!isOpen(text) ||
        static_cast<int64_t>(text.tokens.size()) != position + 1)
      continue;
    auto number = static_cast<int64_t>(i);
    for (int64_t j = 0; j < count; ++j)
      values[static_cast<size_t>(j)] =
          logits[number * row.localStride + j * entry.localStride];
    int32_t token = sampler.choose(values.data(), count, number, position + 1);
    if (token < 0)
      failByLogits(position + 1);
    if (token == tokenizer.endOfText() || token == tokenizer.startOfText())
      text.ended = true;
    else
      text.tokens.push_back(token);
  }
  if (texts.size() == 1 && !texts[0].ended)
    stream(texts[0].tokens.size() - 1);
}

/// Prints the tokens of the only text from number `from` on.
void TextWriter::stream(size_t from) const {
  if (texts.size() != 1)
    return;
  const std::vector<int32_t> &tokens = texts[0].tokens;
  std::string added;
  for (size_t i = from; i < tokens.size(); ++i)
    added += tokenizer.bytesOf(tokens[i], i ? tokens[i - 1] : -1);
  printOut(added);
}

/// Several texts come one after the other.
void TextWriter::print() const {
  if (texts.size() == 1)
    return printOut("\n");
  for (const Text &text : texts)
    printOut(tokenizer.decode(text.tokens.data(), text.tokens.size()) + "\n");
}

int64_t TextWriter::added() const {
  size_t count = 0;
  for (const Text &text : texts)
    count += text.added();
  return static_cast<int64_t>(count);
}

std::string TextWriter::describeEnd() const {
  bool isFull = std::any_of(texts.begin(), texts.end(), [&](const Text &text) {
    return !text.ended && (!most || static_cast<int64_t>(text.added()) < most);
  });
  if (isFull)
    return describeFullText(positions);
  return "";
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The time that steps take, from the first that gives a new token.
static double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

static void printEnd(const Session &session, const Options &options,
                     const Writer &writer, double seconds) {
  writer.print();
  auto added = static_cast<double>(writer.added());
  double rate = seconds > 0 ? added / seconds : 0;
  if (!options.quiet) {
    char text[120];
    std::snprintf(text, sizeof(text), "%.0f tokens in %.3f s: %.1f tokens/s\n",
                  added, seconds, rate);
    printError(std::string(session.program().name) + ": " + text +
               writer.describeEnd());
  }
  Log log(options.log);
  log.begin(session.program().positions);
  log.add("tokens", added);
  log.add("time", seconds);
  log.add("tokens_per_second", rate);
  if (auto score = writer.score())
    log.add("score", *score);
  log.end();
}

ExitCode meshc::runtime::generate(Session &session, const Options &options,
                                  const Prompts &prompts) {
  const MeshcProgram &program = session.program();
  const LoadedWeights loaded =
      loadWeights(options.checkpoint, options, session.rank());
  if (!agreeOn(session.communicator(), program.name, loaded.agreed))
    return ExitCode::Disagreement;
  const MeshcTensor &token = findTensor(program, MESHC_TOKEN),
                    &place = findTensor(program, MESHC_POSITION),
                    &logits = findTensor(program, MESHC_LOGITS);
  std::unique_ptr<Writer> writer;
  if (session.speaks() && options.beams.count)
    writer = makeBeamWriter(program, options, prompts);
  else if (session.speaks())
    writer = std::make_unique<TextWriter>(program, options, prompts);
  auto texts = static_cast<size_t>(countTexts(program));
  std::vector<int32_t> own(texts);
  std::iota(own.begin(), own.end(), 0);
  /// What rank 0 tells the others: whether to go on, the tokens, and which
  /// caches each text goes on from.
  std::vector<int32_t> step(1 + 2 * texts);
  std::vector<int32_t> parents(own);
  std::optional<std::chrono::steady_clock::time_point> begin;
  Device &device = session.device();
  for (int32_t position = 0;; ++position) {
    if (writer) {
      step[0] = writer->fill(position, &step[1]);
      writer->fillParents(&step[1 + texts]);
    }
    session.communicator().broadcast(step.data(), step.size() * sizeof(int32_t),
                                     0);
    if (!step[0])
      break;
    std::copy(step.end() - static_cast<int64_t>(texts), step.end(),
              parents.begin());
    if (parents != own)
      reorderCaches(session, parents);
    if (writer && !begin && writer->wants(position))
      begin = std::chrono::steady_clock::now();
    device.write(token, [&](char *block) {
      std::memcpy(block, &step[1], texts * sizeof(int32_t));
    });
    device.write(place, [&](char *block) {
      std::memcpy(block, &position, sizeof(position));
    });
    device.run(StepFunction::Generate);
    if (writer && writer->wants(position))
      writer->read(position, logits, device.read(logits));
  }
  if (writer)
    printEnd(session, options, *writer, begin ? secondsSince(*begin) : 0);
  return ExitCode::Success;
}
