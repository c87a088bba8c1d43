//===- TokenBench.cpp - bytes of text per second --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// TokenBench FOLDER REPEATS TEXT…: for each text, how many bytes per second
/// GPT-2's tokenizer of FOLDER encodes, first with no word known and then with
/// all known, and how many its pattern alone cuts into words. A line per text:
/// name, bytes, tokens, the three rates in MB/s, the best of REPEATS.
///
//===----------------------------------------------------------------------===//
#include "runtime/Base/Failure.h"
#include "runtime/Data/Bytes.h"
#include "runtime/Tokens/Gpt2.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace meshc::runtime;

template <typename Action> static double secondsOf(Action &&action) {
  auto begin = std::chrono::steady_clock::now();
  action();
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return time.count();
}

static void measure(const std::string &folder, int repeats,
                    const std::string &path) {
  std::shared_ptr<const Bytes> file = Bytes::open(path);
  std::string text(reinterpret_cast<const char *>(file->data()), file->size());
  double first = 1e9, again = 1e9, words = 1e9;
  size_t tokens = 0, ends = 0;
  for (int i = 0; i < repeats; ++i) {
    Gpt2Tokenizer tokenizer(folder);
    auto encode = [&] { tokens = tokenizer.encode(text).size(); };
    first = std::min(first, secondsOf(encode));
    again = std::min(again, secondsOf(encode));
    words = std::min(words, secondsOf([&] {
                       for (size_t at = 0; at < text.size(); ++ends)
                         at = endOfGpt2Word(text, at);
                     }));
  }
  double bytes = static_cast<double>(text.size()) / 1e6;
  std::printf("%s %zu %zu %.2f %.2f %.2f\n",
              path.substr(path.rfind('/') + 1).c_str(), text.size(), tokens,
              bytes / first, bytes / again, ends ? bytes / words : 0.0);
}

int main(int argc, char **argv) {
  try {
    for (int i = 3; i < argc; ++i)
      measure(argv[1], std::atoi(argv[2]), argv[i]);
    return 0;
  } catch (const Failure &failure) {
    std::fprintf(stderr, "TokenBench: error: %s\n", failure.what());
    return static_cast<int>(failure.code());
  }
}
