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

static bool isPossible(const Config &config) {
  for (int32_t size : {config.dim, config.hidden, config.layers, config.heads,
                       config.kvHeads, config.positions})
    if (size <= 0 || size >= 1 << 24)
      return false;
  return std::abs(config.vocab) > 0 && std::abs(config.vocab) < 1 << 24 &&
         config.dim % config.heads == 0;
}

std::vector<FileTensor> meshc::runtime::listLlama2c(const MappedFile &file) {
  Config config{};
  if (file.size() < sizeof(config))
    return {};
  std::memcpy(&config, file.data(), sizeof(config));
  if (!isPossible(config))
    return {};
  const int64_t dim = config.dim, hidden = config.hidden,
                layers = config.layers, key = dim / config.heads,
                kv = config.kvHeads * key, vocab = std::abs(config.vocab);
  std::vector<FileTensor> tensors;
  int64_t end = sizeof(config);
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
  if (!fits || end != static_cast<int64_t>(file.size()))
    return {};
  return tensors;
}
