//===- Unicode.cpp - characters of UTF-8 text -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/Unicode.h"

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace meshc::runtime;

namespace {
struct Range {
  uint32_t first, last;
  CharacterClass kind;
};
} // namespace

static const Range classRanges[] = {
#define RANGE(first, last, kind) {first, last, CharacterClass::kind},
#include "runtime/Tokens/UnicodeClasses.inc"
#undef RANGE
};

/// The class of each code point up to the last range, about 200 kB.
static std::vector<CharacterClass> makeClasses() {
  const Range &last = *(std::end(classRanges) - 1);
  std::vector<CharacterClass> classes(last.last + 1, CharacterClass::Other);
  for (const Range &range : classRanges)
    std::fill(classes.begin() + range.first, classes.begin() + range.last + 1,
              range.kind);
  return classes;
}

CharacterClass meshc::runtime::classOf(uint32_t code) {
  static const std::vector<CharacterClass> classes = makeClasses();
  return code < classes.size() ? classes[code] : CharacterClass::Other;
}

Character meshc::runtime::characterAt(std::string_view text, size_t at) {
  auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(text[at + i]));
  };
  const uint32_t lead = byte(0);
  const Character invalid = {lead, 1, false};
  if (lead < 0x80)
    return {lead, 1, true};
  // The second byte has narrower bounds after four of the lead bytes.
  uint32_t size = 0, low = 0x80, high = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf)
    size = 2;
  else if (lead >= 0xe0 && lead <= 0xef)
    size = 3;
  else if (lead >= 0xf0 && lead <= 0xf4)
    size = 4;
  if (size == 0 || text.size() - at < size)
    return invalid;
  if (lead == 0xe0)
    low = 0xa0;
  else if (lead == 0xed)
    high = 0x9f;
  else if (lead == 0xf0)
    low = 0x90;
  else if (lead == 0xf4)
    high = 0x8f;
  if (byte(1) < low || byte(1) > high)
    return invalid;
  uint32_t code = lead & (0x7f >> size);
  for (uint32_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return invalid;
    code = code << 6 | (byte(i) & 0x3f);
  }
  return {code, size, true};
}

void meshc::runtime::appendUtf8(std::string &text, uint32_t code) {
  auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80)
    return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xe0 | code >> 12);
    } else {
      add(0xf0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3f));
    }
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

std::string meshc::runtime::describeCode(uint32_t code) {
  char text[16];
  std::snprintf(text, sizeof(text), "U+%04X", code);
  return text;
}
