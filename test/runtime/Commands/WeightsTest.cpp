//===- WeightsTest.cpp - tests of parameters of other tools ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TrainBench.h"

#include <cmath>

using namespace meshc::test;
using namespace meshc::runtime;
namespace fs = std::filesystem;

/// The parameters of the line's model, in other types.
TEST(Weights, ofOtherToolsBeginARun) {
  TrainBench bench;
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
  TrainBench bench;
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
                      "a parameter; if the file is another tool's and has "
                      "other names, such as 'bias', or shapes, describe them "
                      "with '--weights-map' (maps for GPT-2 and Llama");
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
  TrainBench bench;
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
  TrainBench bench;
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
  ASSERT_EQ(exported("--shard-size 0.02kB --to " + one + mapped).code, 0);
  EXPECT_EQ(bench.eval("--weights " + one + ".index.json" + mapped), metrics);
  EXPECT_TRUE(fs::exists(bench.folder.file("one-00002-of-00002.safetensors")));
  ASSERT_EQ(exported("--to " + one).code, 0);
  EXPECT_EQ(bench.eval("--weights " + one), metrics);
  expectError(exported("--to " + c), 2, "'--to'");
  const std::string bin = bench.folder.file("x.bin");
  expectError(exported("--to " + bin), 2,
              "'--to' is '" + bin +
                  "', and export writes files of the format safetensors only; "
                  "expected a name that ends in '.safetensors'");
  EXPECT_FALSE(fs::exists(bin));
  expectError(exported("--shard-size 20 --to " + one + ".index.json"), 2,
              "the name of an index; give the name without '.index.json'");
  expectError(exported("--shard-size 5X --to " + one), 2,
              "'--shard-size' is '5X'; expected a number of bytes, such as "
              "800M, 1.5G or 8GB (units are k, M, G and T, powers of 1000");
  expectError(exported("--shard-size 0 --to " + one), 2,
              "'--shard-size' is '0'; expected 1 byte or more");
  bench.folder.write("m", "w = one\nb = 7\n");
  expectError(exported("--to " + one + mapped), 4,
              ":2:5: parameter 'b' holds ");
  bench.folder.write("m", "[wb] = {$0}\n");
  expectError(exported("--to " + one + mapped), 4,
              ":1:10: '[wb]' has no group");
}

/// Nothing is written if something would be lost.
TEST(Weights, exportDropsNoTensors) {
  TrainBench bench;
  const std::string others = bench.foreign("others",
                                           {{"w", "F32", {6}, 0, 0},
                                            {"b", "F32", {}, 0, 0},
                                            {"c", "F32", {2}, 0, 0}},
                                           std::string(36, '\0'));
  const std::string map = bench.folder.write("m", "w = one\nb = two\n"),
                    out = bench.folder.file("out");
  for (const std::string &options : {std::string(), " --weights-map " + map}) {
    expectError(run(line("1x1") + " export --checkpoint " + others + " --to " +
                    out + options),
                4,
                "checkpoint '" + others +
                    "' does not fit model 'line': tensor 'c', F32 [2], is not "
                    "a parameter and would not be written\n");
    EXPECT_FALSE(fs::exists(out));
  }
}

/// They stay, but must not be taken for parts of the new one.
TEST(Weights, filesOfAnEarlierExportAreNamed) {
  TrainBench bench;
  bench.mustTrain("--steps 1 --checkpoint " + bench.file);
  const std::string to = bench.folder.file("one");
  auto exported = [&](const std::string &options) {
    Outcome outcome = run(line("1x1") + " export --checkpoint " + bench.file +
                          " --to " + to + ".safetensors" + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  };
  bench.folder.write("one-00001-of-2.safetensors", "");
  bench.folder.write("one-more-00001-of-00002.safetensors", "");
  EXPECT_EQ(exported(" --shard-size 20"), "");
  EXPECT_EQ(exported(" --shard-size 20"), "");
  const std::string warning =
      "line: warning: an earlier export left files that are no part of this "
      "one: ";
  const std::string end = "; remove them\n";
  const std::string shards = "'" + to + "-00001-of-00002.safetensors', '" + to +
                             "-00002-of-00002.safetensors'";
  EXPECT_EQ(exported(" --shard-size 100"), warning + shards + end);
  EXPECT_EQ(exported(""), warning + "'" + to +
                              "-00001-of-00001.safetensors', " + shards +
                              ", '" + to + ".safetensors.index.json'" + end);
  for (const char *name :
       {"-00001-of-00001", "-00001-of-00002", "-00002-of-00002"})
    fs::remove(to + name + ".safetensors");
  fs::remove(to + ".safetensors.index.json");
  EXPECT_EQ(exported(" --shard-size 100"),
            warning + "'" + to + ".safetensors'" + end);
  // What a killed one left.
  bench.folder.write("one-00001-of-00003.safetensors.meshc-tmp", "");
  fs::remove(to + ".safetensors");
  EXPECT_EQ(exported(" --shard-size 100"),
            warning + "'" + to + "-00001-of-00003.safetensors.meshc-tmp'" +
                end);
}

TEST(Weights, exportReplacesExportsAlone) {
  TrainBench bench;
  bench.mustTrain("--steps 1 --checkpoint " + bench.file);
  const std::string out = bench.folder.write("out", "my notes"),
                    plain = bench.folder.file("plain"),
                    index = bench.folder.write("out.index.json", "my notes");
  bench.mustTrain("--steps 2 --checkpoint " + plain);
  auto exported = [&](const std::string &to, const std::string &options) {
    return run(line("1x1") + " export --checkpoint " + bench.file + " --to " +
               to + options);
  };
  const std::string why = "' exists and is no file that 'export' wrote; give "
                          "another name as '--to', or '--overwrite'";
  const std::string trained = readFile(plain);
  expectError(exported(out, ""), 2, "'" + out + why);
  expectError(exported(plain, ""), 2, "'" + plain + why);
  expectError(exported(out, " --shard-size 20"), 2, "'" + index + why);
  EXPECT_EQ(readFile(out), "my notes");
  EXPECT_EQ(readFile(index), "my notes");
  EXPECT_EQ(readFile(plain), trained);
  EXPECT_EQ(exported(out, " --overwrite").code, 0);
  EXPECT_EQ(exported(out, "").code, 0); // an export
}

/// "m" and "m.safetensors" have one set of shards: the index of the other
/// spelling would list those of another export.
TEST(Weights, anIndexListsFilesOfItsOwnExport) {
  TrainBench bench;
  const std::string first = bench.folder.file("first"),
                    m = bench.folder.file("m"), own = m + ".safetensors";
  bench.mustTrain("--steps 1 --checkpoint " + first);
  bench.mustTrain("--steps 9 --checkpoint " + bench.file);
  auto exported = [&](const std::string &from, const std::string &to) {
    return run(line("1x1") + " export --checkpoint " + from + " --to " + to);
  };
  for (const auto &[before, after] : {std::pair(m, own), {own, m}}) {
    ASSERT_EQ(exported(first, before + " --shard-size 20").code, 0);
    const Outcome second = exported(bench.file, after + " --shard-size 20");
    EXPECT_EQ(second.code, 0);
    EXPECT_EQ(second.err, "");
    EXPECT_FALSE(fs::exists(before + ".index.json"));
    EXPECT_EQ(bench.eval("--weights " + after + ".index.json"),
              bench.eval("--checkpoint " + bench.file));
  }
  const std::string shard = m + "-00001-of-00002.safetensors",
                    content = readFile(shard);
  for (const char *options : {"", " --overwrite"})
    expectError(exported(first, shard + options), 2,
                "'" + shard + "' has the name of a file that '" + m +
                    ".index.json' lists; give another name as '--to', or "
                    "remove '" +
                    m + ".index.json'");
  EXPECT_EQ(readFile(shard), content);
  fs::remove(m + ".index.json");
  EXPECT_EQ(exported(first, shard).code, 0);
  // A file that is no index stays.
  bench.folder.write("m.index.json", "my notes");
  EXPECT_EQ(exported(first, own + " --shard-size 20").code, 0);
  EXPECT_EQ(readFile(m + ".index.json"), "my notes");
}

/// An export that cannot be completed leaves no index over the files of two.
TEST(Weights, theIndexGoesFirst) {
  TrainBench bench;
  const std::string first = bench.folder.file("first"),
                    to = bench.folder.file("m.safetensors"),
                    index = to + ".index.json",
                    second = bench.folder.file("m-00002-of-00002.safetensors");
  bench.mustTrain("--steps 1 --checkpoint " + first);
  bench.mustTrain("--steps 9 --checkpoint " + bench.file);
  auto exported = [&](const std::string &from) {
    return run(line("1x1") + " export --shard-size 20 --checkpoint " + from +
               " --to " + to);
  };
  ASSERT_EQ(exported(first).code, 0);
  bench.eval("--weights " + index);
  bench.folder.write("m-00002-of-00002.safetensors.meshc-tmp", "of another");
  expectError(exported(bench.file), 4,
              "exported file '" + second + "' cannot be written: '" + second +
                  ".meshc-tmp' exists and is not an unfinished exported file");
  expectError(run(line("1x1") + " eval --weights " + index + bench.data), 4,
              "index '" + index + "' cannot be opened");
  fs::remove(second + ".meshc-tmp");
  ASSERT_EQ(exported(bench.file).code, 0);
  EXPECT_EQ(bench.eval("--weights " + index),
            bench.eval("--weights " + bench.file));
  // A map that does not fit is found before anything is removed.
  expectError(run(line("1x1") + " export --shard-size 20 --checkpoint " +
                  first + " --to " + to + " --weights-map " +
                  bench.folder.write("map", "w = t [0/2, feature]\nb = u\n")),
              4, "no parameter gives 6 of its 12 elements");
  EXPECT_EQ(bench.eval("--weights " + index),
            bench.eval("--weights " + bench.file));
}

TEST(Weights, whatAMapMissesIsNamed) {
  TrainBench bench;
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

/// They are an error before the first step could blame the learning rate.
TEST(Weights, valuesThatAreNotFiniteAreNamed) {
  TrainBench bench;
  auto write = [&](const std::string &name, float w, float b) {
    return bench.foreign(name,
                         {{"w", "F32", {6}, 0, 0}, {"b", "F32", {}, 0, 0}},
                         bytesOf<float>({0.5f, -1, 2, w, 3, -0.125f, b}));
  };
  const std::string nan = write("nan", NAN, 1),
                    infinite = write("inf", 0, -INFINITY),
                    end = "; expected finite values: fetch the file again, or "
                          "take an earlier one of the run that wrote it\n";
  for (const char *mesh : {"1x1", "2x2"}) {
    const std::string message = "checkpoint '" + nan +
                                "': tensor 'w', F32 [6], holds a NaN at [3]" +
                                end;
    expectError(bench.train("--steps 3 --weights " + nan, mesh), 4, message);
    expectError(run(line(mesh) + " eval --weights " + nan + bench.data), 4,
                message);
    expectError(bench.train("--steps 3 --weights " + infinite, mesh), 4,
                "checkpoint '" + infinite +
                    "': tensor 'b', F32 [], holds an infinite value" + end);
    // A model may need one for a mask.
    Outcome outcome =
        run(line(mesh) + " eval --weights " + infinite + bench.data);
    EXPECT_EQ(outcome.code, 7);
    expectHas(outcome.out, "inf (37 examples)\n");
  }
  const std::string half =
      bench.foreign("half", {{"w", "BF16", {6}, 0, 0}, {"b", "F32", {}, 0, 0}},
                    bytesOf<uint16_t>({0, 0, 0, 0, 0, 0x7f80, 0, 0}));
  expectError(bench.train("--steps 3 --weights " + half), 4,
              "tensor 'w', BF16 [6], holds an infinite value at [5]");
  // The parameter is the second half of this tensor.
  const std::string map =
      bench.folder.write("m", "w = all [(1/2 feature)]\nb = 0\nignore all\n");
  const std::string both =
      bench.foreign("both", {{"all", "F32", {12}, 0, 0}},
                    bytesOf<float>({0, 0, 0, 0, 0, 0, 0, NAN, 0, 0, 0, 0}));
  expectError(
      bench.train("--steps 3 --weights " + both + " --weights-map " + map), 4,
      "tensor 'all', F32 [12], holds a NaN at [7]");
}
