//===- ParserFuzzer.cpp - any bytes through the front end -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A libFuzzer target over the syntax library: a text (and, behind the first
/// NUL byte, lists of the command line) is lexed, parsed, its declarations
/// evaluated and its layout checked. It must come back, whatever the bytes;
/// test/fuzz/run builds it with ASan and UBSan.
///
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Syntax/Declarations.h"
#include "lib/Frontend/Syntax/Parse.h"

#include <cstdlib>

using namespace meshc::syntax;

/// Every place that a message shows must lie in its text.
static void checkPlace(const SourceSet &sources, Span span) {
  size_t size = sources[span.source].text().size();
  if (span.begin > span.end || span.end > size)
    std::abort();
  LineColumn at = sources.lineColumn(span);
  if (at.line == 0 || at.column == 0)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  std::string options;
  if (size_t split = text.find('\0'); split != std::string::npos) {
    options = text.substr(split + 1);
    text.resize(split);
  }
  SourceSet sources;
  Diagnostics diagnostics;
  uint32_t file = sources.add("fuzz.mesh", text);
  Program program = parseProgram(sources, file, diagnostics);
  Overrides overrides;
  if (!options.empty()) {
    uint32_t list = sources.add("<--mesh>", options);
    overrides.mesh = parseDefinitionList(sources, list, diagnostics);
    overrides.layout = parseLayoutList(sources, list, diagnostics);
    overrides.values = parseDefinitionList(sources, list, diagnostics);
  }
  Declarations declarations(diagnostics);
  declarations.collect(program, overrides);
  declarations.checkLayout({});
  for (const Diagnostic &diagnostic : diagnostics.all()) {
    checkPlace(sources, diagnostic.span);
    for (const Note &note : diagnostic.notes)
      checkPlace(sources, note.span);
  }
  return 0;
}
