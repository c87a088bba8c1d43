//===- SaveTest.cpp - tests of what train saves and resumes -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TrainBench.h"

#include <filesystem>
#include <sys/stat.h>

using namespace meshc::test;
using namespace meshc::runtime;
namespace fs = std::filesystem;

namespace {

/// Whether reading the file detects the damage, or nothing is damaged: all
/// contents equal those of `whole`.
bool isRefusedOrEqual(const std::string &path, const SafetensorsFile &whole) {
  try {
    SafetensorsFile file(path);
    RunState state = readRunState(file), expected = readRunState(whole);
    verifyFile(file);
    if (state.step != expected.step || state.seed != expected.seed ||
        state.position != expected.position)
      return false;
    for (const auto &[name, tensor] : whole.tensors()) {
      const FileTensor *found = file.find(name);
      // Other names and types are refused when tensors are loaded.
      if (found && found->describe() == tensor.describe() &&
          std::string(file.data(*found), found->bytes()) !=
              std::string(whole.data(tensor), tensor.bytes()))
        return false;
    }
    return true;
  } catch (const Failure &failure) {
    return failure.code() == ExitCode::Checkpoint;
  }
}

} // namespace

TEST(Checksum, findsEveryFlippedBit) {
  TrainBench bench;
  bench.mustTrain("--steps 5 --checkpoint " + bench.file);
  const std::string whole = readFile(bench.file);
  const SafetensorsFile intact(bench.file);
  verifyFile(intact);
  const size_t begin =
      static_cast<size_t>(intact.fileOffset(*intact.find("w")));
  ASSERT_EQ(whole.size() - begin, 56u); // w, b, and their momentum
  std::string path = bench.folder.file("flipped");
  for (size_t byte = 0; byte < whole.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::string content = whole;
      content[byte] = static_cast<char>(content[byte] ^ 1 << bit);
      std::ofstream(path, std::ios::binary) << content;
      if (byte >= begin)
        failureOf(ExitCode::Checkpoint,
                  [&] { verifyFile(SafetensorsFile(path)); });
      else
        EXPECT_TRUE(isRefusedOrEqual(path, intact)) << byte << ':' << bit;
    }
}

TEST(Checksum, damageIsNamed) {
  TrainBench bench;
  bench.mustTrain("--steps 5 --checkpoint " + bench.file);
  SafetensorsFile intact(bench.file);
  const FileTensor &tensor = *intact.find("b.momentum");
  int64_t offset = intact.fileOffset(tensor);
  bench.flip(bench.file, static_cast<size_t>(offset) + 2, 5);
  std::string message =
      "checkpoint '" + bench.file +
      "' is damaged: tensor 'b.momentum', bytes " + std::to_string(offset) +
      " to " + std::to_string(offset + 4) + " of the file, has CRC-32C";
  for (const char *mesh : {"1x1", "2x2"})
    expectError(bench.train("--steps 9 --resume " + bench.file, mesh), 4,
                message);
  // eval reads parameters only.
  bench.flip(bench.file, static_cast<size_t>(offset) + 2, 5);
  bench.flip(bench.file,
             static_cast<size_t>(intact.fileOffset(*intact.find("w"))) + 5);
  for (const char *mesh : {"1x1", "2x2"})
    expectError(
        run(line(mesh) + " eval --checkpoint " + bench.file + bench.data), 4,
        "is damaged: tensor 'w', bytes ");
}

/// A checkpoint without checksums, as older ones are.
TEST(Checksum, filesWithoutAreRead) {
  TrainBench bench;
  bench.mustTrain("--steps 5 --checkpoint " + bench.file);
  std::string old = bench.folder.file("old");
  {
    SafetensorsFile file(bench.file);
    std::vector<FileTensor> tensors;
    std::string content;
    Metadata metadata;
    for (const auto &[name, tensor] : file.tensors()) {
      tensors.push_back(tensor);
      content += std::string(file.data(tensor), tensor.bytes());
    }
    for (const auto &[key, value] : file.metadata())
      if (key.rfind("meshc.crc32c", 0) != 0)
        metadata[key] = value;
    bench.folder.write("old", writeHeader(tensors, metadata) + content);
  }
  bench.mustTrain("--steps 9 --resume " + old + " --checkpoint " +
                  bench.folder.file("d"));
  EXPECT_EQ(readFile(bench.folder.file("d")), bench.contentAfter(9));
}

TEST(Keep, keepsTheLastOnes) {
  TrainBench bench;
  bench.mustTrain("--steps 9 --save-every 2 --keep 3 --checkpoint " +
                  bench.file);
  EXPECT_EQ(stepOf(bench.file), 9);
  EXPECT_EQ(stepOf(bench.file + ".1"), 8);
  EXPECT_EQ(stepOf(bench.file + ".2"), 6);
  EXPECT_FALSE(fs::exists(bench.file + ".3"));
  EXPECT_EQ(fs::hard_link_count(bench.file), 1u);
  // Two of them, and one: the others stay.
  bench.mustTrain("--steps 11 --resume --keep 2 --checkpoint " + bench.file);
  EXPECT_EQ(stepOf(bench.file + ".1"), 9);
  EXPECT_EQ(stepOf(bench.file + ".2"), 6);
  bench.mustTrain("--steps 13 --resume --checkpoint " + bench.file);
  EXPECT_EQ(stepOf(bench.file), 13);
  EXPECT_EQ(stepOf(bench.file + ".1"), 9);
}

TEST(Keep, replacesNoFilesOfOthers) {
  TrainBench bench;
  bench.folder.write("c.1", "my notes");
  expectError(bench.train("--steps 9 --save-every 2 --keep 3 --checkpoint " +
                          bench.file),
              4, "'" + bench.file + ".1' exists and is not a checkpoint");
  EXPECT_EQ(readFile(bench.file + ".1"), "my notes");
}

TEST(Keep, resumeFallsBackToTheNewestIntactOne) {
  TrainBench bench;
  const std::string options = "--save-every 2 --keep 3 --checkpoint ";
  const std::string expected = bench.contentAfter(12);
  for (const char *mesh : {"1x1", "2x2"}) {
    for (const char *suffix : {"", ".1", ".2"})
      fs::remove(bench.file + suffix);
    bench.mustTrain("--steps 8 " + options + bench.file, mesh);
    bench.flip(bench.file, readFile(bench.file).size() - 1);
    std::string cut = readFile(bench.file + ".1");
    bench.folder.write("c.1", cut.substr(0, cut.size() - 9));
    Outcome outcome =
        bench.train("--steps 12 --resume " + options + bench.file, mesh);
    expectError(outcome, 0,
                "line: warning: checkpoint '" + bench.file + "' is damaged");
    expectHas(outcome.err, "going on from '" + bench.file + ".2' of step 4\n");
    EXPECT_EQ(stepOf(bench.file), 12);
    EXPECT_EQ(stepOf(bench.file + ".1"), 10);
    EXPECT_EQ(stepOf(bench.file + ".2"), 8);
    // The newest is missing.
    fs::remove(bench.file);
    outcome = bench.train("--steps 12 --resume " + options + bench.file, mesh);
    expectError(outcome, 0,
                "' is missing; going on from '" + bench.file +
                    ".1' of step 10");
    if (std::string(mesh) == "1x1") {
      EXPECT_EQ(readFile(bench.file), expected);
    }
  }
  // None is intact.
  for (const char *suffix : {"", ".1", ".2"})
    if (fs::exists(bench.file + suffix))
      bench.flip(bench.file + suffix, readFile(bench.file + suffix).size() - 1);
  expectError(bench.train("--steps 12 --resume=auto " + options + bench.file),
              4, "c.1' is damaged");
}

/// A damaged checkpoint takes the place of no intact generation.
TEST(Keep, whatIsDamagedIsNotKept) {
  TrainBench bench;
  const std::string options = "--keep 2 --checkpoint " + bench.file;
  bench.mustTrain("--steps 4 --save-every 2 " + options);
  bench.flip(bench.file, readFile(bench.file).size() - 1);
  EXPECT_EQ(bench.train("--steps 6 --resume " + options).code, 0);
  EXPECT_EQ(stepOf(bench.file), 6);
  EXPECT_EQ(stepOf(bench.file + ".1"), 2);
}

TEST(Begin, autoBeginsAnewWhereThereIsNothing) {
  TrainBench bench;
  const std::string options = "--resume=auto --seed 3 --checkpoint ";
  bench.mustTrain("--steps 5 " + options + bench.file);
  bench.mustTrain("--steps 9 " + options + bench.file);
  bench.mustTrain("--steps 9 --seed 3 --checkpoint " + bench.folder.file("d"));
  EXPECT_EQ(readFile(bench.file), readFile(bench.folder.file("d")));
  expectError(bench.train("--resume=auto"), 2, "there is no '--checkpoint'");
}

TEST(Begin, replacesNoLongerRun) {
  TrainBench bench;
  bench.mustTrain("--steps 9 --checkpoint " + bench.file);
  const std::string before = readFile(bench.file);
  for (const char *mesh : {"1x1", "2x2"})
    for (const char *options : {"--steps 5", "--steps 20 --save-every 5"}) {
      expectError(bench.train(options + (" --checkpoint " + bench.file), mesh),
                  2, "holds step 9 of an earlier run");
      EXPECT_EQ(readFile(bench.file), before);
    }
  bench.mustTrain("--steps 9 --checkpoint " + bench.file); // of as many
  bench.mustTrain("--steps 5 --overwrite --checkpoint " + bench.file);
  EXPECT_EQ(stepOf(bench.file), 5);
  bench.mustTrain("--steps 7 --resume " + bench.file + " --checkpoint " +
                  bench.folder.file("d"));
  bench.folder.write("notes", "my notes");
  expectError(
      bench.train("--steps 5 --checkpoint " + bench.folder.file("notes")), 2,
      "is not a safetensors file; the run would replace it");
}

/// Ctrl-C ends a run that would have replaced it at its end.
TEST(Begin, anInterruptReplacesNoLongerRun) {
  TrainBench bench;
  bench.mustTrain("--steps 900 --checkpoint " + bench.file);
  const std::string before = readFile(bench.file);
  for (const char *mesh : {"1x1", "2x2"}) {
    Process process("env LINE_SLEEP=10 " + line(mesh) +
                    " train --quiet --steps 10000 --checkpoint " + bench.file +
                    bench.data);
    ASSERT_TRUE(process.waitUntilHandles(SIGINT));
    process.signal(SIGINT);
    expectError(process.wait(), 130, "not saved, as checkpoint '");
    EXPECT_EQ(readFile(bench.file), before);
  }
}

/// Saving in the background writes the same bytes as saving in the foreground.
TEST(Save, backgroundWritesTheSame) {
  TrainBench bench;
  for (const char *mesh : {"1x1", "2x2"}) {
    const std::string options =
        "--steps 23 --save-every 3 --overwrite --keep 9 --checkpoint ";
    bench.mustTrain(options + bench.file, mesh);
    bench.mustTrain(options + bench.folder.file("s") + " --save sync", mesh);
    for (const char *suffix : {"", ".1", ".2", ".3", ".4", ".5", ".6", ".7"})
      EXPECT_EQ(readFile(bench.file + suffix),
                readFile(bench.folder.file("s") + suffix))
          << suffix;
  }
  expectError(bench.train("--steps 2 --save later --checkpoint " + bench.file),
              2, "'--save' is 'later'; expected 'background' or 'sync'");
}

TEST(Save, printsTheCopy) {
  TrainBench bench;
  const std::string options = "--memory --steps 6 --overwrite --checkpoint " +
                              bench.file + " --save-every 2";
  expectHas(bench.train(options).out, " + copy of the state 56 + fixed ");
  EXPECT_EQ(bench.train(options + " --save sync").out.find("copy"),
            std::string::npos);
  expectHas(run(line("2x2") + " info").out,
            "copy of the state 56 bytes on rank 0");
}

/// The folder loses its rights, or goes, while the run trains.
TEST(Save, aFailedWriteEndsTheRunAtALaterStep) {
  TrainBench bench;
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string folder = bench.folder.file(std::string("d") + mesh);
    fs::create_directory(folder);
    Process process("env LINE_SLEEP=10 " + line(mesh) +
                    " train --steps 100000 --save-every 5 --checkpoint " +
                    folder + "/c" + bench.data);
    ASSERT_TRUE(process.waitUntilHandles(SIGINT));
    ASSERT_TRUE(process.waitUntil([&] { return fs::exists(folder + "/c"); }));
    std::error_code ignored; // a save may be in progress
    while (fs::exists(folder))
      fs::remove_all(folder, ignored);
    Outcome outcome = process.wait();
    EXPECT_EQ(outcome.code, 4);
    expectHas(outcome.err, "checkpoint '" + folder + "/c'");
  }
}
