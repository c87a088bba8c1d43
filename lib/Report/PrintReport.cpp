//===- PrintReport.cpp - the report as text -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Format.h"
#include "lib/Report/MachineCode.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

namespace meshc::report {

static std::string joinTexts(const Json &list) {
  std::string text;
  for (const Json &item : list)
    text += (text.empty() ? "" : ", ") + item.get<std::string>();
  return text;
}

/// "1.0 kB over data, 2.0 kB over tensor".
static std::string describeTraffic(const Json &bytes) {
  std::string text;
  for (const auto &[axis, moved] : bytes.items())
    if (moved.get<double>() > 0)
      text += (text.empty() ? "" : ", ") + formatBytes(moved.get<double>()) +
              " over " + axis;
  return text.empty() ? "nothing" : text;
}

static void printCollective(const Json &collective, llvm::raw_ostream &out) {
  out << "  " << collective["kind"].get<std::string>();
  if (collective.contains("reduction"))
    out << " " << collective["reduction"].get<std::string>();
  out << " over " << joinTexts(collective["axes"]) << ", ";
  if (auto calls = collective["calls"].get<int64_t>(); calls > 1)
    out << (collective.contains("atMost") ? "at most " : "") << calls
        << " times ";
  out << collective["elements"].get<int64_t>() << " "
      << collective["type"].get<std::string>() << ": each rank sends "
      << describeTraffic(collective["bytes"])
      << (collective.contains("onAverage") ? " on average" : "");
  if (collective.contains("seconds"))
    out << ", predicted " << formatSeconds(collective["seconds"].get<double>())
        << ", exposed " << formatSeconds(collective["exposed"].get<double>());
  out << "\n";
  for (const Json &tensor : collective["tensors"]) {
    auto name = tensor["name"].get<std::string>();
    auto place = tensor["location"].get<std::string>();
    out << "    for "
        << (name.empty() ? std::string("a value without a name")
                         : "'" + name + "'")
        << " (" << tensor["elements"].get<int64_t>() << ")";
    if (!place.empty())
      out << ", from " << place;
    out << "\n";
  }
}

/// What occupies the arena at its peak.
static void printPeak(const Json &peak, llvm::raw_ostream &out) {
  auto place = peak["location"].get<std::string>();
  out << "  at its peak, in " << peak["function"].get<std::string>()
      << (place.empty() ? "" : " at " + place) << ":";
  static constexpr std::pair<const char *, const char *> kinds[] = {
      {"parameter", "parameters"}, {"optimizer", "optimizer state"},
      {"average", "averages"},     {"cache", "caches"},
      {"input", "inputs"},         {"metric", "metrics"},
      {"gradient", "gradients"},   {"activation", "activations"},
      {"scratch", "scratch"},      {"unused", "unused"}};
  for (auto [kind, text] : kinds)
    if (double bytes = peak[kind].get<double>();
        bytes > 0 ||
        !llvm::is_contained({"average", "cache"}, llvm::StringRef(kind)))
      out << (kind == kinds[0].first ? " " : ", ") << text << " "
          << formatBytes(bytes);
  out << "\n";
  constexpr size_t most = 12;
  for (size_t i = 0; i < std::min(peak["lines"].size(), most); ++i) {
    const Json &line = peak["lines"][i];
    auto location = line["location"].get<std::string>();
    out << "    " << formatBytes(line["bytes"].get<double>()) << " from "
        << (location.empty() ? "no line of the model" : location);
    if (!line["names"].empty())
      out << ": " << joinTexts(line["names"]);
    out << "\n";
  }
  if (peak["lines"].size() > most)
    out << "    and " << peak["lines"].size() - most << " more lines\n";
}

/// "loops over 'time' (lstm.mesh:9:3), 'layers' (lstm.mesh:8:3)"
static std::string describeLoops(const Json &loops) {
  constexpr size_t most = 4;
  std::string text = loops.size() == 1 ? "the loop over " : "loops over ";
  for (size_t i = 0; i < std::min(loops.size(), most); ++i) {
    auto place = loops[i]["location"].get<std::string>();
    text += (i ? ", '" : "'") + loops[i]["dim"].get<std::string>() + "'" +
            (place.empty() ? "" : " (" + place + ")");
  }
  if (loops.size() > most)
    text += " and " + std::to_string(loops.size() - most) + " more";
  return text;
}

/// What --memory-budget chose, and the arena with each choice.
static void printBudget(const Json &budget, llvm::raw_ostream &out) {
  auto bytesOf = [](const Json &json, const char *name) {
    return json[name].get<double>();
  };
  const Json &chosen = budget["tried"].back();
  bool computesAgain = chosen["keptBytes"] != chosen["arenaBytes"];
  bool hasLoops = !budget["loops"].empty();
  out << "  memory budget of " << formatBytes(bytesOf(budget, "bytes"))
      << ": fits";
  if (hasLoops)
    out << " with --recompute=" << chosen["recompute"].get<std::string>()
        << " for the gradients of " << describeLoops(budget["loops"]);
  if (computesAgain)
    out << (hasLoops ? ", and" : "")
        << " with values outside of loops computed again";
  out << (hasLoops || computesAgain ? "\n"
                                    : " without computing values again\n");
  out << "    arena: ";
  for (const Json &tried : budget["tried"]) {
    bool isLast = &tried == &chosen;
    out << formatBytes(bytesOf(tried, isLast ? "keptBytes" : "arenaBytes"));
    if (hasLoops)
      out << " with " << tried["recompute"].get<std::string>();
    out << (isLast ? "" : ", ");
  }
  if (computesAgain)
    out << (hasLoops ? ", " : " without this, ")
        << formatBytes(bytesOf(chosen, "arenaBytes"))
        << (hasLoops ? " with values outside of loops computed again"
                     : " with it");
  out << "\n";
}

/// How the predicted time of a step function divides.
static void printTime(const Json &time, llvm::raw_ostream &out) {
  auto part = [&](const char *name) {
    return formatSeconds(time[name].get<double>());
  };
  out << "  predicted time " << part("seconds") << ": products "
      << part("products") << ", kernels " << part("kernels")
      << ", exposed collectives " << part("exposed") << "\n";
}

/// How much of something is padding on each rank; of many ranks, on average and
/// on the one that has the most. Nothing if there is none.
static void printPadding(const Json &ofRanks, double all,
                         const std::string &what, llvm::raw_ostream &out) {
  constexpr size_t mostListed = 8;
  std::vector<double> shares;
  for (const Json &padding : ofRanks)
    shares.push_back(padding.get<double>() / all);
  auto print = [&](double share) { out << llvm::format("%.1f", 100 * share); };
  auto most = llvm::max_element(shares);
  if (shares.empty() || *most < 5e-4)
    return;
  out << "padding: ";
  if (shares.size() <= mostListed) {
    llvm::interleave(shares, out, print, ", ");
    out << " % of " << what << " of rank 0 to " << shares.size() - 1 << "\n";
    return;
  }
  print(std::accumulate(shares.begin(), shares.end(), 0.0) /
        double(shares.size()));
  out << " % of " << what << " on average over the ranks, ";
  print(*most);
  out << " % on rank " << most - shares.begin() << ", which has the most\n";
}

/// How much of each rank's memory and work is for entries that do not exist.
static void printPadding(const Json &report, llvm::raw_ostream &out) {
  if (report.contains("memory") && report["memory"].contains("peak"))
    printPadding(report["memory"]["peak"]["padding"],
                 report["memory"]["arenaBytes"].get<double>(), "the arena",
                 out);
  for (const Json &function : report["functions"])
    printPadding(function["paddedWork"], 1,
                 "the work in " + function["name"].get<std::string>(), out);
}

static void printMachine(const Json &machine, llvm::raw_ostream &out) {
  out << "machine: " << machine["name"].get<std::string>() << "\n";
  int64_t sharing = machine.value("sharing", int64_t(0));
  if (sharing > 0)
    out << "  " << sharing << " ranks share " << machine["cores"].get<int64_t>()
        << " cores: a rank waits for a core, too, which 'comm' of a running "
           "program contains and 'exposed' does not\n";
}

void printReport(const Json &report, llvm::raw_ostream &out) {
  out << "mesh: ";
  bool isFirst = true;
  for (const Json &axis : report["mesh"]) {
    out << (isFirst ? "" : ", ") << axis["axis"].get<std::string>() << " = "
        << axis["size"].get<int64_t>();
    isFirst = false;
  }
  out << (isFirst ? "" : " ") << "(" << report["ranks"].get<int64_t>()
      << (report["ranks"] == 1 ? " rank)\n" : " ranks)\n");
  out << "layout: "
      << (report["layout"].empty() ? "everything whole on every rank"
                                   : joinTexts(report["layout"]))
      << "\n";
  if (report.contains("memory"))
    out << "memory: arena of "
        << formatBytes(report["memory"]["arenaBytes"].get<double>())
        << " per rank (" << report["memory"]["arenaBytes"].get<int64_t>()
        << " bytes)\n";
  if (report.contains("memory") && report["memory"].contains("budget"))
    printBudget(report["memory"]["budget"], out);
  if (report.contains("memory") && report["memory"].contains("peak"))
    printPeak(report["memory"]["peak"], out);
  printPadding(report, out);
  if (report.contains("machine"))
    printMachine(report["machine"], out);
  for (const Json &function : report["functions"]) {
    size_t count = function["collectives"].size();
    bool isAverage =
        llvm::any_of(function["collectives"], [](const Json &collective) {
          return collective.contains("onAverage");
        });
    out << "\n"
        << function["name"].get<std::string>() << ": " << count
        << (count == 1 ? " collective" : " collectives") << ", each rank sends "
        << describeTraffic(function["bytes"])
        << (isAverage ? " on average" : "") << "\n";
    for (const Json &collective : function["collectives"])
      printCollective(collective, out);
    if (function.contains("time"))
      printTime(function["time"], out);
  }
  if (report.contains("machineCode"))
    printMachineCode(report["machineCode"], out);
}

} // namespace meshc::report
