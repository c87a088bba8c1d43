//===- MalformedFilesTest.cpp - damaged files of every format -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Damages valid files of each format at random until 300 are refused. No
/// damage crashes the reader or lets it run on, and each error names the file
/// and what in it is wrong. test/malformed/run does more:
///   MESHC_MALFORMED=N        files that are refused
///   MESHC_MALFORMED_SEED=N   of the damages; by default always the same
///
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/ParameterSource.h"
#include "runtime/Checkpoint/WeightFiles.h"
#include "runtime/Data/Corpus.h"
#include "runtime/Tokens/TokenWriter.h"
#include "test/runtime/Data/TestFiles.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <sstream>

using namespace meshc::runtime;
using namespace meshc::test;

static long setting(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

namespace {

/// A format: a valid file of it, and its reader.
struct Format {
  const char *name; ///< of the file
  ExitCode code;    ///< of its errors
  std::string valid;
  size_t headBytes; ///< damage of these matters
  std::function<void(const std::string &path)> read;
  /// Each error has one of these words, by which it says where the file is
  /// wrong.
  std::vector<std::string> places;
};

/// A program with parameters "w" [rows = 2, columns = 2] and "layers.3.b"
/// [rows = 2].
class Program {
public:
  Program() {
    add("w", 2, dims);
    add("layers.3.b", 1, dims);
    program.name = "test";
    program.tensorCount = static_cast<uint32_t>(tensors.size());
    program.tensors = tensors.data();
  }
  const MeshcProgram &get() const { return program; }

private:
  void add(const char *name, uint32_t rank, const MeshcDim *its) {
    MeshcTensor tensor = {};
    tensor.name = name;
    tensor.role = MESHC_PARAMETER;
    tensor.rank = rank;
    tensor.dims = its;
    tensors.push_back(tensor);
  }

  MeshcDim dims[2] = {{"rows", 2, 2, 2, 0, nullptr},
                      {"columns", 2, 2, 1, 0, nullptr}};
  std::vector<MeshcTensor> tensors;
  MeshcProgram program = {};
};

} // namespace

static std::string validSafetensors() {
  FileTensor w, b;
  w.name = "w";
  b.name = "layers.3.b";
  w.dtype = b.dtype = "F32";
  w.shape = {2, 2};
  b.shape = {2};
  return writeHeader({w, b}, {{"format", "pt"}}) +
         bytesOf<float>({1, 2, 3, 4, 5, 6});
}

static std::string validTokens(const Folder &folder) {
  const std::string path = folder.file("written.tokens");
  {
    TokenWriter writer(path, FileType::U16, 1000, "test:1");
    const int32_t tokens[] = {1, 2, 3, 999, 5};
    writer.append(tokens, std::size(tokens));
    writer.endDocument();
    writer.commit();
  }
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

static std::string validLlmc(int32_t magic, int32_t version) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = 4;
  return bytesOf(header) + std::string(version == 1 ? 8 : 16, '\1');
}

static std::vector<Format> listFormats(const Folder &folder) {
  auto readWeights = [](const std::string &path) {
    WeightFiles files(path);
    files.checkIntact();
  };
  auto readData = [](const std::string &path) { readArray(Bytes::open(path)); };
  auto readCorpus = [](const std::string &path) {
    openCorpus(Bytes::open(path), 2, {});
  };
  auto readTypedCorpus = [](const std::string &path) {
    openCorpus(Bytes::open(path), 2, {FileType::U16});
  };
  auto readMap = [](const std::string &path) {
    static const Program program;
    NameMap map(path);
    findSources(program.get(), &map);
    for (const char *name : {"model.w", "h.12.attn.bias"})
      map.isIgnored(name);
    map.isIgnored(std::string(4000, '7'));
  };
  const std::string weights = validSafetensors(), tokens = validTokens(folder);
  folder.write("shard.safetensors", weights);
  const std::string index =
      "{\"metadata\": {\"total_size\": 24},\n \"weight_map\": {\n  \"w\": "
      "\"shard.safetensors\",\n  \"layers.3.b\": \"shard.safetensors\"}}\n";
  const std::string map = "# a map\nw = weight [columns, (0/1 rows)]\n"
                          "layers\\.(\\d+)\\.b = h.{$1}.b{2*rows+1}\n"
                          "ignore h\\.\\d+\\.attn\\.bias\noptional prefix m.\n";
  const std::string array =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }",
          bytesOf<float>({1, 2}));
  const std::vector<std::string> ofArrays = {
      "in its NPY header",
      "NPY file of",
      "within its NPY header",
      "a damaged NPY header:",
      "ends early: its header says",
      "behind its content: its header says",
      "impossible dims in its header",
      "is neither IDX nor NPY: it begins with",
      "within its IDX header",
      "IDX file of unknown element type",
      "single number",
      "Fortran order",
      "is empty",
      "gzip stream"};
  const std::vector<std::string> ofCorpora = {
      "header",    "bytes",     "magic number",     "version",
      "documents", "is no ",    "tokens; a window", "token; a window",
      "is empty",  "tokenizer", "gzip stream"};
  const std::vector<std::string> ofWeights = {"byte ",
                                              "bytes",
                                              "tensor '",
                                              "metadata '",
                                              "the name '",
                                              "found ",
                                              "is not a safetensors file",
                                              "ends within its header",
                                              "is empty",
                                              "none of the formats",
                                              "llama2.c file"};
  return {
      {"m.safetensors", ExitCode::Checkpoint, weights, weights.size() - 24,
       readWeights, ofWeights},
      {"m.safetensors.index.json",
       ExitCode::Checkpoint,
       index,
       index.size(),
       readWeights,
       {"line ", "ends early", "'weight_map'", "tensor '", "is empty",
        "too large", "cannot be opened"}},
      {"a.npy", ExitCode::Data, array, array.size() - 8, readData, ofArrays},
      {"a.npy.gz", ExitCode::Data, gzip(array), 40, readData, ofArrays},
      {"a.idx", ExitCode::Data, idx(0x0d, {2, 1}, "12345678"), 12, readData,
       ofArrays},
      {"a.tokens", ExitCode::Data, tokens, 128, readCorpus, ofCorpora},
      {"a.tokens", ExitCode::Data, tokens, 128, readTypedCorpus, ofCorpora},
      {"a.tokens.gz", ExitCode::Data, gzip(tokens), 40, readCorpus, ofCorpora},
      {"gpt2.bin", ExitCode::Data, validLlmc(20240520, 1), 12, readTypedCorpus,
       ofCorpora},
      {"llama3.bin", ExitCode::Data, validLlmc(20240801, 7), 12,
       readTypedCorpus, ofCorpora},
      {"names.map",
       ExitCode::Checkpoint,
       map,
       map.size(),
       readMap,
       {":1:", ":2:", ":3:", ":4:", ":5:", ":6:", ":7:", "no line of name map",
        ": parameter '"}},
  };
}

/// Does one thing to the head of a file.
static std::string damage(const Format &format, std::mt19937 &random) {
  auto below = [&](size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random);
  };
  static const std::string pieces[] = {std::string(1, '\0'),
                                       "\"",
                                       "'",
                                       "(",
                                       ")",
                                       "[",
                                       "]",
                                       "{",
                                       "}",
                                       ",",
                                       ":",
                                       "\\",
                                       "=",
                                       "-1",
                                       "2L",
                                       "9999999999999999999",
                                       "(a+)+b",
                                       "\n",
                                       "\xff",
                                       std::string(50000, '('),
                                       std::string(50000, '['),
                                       "\"" + std::string(50000, '7') + "\"",
                                       std::string(5000, 'x')};
  std::string text = format.valid;
  const size_t at = below(format.headBytes);
  const size_t count = 1 + below(8);
  switch (below(6)) {
  case 0:
    text[at] = static_cast<char>(text[at] ^ 1 << below(8));
    break;
  case 1:
    text.erase(at, count);
    break;
  case 2:
    text.insert(at, pieces[below(std::size(pieces))]);
    break;
  case 3:
    text.replace(at, count, pieces[below(std::size(pieces))]);
    break;
  case 4:
    text.insert(at, text.substr(at, count));
    break;
  case 5:
    text.resize(below(text.size()));
    break;
  }
  return text;
}

/// The error of reading a file; null if it was read.
static std::optional<std::string> errorOf(const Format &format,
                                          const std::string &path) {
  try {
    format.read(path);
    return std::nullopt;
  } catch (const Failure &failure) {
    EXPECT_EQ(static_cast<int>(failure.code()), static_cast<int>(format.code))
        << failure.what();
    return failure.what();
  }
}

/// An error is one line of moderate length and names the file (or the one that
/// it lists) and the place.
static void expectNamed(const Format &format, const std::string &message,
                        const std::string &path) {
  EXPECT_TRUE(message.find(path) != std::string::npos ||
              message.find("shard.safetensors") != std::string::npos ||
              message.find("cannot be opened") != std::string::npos)
      << message;
  EXPECT_LT(message.size(), 1500u) << message;
  EXPECT_TRUE(std::any_of(format.places.begin(), format.places.end(),
                          [&](const std::string &place) {
                            return message.find(place) != std::string::npos;
                          }))
      << message;
}

TEST(MalformedFiles, areRefusedAndNamed) {
  const long wanted = setting("MESHC_MALFORMED", 300);
  const long seed = setting("MESHC_MALFORMED_SEED", 1);
  std::mt19937 random(static_cast<unsigned>(seed));
  Folder folder;
  const std::vector<Format> formats = listFormats(folder);
  for (const Format &format : formats)
    EXPECT_EQ(errorOf(format, folder.write(format.name, format.valid)),
              std::nullopt);
  long refused = 0, tried = 0;
  for (; refused < wanted && tried < 20 * wanted; ++tried) {
    const Format &format = formats[static_cast<size_t>(tried) % formats.size()];
    const std::string content = damage(format, random);
    if (content == format.valid)
      continue;
    const std::string path = folder.write(format.name, content);
    const std::optional<std::string> message = errorOf(format, path);
    if (message)
      expectNamed(format, *message, path);
    refused += message.has_value();
    if (HasFailure()) {
      FAIL() << "MESHC_MALFORMED_SEED=" << seed << ", file " << tried << ", '"
             << format.name << "':\n"
             << content.substr(0, 500);
    }
  }
  EXPECT_GE(refused, wanted);
  std::printf("%ld of %ld damaged files were refused\n", refused, tried);
}
