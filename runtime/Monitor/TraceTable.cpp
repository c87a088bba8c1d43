//===- TraceTable.cpp - recordings as a table -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/TraceTable.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

using namespace meshc::runtime;

//===----------------------------------------------------------------------===//
// What the compiler knows
//===----------------------------------------------------------------------===//

/// "gpt.mesh:14:13" of "models/gpt.mesh:14:13", as sites have it.
static std::string withoutFolder(const std::string &location) {
  size_t slash = location.rfind('/');
  return slash == std::string::npos ? location : location.substr(slash + 1);
}

/// An entry of the manifest's "kernels" or "products".
static CallCost readCost(const nlohmann::json &entry) {
  CallCost cost;
  cost.location = withoutFolder(entry.value("location", ""));
  cost.lines = entry.value("lines", "");
  cost.op = entry.value("op", "");
  cost.tensor = entry.value("tensor", "");
  cost.bytes = entry.value("read", 0.0) + entry.value("written", 0.0);
  cost.flops = entry.value("flops", 0.0);
  cost.hasEpilogue = entry.contains("epilogue");
  return cost;
}

CallCosts::CallCosts(const MeshcProgram &program, const std::string &function) {
  for (uint32_t i = 0; i < program.siteCount; ++i)
    sites.emplace_back(program.sites[i].location);
  if (!program.manifest)
    return;
  try {
    const nlohmann::json manifest = nlohmann::json::parse(program.manifest);
    for (const nlohmann::json &kernel :
         manifest.value("kernels", nlohmann::json::array()))
      kernels[kernel.value("name", "")] = readCost(kernel);
    for (const nlohmann::json &known :
         manifest.value("functions", nlohmann::json::array()))
      if (known.value("name", "") == function) {
        for (const nlohmann::json &product :
             known.value("products", nlohmann::json::array()))
          products.push_back(readCost(product));
        productOrder = CallOrder(known, "products");
        readTimes(known);
      }
    if (const nlohmann::json &machine =
            manifest.value("machine", nlohmann::json::object());
        seconds > 0)
      machineName = machine.value("name", "");
  } catch (const nlohmann::json::exception &) {
    // A program of another compiler: it is traced without costs.
  }
}

void CallCosts::readTimes(const nlohmann::json &function) {
  const nlohmann::json none = nlohmann::json::object();
  seconds = function.value("time", none).value("seconds", 0.0);
  for (const nlohmann::json &known :
       function.value("collectives", nlohmann::json::array()))
    if (known.contains("site"))
      times[known.at("site")] = {known.value("seconds", 0.0),
                                 known.value("exposed", 0.0)};
}

const PredictedTime *CallCosts::predicted(uint64_t site) const {
  auto found = times.find(site);
  return found == times.end() ? nullptr : &found->second;
}

CallCost CallCosts::of(const TracedCall &call) const {
  CallCost cost;
  cost.bytes = call.bytes;
  cost.flops = call.flops;
  if (call.kind == CallKind::Kernel) {
    auto known = kernels.find(call.name);
    return known == kernels.end() ? cost : known->second;
  }
  std::optional<CallOrder::Call> made;
  if (call.kind == CallKind::Product)
    made = productOrder.find(call.number);
  if (made) {
    const CallCost &known = products[made->entry];
    // Without its fused epilogue, it moves different data.
    if (known.hasEpilogue == (call.epilogue != 0))
      cost = known;
    cost.location = known.location;
    cost.iteration = made->iteration;
  }
  if (call.kind == CallKind::Collective && call.number < sites.size())
    cost.location = sites[call.number];
  return cost;
}

std::string CallCosts::nameOf(const TracedCall &call) const {
  const std::string op = of(call).op;
  return op.empty() ? call.name : op;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// Calls that share a line.
struct Row {
  std::string what;
  double calls = 0, microseconds = 0, bytes = 0, flops = 0; ///< of a step
};
} // namespace

static std::string describe(const TracedCall &call, const CallCost &cost) {
  static const char *const kinds[] = {"kernel ", "product ", "", ""};
  std::string text = cost.op.empty()
                         ? kinds[static_cast<size_t>(call.kind)] + call.name
                         : cost.op;
  if (!cost.location.empty())
    text += ", " + cost.location;
  // The lines if they say more than the location.
  if (cost.lines.find_first_of(",-") != std::string::npos)
    text += " (lines " + cost.lines + ")";
  if (!cost.tensor.empty())
    text += ", writes '" + cost.tensor + "'";
  return text;
}

static std::vector<Row> makeRows(const Recording &recording,
                                 const CallCosts &costs) {
  std::vector<Row> rows;
  std::vector<size_t> rowOf; // by call
  std::map<std::pair<CallKind, std::string>, size_t> known;
  auto steps = static_cast<double>(recording.stepCount);
  for (const TracedCall &call : recording.calls) {
    CallCost cost = costs.of(call);
    std::string what = describe(call, cost);
    auto [found, isNew] = known.try_emplace({call.kind, what}, rows.size());
    if (isNew)
      rows.push_back({what});
    Row &row = rows[found->second];
    // A graph gives the orders again without a count; it gives all of them.
    double share =
        recording.callsVary ? static_cast<double>(call.given) / steps : 1;
    row.calls += call.kind != CallKind::Other ? share : 0;
    row.bytes += cost.bytes * share;
    row.flops += cost.flops * share;
    rowOf.push_back(found->second);
  }
  for (const TracedActivity &activity : recording.activities) {
    Row &row = rows[rowOf[activity.call]];
    row.microseconds +=
        static_cast<double>(activity.span.end - activity.span.begin) / 1000 /
        steps;
    if (recording.calls[activity.call].kind == CallKind::Other)
      row.calls += 1 / steps;
  }
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return std::tie(b.microseconds, a.what) < std::tie(a.microseconds, b.what);
  });
  return rows;
}

/// Time within the step's own activities, in ns; overlaps count once.
static int64_t timeInside(const Recording &recording) {
  std::vector<TracedSpan> spans;
  for (const TracedActivity &activity : recording.activities)
    if (static_cast<int>(activity.stream) != recording.asideStream)
      spans.push_back(activity.span);
  std::sort(spans.begin(), spans.end(),
            [](const TracedSpan &a, const TracedSpan &b) {
              return a.begin < b.begin;
            });
  int64_t inside = 0, reached = INT64_MIN;
  for (const TracedSpan &span : spans) {
    inside += std::max<int64_t>(0, span.end - std::max(span.begin, reached));
    reached = std::max(reached, span.end);
  }
  return inside;
}

/// A number in a column, or a dash if there is none.
static std::string column(double value, int width, int digits) {
  char text[64];
  if (value > 0)
    std::snprintf(text, sizeof(text), " %*.*f", width, digits, value);
  else
    std::snprintf(text, sizeof(text), " %*s", width, "-");
  return text;
}

/// A line with a time and its share of the step.
static std::string timeLine(const char *name, double microseconds,
                            double step) {
  char text[200];
  std::snprintf(text, sizeof(text), "%-17s %12.1f us %6.2f %%\n", name,
                microseconds, step > 0 ? 100 * microseconds / step : 0);
  return text;
}

//===----------------------------------------------------------------------===//
// Collectives: predicted and measured
//===----------------------------------------------------------------------===//

namespace {
/// Calls of collectives that share a line.
struct Exchange {
  std::string what;
  double calls = 0, bytes = 0; ///< of a step
  PredictedTime predicted;
  bool isPredicted = false;
  std::vector<double> measured; ///< seconds, by step
};
} // namespace

/// The middle value of some; 0 if there are none.
static double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

/// The recorded step in which an activity begins.
static size_t stepOf(const Recording &recording,
                     const TracedActivity &activity) {
  auto next = std::upper_bound(
      recording.steps.begin(), recording.steps.end(), activity.span.begin,
      [](int64_t begin, const TracedSpan &step) { return begin < step.begin; });
  auto number = static_cast<size_t>(next - recording.steps.begin());
  return number == 0 ? 0 : number - 1;
}

/// The collectives of the recorded steps, with their times.
static std::vector<Exchange> findExchanges(const Recording &recording,
                                           const CallCosts &costs) {
  std::vector<Exchange> found;
  std::map<std::string, size_t> known;
  std::map<uint32_t, size_t> rowOf;   // by call
  std::map<uint64_t, bool> isCounted; // by site: its prediction
  for (uint32_t i = 0; i < recording.calls.size(); ++i) {
    const TracedCall &call = recording.calls[i];
    if (call.kind != CallKind::Collective)
      continue;
    CallCost cost = costs.of(call);
    std::string what = describe(call, cost);
    auto [place, isNew] = known.try_emplace(what, found.size());
    if (isNew) {
      found.emplace_back();
      found.back().what = what;
      found.back().measured.resize(recording.steps.size());
    }
    Exchange &row = found[place->second];
    double share = recording.callsVary
                       ? static_cast<double>(call.given) /
                             static_cast<double>(recording.stepCount)
                       : 1;
    row.calls += share;
    row.bytes += cost.bytes * share;
    rowOf[i] = place->second;
    const PredictedTime *predicted = costs.predicted(call.number);
    if (!predicted || std::exchange(isCounted[call.number], true))
      continue;
    row.isPredicted = true;
    row.predicted.seconds += predicted->seconds;
    row.predicted.exposed += predicted->exposed;
  }
  for (const TracedActivity &activity : recording.activities)
    if (auto row = rowOf.find(activity.call); row != rowOf.end())
      found[row->second].measured[stepOf(recording, activity)] +=
          static_cast<double>(activity.span.end - activity.span.begin) / 1e9;
  return found;
}

/// The end of a line: two predicted times, a measured one, and how many times
/// longer it is.
static std::string compareTimes(const PredictedTime &predicted,
                                double measured) {
  return column(1e6 * predicted.seconds, 13, 1) +
         column(1e6 * predicted.exposed, 12, 1) +
         column(1e6 * measured, 12, 1) +
         column(predicted.seconds > 0 ? measured / predicted.seconds : 0, 7, 2);
}

std::string meshc::runtime::describeCollectives(const Recording &recording,
                                                const CallCosts &costs) {
  if (costs.machine().empty() || recording.steps.empty())
    return "";
  const std::vector<Exchange> rows = findExchanges(recording, costs);
  if (rows.empty())
    return "";
  std::string text = "collectives of a step: predicted for machine '" +
                     costs.machine() + "', measured as the median of " +
                     std::to_string(recording.steps.size()) +
                     (recording.steps.size() == 1 ? " step" : " steps") +
                     "\n  calls        bytes  predicted us  exposed us "
                     "measured us  ratio\n";
  Exchange all;
  all.measured.resize(recording.steps.size());
  for (const Exchange &row : rows) {
    text += column(row.calls, 6, row.calls < 1 ? 1 : 0) +
            column(row.bytes, 12, 0) +
            compareTimes(row.predicted, median(row.measured)) + "  " +
            row.what + (row.isPredicted ? "\n" : " (not predicted)\n");
    all.calls += row.calls;
    all.bytes += row.bytes;
    all.predicted.seconds += row.predicted.seconds;
    all.predicted.exposed += row.predicted.exposed;
    for (size_t i = 0; i < all.measured.size(); ++i)
      all.measured[i] += row.measured[i];
  }
  text += column(all.calls, 6, 0) + column(all.bytes, 12, 0) +
          compareTimes(all.predicted, median(all.measured)) +
          "  all collectives\n";
  std::vector<double> steps;
  for (const TracedSpan &step : recording.steps)
    steps.push_back(static_cast<double>(step.end - step.begin) / 1e9);
  return text + std::string(20, ' ') +
         compareTimes({costs.predictedSeconds(), all.predicted.exposed},
                      median(steps)) +
         "  the step\n";
}

//===----------------------------------------------------------------------===//
// All calls
//===----------------------------------------------------------------------===//

/// The first ten rows, which are the longest, and one for all others.
static std::vector<Row> shorten(std::vector<Row> rows) {
  constexpr size_t most = 10;
  if (rows.size() <= most + 1)
    return rows;
  Row others;
  others.what = std::to_string(rows.size() - most) + " others";
  for (size_t i = most; i < rows.size(); ++i) {
    others.calls += rows[i].calls;
    others.microseconds += rows[i].microseconds;
    others.bytes += rows[i].bytes;
    others.flops += rows[i].flops;
  }
  rows.resize(most);
  rows.push_back(others);
  return rows;
}

/// `step`: microseconds of one.
static std::string describeRow(const Row &row, double step) {
  const bool took = row.microseconds > 0;
  return column(row.calls, 6, row.calls < 1 ? 1 : 0) +
         column(row.microseconds, 12, 1) +
         column(step > 0 ? 100 * row.microseconds / step : 0, 7, 2) +
         column(row.bytes / 1e6, 12, 4) + column(row.flops / 1e9, 12, 4) +
         column(took ? row.bytes / row.microseconds / 1e3 : 0, 10, 1) +
         column(took ? row.flops / row.microseconds / 1e3 : 0, 10, 1) + "  " +
         row.what + '\n';
}

std::string meshc::runtime::describeTable(const Recording &recording,
                                          const CallCosts &costs, int64_t done,
                                          const std::string &events) {
  if (recording.stepCount == 0 || recording.windows.empty())
    return "trace: no step was traced\n";
  int64_t time = 0;
  for (const TracedSpan &window : recording.windows)
    time += window.end - window.begin;
  auto steps = static_cast<double>(recording.stepCount);
  double step = static_cast<double>(time) / 1000 / steps;
  std::string text =
      "trace: " + std::to_string(recording.stepCount) +
      (recording.stepCount == 1 ? " step" : " steps") +
      " of rank 0 after step " + std::to_string(done) +
      ", one step on average; " + events +
      "\n  calls           us       %           MB        GFLOP       GB/s    "
      "GFLOP/s\n";
  for (const Row &row : shorten(makeRows(recording, costs)))
    text += describeRow(row, step);
  double inside = static_cast<double>(timeInside(recording)) / 1000 / steps;
  text += timeLine("step", step, step) +
          timeLine("inside kernels", inside, step) +
          timeLine("outside kernels", std::max(0.0, step - inside), step);
  text += describeCollectives(recording, costs);
  if (recording.lost > 0)
    text += "lost: " + std::to_string(recording.lost) +
            " activities of the GPU that CUPTI gave no times of\n";
  return text;
}
