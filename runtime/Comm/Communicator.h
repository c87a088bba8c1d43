//===- Communicator.h - how ranks speak with each other ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One interface for ranks that are threads of a process, processes on a host,
/// or processes on many hosts. A communicator belongs to one rank, and one
/// thread at a time calls it. World.h creates them.
///
/// Nothing waits forever in silence: a rank that fails wakes the others. If a
/// rank makes no progress for longer than the limit, waiting for it becomes an
/// error that names it (StallWatch.h).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_COMMUNICATOR_H
#define MESHC_RUNTIME_COMM_COMMUNICATOR_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Base/Failure.h"
#include "runtime/Comm/MeshView.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// Communication could not be completed. The message names the rank at fault,
/// the model's source location if there is one, and the cause.
class CommunicationError : public Failure {
public:
  /// `rank`: the rank at fault, -1 if it is not a single one. `second`: this
  /// rank only learned of a failure that rank `rank` reports itself. `code`:
  /// another one if the cause is not the connection.
  CommunicationError(int rank, const std::string &message, bool second = false,
                     ExitCode code = ExitCode::Communication)
      : Failure(code, message), faultyRank(rank), toldByOther(second) {}

  int rank() const { return faultyRank; }
  /// True if another rank reports the failure: nothing to print here.
  bool isSecond() const { return toldByOther; }

private:
  int faultyRank;
  bool toldByOther;
};

/// Sites of the runtime's own collectives, which belong to no line of a model.
enum RuntimeSite : uint32_t {
  StopSite = UINT32_MAX - 1, ///< the agreement on when to stop
  SetupSite = UINT32_MAX     ///< what devices exchange at the start
};

class Communicator {
public:
  virtual ~Communicator();

  /// 0 ≤ rank() < size().
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// By rank: a number for the host on which it runs.
  virtual const std::vector<int> &hosts() const = 0;

  /// Provides the names of collectives' sites for error messages. `program`
  /// outlives the communicator; null removes the names.
  void setProgram(const MeshcProgram *program) { names = program; }
  /// "gpt.mesh:14:13 (all_reduce of 'h' over tensor)" if the program names site
  /// `site`; otherwise whatever is known about it.
  std::string describeSite(uint32_t site) const;
  /// The program's name for messages; "the program" if none was given.
  const char *programName() const {
    return names && names->name ? names->name : "the program";
  }

  /// Runs `collective` to completion among `group`, as RuntimeAbi.h defines it.
  /// `send` and `recv` have one pointer per item. All ranks of the group call
  /// it, in the same order of collectives; each gets the same bits. Values are
  /// reduced in the order of the group. Throws CommunicationError.
  virtual void run(const MeshcCollective &collective, const Group &group,
                   void *const *send, void *const *recv) = 0;

  /// Returns when every rank has called it.
  virtual void barrier() = 0;

  /// Every rank gets the `bytes` bytes of `root`. All ranks call it.
  virtual void broadcast(void *data, size_t bytes, int root) = 0;

  /// Moves bytes from one rank to another. Messages between two ranks arrive in
  /// the order in which they were sent; both sides name the same size. The two
  /// ranks must not run a collective between a send and its receive.
  virtual void send(const void *data, size_t bytes, int to) = 0;
  virtual void receive(void *data, size_t bytes, int from) = 0;

  /// Collects every rank's block of bytes on `root`, one after the other, so
  /// that root holds one foreign block at a time. `take` runs on root only, in
  /// rank order, its own included. All ranks call it; sizes may differ.
  void gather(const void *data, size_t bytes, int root,
              const std::function<void(int rank, const void *data,
                                       size_t bytes)> &take);

  /// Every rank of `group`, the group over `axes`, gets the `bytes` bytes (a
  /// multiple of 4) of each member, in the order of the group. Errors name
  /// `site`.
  void exchange(uint32_t axes, const Group &group, uint32_t site,
                const void *own, size_t bytes, void *all);

  /// Tells the others that this rank failed and why; their waits end with a
  /// CommunicationError. Only the first failure of all ranks is kept. Returns
  /// true if that is this one; this rank must then report it.
  virtual bool fail(const std::string &message) noexcept = 0;

private:
  const MeshcProgram *names = nullptr;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_COMMUNICATOR_H
