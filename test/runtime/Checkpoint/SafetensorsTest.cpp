//===- SafetensorsTest.cpp - tests of the file format ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Safetensors.h"

#include "test/runtime/Data/TestFiles.h"

#include <cstring>

using namespace meshc::runtime;
using namespace meshc::test;

static std::string fileOf(const std::string &header,
                          const std::string &content) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header +
         content;
}

static const char *const twoByTwo =
    R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";

/// The bytes are the ones that the format's description gives.
TEST(Safetensors, writesTheFormat) {
  FileTensor w{"w", "F32", {2, 2}, 0, 0}, b{"b", "BOOL", {3}, 0, 0};
  std::string header = writeHeader({w, b}, {{"step", "7"}});
  uint64_t length;
  std::memcpy(&length, header.data(), 8);
  EXPECT_EQ(length, header.size() - 8);
  EXPECT_EQ(header.size() % 8, 0u);
  std::string text = header.substr(8);
  text.erase(text.find_last_not_of(' ') + 1);
  EXPECT_EQ(text,
            R"({"__metadata__":{"step":"7"},)"
            R"("w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
            R"("b":{"dtype":"BOOL","shape":[3],"data_offsets":[16,19]}})");
}

TEST(Safetensors, readsWhatItWrites) {
  Folder folder;
  FileTensor w{"w", "F32", {2, 2}, 0, 0}, s{"s", "I32", {}, 0, 0};
  std::string path = folder.write("f", writeHeader({w, s}, {{"step", "7"}}) +
                                           bytesOf<float>({1, 2, 3, 4}) +
                                           bytesOf<int32_t>({5}));
  SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("step"), "7");
  ASSERT_TRUE(file.find("w"));
  EXPECT_EQ(file.find("w")->describe(), "F32 [2, 2]");
  float value;
  std::memcpy(&value, file.data(*file.find("w")) + 12, 4);
  EXPECT_EQ(value, 4);
  EXPECT_EQ(file.find("s")->describe(), "I32 []");
  EXPECT_FALSE(file.find("x"));
}

/// Any order of names, and tensors without elements.
TEST(Safetensors, readsTensorsInAnyOrder) {
  Folder folder;
  SafetensorsFile file(folder.write(
      "f", fileOf(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},)"
                  R"("e":{"dtype":"F32","shape":[0,7],"data_offsets":[3,3]},)"
                  R"("a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
                  "xxxyy")));
  EXPECT_EQ(file.data(*file.find("b"))[0], 'y');
}

/// Fields that the format does not define may hold anything.
TEST(Safetensors, skipsUnknownFields) {
  Folder folder;
  SafetensorsFile file(folder.write(
      "f", fileOf(R"({"w":{"x":{"y":[1,{"z":0.5}]},"dtype":"U8","v":[[1],2.5],)"
                  R"("shape":[1],"n":null,"data_offsets":[0,1]}})",
                  "x")));
  EXPECT_EQ(file.find("w")->describe(), "U8 [1]");
}

/// Reading and writing a header takes time in proportion to its tensors: with
/// time by their square this would take minutes.
TEST(Safetensors, readsManyTensors) {
  Folder folder;
  std::vector<FileTensor> tensors;
  for (int i = 0; i < 400000; ++i)
    tensors.push_back({"layer." + std::to_string(i), "U8", {1}, 0, 0});
  SafetensorsFile file(folder.write("f", writeHeader(tensors, {}) +
                                             std::string(tensors.size(), 'x')));
  EXPECT_EQ(file.tensors().size(), tensors.size());
  EXPECT_EQ(file.find("layer.399999")->beginByte, 399999);
}

TEST(Safetensors, refusesEveryTruncation) {
  Folder folder;
  std::string whole = fileOf(twoByTwo, bytesOf<float>({1, 2, 3, 4}));
  for (size_t length = 0; length < whole.size(); ++length) {
    std::string path = folder.write("cut", whole.substr(0, length));
    failureOf(ExitCode::Checkpoint, [&] { SafetensorsFile{path}; });
  }
}

TEST(Safetensors, refusesDamage) {
  Folder folder;
  auto expectRefused = [&](const std::string &content, const std::string &why) {
    std::string path = folder.write("f", content);
    std::string message =
        failureOf(ExitCode::Checkpoint, [&] { SafetensorsFile{path}; });
    EXPECT_NE(message.find(why), std::string::npos) << message;
    EXPECT_NE(message.find(path), std::string::npos) << message;
  };
  expectRefused("a text file of some length", "is not a safetensors file");
  expectRefused(fileOf("{no json", ""), "header is not JSON");
  expectRefused(fileOf("[1]", ""), "is not a safetensors file");
  auto expectTensor = [&](const std::string &fields, const std::string &why) {
    expectRefused(fileOf("{\"w\":{" + fields + "}}", std::string(16, 'x')),
                  "has a damaged header: tensor 'w' " + why);
  };
  const std::string f32 = R"("dtype":"F32",)", all = R"("data_offsets":[0,16])";
  expectTensor(R"("dtype":"F32","shape":[2,2])", "has no field 'data_offsets'");
  expectTensor(f32 + all, "has no field 'shape'");
  expectTensor(R"("shape":[2,2],)" + all, "has no field 'dtype'");
  expectTensor(f32 + R"("shape":"x",)" + all,
               "has the string 'x' as its shape");
  expectTensor(f32 + R"("shape":[2.0,2],)" + all,
               "has '2.0' in its shape; expected whole numbers from 0 to "
               "9223372036854775807");
  expectTensor(f32 + R"("shape":[4e0],)" + all, "has '4e0' in its shape");
  expectTensor(f32 + R"("shape":[-4],)" + all, "has '-4' in its shape");
  expectTensor(f32 + R"("shape":[9223372036854775808],)" + all,
               "has '9223372036854775808' in its shape");
  expectTensor(f32 + R"("shape":[99999999999999999999999],)" + all,
               "has '99999999999999999999999' in its shape");
  expectTensor(f32 + R"("shape":[[4]],)" + all, "has a list as its shape");
  expectTensor(f32 + R"("shape":[4,null],)" + all, "has null as its shape");
  expectTensor(f32 + R"("shape":[4],"data_offsets":[0.5,16])",
               "has '0.5' in its data_offsets");
  expectTensor(f32 + R"("shape":[4],"data_offsets":[0,8,16])",
               "has data_offsets that are not a begin and an end");
  expectTensor(f32 + R"("shape":[4],"data_offsets":[16,0])",
               "has data_offsets that are not a begin and an end");
  expectTensor(f32 + R"("shape":[4],"shape":[4],)" + all,
               "has two fields 'shape'");
  expectTensor(f32 + R"("shape":[9,9],)" + all, "is F32 [9, 9] in 16 bytes");
  expectTensor(f32 + R"("shape":[4611686018427387904,4],)" + all,
               "is F32 [4611686018427387904, 4] in 16 bytes");
  const std::string w = R"("w":{"dtype":"U8","shape":[8],)";
  expectRefused(fileOf("{" + w + R"("data_offsets":[0,8]},)" + w +
                           R"("data_offsets":[8,16]}})",
                       std::string(16, 'x')),
                "has a damaged header: the name 'w' is there twice");
  expectRefused(fileOf(R"({"__metadata__":{"a":"1","a":"2"}})", ""),
                "the name 'a' is there twice");
  expectRefused(fileOf(R"({"__metadata__":{},"__metadata__":{}})", ""),
                "the name '__metadata__' is there twice");
  expectRefused(fileOf(R"({"__metadata__":{"a":1}})", ""),
                "metadata 'a' is the number 1; expected a string");
  expectRefused(fileOf(R"({"w":7})", ""), "found the number 7 as tensor 'w'");
  expectRefused(fileOf(twoByTwo, "short"), "ends early: tensor 'w'");
  failureOf(ExitCode::Checkpoint,
            [&] { SafetensorsFile{folder.file("missing")}; });

  // Spaces alone follow the text.
  const std::string text(twoByTwo), values = bytesOf<float>({1, 2, 3, 4});
  SafetensorsFile{folder.write("f", fileOf(text + "   ", values))};
  const std::string nul(1, '\0');
  for (const std::string &end : {nul, nul + "anything", "  " + nul + "  "})
    expectRefused(fileOf(text + end, values),
                  "has a damaged header: a NUL at its byte ");
  expectRefused(fileOf(text.substr(0, 1) + nul + text.substr(1), values),
                "has a damaged header: a NUL at its byte 1;");
  for (const char *end : {"\n", " \t ", "\r"})
    expectRefused(fileOf(text + end, values),
                  " is neither JSON text nor a space");
  for (const char *end : {"x", "{}", "  ]"})
    expectRefused(fileOf(text + end, values), "its header is not JSON (byte ");
  const std::string longName(50000, '7');
  expectRefused(fileOf("{\"" + longName + R"(":{}})", ""),
                "has a damaged header: the name of tensor '777");
  expectRefused(fileOf("{\"" + longName + R"(":{}})", ""),
                "…' has 50000 bytes; expected at most 4096");

  // The tensors tile the data: no holes, no overlaps, nothing behind the last.
  auto expectTiling = [&](const char *a, const char *b, size_t bytes,
                          const std::string &why) {
    expectRefused(fileOf(std::string(R"({"a":{"dtype":"U8","shape":[4],)") +
                             R"("data_offsets":[)" + a +
                             R"(]},"b":{"dtype":"U8","shape":[4],)" +
                             R"("data_offsets":[)" + b + "]}}",
                         std::string(bytes, 'x')),
                  why);
  };
  expectTiling("0,4", "2,6", 6, "tensor 'b' begins at byte 2 of the data");
  expectTiling("0,4", "0,4", 4, "begins at byte 0 of the data");
  expectTiling("4,8", "0,4", 9, "has 1 byte after its last tensor");
  expectTiling("0,4", "5,9", 9, "tensor 'b' begins at byte 5 of the data");
  expectTiling("1,5", "5,9", 9, "tensor 'a' begins at byte 1 of the data");
}
