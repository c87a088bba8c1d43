//===- ArenaPicture.cpp - what lies in the arena --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/ArenaPicture.h"

using namespace mlir;

namespace meshc::schedule {

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

/// Whether the borders of the piece are borders of entries of what is held.
bool ArenaPicture::hasEntries(Piece whole, const Tensors &held, Piece piece,
                              exec::BufferType type) const {
  int64_t unit = type.getTensor().getLocalBytes(mesh);
  return areEntries(type, held.type) &&
         (piece.begin - whole.begin) % unit == 0 &&
         (piece.end - whole.begin) % unit == 0;
}

void ArenaPicture::erase(Piece piece, exec::BufferType type) {
  auto entry = pieces.upper_bound(piece.begin);
  if (entry != pieces.begin())
    --entry;
  SmallVector<std::pair<Piece, Tensors>, 2> rests;
  while (entry != pieces.end() && entry->first < piece.end) {
    Piece whole = {entry->first, entry->second.end};
    if (whole.end <= piece.begin) {
      ++entry;
      continue;
    }
    Tensors held = entry->second;
    if (held.isResident && type && hasEntries(whole, held, piece, type)) {
      held.type = type;
      rests.push_back({{whole.begin, piece.begin}, held});
      rests.push_back({{piece.end, whole.end}, held});
    }
    entry = pieces.erase(entry);
  }
  for (auto &[rest, held] : rests) {
    held.end = rest.end;
    if (rest.begin < rest.end)
      pieces.insert_or_assign(rest.begin, held);
  }
}

void ArenaPicture::write(Piece piece, exec::BufferType type, bool isResident) {
  erase(piece, type);
  pieces.insert_or_assign(piece.begin,
                          Tensors{piece.end, type, writes++, isResident});
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
