//===- AtomicFileTest.cpp - tests of files that appear whole --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/AtomicFile.h"

#include "test/runtime/Data/TestFiles.h"

#include <csignal>
#include <dirent.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshc::runtime;
using namespace meshc::test;

static std::string contentOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

static int entriesIn(const std::string &folder) {
  int count = 0;
  DIR *directory = opendir(folder.c_str());
  while (readdir(directory))
    ++count;
  closedir(directory);
  return count - 2;
}

TEST(AtomicFile, appearsAtCommit) {
  Folder folder;
  std::string path = folder.write("f", "old");
  {
    AtomicFile file(path);
    file.write("ne", 2);
    file.write("w", 1);
    EXPECT_EQ(contentOf(path), "old");
    file.commit();
  }
  EXPECT_EQ(contentOf(path), "new");
  EXPECT_EQ(entriesIn(folder.file("")), 1);
}

TEST(AtomicFile, leavesNothingWithoutCommit) {
  Folder folder;
  std::string path = folder.write("f", "old");
  {
    AtomicFile(path).write("new", 3);
  }
  EXPECT_EQ(contentOf(path), "old");
  EXPECT_EQ(entriesIn(folder.file("")), 1);
}

/// A file size limit stands for the full disk; the device below is one.
TEST(AtomicFile, aFullDiskLeavesTheOldFile) {
  Folder folder;
  std::string path = folder.write("f", "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before, low;
  getrlimit(RLIMIT_FSIZE, &before);
  low = before;
  low.rlim_cur = 100000;
  setrlimit(RLIMIT_FSIZE, &low);
  std::string message = failureOf(ExitCode::Checkpoint, [&] {
    AtomicFile file(path);
    std::string content(1 << 20, 'x');
    file.write(content.data(), content.size());
    file.commit();
  });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(message.find("cannot write checkpoint '" + path), std::string::npos)
      << message;
  EXPECT_NE(message.find("the checkpoint of before is intact"),
            std::string::npos);
  EXPECT_EQ(contentOf(path), "old");
  EXPECT_EQ(entriesIn(folder.file("")), 1);
}

TEST(AtomicFile, refusesMissingFolders) {
  Folder folder;
  EXPECT_NE(
      failureOf(ExitCode::Checkpoint, [&] { AtomicFile(folder.file("no/f")); })
          .find("No such file or directory"),
      std::string::npos);
}

TEST(AtomicFile, replacesNothingButFiles) {
  Folder folder;
  auto refuse = [](const std::string &path, const char *why) {
    EXPECT_NE(failureOf(ExitCode::Checkpoint, [&] { AtomicFile file(path); })
                  .find(why),
              std::string::npos);
  };
  refuse(folder.file(""), "a folder has that name");
  std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  refuse(pipe, "a FIFO (named pipe) has that name");
  refuse("/dev/null", "a device has that name");
}

TEST(AtomicFile, writesThroughLinks) {
  Folder folder;
  std::string real = folder.write("real", "old"), link = folder.file("link");
  ASSERT_EQ(symlink(real.c_str(), link.c_str()), 0);
  {
    AtomicFile file(link);
    file.write("new", 3);
    file.commit();
  }
  EXPECT_EQ(contentOf(real), "new");
  char target[4096];
  EXPECT_GT(readlink(link.c_str(), target, sizeof(target)), 0);
}

/// A link, or a chain of them, whose target does not exist yet.
TEST(AtomicFile, createsTheTargetsOfLinks) {
  Folder folder;
  const std::string link = folder.file("link"), other = folder.file("other"),
                    loop = folder.file("loop");
  ASSERT_EQ(mkdir(folder.file("disk").c_str(), 0700), 0);
  ASSERT_EQ(symlink("other", link.c_str()), 0);
  ASSERT_EQ(symlink("disk/../disk/new", other.c_str()), 0);
  {
    AtomicFile file(link);
    file.write("new", 3);
    EXPECT_EQ(access(folder.file("disk/new.meshc-tmp").c_str(), F_OK), 0);
    file.commit();
  }
  EXPECT_EQ(contentOf(folder.file("disk/new")), "new");
  struct stat status;
  ASSERT_EQ(lstat(link.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  ASSERT_EQ(lstat(other.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  ASSERT_EQ(symlink("loop", loop.c_str()), 0);
  EXPECT_EQ(failureOf(ExitCode::Checkpoint, [&] { AtomicFile file(loop); }),
            "checkpoint '" + loop +
                "' cannot be written: a link that leads to itself has that "
                "name; give the name of a file");
}

/// Runs `action` in a separate process; returns its status.
template <typename Action> static int inProcess(Action action) {
  pid_t child = fork();
  if (child == 0) {
    action();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(AtomicFile, whatAKilledProcessLeavesIsUsedUp) {
  Folder folder;
  std::string path = folder.write("f", "old");
  const std::string text =
      std::string(8, '\1') + R"({"__metadata__":{"meshc.model":"m"}} and data)";
  for (size_t length : {size_t(0), size_t(40), text.size()}) {
    int status = inProcess([&] {
      AtomicFile file(path);
      file.write(text.data(), length);
      raise(SIGKILL);
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(contentOf(path), "old");
    EXPECT_EQ(entriesIn(folder.file("")), 2);
    AtomicFile file(path);
    file.write("old", 3);
    file.commit();
    EXPECT_EQ(contentOf(path), "old");
    EXPECT_EQ(entriesIn(folder.file("")), 1);
  }
}

TEST(AtomicFile, destroysNothingOfOthers) {
  Folder folder;
  std::string path = folder.file("f"), other = path + ".meshc-tmp";
  for (const std::string &content :
       {std::string("x"), std::string("notes of mine, and more of them here"),
        std::string(8, '\1') + R"({"w":{}})"}) {
    folder.write("f.meshc-tmp", content);
    EXPECT_NE(failureOf(ExitCode::Checkpoint, [&] { AtomicFile file(path); })
                  .find("'" + other + "' exists and is not an unfinished "),
              std::string::npos);
    EXPECT_EQ(contentOf(other), content);
  }
  unlink(other.c_str());
  std::string target = folder.write("target", "mine");
  ASSERT_EQ(symlink(target.c_str(), other.c_str()), 0);
  failureOf(ExitCode::Checkpoint, [&] { AtomicFile file(path); });
  EXPECT_EQ(contentOf(target), "mine");
  unlink(other.c_str());
  ASSERT_EQ(mkfifo(other.c_str(), 0600), 0);
  failureOf(ExitCode::Checkpoint, [&] { AtomicFile file(path); });
}

/// A backup of a checkpoint in the making: `ln c.meshc-tmp kept`.
TEST(AtomicFile, whatAnotherNameHoldsSurvives) {
  Folder folder;
  std::string path = folder.file("f"), kept = folder.file("kept");
  const std::string text =
      std::string(8, '\1') + R"({"__metadata__":{"meshc.model":"m"}} and data)";
  std::string left = folder.write("f.meshc-tmp", text);
  ASSERT_EQ(link(left.c_str(), kept.c_str()), 0);
  AtomicFile file(path);
  file.write("new", 3);
  file.commit();
  EXPECT_EQ(contentOf(path), "new");
  EXPECT_EQ(contentOf(kept), text);
}

TEST(AtomicFile, keepsModeAndOwner) {
  Folder folder;
  std::string path = folder.write("f", "old");
  const bool isRoot = geteuid() == 0;
  for (mode_t mode : {0600, 0640, 0444, 0666}) {
    if (isRoot) {
      ASSERT_EQ(chown(path.c_str(), 4711, 4712), 0);
    }
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    AtomicFile file(path);
    struct stat before, status;
    ASSERT_EQ(stat((path + ".meshc-tmp").c_str(), &before), 0);
    EXPECT_EQ(before.st_mode & 0777, mode | 0600);
    file.write("new", 3);
    file.commit();
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
    EXPECT_EQ(status.st_uid, isRoot ? 4711 : geteuid());
    EXPECT_EQ(status.st_gid, isRoot ? 4712 : getegid());
  }
}

TEST(AtomicFile, rewritesItsStart) {
  Folder folder;
  AtomicFile file(folder.file("f"));
  file.write("xxx and data", 12);
  file.rewriteStart("new", 3);
  file.write(".", 1);
  file.commit();
  EXPECT_EQ(contentOf(folder.file("f")), "new and data.");
}

TEST(AtomicFile, waitsForAnotherProgramAWhile) {
  Folder folder;
  std::string path = folder.file("f");
  AtomicFile file(path);
  file.write("first", 5);
  int status = inProcess([&] {
    std::string message =
        failureOf(ExitCode::Checkpoint, [&] { AtomicFile second(path); });
    _exit(message.find("another program is writing it") == std::string::npos);
  });
  EXPECT_EQ(status, 0);
  file.commit();
  EXPECT_EQ(contentOf(path), "first");
}

/// Two programs that write the same file: each time it is one of the two.
TEST(AtomicFile, isWholeWhoeverWrites) {
  Folder folder;
  std::string path = folder.file("f");
  auto writeMany = [&](char fill) {
    std::string content(100000, fill);
    for (int i = 0; i < 50; ++i) {
      {
        AtomicFile notCommitted(path);
      }
      AtomicFile file(path);
      file.write(content.data(), content.size());
      file.commit();
    }
  };
  pid_t child = fork();
  if (child == 0) {
    writeMany('b');
    _exit(0);
  }
  writeMany('a');
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::string content = contentOf(path);
  EXPECT_EQ(content, std::string(100000, content.empty() ? '?' : content[0]));
  EXPECT_EQ(entriesIn(folder.file("")), 1);
}
