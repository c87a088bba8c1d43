//===- FeederTest.cpp - tests of filling inputs ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Feeder.h"

#include "BlockEntries.h"
#include "Inputs.h"
#include "TestFiles.h"
#include "runtime/Base/Parallel.h"

#include <algorithm>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace meshc::runtime;
using namespace meshc::test;

namespace {

constexpr uint32_t dataAxis[] = {0}, tensorAxis[] = {1}, both[] = {1, 0};
const MeshcAxis axes[] = {{"data", 2}, {"tensor", 3}};

/// x[batch, height = 3, width, depth] with given cuts, in a given memory order,
/// filled from an array whose element is its own index. Padding becomes 0, and
/// so do the last rows of the batch, which are not selected.
void checkFill(uint32_t batchAxes, const uint32_t *batchList,
               uint32_t widthAxes, const uint32_t *widthList, bool transposed,
               int64_t batch = 12, int64_t width = 6, int64_t depth = 1) {
  Folder folder;
  constexpr int64_t examples = 7, height = 3;
  std::vector<int32_t> values(
      static_cast<size_t>(examples * height * width * depth));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(i);
  std::string path = folder.write(
      "x", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (7, " +
                   std::to_string(height * width * depth) + ")}",
               bytesOf(values)));

  auto localSize = [](int64_t size, uint32_t count, const uint32_t *list) {
    for (uint32_t i = 0; i < count; ++i)
      size = (size + axes[list[i]].size - 1) / axes[list[i]].size;
    return size;
  };
  int64_t b = localSize(batch, batchAxes, batchList);
  int64_t w = localSize(width, widthAxes, widthList);
  MeshcDim dims[] = {
      {"batch", batch, b, transposed ? 1 : height * w * depth, batchAxes,
       batchList},
      {"height", height, height, transposed ? b : w * depth, 0, nullptr},
      {"width", width, w, transposed ? b * height : depth, widthAxes,
       widthList},
      {"depth", depth, depth, transposed ? b * height * w : 1, 0, nullptr}};
  MeshcTensor tensor = {};
  tensor.name = "x";
  tensor.role = MESHC_INPUT;
  tensor.type = MESHC_F32;
  tensor.rank = 4;
  tensor.dims = dims;
  tensor.offsetBytes = 64;
  MeshcProgram program = {};
  program.axisCount = 2;
  program.axes = axes;
  program.name = "model";
  program.tensors = &tensor;
  program.tensorCount = 1;
  Dataset dataset(program, {"x=" + path});

  Shuffle shuffle(5, examples);
  Selection selection{&shuffle, 3, 10};
  for (int64_t data = 0; data < 2; ++data)
    for (int64_t rank = 0; rank < 3; ++rank) {
      int64_t coords[] = {data, rank};
      const size_t end = 16 + static_cast<size_t>(b * height * w * depth);
      std::vector<float> arena(end + 16, -1.0f);
      Feeder(program, dataset, coords)
          .fill(
              [&](const MeshcTensor &input) {
                return reinterpret_cast<char *>(arena.data()) +
                       input.offsetBytes;
              },
              selection);
      const auto rows = entriesOf(dims[0], axes, coords),
                 columns = entriesOf(dims[2], axes, coords);
      for (int64_t i = 0; i < b; ++i)
        for (int64_t j = 0; j < height; ++j)
          for (int64_t k = 0; k < w * depth; ++k) {
            int64_t at = 16 + i * dims[0].localStride +
                         j * dims[1].localStride +
                         k / depth * dims[2].localStride +
                         k % depth * dims[3].localStride;
            const auto row = static_cast<size_t>(i),
                       column = static_cast<size_t>(k / depth);
            int64_t wanted = 0;
            if (row < rows.size() && rows[row] < selection.rows &&
                column < columns.size())
              wanted = ((selection.example(rows[row]) * height + j) * width +
                        columns[column]) *
                           depth +
                       k % depth;
            ASSERT_EQ(arena[static_cast<size_t>(at)], wanted);
          }
      EXPECT_EQ(std::count(arena.begin(), arena.begin() + 16, -1.0f), 16);
      EXPECT_EQ(std::count(arena.end() - 16, arena.end(), -1.0f), 16);
    }
}

} // namespace

TEST(Feeder, fillsEveryRanksBlockUnderAnyCut) {
  for (bool transposed : {false, true}) {
    checkFill(0, nullptr, 0, nullptr, transposed);
    checkFill(1, dataAxis, 0, nullptr, transposed);
    checkFill(1, tensorAxis, 1, dataAxis, transposed);
    checkFill(1, dataAxis, 1, tensorAxis, transposed);
    checkFill(0, nullptr, 2, both, transposed);
    checkFill(2, both, 0, nullptr, transposed);
  }
}

/// Ten examples on three ranks are 4, 4 and 2. Some blocks are empty, and those
/// of two axes are parts of a short one.
TEST(Feeder, fillsBlocksThatAreShortOrEmpty) {
  for (bool transposed : {false, true})
    for (auto [batch, width] :
         {std::pair<int64_t, int64_t>{10, 4}, {5, 7}, {1, 1}}) {
      checkFill(1, tensorAxis, 0, nullptr, transposed, batch, width);
      checkFill(0, nullptr, 1, tensorAxis, transposed, batch, width);
      checkFill(0, nullptr, 1, tensorAxis, transposed, batch, width, 2);
      checkFill(1, dataAxis, 1, tensorAxis, transposed, batch, width);
      checkFill(2, both, 0, nullptr, transposed, batch, width);
      checkFill(0, nullptr, 2, both, transposed, batch, width);
    }
}

TEST(Feeder, isTheSameWithThreads) {
  setThreads(3);
  checkFill(1, dataAxis, 1, tensorAxis, false);
  checkFill(1, tensorAxis, 1, dataAxis, false, 10, 5);
  setThreads(1);
}

/// Only what is no class and not ignored, and only when asked.
TEST(Feeder, replacesBadTargets) {
  Folder folder;
  std::string path = folder.write(
      "t", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (5,)}",
               bytesOf<int32_t>({3, -100, 4, -1, 2})));
  MeshcDim dim = {"batch", 5, 5, 1, 0, nullptr};
  MeshcTensor tensor = {};
  tensor.name = "t";
  tensor.role = MESHC_INPUT;
  tensor.type = MESHC_I32;
  tensor.rank = 1;
  tensor.dims = &dim;
  MeshcProgram program = {};
  program.name = "model";
  program.tensors = &tensor;
  program.tensorCount = 1;
  program.manifest = R"({"targets": {"t": 4}, "ignored": {"t": -100}})";
  Dataset dataset(program, {"t=" + path});
  Feeder feeder(program, dataset, nullptr);
  for (bool isWanted : {false, true, false}) {
    feeder.replaceBadTargets(isWanted);
    std::vector<int32_t> block(5, -7);
    feeder.fill(
        [&](const MeshcTensor &) {
          return reinterpret_cast<char *>(block.data());
        },
        {nullptr, 0, 5});
    EXPECT_EQ(block, isWanted ? (std::vector<int32_t>{3, -100, 0, 0, 2})
                              : (std::vector<int32_t>{3, -100, 4, -1, 2}));
  }
}

TEST(Feeder, refusesValuesThatDoNotFit) {
  Folder folder;
  std::string path = folder.write(
      "x", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}",
               bytesOf<int64_t>({7, int64_t(1) << 40})));
  MeshcDim dim = {"batch", 2, 2, 1, 0, nullptr};
  MeshcTensor tensor = {};
  tensor.name = "x";
  tensor.role = MESHC_INPUT;
  tensor.type = MESHC_I32;
  tensor.rank = 1;
  tensor.dims = &dim;
  MeshcProgram program = {};
  program.name = "model";
  program.tensors = &tensor;
  program.tensorCount = 1;
  Dataset dataset(program, {"x=" + path});
  int32_t arena[2] = {};
  std::string message = failureOf(ExitCode::Data, [&] {
    Feeder(program, dataset, nullptr)
        .fill(
            [&](const MeshcTensor &) {
              return reinterpret_cast<char *>(arena);
            },
            {nullptr, 0, 2});
  });
  EXPECT_NE(message.find("example 1 holds a value that does not fit input 'x' "
                         "(i32)"),
            std::string::npos)
      << message;
}

/// Whether the page at `address`, of a mapped file, is in memory.
static bool isInMemory(const uint8_t *address) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t at = reinterpret_cast<uintptr_t>(address) / page * page;
  unsigned char known = 0;
  EXPECT_EQ(mincore(reinterpret_cast<void *>(at), 1, &known), 0);
  return known & 1;
}

static int64_t diskReads() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_majflt;
}

TEST(Feeder, readsAheadFromTheDisk) {
  Folder folder;
  // A hole, which has no data on the disk, is read like data.
  constexpr int64_t size = int64_t(256) << 20, far = size / 2;
  std::string path = folder.write("corpus", "");
  ASSERT_EQ(truncate(path.c_str(), size), 0);
  Inputs inputs;
  inputs.add("tokens", MESHC_I32, {2, 64});
  inputs.add("targets", MESHC_I32, {2, 64});
  const MeshcProgram &program = inputs.make();
  Dataset dataset(program, {path});
  Feeder feeder(program, dataset, nullptr);
  std::vector<char> block(2 * 64 * sizeof(int32_t));
  const int64_t before = diskReads();
  feeder.fill([&](const MeshcTensor &) { return block.data(); },
              {nullptr, far / 2, 2});
  if (diskReads() == before)
    GTEST_SKIP() << "the files of this file system are in memory";
  const uint8_t *next = dataset.sources()[0].base + far;
  EXPECT_FALSE(isInMemory(next));
  // Again and again, since the system may need its memory for something else.
  while (!isInMemory(next)) {
    feeder.prefetch({nullptr, far, 2});
    sched_yield();
  }
}
