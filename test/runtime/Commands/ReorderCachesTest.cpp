//===- ReorderCachesTest.cpp - tests of caches that follow their texts ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/ReorderCaches.h"

#include "runtime/Base/TensorBlock.h"
#include "runtime/Comm/World.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace meshc::runtime;

namespace {

using Axes = std::vector<uint32_t>;

/// A cache [text, head] on the mesh a × b × c, cut as given, with the heads
/// contiguous.
struct Model {
  MeshcAxis axes[3];
  Axes textAxes, headAxes;
  MeshcDim dims[2], tokenDim;
  MeshcTensor tensors[2] = {};
  MeshcProgram program = {};

  Model(std::array<int64_t, 3> mesh, Axes textCut, Axes headCut, int64_t texts,
        int64_t heads)
      : axes{{"a", mesh[0]}, {"b", mesh[1]}, {"c", mesh[2]}},
        textAxes(std::move(textCut)), headAxes(std::move(headCut)) {
    dims[1] = dim("head", heads, headAxes, 1);
    dims[0] = dim("text", texts, textAxes, dims[1].localSize);
    tokenDim = {"text", texts, texts, 1, 0, nullptr};
    tensors[0] = {"cache", MESHC_CACHE, MESHC_F32, 0, 2, dims, 0};
    tensors[1] = {"token", MESHC_TOKEN, MESHC_I32, 0, 1, &tokenDim, 4096};
    program.axisCount = 3;
    program.axes = axes;
    program.name = "model";
    program.tensorCount = 2;
    program.tensors = tensors;
    program.arenaBytes = 8192;
  }
  Model(const Model &) = delete;

  MeshcDim dim(const char *name, int64_t size, const Axes &cut,
               int64_t stride) const {
    int64_t local = size;
    for (uint32_t axis : cut)
      local = (local + axes[axis].size - 1) / axes[axis].size;
    return {name,      size, local, stride, static_cast<uint32_t>(cut.size()),
            cut.data()};
  }

  /// Calls `action(text, head, element)` for all elements of a rank's block; -1
  /// for padding.
  template <typename Action>
  void visit(const Session &session, char *block, Action &&action) const {
    const BlockRange texts = blockRange(program, dims[0], session.coords()),
                     heads = blockRange(program, dims[1], session.coords());
    for (int64_t i = 0; i < dims[0].localSize; ++i)
      for (int64_t j = 0; j < dims[1].localSize; ++j) {
        const bool exists = i < texts.count && j < heads.count;
        action(exists ? texts.first + i : -1, exists ? heads.first + j : -1,
               reinterpret_cast<float *>(
                   block)[i * dims[0].localStride + j * dims[1].localStride]);
      }
  }

  /// Element [text, head] of the cache is 100 · text + head before, and of the
  /// text's parent afterwards; padding is NaN.
  void check(const std::vector<int32_t> &parents) const {
    WorldOptions options;
    options.kind = CommunicatorKind::Threads;
    options.ranks =
        static_cast<int>(axes[0].size * axes[1].size * axes[2].size);
    auto world = openWorld(options);
    world->run([&](Communicator &communicator) {
      Session session(program, communicator, 1, {});
      char *cache = session.context().arena;
      visit(session, cache, [](int64_t text, int64_t head, float &element) {
        element = text < 0 ? NAN : static_cast<float>(100 * text + head);
      });
      reorderCaches(session, parents);
      visit(session, cache, [&](int64_t text, int64_t head, float &element) {
        if (text >= 0)
          EXPECT_EQ(element,
                    static_cast<float>(
                        100 * parents[static_cast<size_t>(text)] + head));
      });
    });
    world->finish(0);
  }

  /// Texts that turn around, that move by one, and that all have one parent.
  void checkAll() const {
    const auto texts = static_cast<size_t>(dims[0].size);
    std::vector<int32_t> parents(texts);
    std::iota(parents.rbegin(), parents.rend(), 0);
    check(parents);
    std::rotate(parents.begin(), parents.begin() + 1, parents.end());
    check(parents);
    check(std::vector<int32_t>(texts, static_cast<int32_t>(texts) - 1));
  }
};

} // namespace

TEST(ReorderCaches, textsMoveBetweenEqualBlocks) {
  Model({1, 1, 1}, {}, {}, 6, 4).checkAll();
  Model({3, 2, 1}, {0}, {1}, 6, 4).checkAll();
  Model({2, 2, 1}, {1, 0}, {}, 8, 3).checkAll();
}

TEST(ReorderCaches, textsMoveBetweenBlocksWithPadding) {
  Model({3, 1, 1}, {0}, {}, 10, 2).checkAll();
  Model({4, 1, 1}, {0}, {}, 3, 2).checkAll();
  // Parts of blocks of 5: a full one and its padding overlap the next block.
  Model({2, 2, 1}, {0, 1}, {}, 10, 2).checkAll();
  Model({2, 2, 1}, {1, 0}, {}, 5, 2).checkAll();
  Model({3, 2, 1}, {0}, {1}, 4, 3).checkAll();
  Model({2, 2, 1}, {0}, {1}, 3, 1).checkAll();
  // Two heads in blocks of one: an empty block begins where the next one does.
  Model({2, 2, 2}, {2}, {1, 0}, 3, 2).checkAll();
}
