//===- FeedBench.cpp - the time that a batch takes ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// FeedBench TOKENS IMAGES: microseconds to read a random batch, from files
/// that are in memory, into the inputs of a rank of one thread; beside it the
/// time to copy inputs of the same size, which a batch that another thread
/// reads would take in the step at least. TOKENS: any file, 12 windows of 64
/// bytes for two inputs; IMAGES: a file of IDX, 500 rows of 784 for an f32
/// input.
///
//===----------------------------------------------------------------------===//
#include "runtime/Base/Parallel.h"
#include "runtime/Data/Feeder.h"
#include "test/runtime/Data/Inputs.h"

#include <chrono>
#include <cstdio>
#include <cstring>

using namespace meshc::runtime;
using meshc::test::Inputs;

template <typename Action> static double microseconds(Action &&action) {
  constexpr int rounds = 2000;
  for (int i = 0; i < rounds / 10; ++i)
    action(i);
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i)
    action(i);
  std::chrono::duration<double, std::micro> time =
      std::chrono::steady_clock::now() - begin;
  return time.count() / rounds;
}

static void measure(const char *title, Inputs &inputs,
                    const std::vector<std::string> &specs) {
  const MeshcProgram &program = inputs.make();
  Dataset dataset(program, specs);
  std::vector<std::vector<char>> blocks;
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    size_t bytes = sizeof(float);
    for (uint32_t j = 0; j < program.tensors[i].rank; ++j)
      bytes *= static_cast<size_t>(program.tensors[i].dims[j].size);
    blocks.emplace_back(bytes);
  }
  std::vector<std::vector<char>> copies = blocks;
  // As many batches as stay in memory, so that their pages are mapped.
  Shuffle order(1, std::min<int64_t>(dataset.examples(), 20000));
  Feeder feeder(program, dataset, nullptr);
  double fill = microseconds([&](int64_t i) {
    feeder.fill(
        [&](const MeshcTensor &input) {
          return blocks[static_cast<size_t>(&input - program.tensors)].data();
        },
        {&order, i * dataset.batch(), dataset.batch(), 0});
  });
  double copy = microseconds([&](int64_t) {
    for (size_t i = 0; i < blocks.size(); ++i)
      std::memcpy(copies[i].data(), blocks[i].data(), blocks[i].size());
  });
  std::printf("| %s | %.1f | %.1f |\n", title, fill, copy);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  try {
    setThreads(1);
    std::puts("| batch | read, us | copy of the inputs, us |\n|---|---|---|");
    Inputs tokens;
    tokens.add("tokens", MESHC_I32, {12, 64});
    tokens.add("targets", MESHC_I32, {12, 64});
    measure("12 windows of 64 bytes, twice", tokens, {argv[1]});
    Inputs images;
    images.add("images", MESHC_F32, {500, 784});
    measure("500 images of 784 bytes, as f32", images,
            {std::string("images=") + argv[2]});
    return 0;
  } catch (const Failure &failure) {
    std::fprintf(stderr, "FeedBench: error: %s\n", failure.what());
    return static_cast<int>(failure.code());
  }
}
