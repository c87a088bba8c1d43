//===- CorpusTest.cpp - streams of tokens and their windows ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Corpus.h"

#include "Inputs.h"
#include "TestFiles.h"
#include "runtime/Data/Dataset.h"
#include "runtime/Data/Feeder.h"
#include "runtime/Tokens/TokenWriter.h"

#include <cstring>
#include <fstream>
#include <sstream>

using namespace meshc::runtime;
using namespace meshc::test;

namespace {

using Documents = std::vector<std::vector<int32_t>>;

std::string writeTokens(const Folder &folder, FileType type,
                        const Documents &documents, int64_t vocabulary = 1000) {
  std::string path = folder.file("tokens");
  TokenWriter writer(path, type, vocabulary, "test:1");
  for (const auto &document : documents) {
    writer.append(document.data(), document.size());
    writer.endDocument();
  }
  writer.commit();
  return path;
}

std::string contentOf(const std::string &path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

TEST(TokenFile, HoldsWhatWasWritten) {
  Folder folder;
  for (FileType type : {FileType::U16, FileType::I32}) {
    std::string path = writeTokens(folder, type, {{1, 2, 999}, {}, {0, 7}});
    TokenFile file = readTokenFile(Bytes::open(path));
    EXPECT_EQ(file.type, type);
    EXPECT_EQ(file.tokenCount, 5);
    EXPECT_EQ(file.documentCount, 2); // one without tokens is none
    EXPECT_EQ(file.vocabulary, 1000);
    EXPECT_EQ(file.largest, 999);
    EXPECT_EQ(file.identity, "test:1");
    checkTokens(file);
    if (type == FileType::U16)
      EXPECT_EQ(std::memcmp(file.tokens, "\1\0\2\0\xe7\3\0\0\7\0", 10), 0);
  }
  // More than the writer's buffer, and a number of tokens of every rest.
  for (size_t count : {1u, 2u, 3u, 4u, 32768u, 100001u}) {
    std::vector<int32_t> tokens(count);
    for (size_t i = 0; i < count; ++i)
      tokens[i] = static_cast<int32_t>(i % 60000);
    TokenFile file = readTokenFile(
        Bytes::open(writeTokens(folder, FileType::U16, {tokens}, 65536)));
    checkTokens(file);
    for (size_t i = 0; i < count; ++i) {
      uint16_t token;
      std::memcpy(&token, file.tokens + 2 * i, 2);
      ASSERT_EQ(token, tokens[i]);
    }
  }
}

TEST(TokenFile, AppearsWholeOrNotAtAll) {
  Folder folder;
  std::string path = folder.write("tokens", "before");
  {
    TokenWriter writer(path, FileType::U16, 10, "test");
    int32_t token = 1;
    writer.append(&token, 1);
    writer.endDocument();
    EXPECT_EQ(contentOf(path), "before");
  }
  EXPECT_EQ(contentOf(path), "before");
  EXPECT_NE(access((path + ".meshc-tmp").c_str(), F_OK), 0);
  // What a killed writer left is reused; another file is not touched.
  std::string left = contentOf(writeTokens(folder, FileType::U16, {{1, 2}}));
  folder.write("tokens.meshc-tmp", left.substr(0, 130));
  writeTokens(folder, FileType::U16, {{3}});
  EXPECT_EQ(readTokenFile(Bytes::open(path)).tokenCount, 1);
  folder.write("tokens.meshc-tmp", "a letter");
  std::string message = failureOf(
      ExitCode::Checkpoint, [&] { writeTokens(folder, FileType::U16, {{4}}); });
  EXPECT_EQ(message, "token file '" + path + "' cannot be written: '" + path +
                         ".meshc-tmp' exists and is not an unfinished token "
                         "file; move it away");
}

/// Each byte of a file matters, or is zero for alignment.
TEST(TokenFile, FindsEveryDamage) {
  Folder folder;
  std::string whole =
      contentOf(writeTokens(folder, FileType::U16, {{1, 2}, {3, 4, 5}}));
  ASSERT_EQ(whole.size(), 128u + 16 + 16);
  auto open = [&](const std::string &content) {
    checkTokens(readTokenFile(Bytes::open(folder.write("damaged", content))));
  };
  open(whole);
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i < 8 || (i >= 128 + 10 && i < 128 + 16))
      continue; // the magic has a test of its own; alignment
    std::string damaged = whole;
    damaged[i] ^= 4;
    EXPECT_NE(
        failureOf(ExitCode::Data, [&] { open(damaged); }).find("token file '"),
        std::string::npos);
  }
  for (size_t size : {9u, 127u, 128u, 140u, 159u})
    EXPECT_NE(failureOf(ExitCode::Data, [&] { open(whole.substr(0, size)); }),
              "");
  EXPECT_NE(failureOf(ExitCode::Data, [&] { open(whole + "x"); })
                .find("has 161 bytes; its header says 160"),
            std::string::npos);
}

/// A flipped bit of the magic does not make a token file a corpus of bytes.
TEST(TokenFile, isOneWithoutItsMagic) {
  Folder folder;
  std::string whole =
      contentOf(writeTokens(folder, FileType::U16, {{1, 2}, {3, 4, 5}}));
  for (size_t i = 0; i < 8; ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    const std::string path = folder.write("damaged", damaged);
    for (std::optional<FileType> type :
         {std::optional<FileType>(), std::optional(FileType::U16)})
      EXPECT_EQ(failureOf(ExitCode::Data,
                          [&] { openCorpus(Bytes::open(path), 2, {type}); }),
                "token file '" + path +
                    "' has a damaged header: it begins with other bytes than "
                    "'meshctok'; write it again with 'meshc-tokens encode'");
  }
}

/// A file of llm.c: 256 numbers, of which the first three count, and tokens.
std::string llmc(int32_t magic, int32_t version, int32_t count,
                 const std::string &tokens) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return bytesOf(header) + tokens;
}

TEST(Corpus, readsFilesOfLlmc) {
  Folder folder;
  const std::string narrow = bytesOf<uint16_t>({10, 300, 50256, 7}),
                    wide = bytesOf<int32_t>({10, 300, 128000, 7});
  for (std::optional<FileType> type :
       {std::optional<FileType>(), std::optional(FileType::U16)}) {
    auto corpus = openCorpus(
        Bytes::open(folder.write("a.bin", llmc(20240520, 1, 4, narrow))), 2,
        {type});
    EXPECT_EQ(corpus->type, FileType::U16);
    EXPECT_EQ(corpus->count, 4);
    EXPECT_EQ(std::memcmp(corpus->tokens, narrow.data(), narrow.size()), 0);
    corpus = openCorpus(
        Bytes::open(folder.write("b.bin", gzip(llmc(20240801, 7, 4, wide)))), 2,
        {type});
    EXPECT_EQ(corpus->type, FileType::I32);
    EXPECT_EQ(corpus->count, 4);
    EXPECT_EQ(std::memcmp(corpus->tokens, wide.data(), wide.size()), 0);
  }
}

TEST(Corpus, refusesDamagedFilesOfLlmc) {
  Folder folder;
  const std::string narrow = bytesOf<uint16_t>({10, 300, 50256, 7});
  auto refused = [&](const std::string &content, const std::string &why) {
    const std::string path = folder.write("f.bin", content);
    EXPECT_EQ(
        failureOf(ExitCode::Data,
                  [&] { openCorpus(Bytes::open(path), 2, {FileType::U16}); }),
        "token file '" + path + "' of llm.c " + why);
  };
  refused(llmc(20240520, 2, 4, narrow),
          "has version 2; expected version 1 behind the magic number 20240520");
  refused(llmc(20240801, 1, 2, narrow),
          "has version 1; expected version 7 behind the magic number 20240801");
  refused(llmc(20240520, 1, 5, narrow),
          "has 8 bytes behind its header, which says 5 tokens of 2 bytes; "
          "fetch it again");
  refused(llmc(20240520, 1, -4, narrow),
          "has 8 bytes behind its header, which says -4 tokens of 2 bytes; "
          "fetch it again");
  refused(llmc(20240801, 7, 4, narrow),
          "has 8 bytes behind its header, which says 4 tokens of 4 bytes; "
          "fetch it again");
  refused(llmc(20240520, 1, 4, narrow).substr(0, 1023),
          "ends within its header of 1024 bytes; fetch it again");
  refused(llmc(20240520 ^ 64, 1, 4, narrow),
          "begins with the number 20240584, and the rest of its header is that "
          "of a token file; expected 20240520 or 20240801; fetch it again");
  refused(llmc(20240522, 1, 4, narrow),
          "has the magic number 20240522 of questions with several answers; "
          "expected 20240520 or 20240801, for tokens of u16 or u32");
}

/// What would be read as bytes, and has the name of another format.
TEST(Corpus, namesPromiseFormats) {
  Folder folder;
  auto refused = [&](const std::string &name, const std::string &content,
                     const std::string &why) {
    const std::string path = folder.write(name, content);
    EXPECT_EQ(failureOf(ExitCode::Data,
                        [&] { openCorpus(Bytes::open(path), 2, {}); }),
              "data file '" + path + "' is " + why);
    EXPECT_EQ(
        openCorpus(Bytes::open(path), 2, {FileType::U8})->count,
        static_cast<int64_t>(
            openCorpus(Bytes::open(path), 2, {FileType::U8})->bytes->size()));
  };
  const std::string orType =
      ", or give '--token-type' if it holds tokens without a header";
  const std::string tokens =
      "no token file: it does not begin with 'meshctok'; write it again with "
      "'meshc-tokens encode'";
  refused("a.tokens", "some text", tokens + orType);
  refused("a.tokens.gz", gzip("some text"), tokens + orType);
  refused("a.gz", "some text",
          "no gzip file: it does not begin with 1f 8b; fetch it again" +
              orType);
  refused("a.npy", "some text",
          "no NPY file: it does not begin with 93 4e 55 4d; fetch it again" +
              orType);
  const std::string empty = folder.write("empty", "");
  EXPECT_EQ(
      failureOf(ExitCode::Data, [&] { openCorpus(Bytes::open(empty), 2, {}); }),
      "data file '" + empty + "' is empty");
}

/// The rows of an input for the examples from `first` on.
template <typename T>
std::vector<T> rowsOf(Inputs &inputs, const Dataset &dataset,
                      const std::string &name, int64_t first) {
  std::vector<T> values(100, T(-1));
  std::vector<char> others(4000);
  int64_t count = 0;
  Feeder(inputs.make(), dataset, nullptr)
      .fill(
          [&](const MeshcTensor &input) {
            if (name != input.name)
              return others.data();
            count = 1;
            for (uint32_t i = 0; i < input.rank; ++i)
              count *= input.dims[i].size;
            return reinterpret_cast<char *>(values.data());
          },
          {nullptr, first, dataset.batch()});
  values.resize(static_cast<size_t>(count));
  return values;
}

using Numbers = std::vector<int32_t>;

Inputs languageModel() {
  Inputs inputs;
  inputs.add("tokens", MESHC_I32, {2, 3});
  inputs.add("targets", MESHC_I32, {2, 3});
  return inputs;
}

TEST(Corpus, FeedsTokensOfAnyType) {
  Folder folder;
  Inputs inputs = languageModel();
  const Numbers tokens{10, 300, 20, 999, 30, 40};
  std::vector<uint16_t> narrow(tokens.begin(), tokens.end());
  for (auto [path, type] : std::vector<std::pair<std::string, FileType>>{
           {writeTokens(folder, FileType::U16, {tokens}), FileType::U8},
           {folder.write("u16", bytesOf(narrow)), FileType::U16},
           {folder.write("i32", bytesOf(tokens)), FileType::I32}}) {
    Dataset dataset(inputs.make(), {path}, {type, 1});
    EXPECT_EQ(dataset.examples(), 3);
    EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "tokens", 1),
              (Numbers{300, 20, 999, 20, 999, 30}));
    EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "targets", 1),
              (Numbers{20, 999, 30, 999, 30, 40}));
  }
  std::string odd = folder.write("odd", "12345");
  EXPECT_EQ(
      failureOf(ExitCode::Data,
                [&] { Dataset(inputs.make(), {odd}, {FileType::U16, 1}); }),
      "data file '" + odd +
          "' has 5 bytes, which are not tokens of 2 bytes "
          "('--token-type')");
}

TEST(Corpus, HasWindowsWithAStride) {
  Folder folder;
  Inputs inputs = languageModel();
  // Length, stride (0: 3, the window), windows, tokens at the end left out.
  const int64_t cases[][4] = {{4, 1, 1, 0},  {9, 1, 6, 0},  {9, 0, 2, 2},
                              {10, 3, 3, 0}, {11, 0, 3, 1}, {12, 0, 3, 2},
                              {13, 0, 4, 0}, {9, 2, 3, 1},  {9, 100, 1, 5}};
  for (auto [length, stride, windows, left] : cases) {
    std::string text;
    for (int64_t i = 0; i < length; ++i)
      text += static_cast<char>('a' + i);
    std::string path = folder.write("text", text);
    Dataset dataset(inputs.make(), {path}, {FileType::U8, stride});
    EXPECT_EQ(dataset.examples(), windows) << length << ' ' << stride;
    ASSERT_TRUE(dataset.corpus());
    EXPECT_EQ(dataset.corpus()->leftOut(), left) << length << ' ' << stride;
    if (windows < 2)
      continue;
    int32_t at = 'a' + static_cast<int32_t>(stride ? stride : 3);
    EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "tokens", 0),
              (Numbers{'a', 'b', 'c', at, at + 1, at + 2}));
  }
}

TEST(Corpus, HasWindowsWithinDocuments) {
  Folder folder;
  Inputs inputs = languageModel();
  inputs.add("mask", MESHC_I32, {2, 3});
  // A window needs 4 tokens. Those of 3 have none, wherever they are.
  std::string path = writeTokens(
      folder, FileType::U16,
      {{90, 91, 92}, {1, 2, 3, 4, 5}, {93}, {94, 95, 96}, {6, 7, 8, 9}, {97}});
  Dataset dataset(inputs.make(), {path, "mask=@mask"},
                  {FileType::U8, 1, /*withinDocuments=*/true});
  EXPECT_EQ(dataset.examples(), 3);
  EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "tokens", 0),
            (Numbers{1, 2, 3, 2, 3, 4}));
  EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "targets", 1),
            (Numbers{3, 4, 5, 7, 8, 9}));
  EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "mask", 1), Numbers(6, 1));
  // All tokens of the documents that are too short.
  EXPECT_EQ(dataset.corpus()->leftOut(), 3 + 1 + 3 + 1);
  Dataset apart(inputs.make(), {path, "mask=@mask"},
                {FileType::U8, 2, /*withinDocuments=*/true});
  EXPECT_EQ(apart.examples(), 2);
  EXPECT_EQ(rowsOf<int32_t>(inputs, apart, "tokens", 0),
            (Numbers{1, 2, 3, 6, 7, 8}));
  EXPECT_EQ(apart.corpus()->leftOut(), 8 + 1);
  // Without documents, all is one.
  Inputs plain = languageModel();
  Dataset text(plain.make(), {folder.write("text", "abcdef")},
               {FileType::U8, 1, /*withinDocuments=*/true});
  EXPECT_EQ(text.examples(), 3);
}

TEST(Corpus, RefusesDocumentsWithoutAWindow) {
  Folder folder;
  Inputs inputs = languageModel();
  std::string path = writeTokens(folder, FileType::U16, {{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(failureOf(ExitCode::Data,
                      [&] {
                        Dataset(inputs.make(), {path},
                                {FileType::U8, 1, /*withinDocuments=*/true});
                      }),
            "no document of data file '" + path +
                "' has the 4 tokens of a window of 3 and the token after it; "
                "compile the model for a smaller window, or leave out "
                "'--within-documents'");
}

/// By default each token is a target once, whatever a window's targets are.
TEST(Corpus, HasEachTokenAsTargetOnce) {
  Folder folder;
  std::string path = folder.write("text", "abcdefghij");
  auto strideOf = [&](const std::vector<std::vector<int64_t>> &dims) {
    Inputs inputs;
    for (size_t i = 0; i < dims.size(); ++i)
      inputs.add(i ? "other" : "tokens", MESHC_I32, dims[i]);
    return Dataset(inputs.make(), {path}, {FileType::U8, 0}).corpus()->stride;
  };
  EXPECT_EQ(strideOf({{2, 3}}), 3); // shifted by the model
  EXPECT_EQ(strideOf({{2, 3}, {2, 3}}), 3);
  EXPECT_EQ(strideOf({{2, 3}, {2}}), 1);
  EXPECT_EQ(strideOf({{2, 3}, {2}, {2, 3}}), 3);
}

TEST(Corpus, TellsDocumentsApart) {
  Folder folder;
  Inputs inputs = languageModel();
  inputs.add("segments", MESHC_I32, {2, 3});
  inputs.add("positions", MESHC_I32, {2, 3});
  inputs.add("mask", MESHC_F32, {2, 3});
  std::string path =
      writeTokens(folder, FileType::U16, {{1, 2}, {3, 4, 5}, {6}, {7, 8, 9}});
  std::vector<std::string> specs{path, "segments=@segments",
                                 "positions=@positions", "mask=@mask"};
  Dataset dataset(inputs.make(), specs);
  EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "tokens", 0),
            (Numbers{1, 2, 3, 2, 3, 4}));
  EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "segments", 0),
            (Numbers{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "positions", 0),
            (Numbers{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(rowsOf<float>(inputs, dataset, "mask", 0),
            (std::vector<float>{1, 0, 1, 0, 1, 1}));
  // Tokens 4, 5, 6 and 5, 6, 7.
  EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "segments", 3),
            (Numbers{0, 0, 1, 0, 1, 2}));
  EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "positions", 3),
            (Numbers{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(rowsOf<float>(inputs, dataset, "mask", 3),
            (std::vector<float>{1, 0, 0, 0, 0, 1}));
  // Without a header, all is one document.
  specs[0] = folder.write("text", "abcdef");
  Dataset text(inputs.make(), specs);
  EXPECT_EQ(rowsOf<int32_t>(inputs, text, "segments", 0), Numbers(6, 0));
  EXPECT_EQ(rowsOf<int32_t>(inputs, text, "positions", 0),
            (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(rowsOf<float>(inputs, text, "mask", 0), std::vector<float>(6, 1));
}

/// Ranks that have a part of the window describe that part.
TEST(Corpus, DescribesThePartOfARank) {
  Folder folder;
  Inputs inputs;
  inputs.add("tokens", MESHC_I32, {2, 4});
  inputs.add("positions", MESHC_I32, {2, 4});
  const uint32_t axis[] = {0};
  const MeshcAxis axes[] = {{"seq", 2}};
  MeshcDim &cut = inputs.dims[1][1];
  cut.localSize = 2;
  cut.axisCount = 1;
  cut.axes = axis;
  inputs.dims[1][0].localStride = 2;
  inputs.program.axes = axes;
  inputs.program.axisCount = 1;
  std::string path =
      writeTokens(folder, FileType::U16, {{1, 2, 3}, {4, 5, 6, 7, 8}});
  const MeshcProgram &program = inputs.make();
  Dataset dataset(program, {path, "positions=@positions"});
  for (int64_t rank : {0, 1}) {
    std::vector<int32_t> tokens(8), positions(4);
    Feeder(program, dataset, &rank)
        .fill(
            [&](const MeshcTensor &input) {
              return reinterpret_cast<char *>(
                  (&input == program.tensors ? tokens : positions).data());
            },
            {nullptr, 1, 2}); // 2, 3, 4, 5 and 3, 4, 5, 6
    EXPECT_EQ(positions, (rank ? Numbers{0, 1, 1, 2} : Numbers{0, 1, 0, 0}));
  }
}

TEST(Corpus, RefusesRolesThatDoNotFit) {
  Folder folder;
  Inputs inputs = languageModel();
  inputs.add("other", MESHC_F32, {2, 4});
  std::string path = folder.write("text", "abcdef");
  auto failure = [&](const std::vector<std::string> &specs) {
    return failureOf(ExitCode::Usage, [&] { Dataset(inputs.make(), specs); });
  };
  EXPECT_EQ(failure({path, "other=@mask"}),
            "input 'other' [d = 2, d = 4] fits no window of '" + path +
                "': expected [batch, 3]");
  EXPECT_EQ(failure({path, "other=@masks"}),
            "'@masks' is not known of a corpus; expected '@segments', "
            "'@positions' or '@mask', or './@masks' for a file of that name");
  EXPECT_EQ(failure({"other=@mask"}),
            "input 'other' describes the windows of a corpus, and no corpus "
            "is given; give '--data FILE'");
}

/// The compiler's report says which tokens the model knows.
TEST(Corpus, RefusesTokensThatTheModelDoesNotKnow) {
  Folder folder;
  Inputs inputs = languageModel();
  inputs.program.manifest =
      R"({"targets": {"targets": 300}, "indices": {"tokens": 200}})";
  std::string tokens =
      writeTokens(folder, FileType::I32, {{1, 2, 3, 4, 250, 6}});
  EXPECT_EQ(
      failureOf(ExitCode::Data, [&] { Dataset(inputs.make(), {tokens}); }),
      "token file '" + tokens +
          "' holds token 250, and input 'tokens' of 'model' takes "
          "tokens below 200; compile the model for the vocabulary of the "
          "file");
  // Without a header they are found where they are read.
  for (int32_t bad : {200, -1}) {
    std::string plain =
        folder.write("plain", bytesOf<int32_t>({1, 2, 3, 4, 199, bad, 7}));
    Dataset dataset(inputs.make(), {plain}, {FileType::I32, 1});
    EXPECT_EQ(rowsOf<int32_t>(inputs, dataset, "tokens", 0),
              (Numbers{1, 2, 3, 2, 3, 4}));
    EXPECT_EQ(failureOf(ExitCode::Data,
                        [&] { rowsOf<int32_t>(inputs, dataset, "tokens", 2); }),
              "data file '" + plain + "': example 3 has token " +
                  std::to_string(bad) +
                  " for input 'tokens', its element 2; expected 0 to 199, the "
                  "model's vocabulary");
  }
  // A class index alone is a limit, too.
  inputs.program.manifest = R"({"targets": {"targets": 128}})";
  std::string text = folder.write("text", "abcd\x80wxyz");
  Dataset dataset(inputs.make(), {text});
  EXPECT_NE(failureOf(ExitCode::Data,
                      [&] { rowsOf<int32_t>(inputs, dataset, "tokens", 3); })
                .find("has token 128 for input 'targets'"),
            std::string::npos);
}

} // namespace
