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
  expectRefused(fileOf("{no json", ""), "header is no JSON");
  expectRefused(fileOf("[1]", ""), "is not a safetensors file");
  expectRefused(fileOf(R"({"w":{"dtype":"F32","shape":[2,2]}})", ""),
                "damaged header");
  expectRefused(
      fileOf(R"({"w":{"dtype":"F32","shape":"x","data_offsets":[]}})", ""),
      "damaged header");
  expectRefused(
      fileOf(R"({"w":{"dtype":"F32","shape":[9,9],"data_offsets":[0,16]}})",
             std::string(16, 'x')),
      "damaged header at tensor 'w'");
  expectRefused(fileOf(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],)"
                       R"("data_offsets":[0,0]}})",
                       ""),
                "damaged header at tensor 'w'");
  expectRefused(fileOf(twoByTwo, "short"), "ends early: tensor 'w'");
  failureOf(ExitCode::Checkpoint,
            [&] { SafetensorsFile{folder.file("missing")}; });

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
  expectTiling("4,8", "0,4", 9, "has 1 bytes after its last tensor");
  expectTiling("0,4", "5,9", 9, "tensor 'b' begins at byte 5 of the data");
  expectTiling("1,5", "5,9", 9, "tensor 'a' begins at byte 1 of the data");
}
