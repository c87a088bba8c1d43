//===- ArenaPicture.h - what lies in the arena ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_ARENAPICTURE_H
#define MESHC_LIB_SCHEDULE_ARENAPICTURE_H

#include "dialects/Exec/Exec.h"
#include <map>

namespace meshc::schedule {

/// What lies in the arena at one point of a function: pieces that were written
/// and not overwritten since. A tensor may be read by its entries along its
/// outermost dims, and entries that fill a piece may be read as one tensor.
class ArenaPicture {
public:
  using Piece = exec::ArenaPiece;

  explicit ArenaPicture(nd::MeshAttr mesh) : mesh(mesh) {}

  /// The piece holds tensors of the type, one after the other; what overlapped
  /// it is lost. A resident is updated in place: if a piece of it is written
  /// with entries along its outermost dims, its other entries stay.
  void write(Piece piece, exec::BufferType type, bool isResident = false);
  /// Whatever overlaps the piece is lost; of a resident, what overlaps it if
  /// entries of the type fill the piece.
  void erase(Piece piece, exec::BufferType type = {});
  /// When the piece was written with a tensor of the type (the earliest time of
  /// its parts), if it holds one.
  std::optional<uint64_t> find(Piece piece, exec::BufferType type) const;
  /// The time of the next write.
  uint64_t now() const { return writes; }

private:
  struct Tensors {
    int64_t end;
    exec::BufferType type;
    uint64_t time;
    bool isResident;
  };

  bool hasEntries(Piece whole, const Tensors &held, Piece piece,
                  exec::BufferType type) const;

  nd::MeshAttr mesh;
  uint64_t writes = 0;
  std::map<int64_t, Tensors> pieces; ///< by begin
};

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_ARENAPICTURE_H
