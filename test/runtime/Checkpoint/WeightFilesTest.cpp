//===- WeightFilesTest.cpp - tests of files of weights --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/WeightFiles.h"

#include "test/runtime/Data/TestFiles.h"

#include <cstring>

using namespace meshc::runtime;
using namespace meshc::test;

/// A file with tensors of one f32 each.
static std::string shard(const std::vector<std::string> &names, float value) {
  std::vector<FileTensor> tensors;
  std::vector<float> values(names.size(), value);
  for (const std::string &name : names) {
    FileTensor tensor;
    tensor.name = name;
    tensor.dtype = "F32";
    tensor.endByte = 4;
    tensors.push_back(tensor);
  }
  return writeHeader(tensors, {}) + bytesOf(values);
}

TEST(WeightFiles, indexListsFiles) {
  Folder folder;
  folder.write("a.safetensors", shard({"x", "y"}, 1));
  folder.write("b.safetensors", shard({"z"}, 2));
  WeightFiles files(folder.write(
      "m.json", R"({"metadata": {}, "weight_map": {"x": "a.safetensors", )"
                R"("y": "a.safetensors", "z": "b.safetensors"}})"));
  EXPECT_EQ(files.tensors().size(), 3u);
  EXPECT_EQ(files.paths().size(), 3u);
  EXPECT_EQ(files.single(), nullptr);
  float value = 0;
  std::memcpy(&value, files.find("z")->data, sizeof(value));
  EXPECT_EQ(value, 2);
  EXPECT_EQ(files.find("w"), nullptr);
}

TEST(WeightFiles, indexThatDiffersFromItsFiles) {
  Folder folder;
  folder.write("a.safetensors", shard({"x", "y"}, 1));
  auto errorOf = [&](const std::string &text) {
    std::string path = folder.write("m.json", text);
    return failureOf(ExitCode::Checkpoint, [&] { WeightFiles files(path); });
  };
  const std::string index = "index '" + folder.file("m.json") + "' ";
  EXPECT_EQ(errorOf("{"), index + "ends early: its JSON text is not complete");
  EXPECT_EQ(errorOf(""), index + "is empty");
  EXPECT_EQ(errorOf("{}\n{}"), index + "is no JSON text from line 2, column 1 "
                                       "on");
  EXPECT_EQ(errorOf(std::string("{}\0 more", 8)),
            index + "is no JSON text from line 1, column 3 on");
  EXPECT_EQ(errorOf("{\"weight_map\": {\"x\": " + std::string(50000, '[') +
                    std::string(50000, ']') + "}}"),
            index + "maps tensor 'x' to array; expected the name of a file in "
                    "the same folder");
  EXPECT_EQ(
      errorOf("{\"weight_map\": {\"" + std::string(5000, 'x') + "\": \"a\"}}"),
      index + "is damaged: the name of tensor '" + std::string(200, 'x') +
          "…' has 5000 bytes; expected at most 4096");
  EXPECT_EQ(errorOf("{\"weight_map\": 1}"),
            index + "has no object 'weight_map', which maps tensors to files");
  EXPECT_EQ(errorOf(R"({"weight_map": {"x": "../a"}})"),
            index + "maps tensor 'x' to '../a'; expected the name of a file "
                    "in the same folder");
  EXPECT_EQ(errorOf(R"({"weight_map": {"z": "a.safetensors"}})"),
            index + "maps tensor 'z' to 'a.safetensors', which does not "
                    "contain it");
  EXPECT_EQ(errorOf(R"({"weight_map": {"x": "a.safetensors"}})"),
            "file '" + folder.file("a.safetensors") +
                "' contains tensor 'y', which " +
                index.substr(0, index.size() - 1) + " does not map to it");
  EXPECT_NE(errorOf(R"({"weight_map": {"x": "b.safetensors"}})")
                .find("b.safetensors' cannot be opened"),
            std::string::npos);
}

TEST(WeightFiles, llama2c) {
  Folder folder;
  // dim 4, hidden 6, 2 layers, 2 heads, 1 for keys, vocabulary 5, 3 positions.
  std::vector<int32_t> header{4, 6, 2, 2, 1, 5, 3};
  const size_t elements = 20 + 8 + 32 + 16 + 16 + 32 + 8 + 3 * 48 + 4 + 3 + 3;
  std::vector<float> values(elements);
  for (size_t i = 0; i < elements; ++i)
    values[i] = static_cast<float>(i);
  std::string whole = bytesOf(header) + bytesOf(values);
  WeightFiles files(folder.write("m.bin", whole));
  EXPECT_EQ(files.tensors().size(), 13u);
  EXPECT_EQ(files.find("wk")->tensor->describe(), "F32 [2, 2, 4]");
  EXPECT_EQ(files.find("w2")->tensor->describe(), "F32 [2, 4, 6]");
  float value = 0;
  std::memcpy(&value, files.find("wk")->data, sizeof(value));
  EXPECT_EQ(value, 20 + 8 + 32);
  // A head of its own for the output.
  header[5] = -5;
  values.resize(elements + 20);
  WeightFiles with(folder.write("n.bin", bytesOf(header) + bytesOf(values)));
  EXPECT_EQ(with.find("wcls")->tensor->describe(), "F32 [5, 4]");
}

TEST(WeightFiles, damagedFilesOfLlama2cAreNamed) {
  Folder folder;
  const std::vector<int32_t> header{4, 6, 2, 2, 1, 5, 3};
  const std::string values(4 * (20 + 8 + 32 + 16 + 16 + 32 + 8 + 144 + 10), 0);
  const size_t size = 28 + values.size();
  auto expectRefused = [&](const std::string &content, const std::string &why) {
    std::string path = folder.write("m.bin", content);
    EXPECT_EQ(failureOf(ExitCode::Checkpoint, [&] { WeightFiles files(path); }),
              "checkpoint '" + path + "' " + why);
  };
  const std::string whole = bytesOf(header) + values,
                    sizes = "its header (dim = 4, hidden_dim = 6, n_layers = "
                            "2, n_heads = 2, n_kv_heads = 1, vocab_size = 5, "
                            "seq_len = 3) needs " +
                            std::to_string(size) + " bytes, and it has ",
                    begins = "begins like a llama2.c file, and ";
  expectRefused(whole.substr(0, size - 4), begins + "ends early: " + sizes +
                                               std::to_string(size - 4) +
                                               "; fetch it again");
  expectRefused(whole + "more", begins + "is too long: " + sizes +
                                    std::to_string(size + 4) +
                                    "; fetch it again");
  std::vector<int32_t> other = header;
  other[3] = 0;
  expectRefused(bytesOf(other) + values,
                begins + "its header has n_heads = 0; expected a number from 1 "
                         "to 16777215; fetch it again");
  other[3] = 3;
  expectRefused(bytesOf(other) + values,
                begins + "its header has dim = 4 and n_heads = 3; expected a "
                         "dim that the heads divide; fetch it again");
  other = header;
  other[5] = INT32_MIN;
  expectRefused(bytesOf(other) + values,
                begins + "its header has vocab_size = -2147483648; expected a "
                         "number from 1 to 16777215; fetch it again");
  other[0] = 0x616b3432;
  other[1] = 2;
  expectRefused(bytesOf(other) + values,
                "is a llama2.c file of version 2; expected version 0, which "
                "llama2.c's export.py writes with '--version 0'");
  const std::string none =
      "has none of the formats that are read: safetensors, an index of such "
      "files (.json), and llama2.c's (.bin, version 0)";
  for (const std::string &content :
       {std::string("short"), whole.substr(0, 27),
        std::string("PK\3\4 an archive of another tool, or a text")})
    expectRefused(content, none);
  expectRefused("", "is empty");
}
