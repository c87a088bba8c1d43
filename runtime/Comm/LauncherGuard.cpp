//===- LauncherGuard.cpp - a launcher that cannot end a job ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/LauncherGuard.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

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

/// Returns whether the process at the other end has failed.
bool awaitFailure(int lifeline) {
  char byte;
  ssize_t got;
  do
    got = read(lifeline, &byte, 1);
  while (got < 0 && errno == EINTR);
  return got == 0; // closed without a word
}

/// Runs in a process forked from one that may have several threads, so it uses
/// system calls only.
[[noreturn]] void runGuard(pid_t launcher, int lifeline, int patienceSeconds) {
  // The launcher signals the process groups of its ranks.
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, "launcher-guard");
  // The launcher waits for the end of its ranks' output.
  for (int file = 0; file < 1024; ++file)
    if (file != lifeline)
      close(file);
  if (awaitFailure(lifeline) && outlives(launcher, patienceSeconds))
    kill(launcher, SIGKILL); // it crashes at SIGTERM by then
  _exit(0);
}

} // namespace

LauncherGuard::LauncherGuard(int patienceSeconds) {
  pid_t launcher = findLauncher();
  int ends[2];
  if (launcher == 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return;
  guard = fork();
  if (guard == 0)
    runGuard(launcher, ends[0], patienceSeconds);
  close(ends[0]);
  if (guard > 0)
    lifeline = ends[1];
  else
    close(ends[1]);
}

LauncherGuard::~LauncherGuard() {
  if (lifeline >= 0)
    close(lifeline);
}

void LauncherGuard::release() {
  if (lifeline < 0)
    return;
  char byte = 0;
  while (send(lifeline, &byte, 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
    ;
  close(lifeline);
  lifeline = -1;
  waitpid(guard, nullptr, 0);
}
