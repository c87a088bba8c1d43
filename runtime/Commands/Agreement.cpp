//===- Agreement.cpp - what all ranks of a run must share -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Agreement.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/ProcessorFeatures.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Blas/InstructionSet.h"
#include "runtime/Data/Dataset.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

/// The ranks that have each value, by the value; `shown` likewise.
struct Values {
  std::map<std::string, std::vector<int>> ranks;
  std::map<std::string, std::string> shown;
  std::string remedy;
  int64_t order = INT64_MAX; ///< of the remedy
};

/// The values of all ranks, in the order in which names first appeared.
struct Holdings {
  std::vector<std::string> names;
  std::map<std::string, Values> byName;

  void add(int rank, const Agreed &entry) {
    Values &values = byName[entry.name];
    if (values.ranks.empty())
      names.push_back(entry.name);
    values.ranks[entry.value].push_back(rank);
    values.shown.emplace(entry.value,
                         entry.shown.empty() ? entry.value : entry.shown);
    if (entry.order < values.order) {
      values.order = entry.order;
      values.remedy = entry.remedy;
    }
  }

  /// Gives the ranks that did not list a name the value "not given".
  void complete(int rankCount) {
    for (auto &[name, values] : byName) {
      std::vector<bool> has(rankCount);
      for (const auto &[value, ranks] : values.ranks)
        for (int rank : ranks)
          has[rank] = true;
      for (int rank = 0; rank < rankCount; ++rank)
        if (!has[rank])
          values.ranks["not given"].push_back(rank);
      values.shown.emplace("not given", "not given");
    }
  }
};

/// A 64-bit hash of bytes, for finding accidental differences.
class Hash {
public:
  void add(const void *data, size_t bytes) {
    const char *at = static_cast<const char *>(data);
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, at, sizeof(word));
      mix(word);
      at += sizeof(word);
    }
    uint64_t rest = bytes;
    for (size_t i = 0; i < bytes; ++i)
      rest = rest << 8 | static_cast<uint8_t>(at[i]);
    mix(rest);
  }
  std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016llx",
                  static_cast<unsigned long long>(state));
    return digits;
  }

private:
  /// The finalizer of MurmurHash3 (public domain, Austin Appleby).
  void mix(uint64_t word) {
    state ^= word;
    state ^= state >> 33;
    state *= 0xff51afd7ed558ccdULL;
    state ^= state >> 33;
    state *= 0xc4ceb9fe1a85ec53ULL;
    state ^= state >> 33;
    state += 0x9e3779b97f4a7c15ULL;
  }

  uint64_t state = 0;
};

constexpr uint64_t sampleBytes = 4096, sampleCount = 64;

/// "4096 bytes, hash 0123456789abcdef" for contents that `read` reads in parts:
/// the hash covers all bytes up to 256 KiB, and otherwise 64 blocks of 4 KiB at
/// equal distances, the first and the last included.
std::string describeSamples(
    uint64_t size,
    const std::function<void(uint64_t offset, size_t bytes, Hash &hash)>
        &read) {
  Hash hash;
  if (size <= sampleBytes * sampleCount) {
    read(0, size, hash);
  } else {
    for (uint64_t i = 0; i < sampleCount; ++i)
      read((size - sampleBytes) / (sampleCount - 1) * i, sampleBytes, hash);
    read(size - sampleBytes, sampleBytes, hash);
  }
  return std::to_string(size) + " bytes, hash " + hash.text();
}

/// A file that is read by system calls, so that it takes no memory that
/// `--memory` would have to count.
class ReadFile {
public:
  explicit ReadFile(const std::string &path)
      : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ReadFile() {
    if (descriptor >= 0)
      close(descriptor);
  }
  ReadFile(const ReadFile &) = delete;
  ReadFile &operator=(const ReadFile &) = delete;

  /// Bytes of the file; -1 if it cannot be read.
  int64_t size() const {
    struct stat status{};
    return descriptor >= 0 && fstat(descriptor, &status) == 0 ? status.st_size
                                                              : -1;
  }
  /// Adds a part to `hash`; returns false if it cannot be read.
  bool read(uint64_t offset, uint64_t bytes, Hash &hash) const {
    char buffer[1 << 14];
    while (bytes) {
      ssize_t got =
          pread(descriptor, buffer, std::min<uint64_t>(bytes, sizeof(buffer)),
                static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return false;
      hash.add(buffer, static_cast<size_t>(got));
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<uint64_t>(got);
    }
    return true;
  }

private:
  int descriptor;
};

void append(std::string &bytes, const std::string &text) {
  uint64_t length = text.size();
  bytes.append(reinterpret_cast<const char *>(&length), sizeof(length));
  bytes += text;
}

void append(std::string &bytes, int64_t number) {
  bytes.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

std::string take(const char *&at) {
  uint64_t length;
  std::memcpy(&length, at, sizeof(length));
  std::string text(at + sizeof(length), length);
  at += sizeof(length) + length;
  return text;
}

int64_t takeNumber(const char *&at) {
  int64_t number;
  std::memcpy(&number, at, sizeof(number));
  at += sizeof(number);
  return number;
}

std::string pack(const std::vector<Agreed> &entries) {
  std::string bytes;
  for (const Agreed &entry : entries) {
    for (const std::string *text :
         {&entry.name, &entry.value, &entry.shown, &entry.remedy})
      append(bytes, *text);
    append(bytes, entry.order);
  }
  return bytes;
}

/// "rank 3", "ranks 0 to 2, 5"
std::string listRanks(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    text += (i ? ", " : "") + std::to_string(ranks[i]);
    if (last > i)
      text += (last == i + 1 ? ", " : " to ") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

/// "'--steps' is '10' on rank 0 and '12' on ranks 1, 2"
std::string describe(const std::string &name, const Values &values) {
  // Values of the lowest ranks first.
  std::map<int, std::string> byRank;
  for (const auto &[value, ranks] : values.ranks)
    byRank[ranks.front()] = value;
  std::string text = name + " is ";
  size_t left = byRank.size();
  for (const auto &[rank, value] : byRank) {
    text += values.shown.at(value) + " on " + listRanks(values.ranks.at(value));
    --left;
    text += left == 0 ? "" : left == 1 ? " and " : ", ";
  }
  return text;
}

std::string compare(Holdings &holdings, int rankCount) {
  holdings.complete(rankCount);
  std::string text, remedies;
  for (const std::string &name : holdings.names) {
    const Values &values = holdings.byName.at(name);
    if (values.ranks.size() <= 1)
      continue;
    text += (text.empty() ? "" : "; ") + describe(name, values);
    const std::string remedy =
        values.remedy.empty()
            ? "start all ranks with the same program, options and data"
            : values.remedy;
    if (remedies.find(remedy) == std::string::npos)
      remedies += "; " + remedy;
  }
  return text.empty() ? text : "the ranks disagree: " + text + remedies;
}

} // namespace

std::string meshc::runtime::findDisagreement(Communicator &communicator,
                                             const std::vector<Agreed> &own) {
  Holdings holdings;
  std::string bytes = pack(own);
  communicator.gather(bytes.data(), bytes.size(), 0,
                      [&](int rank, const void *data, size_t size) {
                        const char *at = static_cast<const char *>(data);
                        const char *end = at + size;
                        while (at < end) {
                          Agreed entry;
                          entry.name = take(at);
                          entry.value = take(at);
                          entry.shown = take(at);
                          entry.remedy = take(at);
                          entry.order = takeNumber(at);
                          holdings.add(rank, entry);
                        }
                      });
  std::string text;
  if (communicator.rank() == 0)
    text = compare(holdings, communicator.size());
  uint64_t length = text.size();
  communicator.broadcast(&length, sizeof(length), 0);
  text.resize(length);
  if (length)
    communicator.broadcast(text.data(), length, 0);
  return text;
}

bool meshc::runtime::agreeOn(Communicator &communicator,
                             const std::string &program,
                             const std::vector<Agreed> &own) {
  std::string difference = findDisagreement(communicator, own);
  if (!difference.empty() && communicator.rank() == 0)
    printError(program + ": error: " + difference + '\n');
  return difference.empty();
}

Agreed meshc::runtime::agreedProgram(const std::string &modelName) {
  ReadFile file("/proc/self/exe");
  Hash hash;
  int64_t size = file.size();
  bool known = size >= 0 && file.read(0, static_cast<uint64_t>(size), hash);
  std::string value = known ? hash.text() : "unknown";
  return {"the program", value,
          "'" + std::string(program_invocation_name) + "' (model '" +
              modelName + "', hash " + value + ")"};
}

std::vector<Agreed> meshc::runtime::agreedArithmetic() {
  const std::string instructions = describeInstructions(),
                    most = mostInstructions();
  std::vector<Agreed> entries = {
      {"the instruction set of products", instructions,
       "'" + instructions + "' (" + describeProcessor() + ")",
       "set DNNL_MAX_CPU_ISA on all ranks to the least of them" +
           (most.empty() ? "" : ", 'DNNL_MAX_CPU_ISA=" + most + "'") +
           ": other instructions round differently, so that what all ranks "
           "hold would drift apart",
       instructionLevel()},
      {"the version of libraries",
       describeLibraries(),
       {},
       "run all ranks with the same libraries: others may round differently"}};
  const char *variable = std::getenv("MESHC_GEMM");
  const std::string forced = variable ? variable : "";
  if (!forced.empty())
    entries.push_back({"MESHC_GEMM", "'" + forced + "'", {}});
  // oneDNN's primitives choose their blocks by the size of this cache. They
  // compute f16 on processors that have it, and what they are forced to.
  if (forced == "matmul" || hasProcessorFeature("avx512fp16"))
    entries.push_back({"the second-level cache",
                       describeBytes(sysconf(_SC_LEVEL2_CACHE_SIZE)),
                       {},
                       "use hosts with one kind of processor"});
  return entries;
}

std::vector<Agreed> meshc::runtime::agreedGpu(const std::string &kind) {
  return {{"the GPU",
           "'" + kind + "'",
           {},
           "run all ranks on GPUs of one kind, as CUDA_VISIBLE_DEVICES can "
           "select them: others may round differently, so that what all ranks "
           "hold would drift apart"}};
}

std::vector<Agreed> meshc::runtime::agreedData(const std::string &option,
                                               const Dataset &data) {
  std::vector<Agreed> entries;
  for (const Source &source : data.sources()) {
    const Bytes &bytes = *source.bytes;
    std::string contents = describeSamples(
        bytes.size(), [&](uint64_t offset, size_t count, Hash &hash) {
          hash.add(bytes.data() + offset, count);
        });
    bytes.checkIntact();
    const std::string role = source.role == WindowRole::Tokens
                                 ? ""
                                 : std::string(" as ") + nameOf(source.role);
    entries.push_back(
        {"the file of '" + option + "' for input '" + source.input->name + "'",
         contents + role, "'" + bytes.path() + "' (" + contents + ")" + role});
  }
  return entries;
}

Agreed meshc::runtime::agreedCheckpoint(const std::string &path) {
  ReadFile file(path);
  int64_t size = file.size();
  bool readable = size >= 0;
  std::string contents;
  if (readable)
    contents = describeSamples(static_cast<uint64_t>(size),
                               [&](uint64_t offset, size_t count, Hash &hash) {
                                 readable =
                                     readable && file.read(offset, count, hash);
                               });
  if (!readable)
    throw Failure(ExitCode::Checkpoint,
                  "checkpoint '" + path +
                      "' cannot be read: " + std::strerror(errno));
  return {"the checkpoint", contents, "'" + path + "' (" + contents + ")"};
}
