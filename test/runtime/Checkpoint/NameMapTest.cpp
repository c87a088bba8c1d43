//===- NameMapTest.cpp - tests of name maps -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/NameMap.h"

#include "runtime/Checkpoint/ParameterSource.h"
#include "runtime/Checkpoint/ReadParts.h"
#include "test/runtime/Data/TestFiles.h"

#include <deque>

using namespace meshc::runtime;
using namespace meshc::test;

namespace {

/// A program of one rank whose parameters have these dims.
struct Program {
  std::deque<std::string> names;
  std::deque<std::vector<MeshcDim>> dims;
  std::vector<MeshcTensor> tensors;
  MeshcProgram program = {};

  using Dims = std::vector<std::pair<const char *, int64_t>>;
  void add(const std::string &name, const Dims &list) {
    names.push_back(name);
    dims.emplace_back();
    for (auto [dim, size] : list)
      dims.back().push_back({dim, size, size, 1, 0, nullptr});
    int64_t stride = 1;
    for (size_t i = dims.back().size(); i-- > 0;) {
      dims.back()[i].localStride = stride;
      stride *= dims.back()[i].size;
    }
    MeshcTensor tensor = {};
    tensor.name = names.back().c_str();
    tensor.role = MESHC_PARAMETER;
    tensor.rank = static_cast<uint32_t>(list.size());
    tensor.dims = dims.back().data();
    tensors.push_back(tensor);
    program.name = "test";
    program.tensorCount = static_cast<uint32_t>(tensors.size());
    program.tensors = tensors.data();
  }
};

/// The tensor and the row-major number in it that hold an element.
std::pair<std::string, int64_t> find(const ParameterSource &source,
                                     const std::vector<int64_t> &element) {
  std::pair<std::string, int64_t> result;
  source.forEachTensor(
      [&](const std::string &name, const std::vector<int64_t> &indices) {
        int64_t at = source.offset();
        for (uint32_t i = 0; i < element.size(); ++i) {
          if (source.isInName(i) && indices[i] != element[i])
            return;
          at += element[i] * source.strides()[i];
        }
        result = {name, at};
      });
  return result;
}

using Found = std::pair<std::string, int64_t>;

std::string errorOf(const std::string &text) {
  Folder folder;
  std::string path = folder.write("m", text);
  std::string message =
      failureOf(ExitCode::Checkpoint, [&] { NameMap map(path); });
  EXPECT_EQ(message.rfind(path, 0), 0u) << message;
  return message.substr(std::min(path.size(), message.size()));
}

/// The error of a map for a program with a parameter "w" [rows = 4, columns =
/// 6].
std::string misfitOf(const std::string &text) {
  Folder folder;
  Program test;
  test.add("w", {{"rows", 4}, {"columns", 6}});
  std::string path = folder.write("m", text);
  return failureOf(ExitCode::Checkpoint,
                   [&] {
                     NameMap map(path);
                     findSources(test.program, &map);
                   })
      .substr(path.size());
}

} // namespace

TEST(NameMap, errorsHavePlaces) {
  EXPECT_EQ(errorOf("# a comment\n\nw = \n"),
            ":3:4: expected the name of a tensor, or a number");
  EXPECT_EQ(errorOf("w\n"), ":1:2: expected '=' behind the parameters 'w'");
  EXPECT_EQ(errorOf("w [a] = x\n"),
            ":1:3: expected '=' behind the parameters 'w', found '['");
  EXPECT_EQ(errorOf("  w(a = x\n").substr(0, 40),
            ":1:3: 'w(a' is not a regular expression:");
  EXPECT_EQ(errorOf("w(a) = x{$2}y\n"), ":1:11: 'w(a)' has no group 2");
  EXPECT_EQ(errorOf("w = x{rows\n"),
            ":1:11: expected '}' in the name 'x{rows'");
  EXPECT_EQ(errorOf("w = x{}\n"),
            ":1:7: expected the name of a dim, found '}'");
  EXPECT_EQ(errorOf("w = x{2rows}\n"),
            ":1:8: expected '*' behind a factor, found 'r'");
  EXPECT_EQ(errorOf("w = x [a, (b c]\n"),
            ":1:15: expected the name of a dim, found ']'");
  EXPECT_EQ(errorOf("w = x [a b]\n"),
            ":1:10: expected ',' or ']' behind an axis, found 'b'");
  EXPECT_EQ(errorOf("w = x [(a\n"),
            ":1:10: expected ')' behind the factors of an axis");
  EXPECT_EQ(errorOf("w = x [3]\n"),
            ":1:9: expected '/' and the size of the axis, as in '0/3' or "
            "'4+kv/12'");
  EXPECT_EQ(errorOf("w = x [3/3]\n"), ":1:10: entry 3 is not below the size 3");
  EXPECT_EQ(errorOf("w = x [0/9999999999999]\n"),
            ":1:10: the number is too large; expected at most 1000000000000");
  EXPECT_EQ(errorOf("w = x [a] y\n"),
            ":1:11: expected the end of the line, found 'y'");
  EXPECT_EQ(errorOf("w = 0 [a]\n"),
            ":1:7: expected the end of the line, found '[a]'");
  EXPECT_EQ(errorOf("ignore\n"),
            ":1:7: expected a regular expression of tensors");
  EXPECT_EQ(errorOf("optional names\n"),
            ":1:10: expected 'prefix' behind 'optional'");
}

TEST(NameMap, misfitsHavePlaces) {
  EXPECT_EQ(misfitOf("w = x{layers}\n"),
            ":1:6: parameter 'w' has no dim 'layers'; it is [rows = 4, "
            "columns = 6]");
  EXPECT_EQ(misfitOf("w = x [columns]\n"),
            ":1:5: dim 'rows' of parameter 'w' is neither an axis nor in the "
            "tensor's name");
  EXPECT_EQ(misfitOf("w = x{rows} [columns, rows]\n"),
            ":1:23: dim 'rows' has a place already");
  EXPECT_EQ(misfitOf("w = x [rows, columns columns]\n").substr(0, 6), ":1:22:");
  EXPECT_EQ(misfitOf("w = x [rows, 3+columns/8]\n"),
            ":1:14: entries 3 to 9 of 'columns' are not within 8");
  EXPECT_EQ(misfitOf("(.) = x{$1+1}\n"),
            ":1:8: group 1 matched 'w' in 'w'; expected a number of at most 6 "
            "digits");
  EXPECT_EQ(misfitOf("w = x\n# again\n[vw] = y\n"),
            ":3:1: parameter 'w' matches this line and line 1; expected one "
            "line for each parameter");
  Folder folder;
  Program test;
  test.add("ww", {{"rows", 4}});
  std::string path = folder.write("m", "w = x\n"); // of whole names
  EXPECT_EQ(failureOf(ExitCode::Checkpoint,
                      [&] {
                        NameMap map(path);
                        findSources(test.program, &map);
                      }),
            "no line of name map '" + path +
                "' matches parameter 'ww' [rows = 4]");
}

TEST(NameMap, placesElements) {
  Folder folder;
  Program test;
  test.add("stack.w", {{"layers", 3}, {"rows", 4}, {"columns", 6}});
  test.add("block.w", {{"rows", 4}, {"columns", 6}});
  test.add("block_12.w", {{"rows", 4}, {"columns", 6}});
  test.add("part", {{"rows", 4}});
  test.add("zero", {{"rows", 4}});
  NameMap map(folder.write(
      "m", "stack\\.(w) = s.{2*layers+1}.{$1}{layers} [(columns 1/5 rows)]\n"
           "block(?:_(\\d+))?\\.w = b{$1-1} # plain\n"
           "part = p [0/1, 2+rows/10]\n"
           "zero = -0.5\n"
           "ignore x.*\n"));
  std::vector<ParameterSource> sources = findSources(test.program, &map);
  ASSERT_EQ(sources.size(), 5u);
  EXPECT_EQ(find(sources[0], {2, 1, 3}), Found("s.5.w2", 3 * 20 + 4 + 1));
  EXPECT_EQ(sources[0].describeShape(), "[(columns 1/5 rows) = 120]");
  EXPECT_EQ(sources[0].shape(), std::vector<int64_t>{120});
  EXPECT_EQ(find(sources[1], {1, 3}), Found("b0", 9));
  EXPECT_EQ(find(sources[2], {3, 5}), Found("b11", 23));
  EXPECT_EQ(sources[3].shape(), (std::vector<int64_t>{1, 10}));
  EXPECT_EQ(find(sources[3], {3}), Found("p", 5));
  EXPECT_EQ(sources[4].constant(), -0.5);
  EXPECT_TRUE(map.isIgnored("xy"));
  EXPECT_FALSE(map.isIgnored("yx"));
}

// A line may name the prefix that other lines need not name.
TEST(NameMap, IgnoredTensorsMayHaveAPrefix) {
  Folder folder;
  NameMap map(folder.write("m", "ignore mask\\d\n"
                                "optional prefix model.\n"
                                "optional prefix net.\n"
                                "ignore (model\\.)?bias\n"
                                "ignore net\\.scale\n"));
  for (const char *tensor : {"mask1", "model.mask1", "net.mask1", "bias",
                             "model.bias", "net.bias", "net.scale"})
    EXPECT_TRUE(map.isIgnored(tensor)) << tensor;
  for (const char *tensor : {"scale", "model.scale", "model.net.mask1",
                             "other.mask1", "model.", "mask1.model."})
    EXPECT_FALSE(map.isIgnored(tensor)) << tensor;
}

/// Whatever the expression and the name, matching takes time linear in the name
/// and no deep recursion.
TEST(NameMap, anyExpressionAndAnyNameEnd) {
  Folder folder;
  NameMap map(folder.write("m", "ignore (a+)+b\n"
                                "ignore (.*)*.*c\n"
                                "ignore model\\.layers\\.\\d+\\.bias\n"));
  const std::string digits(50000, '7'), letters(50000, 'a');
  EXPECT_FALSE(map.isIgnored(letters));
  EXPECT_TRUE(map.isIgnored(letters + "b"));
  EXPECT_TRUE(map.isIgnored("model.layers." + digits + ".bias"));
  EXPECT_FALSE(map.isIgnored("model.layers." + digits + ".weight"));

  const std::string deep = std::string(50000, '(') + std::string(50000, ')');
  EXPECT_EQ(errorOf("# deep\n" + deep + " = x\n"),
            ":2:1: '" + std::string(200, '(') +
                "…' is not a regular expression: it has 100000 bytes; expected "
                "at most 4096");
  EXPECT_EQ(errorOf("ignore (a)\\1\n"),
            ":1:8: '(a)\\1' is not a regular expression: invalid escape "
            "sequence: \\1");
  EXPECT_EQ(errorOf("ignore a(?=b)\n"),
            ":1:8: 'a(?=b)' is not a regular expression: invalid perl "
            "operator: (?=");
  EXPECT_EQ(errorOf("ignore ((a{1000}){1000}){1000}\n"),
            ":1:8: '((a{1000}){1000}){1000}' is not a regular expression: "
            "invalid repetition size: {1000}");
  // As deep as an expression can be.
  NameMap(folder.write("m", "ignore " + std::string(2048, '(') +
                                std::string(2048, ')') + "\n"));
}

/// What a map reads only a part of, in tensors of the shapes that it says.
static std::string unreadOf(const std::string &text) {
  Folder folder;
  Program test;
  test.add("v", {{"rows", 4}, {"columns", 6}});
  test.add("w", {{"rows", 4}, {"columns", 6}});
  NameMap map(folder.write("m", text));
  std::vector<ParameterSource> sources = findSources(test.program, &map);
  std::map<std::string, FileTensor> tensors;
  ReadParts parts;
  for (const ParameterSource &source : sources)
    source.forEachTensor([&](const std::string &name, const auto &) {
      FileTensor &tensor = tensors[name];
      tensor.name = name;
      tensor.dtype = "F32";
      tensor.shape = source.shape();
      parts.add(tensor, source);
    });
  std::vector<std::string> problems;
  parts.listUnread(map, problems);
  std::string all;
  for (const std::string &problem : problems)
    all += problem.substr(map.path().size()) + "\n";
  return all;
}

/// How the error describes what is not read.
static std::string partOf(const std::string &text) {
  const std::string found = unreadOf(text), begin = "no parameter has ";
  const size_t at = found.find(begin);
  return at == std::string::npos
             ? found
             : found.substr(at + begin.size(),
                            found.find(';') - at - begin.size());
}

TEST(NameMap, unreadPartsAreNamed) {
  EXPECT_EQ(
      unreadOf("v = x [rows, (0/3 columns)]\nw = x [rows, (0/3 columns)]\n"),
      ":2:5: tensor 'x', F32 [4, 18], is read only in part: no parameter has "
      "48 of its 72 elements, at [0 to 3, 6 to 17]; 'v' and 'w' read the same "
      "part; correct the axes of its lines, or add a line 'ignore' for this "
      "tensor\n");
  EXPECT_EQ(
      unreadOf("v = x [rows, (0/3 columns)]\nw = x [rows, (0/3 columns)]\n"
               "ignore x\n"),
      "");
  // All is read: once, twice, turned around, and in parts of any order.
  EXPECT_EQ(unreadOf("v = x\nw = x\n"), "");
  EXPECT_EQ(unreadOf("(v|w) = {$1} [(columns rows)]\n"), "");
  EXPECT_EQ(
      unreadOf("v = x [(columns 1/2 rows)]\nw = x [(columns 0/2 rows)]\n"), "");
  EXPECT_EQ(
      unreadOf("v = x [(columns rows 1/2)]\nw = x [(columns rows 0/2)]\n"), "");
  EXPECT_EQ(unreadOf("v = x [rows, columns/9]\nw = x [rows, 3+columns/9]\n"),
            "");
  EXPECT_EQ(unreadOf("(v|w) = x{rows} [0/1, columns]\n"), "");
  // Parts of equal size that overlap, or that leave a part between them.
  EXPECT_EQ(partOf("v = x [rows, 1+columns/12]\nw = x [rows, 4+columns/12]\n"),
            "12 of its 48 elements, at [0 to 3, 0 to 11]");
  EXPECT_EQ(partOf("v = x [rows, columns/13]\nw = x [rows, 7+columns/13]\n"),
            "4 of its 52 elements, at [0 to 3, 6]");
  EXPECT_EQ(partOf("v = x [(rows columns 0/2)]\nw = 0\n"),
            "24 of its 48 elements, at [1 to 47]");
  EXPECT_EQ(partOf("v = x [2/3, rows, columns]\nw = 0\n"),
            "48 of its 72 elements, at [0 to 1, 0 to 3, 0 to 5]");
}

/// The maps that ship, by what the published models compute: GPT-2's Conv1D has
/// weights [in, out], Llama's Linear [out, in], and heads lie one after
/// another.
TEST(NameMap, publishedModels) {
  const int64_t M = 8, H = 4, K = 2, G = 2, R = 2;
  Program gpt;
  gpt.add("layers.block.biased_attention.wk",
          {{"layers", 3}, {"model", M}, {"heads", H}, {"key", K}});
  gpt.add("block_3.biased_attention.bv", {{"heads", H}, {"key", K}});
  gpt.add("layers.feed_forward.down",
          {{"layers", 3}, {"ffn", 16}, {"model", M}});
  gpt.add("layer_norm.gain", {{"model", M}});
  NameMap gpt2(MESHC_LIBRARY "/weights/gpt2.map");
  std::vector<ParameterSource> sources = findSources(gpt.program, &gpt2);
  EXPECT_EQ(find(sources[0], {2, 5, 3, 1}),
            Found("h.2.attn.c_attn.weight", 5 * 24 + 8 + 3 * K + 1));
  EXPECT_EQ(find(sources[1], {3, 1}), Found("h.2.attn.c_attn.bias", 16 + 7));
  EXPECT_EQ(find(sources[2], {1, 9, 5}),
            Found("h.1.mlp.c_proj.weight", 9 * M + 5));
  EXPECT_EQ(find(sources[3], {7}), Found("ln_f.weight", 7));
  Program llama;
  llama.add(
      "layers.block.grouped_attention.wq",
      {{"layers", 3}, {"model", M}, {"groups", G}, {"heads", R}, {"key", K}});
  llama.add(
      "layers.grouped_attention.wo",
      {{"layers", 3}, {"groups", G}, {"heads", R}, {"key", K}, {"model", M}});
  llama.add("block.grouped_attention.wk",
            {{"model", M}, {"groups", G}, {"key", K}});
  for (auto [name, prefix, q, o, k] :
       {std::tuple("llama-hf", "model.layers.", ".self_attn.q_proj.weight",
                   ".self_attn.o_proj.weight", ".self_attn.k_proj.weight"),
        std::tuple("llama-meta", "layers.", ".attention.wq.weight",
                   ".attention.wo.weight", ".attention.wk.weight")}) {
    NameMap map(std::string(MESHC_LIBRARY "/weights/") + name + ".map");
    sources = findSources(llama.program, &map);
    const std::string start = prefix;
    EXPECT_EQ(find(sources[0], {2, 5, 1, 0, 1}),
              Found(start + "2" + q, ((1 * R + 0) * K + 1) * M + 5));
    EXPECT_EQ(find(sources[1], {1, 1, 0, 1, 5}),
              Found(start + "1" + o, 5 * M + (1 * R + 0) * K + 1));
    EXPECT_EQ(find(sources[2], {5, 1, 1}),
              Found(start + "0" + k, (1 * K + 1) * M + 5));
  }
}
