//===- CallOrder.h - the order of calls with loops --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The manifest lists the calls of a loop once (lib/Report/Report.h). When a
/// function runs, it makes them once per iteration.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_CALLORDER_H
#define MESHC_RUNTIME_MONITOR_CALLORDER_H

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// The calls of one kind of a function: launches or products.
class CallOrder {
public:
  /// A function without calls.
  CallOrder() = default;
  /// Those under `kind`, "launches" or "products", of an entry of the
  /// manifest's "functions". Throws nlohmann::json::exception if its loops do
  /// not have the form of Report.h.
  CallOrder(const nlohmann::json &function, const char *kind);

  struct Call {
    size_t entry; ///< of the manifest's list
    /// "iteration 3 of 'layers'", the outermost loop first; empty without
    /// loops.
    std::string iteration;
  };
  /// The call that the function makes as its number `number`, from 0; nothing
  /// behind the last one.
  std::optional<Call> find(uint64_t number) const;

private:
  struct Loop {
    std::string dim;
    uint64_t size;
    bool backwards;
    size_t begin, end;      ///< its entries
    uint64_t calls = 0;     ///< in one iteration
    size_t next = SIZE_MAX; ///< number of the first loop behind it
  };

  std::vector<Loop> loops; ///< outer ones first; none without calls
  size_t count = 0;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_CALLORDER_H
