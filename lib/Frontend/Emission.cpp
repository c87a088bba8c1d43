//===- Emission.cpp - the program that is being emitted -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Emission.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

Emission::Emission(const syntax::SourceSet &sources,
                   syntax::Diagnostics &diagnostics,
                   syntax::Declarations &declarations, MLIRContext &context)
    : builder(&context), sources(sources), diagnostics(diagnostics),
      declarations(declarations) {}

Location Emission::locate(syntax::Span span) const {
  syntax::LineColumn at = sources.lineColumn(span);
  Location place = FileLineColLoc::get(builder.getContext(),
                                       StringRef(sources[span.source].name()),
                                       at.line, at.column);
  return frames.empty() ? place
                        : CallSiteLoc::get(place, frames.back().location);
}

Loop *Emission::findLoop(StringRef dim) const {
  for (Loop *loop : llvm::reverse(loops))
    if (loop->dimName() == dim)
      return loop;
  return nullptr;
}

void Emission::noteLoop(syntax::Diagnostic &diagnostic, StringRef dim) const {
  if (const Loop *loop = findLoop(dim))
    diagnostic.note(loop->span, "inside this loop over " + quote(dim) +
                                    " each tensor is its entry, without the "
                                    "dim");
}

Block *Emission::blockAround(const Loop &loop) const {
  const auto *at = llvm::find(loops, &loop);
  for (auto [block, count] : llvm::reverse(gradientBlocks))
    if (loops.begin() + count == at)
      return block;
  return at == loops.begin() ? modelBody : (*std::prev(at))->body;
}
