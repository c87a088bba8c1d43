//===- EscapeControlsTest.cpp - foreign names in what people read ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "meshc/EscapeControls.h"

#include <gtest/gtest.h>

using meshc::escapeControls;

TEST(EscapeControls, LeavesTextAsItIs) {
  EXPECT_EQ(escapeControls("layers.0/é 語 😀 \\n ~"), "layers.0/é 語 😀 \\n ~");
  EXPECT_EQ(escapeControls(""), "");
}

TEST(EscapeControls, EscapesWhatATerminalObeys) {
  EXPECT_EQ(escapeControls("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(escapeControls("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(escapeControls(std::string(1, '\0')), "\\x00");
  // C1: a terminal may take U+009B for ESC [.
  EXPECT_EQ(escapeControls("\xc2\x9b"), "\\xc2\\x9b");
  // A line separator, and marks that turn the direction of text.
  EXPECT_EQ(escapeControls("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");
  EXPECT_EQ(escapeControls("\xe2\x80\xae"), "\\xe2\\x80\\xae");
  EXPECT_EQ(escapeControls("\xe2\x81\xa6"), "\\xe2\\x81\\xa6");
}

TEST(EscapeControls, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(escapeControls("a\xff"), "a\\xff");
  EXPECT_EQ(escapeControls("\xc3"), "\\xc3");          // cut off
  EXPECT_EQ(escapeControls("\xc0\xaf"), "\\xc0\\xaf"); // longer than needed
  EXPECT_EQ(escapeControls("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(escapeControls("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // a surrogate
  EXPECT_EQ(escapeControls("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(EscapeControls, KeepsWhatTheCallerWants) {
  EXPECT_EQ(escapeControls("a\n\tb\x1b", "\n\t"), "a\n\tb\\x1b");
}
