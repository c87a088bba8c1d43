//===- ArenaPicture.cpp - what lies in the arena --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/ArenaPicture.h"

using namespace mlir;

namespace meshc::schedule {

void ArenaPicture::write(Piece piece, exec::BufferType type) {
  erase(piece);
  pieces.insert_or_assign(piece.begin, Tensors{piece.end, type, writes++});
}

void ArenaPicture::erase(Piece piece) {
  auto entry = pieces.upper_bound(piece.begin);
  if (entry != pieces.begin())
    --entry;
  while (entry != pieces.end() && entry->first < piece.end)
    if (entry->second.end > piece.begin)
      entry = pieces.erase(entry);
    else
      ++entry;
}

/// Whether tensors of the type are entries of `whole` along its outermost dims.
static bool areEntries(exec::BufferType type, exec::BufferType whole) {
  nd::TensorType entry = type.getTensor(), tensor = whole.getTensor();
  ArrayRef<StringAttr> order = type.getOrder();
  if (order.size() > whole.getOrder().size() ||
      whole.getOrder().take_back(order.size()) != order ||
      entry.getElementType() != tensor.getElementType() ||
      entry.isPartial() != tensor.isPartial())
    return false;
  return llvm::all_of(entry.getDims(), [&](nd::DimAttr dim) {
    return tensor.getDim(dim.getName().getValue()) == dim;
  });
}

std::optional<uint64_t> ArenaPicture::find(Piece piece,
                                           exec::BufferType type) const {
  auto bytesOf = [&](exec::BufferType each) {
    return static_cast<int64_t>(each.getTensor().getLocalBytes(mesh));
  };
  auto part = pieces.upper_bound(piece.begin);
  if (part == pieces.begin())
    return std::nullopt;
  --part;
  uint64_t time = part->second.time;
  for (int64_t at = piece.begin; at < piece.end; at = part++->second.end) {
    if (part == pieces.end() || part->first > at || part->second.end <= at)
      return std::nullopt;
    exec::BufferType held = part->second.type;
    int64_t unit = std::min(bytesOf(held), bytesOf(type));
    if ((!areEntries(type, held) && !areEntries(held, type)) ||
        (at - part->first) % unit != 0)
      return std::nullopt;
    time = std::min(time, part->second.time);
  }
  return time;
}

} // namespace meshc::schedule
