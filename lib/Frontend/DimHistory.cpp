//===- DimHistory.cpp - where a value lost a dim --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/DimHistory.h"

#include "dialects/Nd/Ops/LoopOps.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

SmallVector<Value> DimHistory::findSources(Value value) const {
  nd::Tie tie;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    // The op of a loop whose body is being emitted does not exist yet.
    for (const Loop *loop : emission.loops)
      if (loop->body == argument.getOwner())
        return {loop->findOperand(argument.getArgNumber())};
    if (auto scan =
            dyn_cast_or_null<nd::ScanOp>(argument.getOwner()->getParentOp()))
      tie = scan.getTie(argument);
  } else if (auto scan = value.getDefiningOp<nd::ScanOp>()) {
    tie = scan.getTie(cast<OpResult>(value));
  } else {
    return SmallVector<Value>(value.getDefiningOp()->getOperands());
  }
  SmallVector<Value> sources;
  for (Value source : {tie.operand, tie.yielded})
    if (source)
      sources.push_back(source);
  return sources;
}

std::optional<syntax::Span> DimHistory::findRemoval(Value value,
                                                    StringRef dim) const {
  // The nearest place is meant; others are of no interest far away.
  constexpr size_t most = 1000;
  llvm::SetVector<Value> without;
  without.insert(value);
  for (size_t i = 0; i < std::min(without.size(), most); ++i)
    for (Value source : findSources(without[i])) {
      if (!nd::getTensorType(source).hasDim(dim))
        without.insert(source);
      else if (auto place = emission.places.find(without[i].getDefiningOp());
               place != emission.places.end())
        return place->second;
    }
  return std::nullopt;
}

void DimHistory::noteRemoval(syntax::Diagnostic &diagnostic, syntax::Span at,
                             StringRef dim) const {
  StringRef text(emission.sources.text(at));
  StringRef word =
      text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  bool isCall = text.drop_front(word.size()).starts_with("(");
  diagnostic.note(at, (isCall ? quote(word) + " removes dim " + quote(dim)
                              : "dim " + quote(dim) + " is removed") +
                          " here");
}
