//===- AgreementTest.cpp - ranks that were started differently ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Agreement.h"

#include "runtime/Comm/ThreadWorld.h"
#include "runtime/Data/Dataset.h"
#include "test/runtime/Data/Inputs.h"
#include "test/runtime/Data/TestFiles.h"

using namespace meshc::runtime;

namespace {

using List = std::vector<Agreed>;

/// The disagreement that the ranks find if rank r holds lists[r]; the same on
/// all.
std::string find(const std::vector<List> &lists) {
  std::vector<std::string> found(lists.size());
  openThreadWorld(static_cast<int>(lists.size()), 1, 60)
      ->run([&](Communicator &communicator) {
        int rank = communicator.rank();
        found[rank] = findDisagreement(communicator, lists[rank]);
      });
  for (const std::string &text : found)
    EXPECT_EQ(text, found[0]);
  return found[0];
}

const std::string end =
    "; start all ranks with the same program, options and data";

TEST(Agreement, ranksThatAgreeFindNothing) {
  EXPECT_EQ(find({{{"'--seed'", "1", ""}, {"data", "x", "y"}}}), "");
  List same{{"'--seed'", "1", ""}, {"data", "x", "here"}};
  List elsewhere{{"data", "x", "there"}, {"'--seed'", "1", ""}};
  EXPECT_EQ(find({same, elsewhere, same}), "");
  EXPECT_EQ(find({{}, {}}), "");
}

TEST(Agreement, namesRanksAndValues) {
  List one{{"'--seed'", "'1'", ""}}, two{{"'--seed'", "'2'", ""}};
  EXPECT_EQ(find({one, two, one, one, two}),
            "the ranks disagree: '--seed' is '1' on ranks 0, 2, 3 and '2' on "
            "ranks 1, 4" +
                end);
  EXPECT_EQ(find({one, one, one, {}, two}),
            "the ranks disagree: '--seed' is '1' on ranks 0 to 2, not given on "
            "rank 3 and '2' on rank 4" +
                end);
  EXPECT_EQ(find({{}, two}), "the ranks disagree: '--seed' is not given on "
                             "rank 0 and '2' on rank 1" +
                                 end);
}

TEST(Agreement, namesAllThatDiffers) {
  EXPECT_EQ(find({{{"a", "1", ""}, {"b", "1", ""}, {"c", "1", "one"}},
                  {{"a", "2", ""}, {"b", "1", ""}, {"c", "2", "two"}}}),
            "the ranks disagree: a is 1 on rank 0 and 2 on rank 1; c is one on "
            "rank 0 and two on rank 1" +
                end);
}

/// A value longer than a message between ranks can be.
TEST(Agreement, takesLongValues) {
  std::string text(300000, 'x');
  EXPECT_EQ(find({{{"a", text, "x"}}, {{"a", text, "x"}}}), "");
  EXPECT_EQ(find({{{"a", text, "x"}}, {{"a", text + "y", "y"}}}),
            "the ranks disagree: a is x on rank 0 and y on rank 1" + end);
}

/// Options of data are not compared as text, since paths may differ.
TEST(Agreement, comparesWhatInputsReceive) {
  meshc::test::Folder folder;
  std::string text = folder.write("text", "some text");
  std::string copy = folder.write("copy", "some text");
  meshc::test::Inputs inputs;
  inputs.add("tokens", MESHC_I32, {2, 3});
  inputs.add("other", MESHC_I32, {2, 3});
  auto list = [&](const std::vector<std::string> &specs) {
    return agreedData("--data", Dataset(inputs.make(), specs));
  };
  EXPECT_EQ(find({list({text}), list({copy})}), "");
  EXPECT_EQ(find({list({text, "other=@mask"}), list({copy, "other=@mask"})}),
            "");
  std::string difference =
      find({list({text, "other=@mask"}), list({text, "other=@segments"})});
  EXPECT_EQ(difference.find("the ranks disagree: the file of '--data' for "
                            "input 'other' is '" +
                            text + "' (9 bytes, hash "),
            0u)
      << difference;
  EXPECT_NE(difference.find(" as @mask on rank 0 and "), std::string::npos);
  EXPECT_NE(difference.find(" as @segments on rank 1"), std::string::npos);
  EXPECT_NE(find({list({text}), list({text, "other=@mask"})}), "");
}

} // namespace
