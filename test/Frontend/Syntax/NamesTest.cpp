//===- NamesTest.cpp - names that are misspelled, or of elsewhere ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/ForeignNames.h"
#include "lib/Frontend/Syntax/Spelling.h"

#include <gtest/gtest.h>

using namespace meshc::syntax;

TEST(Spelling, FindsTheNearest) {
  EXPECT_EQ(nearestName("hiden", {"batch", "hidden"}), "hidden");
  EXPECT_EQ(nearestName("modle", {"model", "mode"}), "model");
  EXPECT_EQ(nearestName("x", {"y"}), "");
  EXPECT_EQ(nearestName("pixel", {"batch"}), "");
  EXPECT_EQ(nearestName("lerp", {"erf"}), "erf");
  EXPECT_EQ(nearestName("lerp", {"erf"}, 4), "");
}

TEST(Spelling, ToldApartOnPurpose) { // [L4.19]
  for (auto [a, b] : {std::pair("ptch", "patch"),
                      {"memroy", "memory"},
                      {"chanel", "channel"},
                      {"esq", "seq"},
                      {"seq_len", "seqlen"},
                      {"hiaden", "hidden"},
                      {"head", "heads"},
                      {"expert", "experts"},
                      {"Heads", "heads"},
                      {"hoads", "heads"},
                      {"modal", "model"},
                      {"nodel", "model"},
                      {"modem", "model"},
                      {"nheads", "heads"},
                      {"kye", "key"},
                      {"key", "KEY"},
                      {"place", "plane"}}) {
    EXPECT_TRUE(looksAlike(a, b)) << a << " " << b;
    EXPECT_TRUE(looksAlike(b, a)) << a << " " << b;
  }
  for (auto [a, b] : {std::pair("row", "rows"),
                      {"n", "N"},
                      {"kheads", "heads"},
                      {"seqx", "seqy"},
                      {"qseq", "kseq"},
                      {"seq_q", "seq_k"},
                      {"a_q_w", "a_k_w"},
                      {"row1", "row2"},
                      {"level12", "level1"},
                      {"l1evel", "level"},
                      {"seq", "seq"},
                      {"a", "ab"},
                      {"model", "memory"},
                      {"", "x"}}) {
    EXPECT_FALSE(looksAlike(a, b)) << a << " " << b;
    EXPECT_FALSE(looksAlike(b, a)) << a << " " << b;
  }
}

TEST(ForeignNames, OneTableForAllSpellings) {
  for (const char *name : {"LayerNorm", "layer_norm", "layernorm"})
    EXPECT_EQ(describeForeign(name),
              "write nn.layer_norm(x, dim), after 'import nn'");
  EXPECT_EQ(describeForeign("layer_norm", /*hasNn=*/true),
            "write nn.layer_norm(x, dim)");
  EXPECT_EQ(describeForeign("swish"), "write silu(x)");
  EXPECT_EQ(describeForeign("T").substr(0, 22), "dims are known by name");
  for (const char *name : {"median",
                           "any",
                           "all",
                           "atan2",
                           "selu",
                           "celu",
                           "glu",
                           "prelu",
                           "cosh",
                           "sinh",
                           "asin",
                           "isinf",
                           "scatter",
                           "lerp",
                           "flip",
                           "diag",
                           "addmm",
                           "nonzero",
                           "clone",
                           "hypot",
                           "hardswish",
                           "tanhshrink",
                           "gelu_tanh",
                           "cosine_similarity",
                           "kl_div",
                           "bce_with_logits",
                           "sigmoid_cross_entropy",
                           "bilinear",
                           "select",
                           "reduce_sum",
                           "reduce_mean",
                           "dot_general",
                           "tensor",
                           "array"})
    EXPECT_NE(describeForeign(name), "") << name;
  EXPECT_EQ(describeForeign("hypot"), "write sqrt(square(x) + square(y))");
  // A part of a name is none.
  EXPECT_EQ(describeForeign("layer"), "");
  EXPECT_EQ(describeForeign("_"), "");
  EXPECT_TRUE(isForeignModule("np"));
  EXPECT_FALSE(isForeignModule("nn"));
}
