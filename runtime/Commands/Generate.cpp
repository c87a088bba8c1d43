//===- Generate.cpp - texts from a model ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Generate.h"

#include "runtime/Base/Counted.h"
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

/// Whether the program generates as many texts at once as there are prompts, or
/// beams of one prompt.
static void checkCounts(const MeshcProgram &program, int64_t prompts,
                        int64_t beams) {
  const MeshcDim &dim = findTensor(program, MESHC_TOKEN).dims[0];
  const int64_t most = dim.size;
  const std::string limit = ", and the program generates " +
                            std::to_string(most) +
                            (most == 1 ? " text" : " texts") + " at once; ";
  auto compileFor = [&](int64_t count) {
    return "compile it with '--set " + std::string(dim.name) + "=" +
           std::to_string(count) + "' or more";
  };
  if (prompts > most)
    throw Failure(ExitCode::Usage, "there are " + std::to_string(prompts) +
                                       " prompts" + limit + "give at most " +
                                       std::to_string(most) +
                                       " and the others in another run, or " +
                                       compileFor(prompts));
  if (beams && prompts > 1)
    throw Failure(ExitCode::Usage, "there are " + std::to_string(prompts) +
                                       " prompts, and '--beams' goes on with "
                                       "one; give the others in other runs");
  if (beams > most)
    throw Failure(ExitCode::Usage, "'--beams' is " + std::to_string(beams) +
                                       limit + compileFor(beams));
}

/// Compares the tokenizer with the model's vocabulary. A larger vocabulary is
/// padded, and its other tokens are never chosen. Beyond twice the tokens, the
/// tokenizer is hardly that of the training data.
static void checkVocabulary(const MeshcProgram &program, const Options &options,
                            int64_t tokens) {
  const int64_t known = findTensor(program, MESHC_LOGITS).dims[1].size;
  if (tokens <= known && known <= 2 * tokens)
    return;
  const std::string found =
      "tokenizer '" + options.tokenizer + "' has " + std::to_string(tokens) +
      " tokens, and the model's vocabulary has " + std::to_string(known);
  const std::string hint = "; give the '--tokenizer' of the training data";
  if (tokens > known)
    throw Failure(ExitCode::Data, found + hint);
  if (!options.quiet)
    printError(std::string(program.name) + ": warning: " + found +
               "; tokens from " + std::to_string(tokens) +
               " on are never chosen" + hint + ", unless this is it\n");
}

Prompts meshc::runtime::openPrompts(const MeshcProgram &program,
                                    const Options &options) {
  Prompts prompts;
  prompts.tokenizer = openTokenizer(options.tokenizer);
  checkVocabulary(program, options, prompts.tokenizer->vocabularySize());
  std::vector<std::string> texts = options.prompts;
  if (texts.empty())
    texts.emplace_back();
  checkCounts(program, static_cast<int64_t>(texts.size()), options.beams.count);
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

  int64_t known() const override;
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

int64_t TextWriter::known() const {
  size_t least = texts.front().prompt;
  for (const Text &text : texts)
    least = std::min(least, text.prompt);
  return static_cast<int64_t>(least) - 1;
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
  printRaw(added);
}

/// Several texts come one after the other.
void TextWriter::print() const {
  if (texts.size() == 1)
    return printOut("\n");
  for (const Text &text : texts)
    printRaw(tokenizer.decode(text.tokens.data(), text.tokens.size()) + "\n");
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

using Clock = std::chrono::steady_clock;

static double secondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

namespace {

/// Runs the steps of all ranks; rank 0 has the texts, and tells the others what
/// they need to know of them.
class Generation {
public:
  /// `writer` is null but on rank 0.
  Generation(Session &session, Writer *writer);

  void run();
  /// Prints what is left of the texts, and how fast it was; rank 0 calls it.
  void printEnd(const Options &options) const;

private:
  bool prefill();
  bool step();
  void share(std::vector<int32_t> &numbers) {
    session.communicator().broadcast(numbers.data(),
                                     numbers.size() * sizeof(int32_t), 0);
  }
  void write(const MeshcTensor &tensor, const std::vector<int32_t> &numbers) {
    session.device().write(tensor, [&](char *block) {
      std::memcpy(block, numbers.data(), numbers.size() * sizeof(int32_t));
    });
  }

  Session &session;
  Writer *writer;
  const MeshcTensor &place, &logits;
  std::vector<int32_t> own; ///< each text's number
  int32_t position = 0;     ///< of the next step
  int64_t prompt = 0;       ///< tokens before the first new one
  /// When the run began, when the step began that gives the first new token,
  /// and when that was known.
  Clock::time_point start, firstBegin, firstEnd, end;
};

} // namespace

/// The tokens of one position, or of a block of them.
static const MeshcTensor &findTokens(const MeshcProgram &program,
                                     bool ofBlock) {
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (program.tensors[i].role == MESHC_TOKEN &&
        program.tensors[i].rank == (ofBlock ? 2u : 1u))
      return program.tensors[i];
  throw Failure(ExitCode::Internal, "the program has no tokens of a step");
}

Generation::Generation(Session &session, Writer *writer)
    : session(session), writer(writer),
      place(findTensor(session.program(), MESHC_POSITION)),
      logits(findTensor(session.program(), MESHC_LOGITS)),
      own(static_cast<size_t>(countTexts(session.program()))),
      start(Clock::now()) {
  std::iota(own.begin(), own.end(), 0);
}

/// A block takes as long as some steps, whatever part of it is needed: few of a
/// large model, whose steps wait for the memory, and about 60 of 260,000
/// parameters, where that is 3 ms. For so few positions there are steps in
/// either case.
static constexpr int64_t fewPositions = 6;

/// Computes a block of known positions; false if steps are to go on.
bool Generation::prefill() {
  if (!session.program().prefillStep)
    return false;
  const MeshcTensor &block = findTokens(session.program(), /*ofBlock=*/true);
  const int64_t size = block.dims[1].size;
  /// How many positions are left, and the tokens.
  std::vector<int32_t> shared(1 + own.size() * static_cast<size_t>(size));
  if (writer) {
    const int64_t left = writer->known() - position;
    shared[0] = static_cast<int32_t>(left);
    std::vector<int32_t> tokens(own.size());
    for (int64_t i = 0; left > 0 && i < size; ++i) {
      // What follows the known ones is computed, and not used.
      writer->fill(position + std::min(i, left - 1), tokens.data());
      for (size_t text = 0; text < own.size(); ++text)
        shared[1 + text * static_cast<size_t>(size) + static_cast<size_t>(i)] =
            tokens[text];
    }
  }
  share(shared);
  const int64_t left = shared[0];
  if (left <= fewPositions)
    return false;
  shared.erase(shared.begin());
  write(block, shared);
  write(place, {position});
  session.device().run(StepFunction::Prefill);
  position += static_cast<int32_t>(std::min(left, size));
  return true;
}

/// Computes the next position; false if the texts are finished.
bool Generation::step() {
  const size_t texts = own.size();
  /// Whether to go on, the tokens, and which caches each text goes on from.
  std::vector<int32_t> shared(1 + 2 * texts);
  if (writer) {
    shared[0] = writer->fill(position, &shared[1]);
    writer->fillParents(&shared[1 + texts]);
  }
  share(shared);
  if (!shared[0])
    return false;
  const auto middle = shared.begin() + static_cast<int64_t>(1 + texts);
  const std::vector<int32_t> tokens(shared.begin() + 1, middle),
      parents(middle, shared.end());
  if (parents != own)
    reorderCaches(session, parents);
  const bool isWanted = writer && writer->wants(position);
  const bool isFirst = isWanted && !prompt;
  if (isFirst) {
    prompt = position + 1;
    firstBegin = Clock::now();
  }
  write(findTokens(session.program(), /*ofBlock=*/false), tokens);
  write(place, {position});
  session.device().run(StepFunction::Generate);
  if (isWanted)
    writer->read(position, logits, session.device().read(logits));
  if (isFirst)
    firstEnd = Clock::now();
  ++position;
  return true;
}

void Generation::run() {
  while (prefill()) {
  }
  while (step()) {
  }
  end = Clock::now();
}

void Generation::printEnd(const Options &options) const {
  writer->print();
  const auto added = static_cast<double>(writer->added());
  const double wait = prompt ? secondsBetween(start, firstEnd) : 0,
               seconds = prompt ? secondsBetween(firstBegin, end) : 0,
               rate = seconds > 0 ? added / seconds : 0;
  const std::string name = session.program().name;
  if (!options.quiet) {
    char text[200];
    std::snprintf(text, sizeof(text),
                  " in %.3f s: %.1f tokens/s; the first one %.3f s after the "
                  "prompt of %lld\n",
                  seconds, rate, wait, static_cast<long long>(prompt));
    printError(name + ": " + counted(writer->added(), "token") + text +
               writer->describeEnd());
  }
  Log log(options.log);
  log.begin(session.program().positions);
  log.add("tokens", added);
  log.add("time", seconds);
  log.add("tokens_per_second", rate);
  log.add("prompt_tokens", static_cast<double>(prompt));
  log.add("time_to_first_token", wait);
  if (auto score = writer->score())
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
  std::unique_ptr<Writer> writer;
  if (session.speaks() && options.beams.count)
    writer = makeBeamWriter(program, options, prompts);
  else if (session.speaks())
    writer = std::make_unique<TextWriter>(program, options, prompts);
  Generation generation(session, writer.get());
  generation.run();
  if (writer)
    generation.printEnd(options);
  return ExitCode::Success;
}
