//===- AttentionKernelTest.cpp - attention that stores no scores ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/HostTensor.h"
#include "meshc/RuntimeAbi.h"
#include "test/Codegen/KernelCase.h"
#include <gtest/gtest.h>

using namespace meshc::codegen;

namespace {

/// Queries [b, g, s, d], keys [b, m, d] and values [b, m, e].
struct Shape {
  Shape(int64_t batch, int64_t group, int64_t rows, int64_t memory,
        int64_t keys, int64_t values)
      : batch(batch), group(group), rows(rows), memory(memory), keys(keys),
        values(values) {}
  int64_t batch, group, rows, memory, keys, values;
  std::string type = "f32";
  bool hasMask = false, hasBias = false;
  bool sharesMask = false;                 ///< all rows of a batch entry
  bool byDistance = false;                 ///< a bias, with its gradient
  std::string band;                        ///< attributes of the op
  std::string predicate;                   ///< of labels; empty: none
  std::map<std::string, std::string> axes; ///< that cut a dim
  bool othersFirst = false;                ///< tensors in another memory order
};

class Writer {
public:
  explicit Writer(const Shape &shape) : shape(shape) {}

  std::string forward() {
    addScores();
    return finish("nd.attention", "");
  }
  std::string backward() {
    addScores();
    add("output", tensor(shape.type, {"b", "e", "g", "s"}), rows("e"));
    add("sums", tensor("f32", {"b", "g", "s"}), rows(""));
    add("gradient", tensor(shape.type, {"b", "e", "g", "s"}), rows("e"));
    return finish("nd.attention_gradient", ", 1, 1, 1");
  }

private:
  int64_t getSize(const std::string &dim) const {
    return dim == "b"   ? shape.batch
           : dim == "g" ? shape.group
           : dim == "s" ? shape.rows
           : dim == "m" ? shape.memory
           : dim == "d" ? shape.keys
           : dim == "x" ? shape.rows + shape.memory - 1
                        : shape.values;
  }
  std::string tensor(const std::string &type,
                     const std::vector<std::string> &dims) const {
    std::string text = "!nd.tensor<" + type + ", [";
    for (const std::string &dim : dims) {
      text += (&dim == dims.data() ? "" : ", ") + dim + " = " +
              std::to_string(getSize(dim));
      if (auto cut = shape.axes.find(dim); cut != shape.axes.end())
        text += " on {" + cut->second + "}";
    }
    return text + "]>";
  }
  /// The memory order of a tensor of the rows whose elements run along `last`.
  std::string rows(const std::string &last) const {
    std::string tail = last.empty() ? "]" : ", \"" + last + "\"]";
    return (shape.othersFirst ? R"(["s", "b", "g")" : R"(["b", "g", "s")") +
           tail;
  }
  std::string memory(const std::string &last) const {
    return (shape.othersFirst ? R"(["m", "b", ")" : R"(["b", "m", ")") + last +
           "\"]";
  }
  void add(const std::string &name, const std::string &type,
           const std::string &order) {
    auto append = [](std::string &list, const std::string &more) {
      list += (list.empty() ? "" : ", ") + more;
    };
    append(arguments, "%" + name + ": " + type);
    append(operands, "%" + name);
    append(types, type);
    append(orders, order);
  }
  void addScores() {
    add("query", tensor(shape.type, {"b", "d", "g", "s"}), rows("d"));
    add("keys", tensor(shape.type, {"b", "d", "m"}), memory("d"));
    add("values", tensor(shape.type, {"b", "e", "m"}), memory("e"));
    if (shape.sharesMask)
      add("mask", tensor("i1", {"b", "m"}), R"(["m", "b"])");
    else if (shape.hasMask)
      add("mask", tensor("i1", {"b", "m", "s"}), R"(["m", "s", "b"])");
    if (shape.byDistance)
      add("bias", tensor(shape.type, {"g", "x"}), R"(["g", "x"])");
    else if (shape.hasBias)
      add("bias", tensor(shape.type, {"g", "m", "s"}), R"(["g", "s", "m"])");
    if (!shape.predicate.empty()) {
      add("row_labels", tensor("i32", {"b", "s"}), R"(["s", "b"])");
      add("memory_labels", tensor("i32", {"b", "m"}),
          shape.othersFirst ? R"(["m", "b"])" : R"(["b", "m"])");
    }
  }
  std::string finish(const std::string &op, const std::string &more) {
    bool isGradient = !more.empty();
    std::vector<std::string> results, names, places;
    if (isGradient) {
      results = {tensor(shape.type, {"b", "d", "g", "s"}),
                 partial(tensor(shape.type, {"b", "d", "m"}), {"g", "s"}),
                 partial(tensor(shape.type, {"b", "e", "m"}), {"g", "s"})};
      names = {"%x", "%y", "%z"};
      places = {rows("d"), memory("d"), memory("e")};
      if (shape.byDistance) {
        results.push_back(partial(tensor("f32", {"b", "g", "x"}), {"s"}));
        names.emplace_back("%w");
        places.emplace_back(shape.othersFirst ? R"(["g", "b", "x"])"
                                              : R"(["b", "g", "x"])");
      }
    } else {
      results = {tensor(shape.type, {"b", "e", "g", "s"}),
                 tensor("f32", {"b", "g", "s"})};
      names = {"%x", "%y"};
      places = {rows("e"), rows("")};
    }
    auto join = [](const std::vector<std::string> &parts) {
      std::string text;
      for (const std::string &part : parts)
        text += (text.empty() ? "" : ", ") + part;
      return text;
    };
    return "exec.kernel @k #exec.plan<parallel = [], reduce = [], lanes = "
           "\"\", sizes = []> in [" +
           orders + "] out [" + join(places) + "] {\n^bb0(" + arguments +
           "):\n" + join(names) + " = " + op + " " + operands +
           " {key = \"d\", memory = \"m\"" + getExtras(isGradient) +
           ", operandSegmentSizes = array<i32: 1, 1, 1, " +
           (shape.hasMask || shape.sharesMask ? "1" : "0") + ", " +
           (shape.hasBias || shape.byDistance ? "1" : "0") +
           (shape.predicate.empty() ? ", 0, 0" : ", 1, 1") + more + ">} : (" +
           types + ") -> (" + join(results) + ")\nexec.yield " + join(names) +
           " : " + join(results) + "\n}";
  }
  std::string getExtras(bool isGradient) const {
    std::string labels;
    if (!shape.predicate.empty())
      labels = ", predicate = #nd<predicate " + shape.predicate + ">";
    if (!shape.byDistance)
      return shape.band + labels;
    return (shape.band.empty() ? R"(, position = "s")" : shape.band) +
           R"(, distance = "x")" + (isGradient ? ", of_bias" : "") + labels;
  }
  /// The type of a gradient that lacks dims of the rows.
  std::string partial(const std::string &type,
                      const std::vector<std::string> &missing) const {
    std::string axes;
    for (const auto &[dim, cut] : shape.axes)
      if (llvm::is_contained(missing, dim))
        axes += (axes.empty() ? "" : ", ") + cut;
    if (axes.empty())
      return type;
    return type.substr(0, type.size() - 1) + ", sum {" + axes + "}>";
  }

  const Shape &shape;
  std::string arguments, operands, types, orders;
};

void expectAttention(const Shape &shape, KernelCase options = {},
                     bool hasGradient = true) {
  options.isLibraryCall = true;
  options.hostFunctions = {
      {"meshc_attention", reinterpret_cast<void *>(meshc_attention)},
      {"meshc_attention_gradient",
       reinterpret_cast<void *>(meshc_attention_gradient)}};
  options.isRelativeToLargest = true;
  options.tolerance = std::max(options.tolerance, 5e-6);
  for (bool isGradient : {false, true}) {
    if (isGradient && !hasGradient)
      continue;
    std::string kernel =
        isGradient ? Writer(shape).backward() : Writer(shape).forward();
    SCOPED_TRACE(kernel);
    expectKernel(kernel, options);
  }
}

std::string band(const std::string &limits) {
  return limits + ", position = \"s\"";
}

/// The axes of a mesh over which tests cut a dim.
struct Cut {
  std::string mesh, axes;
};
const Cut cuts[] = {{"#nd.mesh<p = 2>", "p"},
                    {"#nd.mesh<p = 3>", "p"},
                    {"#nd.mesh<p = 4>", "p"},
                    {"#nd.mesh<p = 2, q = 2>", "p, q"}};

/// On every rank of meshes that do not divide the dim.
void expectUneven(Shape shape, const std::string &dim) {
  for (const Cut &cut : cuts) {
    KernelCase options;
    options.mesh = cut.mesh;
    shape.axes[dim] = cut.axes;
    expectAttention(shape, options);
  }
}

} // namespace

/// Rows and memory that fill tiles, that do not, and that are fewer.
TEST(AttentionKernel, Sizes) {
  expectAttention(Shape(1, 1, 64, 64, 16, 16));
  expectAttention(Shape(2, 1, 20, 37, 8, 12));
  expectAttention(Shape(1, 1, 130, 5, 4, 4));
  expectAttention(Shape(3, 1, 16, 1, 4, 36));
}

/// Elements that are no multiple of four, and tiles of all sizes.
TEST(AttentionKernel, Elements) {
  expectAttention(Shape(1, 1, 18, 21, 3, 7));
  expectAttention(Shape(1, 1, 17, 9, 1, 1));
  expectAttention(Shape(1, 1, 40, 40, 64, 64));
  expectAttention(Shape(1, 1, 20, 24, 128, 100));
  expectAttention(Shape(1, 1, 17, 18, 256, 40));
}

/// Several queries share keys and values.
TEST(AttentionKernel, Groups) {
  expectAttention(Shape(2, 3, 20, 20, 8, 8));
  Shape causal(1, 2, 40, 40, 8, 8);
  causal.band = band(", highest = 0 : i64");
  expectAttention(causal);
}

TEST(AttentionKernel, Bands) {
  for (std::string limits : {", highest = 0 : i64", ", lowest = -3 : i64",
                             ", highest = 2 : i64, lowest = -9 : i64",
                             ", highest = -200 : i64", ", lowest = 33 : i64"}) {
    Shape shape(1, 1, 70, 70, 4, 4);
    shape.band = band(limits);
    expectAttention(shape);
  }
}

/// A rank that has the second half of the rows.
TEST(AttentionKernel, CutRows) {
  KernelCase options;
  options.mesh = "#nd.mesh<a = 2>";
  options.coordinates = {1};
  Shape shape(1, 2, 72, 72, 8, 8);
  shape.axes["s"] = "a";
  shape.band = band(", highest = 0 : i64, lowest = -20 : i64");
  expectAttention(shape, options);
}

TEST(AttentionKernel, MasksAndBiases) {
  for (bool hasMask : {false, true})
    for (bool hasBias : {false, true}) {
      Shape shape(2, 2, 20, 33, 8, 4);
      shape.hasMask = hasMask;
      shape.hasBias = hasBias;
      expectAttention(shape);
      shape.sharesMask = hasMask;
      expectAttention(shape);
    }
}

/// At a position of a text that is generated, the mask allows the entries so
/// far. What lies behind the tile of the last one is not read.
TEST(AttentionKernel, SharedMasks) {
  constexpr int64_t memory = 100, tile = 32;
  for (auto [group, rows] :
       {std::pair(1, 1), std::pair(2, 1), std::pair(1, 5), std::pair(3, 20)})
    for (int64_t allowed : {0, 1, 40, 64, 100}) {
      Shape shape(2, group, rows, memory, 8, 8);
      shape.sharesMask = true;
      auto forEachEntry = [](meshc::nd::HostTensor &tensor, auto visit) {
        int64_t stride = tensor.getStrideOf("m");
        for (auto [number, value] : llvm::enumerate(tensor.data))
          visit(static_cast<int64_t>(number) / stride % memory, value);
      };
      KernelCase options;
      options.change = [&](unsigned input, meshc::nd::HostTensor &tensor) {
        if (input == 3)
          forEachEntry(tensor, [&](int64_t entry, double &value) {
            value = entry < allowed;
          });
      };
      options.hide = [&](unsigned input, meshc::nd::HostTensor &tensor) {
        if (input == 1 || input == 2)
          forEachEntry(tensor, [&](int64_t entry, double &value) {
            if (entry >= int64_t(llvm::alignTo(allowed, tile)))
              value = std::numeric_limits<double>::quiet_NaN();
          });
      };
      SCOPED_TRACE(allowed);
      expectAttention(shape, options, /*hasGradient=*/false);
    }
}

TEST(AttentionKernel, Labels) {
  for (std::string predicate : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    Shape shape(2, 2, 70, 83, 8, 4);
    shape.predicate = predicate;
    expectAttention(shape);
    shape.band = band(", highest = 0 : i64");
    shape.hasMask = true;
    shape.hasBias = true;
    expectAttention(shape);
    shape.othersFirst = true;
    shape.byDistance = true;
    expectAttention(shape);
    shape.sharesMask = true;
    expectAttention(shape);
  }
}

/// Of documents in a text, neither a tile of rows nor one of the memory reads
/// the tiles that have only others.
TEST(AttentionKernel, LabelsOfDocuments) {
  constexpr int64_t size = 320, length = 128;
  for (std::string predicate : {"eq", "lt", "le", "gt", "ge"})
    for (int64_t seen : {0, 1, 2}) {
      // The rows are all in document `seen`.
      auto isAllowed = [&](int64_t entry) {
        int64_t document = entry / length;
        return predicate == "eq"   ? document == seen
               : predicate == "lt" ? document < seen
               : predicate == "le" ? document <= seen
               : predicate == "gt" ? document > seen
                                   : document >= seen;
      };
      KernelCase options;
      options.change = [&](unsigned input, meshc::nd::HostTensor &tensor) {
        for (auto [number, value] : llvm::enumerate(tensor.data)) {
          if (input == 3)
            value = static_cast<double>(seen);
          else if (input == 4)
            value = static_cast<double>(static_cast<int64_t>(number) / length);
        }
      };
      options.hide = [&](unsigned input, meshc::nd::HostTensor &tensor) {
        if (input != 1 && input != 2)
          return;
        int64_t stride = tensor.getStrideOf("m");
        for (auto [number, value] : llvm::enumerate(tensor.data))
          if (!isAllowed(static_cast<int64_t>(number) / stride % size))
            value = std::numeric_limits<double>::quiet_NaN();
      };
      Shape shape(1, 1, 70, size, 8, 8);
      shape.predicate = predicate;
      SCOPED_TRACE(predicate + " " + std::to_string(seen));
      expectAttention(shape, options, /*hasGradient=*/false);
    }
}

/// Of documents that begin within tiles, each tile has what its rows see.
TEST(AttentionKernel, LabelsThatDifferInATile) {
  for (std::string predicate : {"eq", "lt", "le", "gt", "ge"}) {
    KernelCase options;
    options.change = [](unsigned input, meshc::nd::HostTensor &tensor) {
      if (input == 3 || input == 4)
        for (auto [number, value] : llvm::enumerate(tensor.data))
          value = static_cast<double>(number / 40);
    };
    Shape shape(1, 1, 150, 150, 8, 8);
    shape.predicate = predicate;
    SCOPED_TRACE(predicate);
    expectAttention(shape, options);
  }
}

/// Labels of rows and entries that do not exist.
TEST(AttentionKernel, UnevenLabels) {
  for (std::string dim : {"s", "g", "b"}) {
    Shape shape(3, 3, 71, 37, 4, 4);
    shape.predicate = dim == "g" ? "le" : "eq";
    expectUneven(shape, dim);
  }
}

TEST(AttentionKernel, BiasesByDistance) {
  for (std::string limits :
       {"", ", highest = 0 : i64", ", highest = 2 : i64, lowest = -9 : i64"})
    for (auto [rows, memory] :
         {std::pair(20, 33), std::pair(20, 1), std::pair(150, 110)}) {
      Shape shape(2, 2, rows, memory, 8, 4);
      shape.byDistance = true;
      shape.band = limits.empty() ? "" : band(limits);
      expectAttention(shape);
      shape.sharesMask = true;
      shape.othersFirst = true;
      expectAttention(shape);
    }
}

TEST(AttentionKernel, UnevenBiasesByDistance) {
  for (std::string dim : {"s", "g", "b"}) {
    Shape shape(3, 3, 71, 37, 4, 4);
    shape.byDistance = true;
    shape.band = band(", highest = 0 : i64");
    expectUneven(shape, dim);
  }
  KernelCase options;
  options.mesh = "#nd.mesh<p = 18>";
  Shape few(1, 1, 289, 20, 4, 4);
  few.byDistance = true;
  few.axes["s"] = "p";
  expectAttention(few, options);
}

TEST(AttentionKernel, MemoryOrders) {
  Shape shape(2, 3, 20, 21, 8, 12);
  shape.othersFirst = true;
  shape.band = band(", highest = 0 : i64");
  expectAttention(shape);
}

TEST(AttentionKernel, ShortFloats) {
  KernelCase options;
  for (auto [type, tolerance] :
       {std::pair("bf16", 8e-3), std::pair("f16", 1e-3)}) {
    Shape shape(1, 2, 20, 20, 8, 8);
    shape.type = type;
    shape.hasBias = true;
    options.tolerance = tolerance;
    expectAttention(shape, options);
    shape.byDistance = true;
    expectAttention(shape, options);
  }
}

/// A bias of -inf forbids an entry; a NaN shows in what depends on it.
TEST(AttentionKernel, InfinitiesAndNaN) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  KernelCase options;
  options.specials = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, -infinity};
  Shape shape(1, 1, 20, 20, 4, 4);
  shape.hasBias = true;
  expectAttention(shape, options);
  options.specials.assign(100, 1);
  options.specials.push_back(std::numeric_limits<double>::quiet_NaN());
  expectAttention(shape, options);
}

/// Rows that do not exist add nothing to the gradients of keys and values,
/// whatever mask and bias are there.
TEST(AttentionKernel, UnevenRows) {
  expectUneven(Shape(2, 2, 71, 37, 8, 8), "s");
  Shape causal(1, 2, 145, 145, 4, 4);
  causal.band = band(", highest = 0 : i64");
  expectUneven(causal, "s");
  Shape masked(1, 1, 131, 20, 4, 36);
  masked.hasMask = true;
  masked.hasBias = true;
  expectUneven(masked, "s");
}

/// Some ranks have no rows.
TEST(AttentionKernel, RanksWithoutRows) {
  KernelCase options;
  options.mesh = "#nd.mesh<p = 18>";
  Shape shape(1, 1, 289, 289, 4, 4);
  shape.axes["s"] = "p";
  expectAttention(shape, options);
  shape.band = band(", highest = 0 : i64, lowest = -40 : i64");
  expectAttention(shape, options);
}

/// Of the queries that share keys and values, some do not exist. They may also
/// be the rows of the tiles, as the longest dim that the keys lack.
TEST(AttentionKernel, UnevenGroups) {
  expectUneven(Shape(2, 5, 20, 20, 8, 8), "g");
  Shape shape(1, 5, 18, 33, 4, 8);
  shape.hasMask = true;
  shape.hasBias = true;
  expectUneven(shape, "g");
  expectUneven(Shape(2, 71, 3, 20, 8, 8), "g");
}

/// Keys and values of entries that do not exist.
TEST(AttentionKernel, UnevenBatch) {
  expectUneven(Shape(5, 2, 20, 20, 8, 8), "b");
  Shape shape(5, 1, 18, 33, 4, 8);
  shape.hasMask = true;
  shape.hasBias = true;
  expectUneven(shape, "b");
  shape.sharesMask = true;
  expectUneven(shape, "b");
}

/// Axes that divide none of the dims of the rows.
TEST(AttentionKernel, UnevenEverything) {
  for (std::string type : {"f32", "bf16"}) {
    KernelCase options;
    options.mesh = "#nd.mesh<p = 2, q = 3, r = 2>";
    options.tolerance = type == "bf16" ? 8e-3 : 5e-6;
    Shape shape(3, 5, 33, 40, 8, 12);
    shape.type = type;
    shape.axes = {{"b", "p"}, {"g", "q"}, {"s", "r"}};
    expectAttention(shape, options);
    shape.othersFirst = true;
    shape.band = band(", highest = 0 : i64");
    expectAttention(shape, options);
  }
}
