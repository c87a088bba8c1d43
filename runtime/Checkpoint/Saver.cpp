//===- Saver.cpp - the checkpoints that a run writes ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Saver.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Failure.h"
#include "runtime/Checkpoint/AtomicFile.h"
#include "runtime/Checkpoint/Generations.h"
#include "runtime/Comm/Pulse.h"
#include "runtime/Device/Arena.h"

#include <chrono>
#include <utility>

using namespace meshc::runtime;

/// The copy of the state. All of its memory is allocated at the start.
class meshc::runtime::CopyBuffer : public StateSink {
public:
  explicit CopyBuffer(int64_t bytes) : memory(bytes) {}

  void clear() { used = 0; }
  const char *data() const { return memory.data(); }
  size_t size() const { return used; }

  char *room(size_t bytes) override {
    char *place = memory.data() + used;
    used += bytes;
    return place;
  }
  void filled() override {}

private:
  Arena memory;
  size_t used = 0;
};

int64_t meshc::runtime::stateCopyBytes(const MeshcProgram &program) {
  return stateBytes(program);
}

static std::unique_ptr<CopyBuffer> makeCopy(const MeshcProgram &program) {
  const int64_t bytes = stateCopyBytes(program);
  AvailableMemory available = availableMemory();
  if (bytes > available.bytes)
    throw Failure(ExitCode::Internal,
                  "saving in the background takes a copy of the state of " +
                      std::to_string(bytes) + " bytes on rank 0, and " +
                      std::to_string(available.bytes) +
                      " bytes are left within " + available.limit +
                      "; '--save sync' does without the copy");
  return std::make_unique<CopyBuffer>(bytes);
}

Saver::Saver(const Rank &rank, SaveOptions wanted)
    : rank(rank), options(std::move(wanted)) {
  if (rank.mesh.rank() != 0)
    return;
  AtomicFile writable(options.path);
  checkGenerations(findTarget(options.path), options.generations);
  if (!options.best.empty())
    AtomicFile writableToo(options.best);
  if (options.inBackground)
    copy = makeCopy(*rank.program);
}

Saver::~Saver() {
  if (writing.valid())
    writing.wait();
}

void Saver::save(const RunState &state) {
  wait();
  write(state, options.path, takeGenerations(), state.step);
}

void Saver::saveBest(const RunState &state) {
  wait();
  write(state, options.best, /*generations=*/1, doneStep);
}

/// `step` is that of the newest checkpoint at `options.path` from then on.
void Saver::write(const RunState &state, const std::string &path,
                  int generations, int64_t step) {
  if (!options.inBackground) {
    saveCheckpoint(path, rank, state, generations);
    noteDone(step);
    return;
  }
  if (copy)
    copy->clear();
  gatherState(rank, copy.get());
  begunStep = step;
  if (!copy) {
    doneStep = step;
    return;
  }
  auto write = [this, state, path, generations, progress = progressCounter()] {
    setProgressCounter(
        progress); // others may wait for rank 0, and rank 0 for this
    CheckpointWriter writer(path, *rank.program, state);
    writer.append(copy->data(), copy->size());
    writer.commit(generations);
  };
  writing = std::async(std::launch::async, write);
}

/// The file to keep as a generation with the next checkpoint.
int Saver::takeGenerations() {
  return std::exchange(replacesDamaged, false) ? 1 : options.generations;
}

void Saver::check() {
  using namespace std::chrono_literals;
  if (writing.valid() && writing.wait_for(0s) == std::future_status::ready)
    wait();
}

void Saver::wait() {
  if (!writing.valid())
    return;
  writing.get();
  noteDone(begunStep);
}

/// The newest checkpoint at `options.path` is that of `step`. That of the best
/// evaluation leaves it as it is.
void Saver::noteDone(int64_t step) {
  if (step != doneStep)
    written = {options.path, step};
  doneStep = step;
}

int64_t Saver::savedStep() {
  try {
    wait();
  } catch (const Failure &) { // the previous checkpoint is in place
  }
  rank.communicator->broadcast(&doneStep, sizeof(doneStep), 0);
  return doneStep;
}
