//===- Subprocess.h - running a program as a user does ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_COMMANDS_SUBPROCESS_H
#define MESHC_TEST_RUNTIME_COMMANDS_SUBPROCESS_H

#include "test/runtime/Data/TestFiles.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace meshc::test {

/// How a command ended: its exit code (128 + number if a signal ended it) and
/// its output.
struct Outcome {
  int code = -1;
  std::string out, err;
};

inline std::string readFile(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// A shell command that runs while the test continues.
class Process {
public:
  /// Runs `command` by `sh`, which it replaces, so that signals reach it.
  explicit Process(const std::string &command) {
    child = fork();
    if (child == 0) {
      std::string redirected = "exec " + command + " >" + folder.file("out") +
                               " 2>" + folder.file("err") + " </dev/null";
      execl("/bin/sh", "sh", "-c", redirected.c_str(), nullptr);
      _exit(127);
    }
  }

  void signal(int number) const { kill(child, number); }

  /// Waits until `holds` returns true; false if the process ends first.
  bool waitUntil(const std::function<bool()> &holds) const {
    while (!holds()) {
      siginfo_t ended{};
      if (waitid(P_PID, child, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          ended.si_pid != 0)
        return holds();
      usleep(1000);
    }
    return true;
  }

  /// Waits until `file` has that many lines; false if the process ends first.
  bool waitForLines(const std::string &file, long lines) const {
    return waitUntil([&] {
      std::string text = readFile(file);
      return std::count(text.begin(), text.end(), '\n') >= lines;
    });
  }

  /// Waits until it handles that signal itself; false if it ends first. The
  /// shell, which handles SIGINT too, does not count.
  bool waitUntilHandles(int number) const {
    return waitUntil([&] {
      std::ifstream status("/proc/" + std::to_string(child) + "/status");
      for (std::string line; std::getline(status, line);) {
        if (line == "Name:\tsh")
          return false;
        if (line.rfind("SigCgt:", 0) == 0)
          return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (number - 1) &
                  1) != 0;
      }
      return false;
    });
  }

  /// Its output on stdout so far.
  std::string output() const { return readFile(folder.file("out")); }

  Outcome wait() {
    int status = 0;
    waitpid(child, &status, 0);
    Outcome outcome;
    outcome.code =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = output();
    outcome.err = readFile(folder.file("err"));
    return outcome;
  }

private:
  Folder folder;
  pid_t child;
};

inline Outcome run(const std::string &command) {
  return Process(command).wait();
}

/// Whether `text` contains `part`.
inline void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "wanted '" << part << "' in:\n"
      << text;
}

/// An outcome with that exit code and one line of error, which contains `part`.
inline void expectError(const Outcome &outcome, int code,
                        const std::string &part) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  expectHas(outcome.err, part);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1)
      << outcome.err;
}

/// The compiled program for the mesh "1x1" or "2x2".
inline std::string line(const std::string &mesh) {
  return std::string(LINE_PROGRAM) + mesh;
}

/// Writes `count` examples for it. Returns options that name them and request
/// one thread per rank, as threads that wait for each other are slow on busy
/// machines.
inline std::string writeLineData(const Folder &folder, int count = 37) {
  std::vector<float> x, target;
  for (int i = 0; i < count; ++i) {
    float sum = 0.25f;
    for (int j = 0; j < 6; ++j) {
      x.push_back(static_cast<float>((i * 7 + j * 13) % 11) / 11 - 0.5f);
      sum += x.back() * static_cast<float>(j - 2);
    }
    target.push_back(sum);
  }
  std::string size = std::to_string(count);
  auto header = [&](const std::string &shape) {
    return "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape +
           "), }";
  };
  folder.write("x.npy", npy(header(size + ", 6"), bytesOf(x)));
  folder.write("y.npy", npy(header(size + ","), bytesOf(target)));
  return " --data x=" + folder.file("x.npy") +
         " --data target=" + folder.file("y.npy") + " --threads 1 ";
}

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_COMMANDS_SUBPROCESS_H
