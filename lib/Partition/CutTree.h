//===- CutTree.h - the ways to cut a value ----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_CUTTREE_H
#define MESHC_LIB_PARTITION_CUTTREE_H

#include <vector>

namespace meshc::partition {

/// Numbers the ways to cut a value: a tree, whose levels are the factors along
/// which the value has a dim, and whose edges are the candidates for them. A
/// node stands for a candidate for each factor above it.
class CutTree {
public:
  /// The number of the node below `node` for a candidate (by number), which is
  /// made on first use. All calls for a node name the same count of
  /// `candidates`. The root has the number 0, and nodes are numbered in the
  /// order in which they are made.
  unsigned getChild(unsigned node, unsigned candidate, unsigned candidates) {
    if (first[node] == none) {
      first[node] = static_cast<unsigned>(children.size());
      children.resize(children.size() + candidates, none);
    }
    unsigned &child = children[first[node] + candidate];
    if (child == none) {
      child = static_cast<unsigned>(first.size());
      first.push_back(none);
    }
    return child;
  }

private:
  static constexpr unsigned none = ~0u;
  std::vector<unsigned> first = {none}; ///< of each node's children
  std::vector<unsigned> children;       ///< the nodes
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_CUTTREE_H
