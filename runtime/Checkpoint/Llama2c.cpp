//===- Llama2c.cpp - files of llama2.c ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Llama2c.h"

#include <cstdlib>
#include <cstring>

using namespace meshc::runtime;

namespace {
struct Config {
  int32_t dim, hidden, layers, heads, kvHeads, vocab, positions;
};
} // namespace

static constexpr size_t numberCount = 7;
static_assert(sizeof(Config) == numberCount * sizeof(int32_t));
static const char *const numberNames[numberCount] = {
    "dim",        "hidden_dim", "n_layers", "n_heads",
    "n_kv_heads", "vocab_size", "seq_len"};
static constexpr size_t vocabNumber = 5;
static constexpr int32_t mostSize = (1 << 24) - 1;

/// Later versions begin with the number "ak42" and their own.
static constexpr int32_t laterMagic = 0x616b3432;

/// The numbers that `file` begins with. It must have so many.
static std::vector<int32_t> readNumbers(const MappedFile &file) {
  std::vector<int32_t> numbers(numberCount);
  std::memcpy(numbers.data(), file.data(), sizeof(Config));
  return numbers;
}

/// Whether a number of the header is possible as a size. vocab_size may be
/// negative.
static bool isPossible(size_t number, int32_t value) {
  const int64_t size = number == vocabNumber ? std::abs(int64_t(value)) : value;
  return size > 0 && size <= mostSize;
}

/// What is impossible in the numbers; empty if nothing is.
static std::string describeImpossible(const std::vector<int32_t> &numbers) {
  for (size_t i = 0; i < numberCount; ++i)
    if (!isPossible(i, numbers[i]))
      return std::string(numberNames[i]) + " = " + std::to_string(numbers[i]) +
             "; expected a number from 1 to " + std::to_string(mostSize);
  const int32_t dim = numbers[0], heads = numbers[3];
  if (dim % heads)
    return "dim = " + std::to_string(dim) +
           " and n_heads = " + std::to_string(heads) +
           "; expected a dim that the heads divide";
  return "";
}

/// The tensors that possible numbers describe. Sets `end` to the size of the
/// file in bytes, or to -1 if it exceeds 63 bits.
static std::vector<FileTensor> listTensors(const std::vector<int32_t> &numbers,
                                           int64_t &end) {
  Config config{};
  std::memcpy(&config, numbers.data(), sizeof(config));
  const int64_t dim = config.dim, hidden = config.hidden,
                layers = config.layers, key = dim / config.heads,
                kv = config.kvHeads * key, vocab = std::abs(config.vocab);
  std::vector<FileTensor> tensors;
  end = sizeof(config);
  bool fits = true;
  auto add = [&](const char *name, std::vector<int64_t> shape) {
    FileTensor tensor;
    tensor.name = name;
    tensor.dtype = "F32";
    tensor.beginByte = end;
    int64_t bytes = 4;
    for (int64_t size : shape)
      fits = fits && !__builtin_mul_overflow(bytes, size, &bytes);
    fits = fits && !__builtin_add_overflow(end, bytes, &end);
    tensor.endByte = end;
    tensor.shape = std::move(shape);
    tensors.push_back(std::move(tensor));
  };
  add("token_embedding_table", {vocab, dim});
  add("rms_att_weight", {layers, dim});
  add("wq", {layers, dim, dim});
  add("wk", {layers, kv, dim});
  add("wv", {layers, kv, dim});
  add("wo", {layers, dim, dim});
  add("rms_ffn_weight", {layers, dim});
  add("w1", {layers, hidden, dim});
  add("w2", {layers, dim, hidden});
  add("w3", {layers, hidden, dim});
  add("rms_final_weight", {dim});
  add("freq_cis_real", {config.positions, key / 2});
  add("freq_cis_imag", {config.positions, key / 2});
  if (config.vocab < 0)
    add("wcls", {vocab, dim});
  if (!fits)
    end = -1;
  return tensors;
}

std::vector<FileTensor> meshc::runtime::listLlama2c(const MappedFile &file) {
  if (file.size() < sizeof(Config))
    return {};
  const std::vector<int32_t> numbers = readNumbers(file);
  if (!describeImpossible(numbers).empty())
    return {};
  int64_t end = 0;
  std::vector<FileTensor> tensors = listTensors(numbers, end);
  if (end != static_cast<int64_t>(file.size()))
    return {};
  return tensors;
}

std::string meshc::runtime::describeLlama2cDamage(const MappedFile &file) {
  if (file.size() < sizeof(Config))
    return "";
  const std::vector<int32_t> numbers = readNumbers(file);
  if (numbers[0] == laterMagic)
    return "is a llama2.c file of version " + std::to_string(numbers[1]) +
           "; expected version 0, which llama2.c's export.py writes with "
           "'--version 0'";
  size_t possible = 0;
  for (size_t i = 0; i < numberCount; ++i)
    possible += isPossible(i, numbers[i]);
  // Of random bytes, one number in 256 is possible.
  if (possible + 2 < numberCount)
    return "";
  const std::string impossible = describeImpossible(numbers);
  if (!impossible.empty())
    return "begins like a llama2.c file, and its header has " + impossible +
           "; fetch it again";
  int64_t end = 0;
  listTensors(numbers, end);
  if (end < 0)
    return "";
  std::string header;
  for (size_t i = 0; i < numberCount; ++i)
    header += (i ? ", " : "") + std::string(numberNames[i]) + " = " +
              std::to_string(numbers[i]);
  const auto size = static_cast<int64_t>(file.size());
  return std::string("begins like a llama2.c file, and ") +
         (size < end ? "ends early" : "is too long") + ": its header (" +
         header + ") needs " + std::to_string(end) + " bytes, and it has " +
         std::to_string(size) + "; fetch it again";
}
