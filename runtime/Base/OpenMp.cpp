//===- OpenMp.cpp - OpenMP's interface to a rank's threads ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of libgomp that oneDNN calls, on the rank's own threads. A
// program exports them (OpenMpSymbols.def), so that the dynamic linker takes
// them instead of libgomp's. libgomp's threads poll for up to 20 ms before they
// sleep, and never yield: beside another program that computes, they keep the
// core that the thread needs which they wait for.
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Parallel.h"

#include <algorithm>
#include <limits>

using namespace meshc::runtime;

namespace {
struct Region {
  void (*body)(void *);
  void *data;
};
} // namespace

// Their names are those of libgomp.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

/// `threads`: at most so many; 0: those of the rank.
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads,
                   unsigned /*flags*/) {
  Region region{body, data};
  parallelTeam(
      threads ? static_cast<int64_t>(threads)
              : std::numeric_limits<int64_t>::max(),
      [](void *state, int64_t, int64_t) {
        const Region &region = *static_cast<Region *>(state);
        region.body(region.data);
      },
      &region);
}

void GOMP_barrier() {
  const TeamMember member = teamMember();
  if (member.barrier)
    member.barrier->wait(member.count);
}

int omp_get_max_threads() { return threads(); }

int omp_get_num_threads() { return static_cast<int>(teamMember().count); }

int omp_get_thread_num() { return static_cast<int>(teamMember().thread); }

int omp_in_parallel() { return isInTeam(); }
}
// NOLINTEND(readability-identifier-naming)
