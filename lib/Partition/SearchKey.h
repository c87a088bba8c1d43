//===- SearchKey.h - what a search depends on -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Layers repeat, functions share their forward pass, and trials of the phase
/// change few blocks. So the searches of a compilation have mostly been done
/// before. A key holds all that a search depends on: two searches with equal
/// keys have the same result.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_SEARCHKEY_H
#define MESHC_LIB_PARTITION_SEARCHKEY_H

#include "lib/Partition/BlockPlanner.h"
#include <mutex>
#include <unordered_map>

namespace meshc::partition {

/// A sequence of words. Writers put the length of a list before its elements,
/// so that no two sequences of things have the same words. Types and attributes
/// are words as well, since a context has each of them once.
class SearchKey {
public:
  void add(size_t word) { words.push_back(word); }
  void add(double number) { words.push_back(llvm::bit_cast<uint64_t>(number)); }
  void add(mlir::Type type) { addPointer(type.getAsOpaquePointer()); }
  void add(mlir::Attribute attribute) {
    addPointer(attribute.getAsOpaquePointer());
  }
  template <typename Range> void addAll(const Range &range) {
    add(size_t(llvm::range_size(range)));
    for (const auto &each : range)
      add(each);
  }
  /// What is known of an operand.
  void add(const OperandForms &forms);
  /// What is wanted of a value.
  void add(const DesiredSharding &desired);
  void add(const WantedResult &wanted);
  /// How an op may be cut, and what it computes: all that searches ask an op.
  /// Names no values, but the types of its operands and results.
  void add(mlir::Operation *op);
  /// The same, with the cuts that are linked to its dims.
  void add(mlir::Operation *op, const LinkedCuts &cuts);

  bool operator==(const SearchKey &other) const { return words == other.words; }
  struct Hash {
    size_t operator()(const SearchKey &key) const {
      return llvm::hash_combine_range(key.words.begin(), key.words.end());
    }
  };

private:
  void addPointer(const void *pointer) {
    words.push_back(reinterpret_cast<uintptr_t>(pointer));
  }
  void add(const nd::Access &access);
  void add(const nd::Factor &factor);

  std::vector<uint64_t> words;
};

/// Results by the keys of the searches that found them. Several threads may
/// share it.
template <typename Result> class SearchMemo {
public:
  /// The result of the search with this key, which `search` finds if it is new.
  const std::shared_ptr<const Result> &
  get(SearchKey key, llvm::function_ref<Result()> search) {
    {
      std::lock_guard lock(mutex);
      if (auto known = results.find(key); known != results.end())
        return known->second;
    }
    auto result = std::make_shared<const Result>(search());
    std::lock_guard lock(mutex);
    return results.try_emplace(std::move(key), std::move(result)).first->second;
  }

private:
  std::mutex mutex;
  std::unordered_map<SearchKey, std::shared_ptr<const Result>, SearchKey::Hash>
      results;
};

/// The key of a search of `ops`, which follow one another in the block
/// with these moves: how the ops depend on one another, how they may be
/// cut, in which forms the values from before them are there, and what is
/// wanted of all values. Its planner has planned the ops before them.
///
/// The planner is no part of it but for its cost of points: keys of planners
/// that share their plans may be compared.
SearchKey getSearchKey(BlockPlanner &block,
                       const reshard::ReshardPlanner &planner, AxisMoves moves,
                       llvm::ArrayRef<mlir::Operation *> ops);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_SEARCHKEY_H
