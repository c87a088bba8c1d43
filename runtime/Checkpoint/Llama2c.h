//===- Llama2c.h - files of llama2.c ----------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The first format of llama2.c (github.com/karpathy/llama2.c, "version 0"): 7
/// numbers of 32 bits (dim, hidden_dim, n_layers, n_heads, n_kv_heads,
/// vocab_size, seq_len), then f32 values, all little endian.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_LLAMA2C_H
#define MESHC_RUNTIME_CHECKPOINT_LLAMA2C_H

#include "runtime/Checkpoint/SafetensorsHeader.h"
#include "runtime/Data/MappedFile.h"

#include <string>
#include <vector>

namespace meshc::runtime {

/// The tensors of such a file, with the names of llama2.c's run.c and offsets
/// from the file's first byte; empty if the file's length is not the one that
/// its first 7 numbers give.
///
///   token_embedding_table [vocab, dim]     rms_att_weight [layers, dim]
///   wq [layers, heads * key, dim]          rms_ffn_weight [layers, dim]
///   wk, wv [layers, kv_heads * key, dim]   w1, w3 [layers, hidden, dim]
///   wo [layers, dim, heads * key]          w2 [layers, dim, hidden]
///   rms_final_weight [dim]                 freq_cis_real, freq_cis_imag
///   wcls [vocab, dim], unless the table is also used for the output (the
///   file's vocab_size is then positive)
std::vector<FileTensor> listLlama2c(const MappedFile &file);

/// Why listLlama2c does not read a file that begins as llama2.c's do, as the
/// end of a sentence about it: another version, an impossible number in the
/// header, or another length than the header says. Empty if it begins
/// otherwise, with more than two impossible numbers.
std::string describeLlama2cDamage(const MappedFile &file);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_LLAMA2C_H
