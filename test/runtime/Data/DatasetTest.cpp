//===- DatasetTest.cpp - tests of which file feeds which input ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Dataset.h"

#include "Inputs.h"
#include "TestFiles.h"

using namespace meshc::runtime;
using namespace meshc::test;

namespace {

Inputs classifier() {
  Inputs inputs;
  inputs.add("images", MESHC_F32, {4, 6});
  inputs.add("labels", MESHC_I32, {4});
  return inputs;
}

void expectRefused(Inputs &inputs, ExitCode code,
                   const std::vector<std::string> &specs,
                   const std::string &why) {
  std::string message = failureOf(code, [&] { Dataset(inputs.make(), specs); });
  EXPECT_NE(message.find(why), std::string::npos) << message;
}

} // namespace

TEST(Dataset, takesArraysByName) {
  Folder folder;
  Inputs inputs = classifier();
  std::string images =
      folder.write("i", gzip(idx(0x08, {5, 2, 3}, std::string(30, 'a'))));
  std::string labels = folder.write("l", idx(0x08, {5}, "01234"));
  Dataset dataset(inputs.make(), {"labels=" + labels, "images=" + images});
  EXPECT_EQ(dataset.examples(), 5);
  EXPECT_EQ(dataset.batch(), 4);
}

TEST(Dataset, refusesArraysThatDoNotFit) {
  Folder folder;
  Inputs inputs = classifier();
  std::string images =
      folder.write("i", idx(0x08, {5, 2, 3}, std::string(30, 'a')));
  std::string labels = folder.write("l", idx(0x08, {5}, "01234"));
  std::string four = folder.write("four", idx(0x08, {4}, "0123"));
  std::string reals = folder.write("r", idx(0x0d, {5}, std::string(20, 'a')));
  std::string none = folder.write("none", idx(0x08, {0}, ""));
  expectRefused(inputs, ExitCode::Data,
                {"images=" + labels, "labels=" + labels},
                "5 u8, 1 elements per example; input 'images' [d = 4, d = 6] "
                "needs 6");
  expectRefused(inputs, ExitCode::Data, {"images=" + images, "labels=" + four},
                "has 5 examples for 'images'");
  expectRefused(inputs, ExitCode::Data, {"images=" + images, "labels=" + reals},
                "holds f32; input 'labels' needs integers (i32)");
  expectRefused(inputs, ExitCode::Usage, {"images=" + images},
                "no data for input 'labels'; give '--data labels=FILE'");
  expectRefused(inputs, ExitCode::Usage, {"imgs=" + images},
                "no input is named 'imgs'; the inputs of 'model' are "
                "'images', 'labels'");
  expectRefused(inputs, ExitCode::Usage,
                {"images=" + images, "images=" + images}, "two files");
  expectRefused(inputs, ExitCode::Usage, {images}, "is an array file");
  Inputs one;
  one.add("labels", MESHC_I32, {4});
  expectRefused(one, ExitCode::Data, {"labels=" + none}, "holds no examples");
}

TEST(Dataset, readsACorpusThroughWindows) {
  Folder folder;
  Inputs inputs;
  inputs.add("tokens", MESHC_I32, {2, 3});
  inputs.add("targets", MESHC_I32, {2, 3});
  inputs.add("next", MESHC_I32, {2});
  std::string corpus = folder.write("c", "abcdefgh");
  Dataset dataset(inputs.make(), {corpus});
  EXPECT_EQ(dataset.examples(), 5);
  const std::vector<Source> &sources = dataset.sources();
  ASSERT_EQ(sources.size(), 3u);
  for (const Source &source : sources)
    EXPECT_EQ(source.row(1, nullptr) - source.row(0, nullptr), 1);
  EXPECT_EQ(sources[0].base[0], 'a');
  EXPECT_EQ(sources[1].base[0], 'b');
  EXPECT_EQ(sources[2].base[0], 'd');
  // The last example's last byte is the corpus's.
  EXPECT_EQ(sources[1].base[4 + 2], 'h');
  EXPECT_EQ(sources[2].base[4], 'h');
}

TEST(Dataset, refusesCorporaThatDoNotFit) {
  Folder folder;
  std::string corpus = folder.write("c", "abc");
  Inputs inputs;
  inputs.add("tokens", MESHC_I32, {2, 3});
  expectRefused(inputs, ExitCode::Data, {corpus}, "has 3 tokens");
  expectRefused(inputs, ExitCode::Usage, {corpus, corpus}, "both given");
  Inputs wrong;
  wrong.add("tokens", MESHC_I32, {2, 2});
  wrong.add("targets", MESHC_I32, {2, 4});
  expectRefused(wrong, ExitCode::Usage, {corpus}, "fits no window");
  Inputs reals;
  reals.add("x", MESHC_F32, {2, 2});
  expectRefused(reals, ExitCode::Usage, {corpus}, "inputs hold no i32");
}

/// The compiler's report helps to find the value that makes a loss NaN.
TEST(Dataset, findsTargetsThatAreNoClass) {
  Folder folder;
  std::string images =
      folder.write("i", idx(0x08, {5, 6}, std::string(30, '\1')));
  auto find = [&](const std::string &labels, const char *manifest) {
    Inputs inputs = classifier();
    inputs.program.manifest = manifest;
    std::string path = folder.write("l", idx(0x09, {5}, labels));
    Dataset dataset(inputs.make(), {"images=" + images, "labels=" + path});
    return dataset.findBadTarget({nullptr, 1, 4});
  };
  const char *ten = R"({"targets": {"labels": 10}})";
  EXPECT_EQ(find({0, 9, 1, 2, 3}, ten), "");
  EXPECT_EQ(find({11, 9, 1, 2, 3}, ten), ""); // of no row
  EXPECT_EQ(find({0, 9, 1, 10, 3}, ten),
            "data file '" + folder.file("l") +
                "': example 3 has 10 for input 'labels', a target of "
                "'cross_entropy'; expected 0 to 9");
  EXPECT_NE(find({0, 9, 1, 2, -1}, ten).find("example 4 has -1 "),
            std::string::npos);
  for (const char *manifest :
       {"", "no json", "[]", "{}", R"({"targets": 3})",
        R"({"targets": {"labels": "x"}})", R"({"targets": {"others": 1}})"})
    EXPECT_EQ(find({0, 9, 1, 10, 3}, manifest), "") << manifest;
}
