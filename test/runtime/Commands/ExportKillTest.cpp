//===- ExportKillTest.cpp - exports that are killed -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An export replaces that of another checkpoint, and is killed. What can be
/// read then is the whole of one of the two: of several files, each index lists
/// those of one export, or there is no index. This holds, too, if the two have
/// one name with and without its ending. The same command ends
/// afterwards, and leaves nothing unfinished. A few kills by default;
/// test/kill/run does many:
///   MESHC_EXPORT_KILLS=N   kills at random times, in all
///   MESHC_KILL_STRIDE=N    each Nth of the events of KillPoint.cpp
///   MESHC_KILL_SEED=N      of the random times
///
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

#include <chrono>
#include <filesystem>
#include <random>

using namespace meshc::test;
namespace fs = std::filesystem;

static long setting(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

namespace {

enum class Form {
  File,
  Shards,    ///< two files and an index
  Spellings, ///< the same, to "m" at first and then to "m.safetensors"
};

/// Exports to one name.
class Exports {
public:
  explicit Exports(Form form) : form(form) {
    for (const char *steps : {"1", "9"})
      EXPECT_EQ(run(line("1x1") + " train --quiet --steps " + steps +
                    " --checkpoint " + folder.file(steps) + data)
                    .code,
                0);
    before = evaluate(folder.file("1")).out;
    after = evaluate(folder.file("9")).out;
    EXPECT_NE(before, after);
  }

  /// Writes the first export anew.
  void begin() {
    for (const fs::directory_entry &entry :
         fs::directory_iterator(folder.file("")))
      if (entry.path().filename().string().rfind("m", 0) == 0)
        fs::remove(entry.path());
    EXPECT_EQ(run(command("1", firstName())).code, 0);
    EXPECT_EQ(evaluate(result(firstName())).out, before);
  }
  /// The command that replaces it; `environment` is set for it.
  std::string replace(const std::string &environment = "") const {
    return "env KILL_PATH=" + folder.file("m") + " LD_PRELOAD=" + KILL_POINT +
           " " + environment + " " + command("9", lastName);
  }
  /// After a kill.
  void expectWhole() const {
    for (const std::string &name : {firstName(), lastName}) {
      Outcome outcome = evaluate(result(name));
      if (form != Form::File && !fs::exists(result(name))) {
        EXPECT_EQ(outcome.code, 4);
        continue;
      }
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_TRUE(outcome.out == before || outcome.out == after) << outcome.out;
    }
  }
  /// Runs the command to its end.
  void expectEnd() const {
    Outcome outcome = run(command("9", lastName));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(evaluate(result(lastName)).out, after);
    EXPECT_EQ(fs::exists(result(firstName())), form != Form::Spellings);
    for (const fs::directory_entry &entry :
         fs::directory_iterator(folder.file("")))
      EXPECT_EQ(entry.path().string().find(".meshc-tmp"), std::string::npos);
  }
  long countEvents() {
    begin();
    EXPECT_EQ(run(replace("KILL_COUNT=" + folder.file("count"))).code, 0);
    return std::atol(readFile(folder.file("count")).c_str());
  }

private:
  std::string firstName() const {
    return form == Form::Spellings ? "m" : lastName;
  }
  std::string command(const std::string &checkpoint,
                      const std::string &name) const {
    return line("1x1") + " export --checkpoint " + folder.file(checkpoint) +
           " --to " + folder.file(name) +
           (form == Form::File ? "" : " --shard-size 20");
  }
  std::string result(const std::string &name) const {
    return folder.file(form == Form::File ? name : name + ".index.json");
  }
  Outcome evaluate(const std::string &weights) const {
    return run(line("1x1") + " eval --quiet --weights " + weights + data);
  }

  Folder folder;
  std::string data = writeLineData(folder), before, after;
  const std::string lastName = "m.safetensors";
  Form form;
};

} // namespace

/// Before and after every call that touches a file of the export.
TEST(ExportKill, atEveryCall) {
  const long stride = setting("MESHC_KILL_STRIDE", 13);
  long kills = 0;
  for (Form form : {Form::File, Form::Shards, Form::Spellings}) {
    Exports exports(form);
    const long count = exports.countEvents();
    ASSERT_GT(count, form == Form::File ? 20 : 60);
    for (long at = form == Form::File ? 0 : 3 % stride; at < count;
         at += stride) {
      exports.begin();
      Outcome outcome = run(exports.replace("KILL_AT=" + std::to_string(at)));
      EXPECT_EQ(outcome.code, 128 + SIGKILL) << outcome.err;
      ++kills;
      exports.expectWhole();
      exports.expectEnd();
      if (HasFailure()) {
        FAIL() << "killed at event " << at;
      }
    }
  }
  std::printf("%ld kills\n", kills);
}

TEST(ExportKill, atRandomTimes) {
  const long wanted = setting("MESHC_EXPORT_KILLS", 12);
  const auto seed = static_cast<unsigned>(setting(
      "MESHC_KILL_SEED",
      std::chrono::system_clock::now().time_since_epoch().count() % 1000000));
  std::mt19937 random(seed);
  std::printf("MESHC_KILL_SEED=%u\n", seed);
  long kills = 0;
  const std::vector<Form> forms = {Form::Shards, Form::Spellings, Form::File};
  for (size_t i = 0; kills < wanted; ++i) {
    Exports exports(forms[i % forms.size()]);
    exports.begin();
    // Longer each time, until the export ends before the kill.
    useconds_t most = 4000;
    for (bool ended = false; !ended; most += most / 8) {
      Process process(exports.replace());
      usleep(std::uniform_int_distribution<useconds_t>(0, most)(random));
      process.signal(SIGKILL);
      Outcome outcome = process.wait();
      ended = outcome.code == 0;
      EXPECT_TRUE(ended || outcome.code == 128 + SIGKILL) << outcome.err;
      kills += !ended;
      exports.expectWhole();
      if (HasFailure()) {
        FAIL() << "after " << kills << " kills";
      }
    }
    exports.expectEnd();
  }
  std::printf("%ld kills\n", kills);
}
