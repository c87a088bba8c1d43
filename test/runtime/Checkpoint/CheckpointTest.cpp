//===- CheckpointTest.cpp - any mesh reads what any mesh wrote ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Checkpoint.h"

#include "runtime/Base/TensorBlock.h"
#include "runtime/Checkpoint/LoadTensors.h"
#include "runtime/Comm/World.h"
#include "runtime/Device/HostDevice.h"
#include "test/runtime/Data/BlockEntries.h"
#include "test/runtime/Data/TestFiles.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>

using namespace meshc::runtime;
using namespace meshc::test;

namespace {

/// A parameter w[rows, columns], its optimizer state of transposed memory, and
/// a scalar, on the mesh a × b, cut as given.
struct Model {
  MeshcAxis axes[2];
  std::vector<uint32_t> rowAxes, columnAxes;
  MeshcDim dims[2][2];
  MeshcTensor tensors[3] = {};
  MeshcProgram program = {};
  int64_t rows, columns;

  Model(int64_t a, int64_t b, std::vector<uint32_t> rowAxes,
        std::vector<uint32_t> columnAxes, int64_t rows = 12,
        int64_t columns = 24)
      : axes{{"a", a}, {"b", b}}, rowAxes(std::move(rowAxes)),
        columnAxes(std::move(columnAxes)), rows(rows), columns(columns) {
    int64_t r = localSize(rows, this->rowAxes);
    int64_t c = localSize(columns, this->columnAxes);
    dims[0][0] = dim("row", rows, r, c, this->rowAxes);
    dims[0][1] = dim("column", columns, c, 1, this->columnAxes);
    dims[1][0] = dim("row", rows, r, 1, this->rowAxes);
    dims[1][1] = dim("column", columns, c, r, this->columnAxes);
    tensors[0] = tensor("w", MESHC_PARAMETER, MESHC_F32, dims[0], 2, 0);
    tensors[1] = tensor("w.m", MESHC_OPTIMIZER, MESHC_BF16, dims[1], 2,
                        rows * columns * 4);
    tensors[2] = tensor("count", MESHC_OPTIMIZER, MESHC_I32, nullptr, 0,
                        rows * columns * 6);
    program.axisCount = 2;
    program.axes = axes;
    program.name = "model";
    program.tensorCount = 3;
    program.tensors = tensors;
    program.arenaBytes = rows * columns * 6 + 4;
  }
  Model(const Model &) = delete;

  int64_t localSize(int64_t size, const std::vector<uint32_t> &list) const {
    for (uint32_t axis : list)
      size = (size + axes[axis].size - 1) / axes[axis].size;
    return size;
  }
  static MeshcDim dim(const char *name, int64_t size, int64_t local,
                      int64_t stride, const std::vector<uint32_t> &cut) {
    return {name,      size, local, stride, static_cast<uint32_t>(cut.size()),
            cut.data()};
  }
  static MeshcTensor tensor(const char *name, MeshcRole role, MeshcType type,
                            const MeshcDim *dims, uint32_t rank,
                            int64_t offset) {
    MeshcTensor result = {};
    result.name = name;
    result.role = static_cast<uint8_t>(role);
    result.type = static_cast<uint8_t>(type);
    result.rank = rank;
    result.dims = dims;
    result.offsetBytes = offset;
    return result;
  }

  /// Calls `action(rank, arena)` on every rank.
  template <typename Action> void onRanks(Action &&action) const {
    WorldOptions options;
    options.kind = CommunicatorKind::Threads;
    options.ranks = static_cast<int>(axes[0].size * axes[1].size);
    auto world = openWorld(options);
    world->run([&](Communicator &communicator) {
      Rank rank(program, communicator,
                MeshView({axes[0].size, axes[1].size}, communicator.rank()), 1);
      HostDevice device(rank);
      action(rank, device.context().arena);
    });
    world->finish(0);
  }

  /// Writes or checks that each element is its row-major number. NaN is written
  /// to padding.
  void visit(const Rank &rank, char *arena, bool check) const {
    for (int i = 0; i < 2; ++i) {
      const MeshcDim &row = dims[i][0], &column = dims[i][1];
      const auto ownRows = entriesOf(row, axes, rank.mesh.coords().data()),
                 ownColumns =
                     entriesOf(column, axes, rank.mesh.coords().data());
      char *base = arena + tensors[i].offsetBytes;
      for (int64_t r = 0; r < row.localSize; ++r)
        for (int64_t c = 0; c < column.localSize; ++c) {
          int64_t at = r * row.localStride + c * column.localStride;
          bool exists = r < static_cast<int64_t>(ownRows.size()) &&
                        c < static_cast<int64_t>(ownColumns.size());
          int64_t number = exists ? ownRows[static_cast<size_t>(r)] * columns +
                                        ownColumns[static_cast<size_t>(c)]
                                  : 0;
          float value = exists ? static_cast<float>(number) : NAN;
          auto bits = static_cast<uint16_t>(exists ? number : 0x7fc0);
          void *place = base + at * (i ? 2 : 4);
          const void *wanted = i ? static_cast<void *>(&bits) : &value;
          if (check && exists)
            EXPECT_EQ(std::memcmp(place, wanted, i ? 2 : 4), 0);
          else if (!check)
            std::memcpy(place, wanted, i ? 2 : 4);
        }
    }
    int32_t count = 77;
    if (check)
      EXPECT_EQ(std::memcmp(arena + tensors[2].offsetBytes, &count, 4), 0);
    else
      std::memcpy(arena + tensors[2].offsetBytes, &count, 4);
  }

  void save(const std::string &path) const {
    onRanks([&](Rank &rank, char *arena) {
      visit(rank, arena, false);
      saveCheckpoint(path, rank, {11, 22, 33, 0});
    });
  }
  void load(const std::string &path) const {
    onRanks([&](Rank &rank, char *arena) {
      SafetensorsFile file(path);
      RunState state = readRunState(file);
      EXPECT_EQ(state.step, 11);
      EXPECT_EQ(state.seed, 22u);
      EXPECT_EQ(state.position, 33);
      loadState(file, rank);
      visit(rank, arena, true);
    });
  }
};

std::string contentOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

using Axes = std::vector<uint32_t>;

} // namespace

TEST(Checkpoint, anyMeshReadsWhatAnyMeshWrote) {
  Folder folder;
  Model one(1, 1, {}, {}), rows(4, 1, {0}, {}), grid(2, 3, {0}, {1}),
      both(2, 2, {}, {1, 0}), replicated(2, 2, {}, {}), swapped(3, 2, {1}, {0});
  std::string first;
  for (const Model *writer :
       {&one, &rows, &grid, &both, &replicated, &swapped}) {
    std::string path = folder.file("c");
    writer->save(path);
    if (first.empty())
      first = contentOf(path);
    EXPECT_EQ(contentOf(path), first);
    for (const Model *reader : {&one, &rows, &grid, &both, &replicated})
      reader->load(path);
  }
}

/// Blocks that are short, empty, or cut from a short block by a further axis.
TEST(Checkpoint, paddingIsNoPartOfTheFile) {
  const std::pair<int64_t, int64_t> shapes[] = {{10, 3}, {5, 10}, {3, 1}};
  for (const auto &shape : shapes) {
    Folder folder;
    auto cut = [&](int64_t a, int64_t b, Axes rowAxes, Axes columnAxes) {
      return std::make_unique<Model>(a, b, std::move(rowAxes),
                                     std::move(columnAxes), shape.first,
                                     shape.second);
    };
    const std::unique_ptr<Model> models[] = {
        cut(1, 1, {}, {}),     cut(3, 1, {0}, {}),    cut(3, 4, {0}, {1}),
        cut(2, 2, {0, 1}, {}), cut(2, 2, {}, {1, 0}), cut(2, 3, {1, 0}, {}),
        cut(3, 2, {}, {0, 1})};
    for (const auto &writer : models) {
      writer->save(folder.file("c"));
      if (writer == models[0])
        writer->save(folder.file("one"));
      EXPECT_EQ(contentOf(folder.file("c")), contentOf(folder.file("one")));
      for (const auto &reader : models)
        reader->load(folder.file("c"));
    }
  }
}

/// Tensors beyond the 16 MiB that are gathered at once go in slices, here of
/// rows that lie in one rank's block and in two.
TEST(Checkpoint, savesLargeTensorsInSlices) {
  Folder folder;
  for (int64_t rows : {48, 47}) {
    Model one(1, 1, {}, {}, rows, 120001), cut(3, 2, {0}, {1}, rows, 120001);
    one.save(folder.file("one"));
    cut.save(folder.file("cut"));
    EXPECT_TRUE(contentOf(folder.file("one")) == contentOf(folder.file("cut")));
  }
}

TEST(Checkpoint, refusesWhatDoesNotFit) {
  Folder folder;
  Model model(1, 1, {}, {});
  std::string path = folder.file("c");
  auto expectRefused = [&](const std::string &why) {
    std::string message;
    model.onRanks([&](Rank &rank, char *arena) {
      message = failureOf(ExitCode::Checkpoint, [&] {
        SafetensorsFile file(path);
        readRunState(file);
        loadState(file, rank);
      });
    });
    EXPECT_NE(message.find("'" + path + "'"), std::string::npos) << message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
  };
  Model(1, 1, {}, {}, 12, 25).save(path);
  expectRefused("tensor 'w' is F32 [12, 25]; expected F32 [row = "
                "12, column = 24]");
  model.save(path);
  model.tensors[2].name = "steps";
  expectRefused("tensor 'steps' is missing");
  model.tensors[2].name = "count";
  model.tensors[2].type = MESHC_F32;
  expectRefused("tensor 'count' is I32 []; expected F32 []");
  folder.write("c", writeHeader({}, {}));
  expectRefused("has no 'meshc.step' in its metadata");
}

/// What checkpoints of earlier versions lack follows from what they have.
TEST(Checkpoint, readsCheckpointsOfEarlierVersions) {
  Folder folder;
  std::string path = folder.file("c");
  const uint16_t w[] = {0x3f80, 0xc000, 0x0000}; // 1, -2, 0
  const float values[] = {1, -2, 0};
  MeshcDim dim = Model::dim("row", 3, 3, 1, {});
  MeshcTensor tensors[] = {
      Model::tensor("w", MESHC_PARAMETER, MESHC_BF16, &dim, 1, 0),
      Model::tensor("@skipped_steps", MESHC_OPTIMIZER, MESHC_F32, nullptr, 0,
                    64),
      Model::tensor("w.master", MESHC_OPTIMIZER, MESHC_F32, &dim, 1, 128),
      Model::tensor("@updates", MESHC_OPTIMIZER, MESHC_I32, nullptr, 0, 192)};
  Model model(1, 1, {}, {});
  model.program.tensors = tensors;
  model.program.arenaBytes = 256;
  model.program.tensorCount = 2; // of earlier versions
  model.onRanks([&](Rank &rank, char *arena) {
    std::memcpy(arena, w, sizeof(w));
    saveCheckpoint(path, rank, {11, 22, 33, 4});
  });
  tensors[1] = tensors[3];
  model.program.tensorCount = 3;
  auto expectState = [&](const char *arena, float first, int32_t count) {
    EXPECT_EQ(std::memcmp(arena, w, sizeof(w)), 0);
    float master[3];
    std::memcpy(master, arena + 128, sizeof(master));
    EXPECT_EQ(master[0], first);
    EXPECT_EQ(std::memcmp(master + 1, values + 1, 8), 0);
    EXPECT_EQ(std::memcmp(arena + 192, &count, 4), 0);
  };
  model.onRanks([&](Rank &rank, char *arena) {
    loadState(SafetensorsFile(path), rank);
    expectState(arena, 1, 11 - 4);
    // Checkpoints of this version have both.
    const float first = 1.001F;
    const int32_t count = 5;
    std::memcpy(arena + 128, &first, 4);
    std::memcpy(arena + 192, &count, 4);
    saveCheckpoint(path, rank, {11, 22, 33, 4});
    std::memset(arena, 0, 256);
    loadState(SafetensorsFile(path), rank);
    expectState(arena, first, count);
    // Parameters alone begin the masters.
    loadParameters(WeightFiles(path), rank);
    expectState(arena, 1, count);
  });
}

TEST(Checkpoint, findsWhatIsNotFinite) {
  Model model(1, 1, {}, {});
  model.onRanks([&](Rank &rank, char *arena) {
    EXPECT_EQ(findNotFinite(rank), nullptr);
    float infinite = INFINITY;
    std::memcpy(arena + 4 * 30, &infinite, 4);
    ASSERT_TRUE(findNotFinite(rank));
    EXPECT_STREQ(findNotFinite(rank)->name, "w");
  });
}

TEST(Checkpoint, paddingNeedNotBeFinite) {
  // The last rank has no rows.
  {
    Model model(4, 1, {0}, {}, 3, 5);
    model.onRanks([&](Rank &rank, char *arena) {
      model.visit(rank, arena, false);
      EXPECT_EQ(findNotFinite(rank), nullptr);
      const float nan = NAN;
      std::memcpy(arena, &nan, 4);
      const bool exists = rank.mesh.coords()[0] < 3;
      EXPECT_EQ(findNotFinite(rank), exists ? &model.tensors[0] : nullptr);
    });
  }
  // The last columns are 2 of 3.
  Model model(1, 2, {}, {1}, 3, 5);
  model.onRanks([&](Rank &rank, char *arena) {
    model.visit(rank, arena, false);
    EXPECT_EQ(findNotFinite(rank), nullptr);
    const float infinite = INFINITY;
    std::memcpy(arena + 4 * 7, &infinite, 4); // row 2, the second column
    EXPECT_EQ(findNotFinite(rank), &model.tensors[0]);
  });
}

TEST(Checkpoint, refusesNumbersThatNoRunWrote) {
  Folder folder;
  for (const char *position :
       {"-5", "", "9223372036854775807", "99999999999999999999999", "1e3"}) {
    std::string path = folder.file("c");
    std::string header =
        writeHeader({}, {{"meshc.step", "1"},
                         {"meshc.seed", "18446744073709551615"},
                         {"meshc.position", position}});
    std::ofstream(path, std::ios::binary) << header;
    EXPECT_NE(failureOf(ExitCode::Checkpoint,
                        [&] { readRunState(SafetensorsFile(path)); })
                  .find("'meshc.position'"),
              std::string::npos)
        << position;
  }
}
