//===- LauncherEnd.cpp - a launcher that cannot end a job -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/LauncherEnd.h"

#include <csignal>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

constexpr int secondsForAbort = 10;

/// The name and the parent of a process, from the file `status` of /proc.
struct Ancestor {
  std::string name;
  pid_t parent = 0;
};

Ancestor lookUp(pid_t process) {
  Ancestor found;
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string key; status >> key;) {
    if (key == "Name:")
      status >> found.name;
    else if (key == "PPid:")
      status >> found.parent;
    status.ignore(1 << 16, '\n');
  }
  return found;
}

/// The launcher above this process, perhaps with a script in between; 0: none.
pid_t findLauncher() {
  constexpr int mostScripts = 8;
  pid_t process = getppid();
  for (int i = 0; i < mostScripts && process > 1; ++i) {
    Ancestor ancestor = lookUp(process);
    for (const char *name : {"mpirun", "mpiexec", "orterun", "orted"})
      if (ancestor.name == name)
        return process;
    process = ancestor.parent;
  }
  return 0;
}

/// Whether the process still exists after so many seconds.
bool outlives(pid_t process, int seconds) {
  for (int i = 0; i < seconds; ++i) {
    timespec second{1, 0};
    nanosleep(&second, nullptr);
    if (kill(process, 0) != 0)
      return false;
  }
  return true;
}

/// Runs in a process forked from one with several threads, so it uses system
/// calls only.
[[noreturn]] void waitAndKill(pid_t launcher) {
  setsid();
  // The launcher waits for the end of its ranks' output.
  for (int file = 0; file < 1024; ++file)
    close(file);
  if (outlives(launcher, secondsForAbort))
    kill(launcher, SIGKILL); // it crashes at SIGTERM by then
  _exit(0);
}

} // namespace

void meshc::runtime::endLauncherLater() {
  pid_t launcher = findLauncher();
  if (launcher == 0)
    return;
  // A grandchild, which nobody has to wait for.
  pid_t child = fork();
  if (child == 0) {
    if (fork() == 0)
      waitAndKill(launcher);
    _exit(0);
  }
  if (child > 0)
    waitpid(child, nullptr, 0);
}
