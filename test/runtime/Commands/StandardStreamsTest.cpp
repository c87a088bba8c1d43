//===- StandardStreamsTest.cpp - tests of what is printed where -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/StandardStreams.h"

#include "Subprocess.h"
#include "runtime/Base/Failure.h"
#include "runtime/Commands/Report.h"

#include <sys/socket.h>

using namespace meshc::runtime;
using namespace meshc::test;

/// Each write becomes one datagram.
TEST(StandardStreams, anErrorIsOneWrite) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
  int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  int code = reportError(
      "model",
      std::make_exception_ptr(Failure(ExitCode::Communication, "it broke")),
      "rank 2 failed: ", /*silent=*/false);
  dup2(before, STDERR_FILENO);
  char text[200];
  ssize_t length = recv(ends[0], text, sizeof(text), MSG_DONTWAIT);
  ASSERT_GT(length, 0);
  EXPECT_EQ(std::string(text, static_cast<size_t>(length)),
            "model: error: rank 2 failed: it broke\n");
  EXPECT_EQ(recv(ends[0], text, sizeof(text), MSG_DONTWAIT), -1);
  EXPECT_EQ(code, 6);
  for (int descriptor : {before, ends[0], ends[1]})
    close(descriptor);
}

/// A file that is opened does not get the number of a closed stream.
TEST(StandardStreams, closedOnesReachNoFile) {
  Folder folder;
  std::string data = writeLineData(folder);
  auto train = [&](const std::string &to) {
    return line("2x2") + " train --steps 5 --log " + folder.file(to + ".log") +
           " --checkpoint " + folder.file(to) + data;
  };
  ASSERT_EQ(run(train("open")).code, 0);
  for (const char *closed :
       {">&-", "<&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    EXPECT_EQ(run("sh -c 'exec " + train("closed") + closed + "'").code, 0)
        << closed;
    EXPECT_EQ(readFile(folder.file("closed")), readFile(folder.file("open")));
    std::istringstream lines(readFile(folder.file("closed.log")));
    int count = 0;
    for (std::string text; std::getline(lines, text); ++count)
      EXPECT_EQ(text.rfind("{\"step\":", 0), 0u) << closed << ": " << text;
    EXPECT_EQ(count, 5) << closed;
  }
}

TEST(StandardStreams, aFullOneIsAnErrorAfterTheRun) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("c");
  auto expectFull = [](const std::string &command) {
    expectError(run("sh -c 'exec " + command + " >/dev/full'"), 9,
                "line: error: standard output cannot be written: No space left "
                "on device");
  };
  for (const char *mesh : {"1x1", "2x2"}) {
    expectFull(line(mesh) + " train --steps 3 --checkpoint " + file + data);
    ASSERT_EQ(run(line(mesh) + " train --quiet --steps 3 --checkpoint " +
                  folder.file("d") + data)
                  .code,
              0);
    EXPECT_EQ(readFile(file), readFile(folder.file("d")));
    expectFull(line(mesh) + " eval --checkpoint " + file + data);
    for (const char *command :
         {"info", "info --json", "--help", "--version", "train --help"})
      expectFull(line(mesh) + " " + command);
    // If nothing is printed, nothing is lost.
    EXPECT_EQ(run("sh -c 'exec " + line(mesh) + " train --quiet --steps 3" +
                  data + " >/dev/full'")
                  .code,
              0);
  }
}

/// `train | head -1` trains and saves.
TEST(StandardStreams, aPipeThatNobodyReadsDoesNotEndTheRun) {
  Folder folder;
  std::string data = writeLineData(folder);
  std::string train = line("2x2") + " train --steps 3000 --log-every 1";
  ASSERT_EQ(run(train + " --checkpoint " + folder.file("read") + data).code, 0);
  Outcome outcome =
      run("bash -c '" + train + " --checkpoint " + folder.file("unread") +
          data + " | head -n 1; exit ${PIPESTATUS[0]}'");
  expectError(outcome, 9, "standard output cannot be written: Broken pipe");
  EXPECT_EQ(readFile(folder.file("unread")), readFile(folder.file("read")));
}
