//===- DescribePeak.cpp - what the arena holds at its peak ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Padding.h"
#include "lib/Report/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include <map>
#include <set>
#include <tuple>

namespace meshc::report {

namespace {
/// A part of the arena that a value occupies, and no other value before it.
struct Occupied {
  int64_t begin, end;
  const Json *buffer;
};

/// The call of a function at which most bytes are in use.
struct Peak {
  const Json *function = nullptr;
  size_t call = 0;
  int64_t bytes = -1;
};

/// What values of a source line occupy.
struct Line {
  int64_t bytes = 0;
  std::set<std::string> names;
};
} // namespace

static int64_t getBegin(const Json &buffer) {
  return buffer["offset"].get<int64_t>();
}

static int64_t getEnd(const Json &buffer) {
  return getBegin(buffer) + buffer["bytes"].get<int64_t>();
}

/// Buffers besides the program's tensors.
static bool isTemporary(const Json &buffer) {
  return buffer["class"] == "temporary" || buffer["class"] == "scratch";
}

static int64_t getTensorBytes(const Json &report) {
  int64_t bytes = 0;
  for (const Json &tensor : report["tensors"])
    bytes += tensor["bytes"].get<int64_t>();
  return bytes;
}

/// The bytes in use at each call: buffers may share their places, so each byte
/// counts once. Places are taken from the lowest on, and the calls of a place
/// are joined.
static std::vector<int64_t> countBytes(const Json &function) {
  std::set<int64_t> borders;
  for (const Json &buffer : function["buffers"])
    if (isTemporary(buffer)) {
      borders.insert(getBegin(buffer));
      borders.insert(getEnd(buffer));
    }
  std::vector<int64_t> places(borders.begin(), borders.end());
  const size_t calls = std::max<size_t>(function["calls"].size(), 1);
  // By place, the calls at which it is in use.
  std::vector<std::vector<std::pair<size_t, size_t>>> uses(places.size());
  for (const Json &buffer : function["buffers"]) {
    if (!isTemporary(buffer))
      continue;
    auto at = llvm::lower_bound(places, getBegin(buffer));
    for (; at != places.end() && *at < getEnd(buffer); ++at)
      uses[at - places.begin()].push_back(
          {buffer["first"].get<size_t>(), buffer["last"].get<size_t>() + 1});
  }
  std::vector<int64_t> changes(calls + 1);
  for (size_t place = 0; place + 1 < places.size(); ++place) {
    llvm::sort(uses[place]);
    const int64_t bytes = places[place + 1] - places[place];
    size_t done = 0;
    for (auto [first, end] : uses[place]) {
      first = std::max(first, done);
      if (first >= end)
        continue;
      changes[std::min(first, calls)] += bytes;
      changes[std::min(end, calls)] -= bytes;
      done = end;
    }
  }
  changes.pop_back();
  for (size_t call = 1; call < calls; ++call)
    changes[call] += changes[call - 1];
  return changes;
}

static Peak findPeak(const Json &report) {
  Peak peak;
  for (const Json &function : report["functions"]) {
    if (!function.contains("buffers"))
      continue;
    std::vector<int64_t> bytes = countBytes(function);
    auto most = llvm::max_element(bytes);
    if (*most > peak.bytes)
      peak = {&function, size_t(most - bytes.begin()), *most};
  }
  return peak;
}

/// What a value without a name becomes where it lies, by an op that changes it
/// in place, if that has a name: a part of a gradient, say, to which a scatter
/// adds the rest. Otherwise the value itself.
static const Json *getContinued(const Json &function, const Json *buffer) {
  const Json *last = buffer;
  auto continues = [&](const Json &next) {
    return isTemporary(next) && getBegin(next) == getBegin(*last) &&
           getEnd(next) == getEnd(*last) && next["first"] == (*last)["last"] &&
           next["last"] > (*last)["last"];
  };
  while (last->at("name") == "") {
    auto next = llvm::find_if(function["buffers"], continues);
    if (next == function["buffers"].end())
      return buffer;
    last = &*next;
  }
  return last;
}

/// The values that are in use at the peak, each byte with the largest of those
/// that begin there.
static std::vector<Occupied> listOccupied(const Peak &peak) {
  std::vector<Occupied> all, kept;
  for (const Json &buffer : (*peak.function)["buffers"])
    if (isTemporary(buffer) && buffer["first"].get<size_t>() <= peak.call &&
        buffer["last"].get<size_t>() >= peak.call)
      all.push_back({getBegin(buffer), getEnd(buffer), &buffer});
  llvm::stable_sort(all, [](const Occupied &a, const Occupied &b) {
    return std::tuple(a.begin, -a.end) < std::tuple(b.begin, -b.end);
  });
  int64_t end = 0;
  for (Occupied &each : all) {
    each.begin = std::max(each.begin, end);
    if (each.begin < each.end)
      kept.push_back(each);
    end = std::max(end, each.end);
  }
  for (Occupied &each : kept)
    each.buffer = getContinued(*peak.function, each.buffer);
  return kept;
}

/// "gpt.mesh:14" of "gpt.mesh:14:13".
static std::string getLine(const std::string &location) {
  return location.substr(0, location.rfind(':'));
}

static Json listLines(const std::map<std::string, Line> &lines) {
  std::vector<std::pair<std::string, Line>> sorted(lines.begin(), lines.end());
  llvm::stable_sort(sorted, [](const auto &a, const auto &b) {
    return a.second.bytes > b.second.bytes;
  });
  Json list = Json::array();
  for (const auto &[location, line] : sorted)
    list.push_back({{"location", location},
                    {"bytes", line.bytes},
                    {"names", Json(line.names)}});
  return list;
}

/// The program's tensors and the values at the peak, the largest first.
static Json listLargest(const Json &report, llvm::ArrayRef<Occupied> occupied) {
  std::vector<Json> all;
  for (const Json &tensor : report["tensors"])
    all.push_back({{"name", tensor["name"]},
                   {"class", tensor["class"]},
                   {"location", tensor["location"]},
                   {"bytes", tensor["bytes"]}});
  for (const Occupied &each : occupied)
    all.push_back({{"name", (*each.buffer)["name"]},
                   {"class", (*each.buffer)["class"]},
                   {"location", (*each.buffer)["location"]},
                   {"bytes", each.end - each.begin}});
  llvm::stable_sort(all, [](const Json &a, const Json &b) {
    return a["bytes"].get<int64_t>() > b["bytes"].get<int64_t>();
  });
  all.resize(std::min<size_t>(all.size(), 8));
  return all;
}

/// The dims of a tensor or buffer as the mesh cuts them.
static std::vector<CutDim> getCutDims(const Json &report,
                                      const Json &described) {
  std::vector<CutDim> dims;
  if (!described.contains("dims"))
    return dims;
  std::map<std::string, size_t> numbers;
  for (const Json &axis : report["mesh"])
    numbers.emplace(axis["axis"].get<std::string>(), numbers.size());
  for (const Json &dim : described["dims"]) {
    CutDim &cut = dims.emplace_back(CutDim{dim["size"].get<int64_t>(), {}});
    for (const Json &axis : dim["axes"])
      cut.axes.push_back(numbers.at(axis.get<std::string>()));
  }
  return dims;
}

/// The bytes of the program's tensors and of the values at the peak that are
/// padding, of each rank; empty if there are none.
static std::vector<double> countPadding(const Json &report,
                                        llvm::ArrayRef<Occupied> occupied) {
  std::vector<int64_t> meshSizes;
  for (const Json &axis : report["mesh"])
    meshSizes.push_back(axis["size"].get<int64_t>());
  Padding padding(std::move(meshSizes));
  for (const Json &tensor : report["tensors"])
    padding.add(tensor["bytes"].get<double>(), getCutDims(report, tensor));
  for (const Occupied &each : occupied)
    padding.add(double(each.end - each.begin),
                getCutDims(report, *each.buffer));
  return padding.getOfRanks();
}

/// Adds the bytes of the program's tensors by what they are for.
static void addTensors(const Json &report, Json &result) {
  for (const char *kind :
       {"parameter", "optimizer", "average", "cache", "input", "metric"})
    result[kind] = int64_t(0);
  for (const Json &tensor : report["tensors"]) {
    auto role = tensor["class"].get<std::string>();
    // A step of generation is given a token and its position, and gives logits.
    // One of an evaluation is given the number of its batches, and adds up
    // statistics for its metrics.
    auto kind =
        llvm::StringSwitch<std::string>(role)
            .Cases({"token", "position", "batches", "rest"}, "input")
            .Cases({"logits", "training_metric", "skipped", "statistic"},
                   "metric")
            .Default(role);
    result[kind] = result[kind].get<int64_t>() + tensor["bytes"].get<int64_t>();
  }
}

void addPeak(Json &report) {
  Json &memory = report["memory"];
  const Peak peak = findPeak(report);
  if (!peak.function)
    return;
  Json result = {{"function", (*peak.function)["name"]}, {"location", ""}};
  if (peak.call < (*peak.function)["calls"].size())
    result["location"] = (*peak.function)["calls"][peak.call]["location"];
  addTensors(report, result);
  int64_t gradients = 0, activations = 0, scratch = 0;
  std::map<std::string, Line> lines;
  const std::vector<Occupied> occupied = listOccupied(peak);
  for (const Occupied &each : occupied) {
    const int64_t bytes = each.end - each.begin;
    auto name = (*each.buffer)["name"].get<std::string>();
    if ((*each.buffer)["class"] == "scratch") {
      scratch += bytes;
    } else if (llvm::StringRef(name).starts_with("gradient of ")) {
      gradients += bytes;
    } else {
      activations += bytes;
      Line &line = lines[getLine((*each.buffer)["location"])];
      line.bytes += bytes;
      if (!name.empty())
        line.names.insert(name);
    }
  }
  result["gradient"] = gradients;
  result["activation"] = activations;
  result["scratch"] = scratch;
  result["unused"] =
      memory["arenaBytes"].get<int64_t>() - getTensorBytes(report) - peak.bytes;
  result["padding"] = countPadding(report, occupied);
  result["lines"] = listLines(lines);
  result["largest"] = listLargest(report, occupied);
  memory["peak"] = std::move(result);
}

} // namespace meshc::report
