//===- SaveTest.cpp - tests of what train saves and begins from -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Checkpoint/Checksums.h"

#include <filesystem>
#include <sys/stat.h>

using namespace meshc::test;
using namespace meshc::runtime;
namespace fs = std::filesystem;

namespace {

/// A folder with data, and runs of the program in it.
struct Bench {
  Folder folder;
  std::string data = writeLineData(folder);
  std::string file = folder.file("c");

  Outcome train(const std::string &options, const std::string &mesh = "1x1") {
    return run(line(mesh) + " train --quiet " + options + data);
  }
  void mustTrain(const std::string &options, const std::string &mesh = "1x1") {
    Outcome outcome = train(options, mesh);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  /// The checkpoint of an uninterrupted run of so many steps.
  std::string contentAfter(int steps) {
    std::string path = folder.file("plain");
    fs::remove(path);
    mustTrain("--steps " + std::to_string(steps) + " --checkpoint " + path);
    return readFile(path);
  }
  std::string eval(const std::string &options) {
    Outcome outcome = run(line("1x1") + " eval " + options + data);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  /// Turns one bit of a file.
  void flip(const std::string &path, size_t byte, int bit = 0) {
    std::string content = readFile(path);
    content.at(byte) = static_cast<char>(content.at(byte) ^ 1 << bit);
    std::ofstream(path, std::ios::binary) << content;
  }
  /// Writes a file of other tools.
  std::string foreign(const std::string &name,
                      const std::vector<FileTensor> &tensors,
                      const std::string &content) {
    return folder.write(name,
                        writeHeader(tensors, {{"format", "pt"}}) + content);
  }
};

int64_t stepOf(const std::string &path) {
  SafetensorsFile file(path);
  verifyFile(file);
  return readRunState(file).step;
}

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
  Bench bench;
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
  Bench bench;
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
  Bench bench;
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
  Bench bench;
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
  Bench bench;
  bench.folder.write("c.1", "my notes");
  expectError(bench.train("--steps 9 --save-every 2 --keep 3 --checkpoint " +
                          bench.file),
              4, "'" + bench.file + ".1' exists and is not a checkpoint");
  EXPECT_EQ(readFile(bench.file + ".1"), "my notes");
}

TEST(Keep, resumeFallsBackToTheNewestIntactOne) {
  Bench bench;
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
  Bench bench;
  const std::string options = "--keep 2 --checkpoint " + bench.file;
  bench.mustTrain("--steps 4 --save-every 2 " + options);
  bench.flip(bench.file, readFile(bench.file).size() - 1);
  EXPECT_EQ(bench.train("--steps 6 --resume " + options).code, 0);
  EXPECT_EQ(stepOf(bench.file), 6);
  EXPECT_EQ(stepOf(bench.file + ".1"), 2);
}

TEST(Begin, autoBeginsAnewWhereThereIsNothing) {
  Bench bench;
  const std::string options = "--resume=auto --seed 3 --checkpoint ";
  bench.mustTrain("--steps 5 " + options + bench.file);
  bench.mustTrain("--steps 9 " + options + bench.file);
  bench.mustTrain("--steps 9 --seed 3 --checkpoint " + bench.folder.file("d"));
  EXPECT_EQ(readFile(bench.file), readFile(bench.folder.file("d")));
  expectError(bench.train("--resume=auto"), 2, "there is no '--checkpoint'");
}

TEST(Begin, replacesNoLongerRun) {
  Bench bench;
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
  Bench bench;
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

/// The parameters of the line's model, in other types.
TEST(Weights, ofOtherToolsBeginARun) {
  Bench bench;
  const std::vector<float> w{0.5f, -1, 2, 0.25f, 3, -0.125f}, b{0.75f};
  std::string f32 =
      bench.foreign("f32", {{"w", "F32", {6}, 0, 0}, {"b", "F32", {}, 0, 0}},
                    bytesOf(w) + bytesOf(b));
  std::string halves = bench.foreign(
      "halves", {{"b", "BF16", {}, 0, 0}, {"w", "F16", {6}, 0, 0}},
      bytesOf<uint16_t>(
          {0x3f40, 0x3800, 0xbc00, 0x4000, 0x3400, 0x4200, 0xb000}));
  std::string metrics = bench.eval("--checkpoint " + f32);
  EXPECT_EQ(bench.eval("--weights " + halves), metrics);
  for (const char *mesh : {"1x1", "2x2"}) {
    const std::string c = bench.folder.file(mesh);
    bench.mustTrain(
        "--steps 0 --seed 7 --weights " + halves + " --checkpoint " + c, mesh);
    EXPECT_EQ(bench.eval("--checkpoint " + c), metrics);
    SafetensorsFile file(c);
    EXPECT_EQ(readRunState(file).step, 0);
    EXPECT_EQ(readRunState(file).seed, 7u);
    auto content = [&](const char *name) {
      return std::string(file.data(*file.find(name)), file.find(name)->bytes());
    };
    EXPECT_EQ(content("w"), bytesOf(w));
    EXPECT_EQ(content("b"), bytesOf(b));
    EXPECT_EQ(content("w.momentum"), std::string(24, '\0'));
    // A checkpoint is also a file of parameters, and a run may resume from it.
    bench.mustTrain("--steps 4 --weights " + c +
                    " --resume=auto --checkpoint " + c + "d");
    bench.mustTrain("--steps 8 --weights " + c +
                    " --resume=auto --checkpoint " + c + "d");
    EXPECT_EQ(stepOf(c + "d"), 8);
    EXPECT_EQ(bench.eval("--weights " + c), metrics);
  }
}

TEST(Weights, misfitsAreNamed) {
  Bench bench;
  std::string path = bench.foreign(
      "f", {{"w", "F32", {2, 3}, 0, 0}, {"bias", "F32", {1}, 0, 0}},
      std::string(28, '\0'));
  for (const std::string &command :
       {std::string(" train --steps 2 --weights "),
        std::string(" eval --weights "), std::string(" eval --checkpoint ")})
    for (const char *mesh : {"1x1", "2x2"})
      expectError(run(line(mesh) + command + path + bench.data), 4,
                  "checkpoint '" + path +
                      "' does not fit model 'line': tensor 'w' is F32 [2, 3]; "
                      "expected F32, F16 or BF16 [feature = 6]; "
                      "tensor 'b' is missing; tensor 'bias', F32 [1], is not "
                      "a parameter");
  std::string types =
      bench.foreign("t", {{"w", "I32", {6}, 0, 0}, {"b", "F64", {}, 0, 0}},
                    std::string(32, '\0'));
  expectError(run(line("1x1") + " eval --weights " + types + bench.data), 4,
              "tensor 'w' is I32 [6]; expected F32, F16 or BF16 [feature = 6]; "
              "tensor 'b' is F64 []; expected F32, F16 or BF16 []");
  expectError(bench.train("--weights " + path + " --resume " + path), 2,
              "'--weights' begins a run and '--resume' goes on with one");
  expectError(bench.train("--resume " + path), 4,
              "has no 'meshc.step' in its metadata");
}

/// A map with every kind of line, there and back.
TEST(Weights, aMapNamesAndPlacesThem) {
  Bench bench;
  const std::string map = bench.folder.write(
      "m", "optional prefix model.\n"
           "(w) = lin.{$1} [(1/2 feature)]  # behind others\n"
           "b = 0.75\n"
           "ignore mask|lin\\.w\n");
  const std::vector<float> w{9, 9, 9, 9, 9, 9, 0.5f, -1, 2, 0.25f, 3, -0.125f};
  const std::string own =
      bench.foreign("own", {{"w", "F32", {6}, 0, 0}, {"b", "F32", {}, 0, 0}},
                    bytesOf(std::vector<float>(w.begin() + 6, w.end())) +
                        bytesOf<float>({0.75f}));
  const std::string others = bench.foreign(
      "others",
      {{"model.lin.w", "F32", {12}, 0, 0}, {"mask", "BOOL", {2}, 0, 0}},
      bytesOf(w) + std::string(2, '\1'));
  const std::string use = others + " --weights-map " + map;
  EXPECT_EQ(bench.eval("--weights " + use), bench.eval("--weights " + own));
  for (const char *mesh : {"1x1", "2x2"}) {
    const std::string c = bench.folder.file(mesh);
    bench.mustTrain("--steps 0 --weights " + use + " --checkpoint " + c, mesh);
    EXPECT_EQ(bench.eval("--checkpoint " + c), bench.eval("--weights " + own));
  }
  // One map cannot fill the other half of the tensor.
  Outcome outcome =
      run(line("1x1") + " export --checkpoint " + own + " --weights-map " +
          map + " --to " + bench.folder.file("back"));
  expectError(outcome, 4,
              map + ":2:7: tensor 'lin.w', F32 [12], cannot be written: no "
                    "parameter gives 6 of its 12 elements");
  EXPECT_FALSE(fs::exists(bench.folder.file("back")));
}

TEST(Weights, exportIsTheInverse) {
  Bench bench;
  const std::string c = bench.folder.file("c");
  bench.mustTrain("--steps 4 --checkpoint " + c, "2x2");
  const std::string map =
      bench.folder.write("m", "w = one [0/1, feature]\nb = two\n");
  const std::string one = bench.folder.file("one.safetensors");
  auto exported = [&](const std::string &options) {
    return run(line("2x2") + " export --checkpoint " + c + " " + options);
  };
  Outcome outcome = exported("--weights-map " + map + " --to " + one);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(SafetensorsFile(one).find("one")->describe(), "F32 [1, 6]");
  EXPECT_EQ(SafetensorsFile(one).tensors().size(), 2u);
  const std::string metrics = bench.eval("--checkpoint " + c);
  const std::string mapped = " --weights-map " + map;
  EXPECT_EQ(bench.eval("--weights " + one + mapped), metrics);
  // In files of at most 20 bytes, and with the names of the model.
  ASSERT_EQ(exported("--shard-size 20 --to " + one + mapped).code, 0);
  EXPECT_EQ(bench.eval("--weights " + one + ".index.json" + mapped), metrics);
  EXPECT_TRUE(fs::exists(bench.folder.file("one-00002-of-00002.safetensors")));
  ASSERT_EQ(exported("--to " + one).code, 0);
  EXPECT_EQ(bench.eval("--weights " + one), metrics);
  expectError(exported("--to " + c), 2, "'--to'");
  expectError(exported("--shard-size 5X --to " + one), 2,
              "'--shard-size' is '5X'; expected a number of bytes");
  bench.folder.write("m", "w = one\nb = 7\n");
  expectError(exported("--to " + one + mapped), 4,
              ":2:5: parameter 'b' holds ");
  bench.folder.write("m", "[wb] = {$0}\n");
  expectError(exported("--to " + one + mapped), 4,
              ":1:10: '[wb]' has no group");
}

TEST(Weights, whatAMapMissesIsNamed) {
  Bench bench;
  const std::string map =
      bench.folder.write("m", "w = lin.w [(0/3 feature)]\nb = lin.b\n");
  const std::string path = bench.foreign(
      "f", {{"lin.w", "F32", {6}, 0, 0}, {"bias", "F32", {1}, 0, 0}},
      std::string(28, '\0'));
  for (const char *mesh : {"1x1", "2x2"})
    expectError(run(line(mesh) + " eval --weights " + path + " --weights-map " +
                    map + bench.data),
                4,
                map +
                    ":1:5: tensor 'lin.w' is F32 [6]; expected F32, F16 or "
                    "BF16 [(0/3 feature) = 18]; " +
                    map +
                    ":2:5: tensor 'lin.b' is missing; tensor 'bias', "
                    "F32 [1], is neither mapped nor ignored by '" +
                    map + "'");
  expectError(bench.train("--weights-map " + map), 2, "'--weights'");
}

/// Saving in the background writes the same bytes as saving in the foreground.
TEST(Save, backgroundWritesTheSame) {
  Bench bench;
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
  Bench bench;
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
  Bench bench;
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
