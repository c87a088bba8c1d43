//===- BytesTest.cpp - tests of reading files -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Bytes.h"

#include "TestFiles.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;
using namespace meshc::test;

static std::string contentOf(const std::string &path) {
  auto bytes = Bytes::open(path);
  return std::string(reinterpret_cast<const char *>(bytes->data()),
                     bytes->size());
}

static std::string longText() {
  std::string text;
  for (int i = 0; i < 50000; ++i)
    text += std::to_string(i * 7919 % 10007) + ",";
  return text;
}

TEST(Bytes, readsPlainAndEmptyFiles) {
  Folder folder;
  EXPECT_EQ(contentOf(folder.write("a", "hello")), "hello");
  EXPECT_EQ(contentOf(folder.write("b", "")), "");
}

TEST(Bytes, unpacksGzipOfOneAndManyMembers) {
  Folder folder;
  std::string text = longText();
  EXPECT_EQ(contentOf(folder.write("one", gzip(text))), text);
  EXPECT_EQ(contentOf(folder.write("two", gzip(text) + gzip("end"))),
            text + "end");
  EXPECT_EQ(contentOf(folder.write("padded", gzip(text) + std::string(64, 0))),
            text);
  EXPECT_EQ(contentOf(folder.write("empty", gzip(""))), "");
}

TEST(Bytes, refusesTruncatedGzipAtEveryLength) {
  Folder folder;
  std::string whole = gzip("some content that is long enough to be cut");
  for (size_t length = 2; length < whole.size(); ++length) {
    std::string path = folder.write("cut", whole.substr(0, length));
    EXPECT_NE(failureOf(ExitCode::Data, [&] { Bytes::open(path); })
                  .find("ends early"),
              std::string::npos)
        << length;
  }
}

/// The beginning of a member, too, and one that is damaged.
TEST(Bytes, refusesWhatFollowsGzip) {
  Folder folder;
  std::string damaged = gzip("end");
  damaged[0] = 0;
  for (const std::string &rest : {gzip("end").substr(0, 1), damaged}) {
    std::string path = folder.write("more", gzip(longText()) + rest);
    EXPECT_NE(failureOf(ExitCode::Data, [&] { Bytes::open(path); })
                  .find(std::to_string(rest.size()) +
                        (rest.size() == 1 ? " byte" : " bytes") +
                        " behind it that are"),
              std::string::npos);
  }
}

TEST(Bytes, refusesCorruptGzip) {
  Folder folder;
  std::string whole = gzip(longText());
  whole[whole.size() / 2] ^= 0x55;
  std::string path = folder.write("corrupt", whole);
  std::string message = failureOf(ExitCode::Data, [&] { Bytes::open(path); });
  EXPECT_NE(message.find("corrupt gzip stream"), std::string::npos) << message;
  EXPECT_NE(message.find(path), std::string::npos);
}

TEST(Bytes, refusesMissingFilesAndFolders) {
  Folder folder;
  EXPECT_NE(failureOf(ExitCode::Data, [&] { Bytes::open(folder.file("no")); })
                .find("No such file"),
            std::string::npos);
  failureOf(ExitCode::Data, [&] { Bytes::open(folder.file(".")); });
  std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(failureOf(ExitCode::Data, [&] { Bytes::open(pipe); })
                .find("'" + pipe + "' is not a regular file"),
            std::string::npos);
}

/// Its pages are gone, which is no signal, and known afterwards.
TEST(Bytes, aFileThatBecomesShorterIsAnError) {
  Folder folder;
  for (off_t left : {0, 1, 4096, 50000, 99999}) {
    std::string path = folder.write("f", std::string(100000, 'x'));
    auto bytes = Bytes::open(path), again = Bytes::open(path);
    bytes->checkIntact();
    ASSERT_EQ(truncate(path.c_str(), left), 0);
    int64_t sum = 0;
    for (size_t i = 0; i < bytes->size(); ++i)
      sum += bytes->data()[i];
    EXPECT_GE(sum, left * 'x');
    std::string message =
        failureOf(ExitCode::Data, [&] { bytes->checkIntact(); });
    EXPECT_NE(message.find("'" + path +
                           "' became shorter while it was read: "
                           "it has " +
                           std::to_string(left) +
                           (left == 1 ? " byte" : " bytes") +
                           ", and had 100000"),
              std::string::npos)
        << message;
    // Extended again, but the bytes were missing when they were read.
    ASSERT_EQ(truncate(path.c_str(), 100000), 0);
    if (left < 90000)
      EXPECT_NE(failureOf(ExitCode::Data, [&] { bytes->checkIntact(); })
                    .find("can no longer be read"),
                std::string::npos);
    again->checkIntact();
  }
}
