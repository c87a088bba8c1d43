//===- Calibrate.cpp - meshc --calibrate ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Calibrate.h"
#include "dialects/Nd/Interfaces/OpCost.h"
#include "lib/Cost/Machine.h"
#include "lib/Link/Link.h"
#include "lib/Pipeline/CalibrationModels.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Pipeline/OptionRules.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Threading.h"
#include <map>

using namespace mlir;

namespace meshc {

using report::Json;

static constexpr unsigned timeoutSeconds = 300;
static constexpr int tracedSteps = 20;
/// Runs of a program.
static constexpr int repeats = 3;

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// The middle value of some; they are not empty.
static double getMedian(std::vector<double> values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The value that a quarter of some are below; they are not empty.
static double getLowerQuartile(std::vector<double> values) {
  auto quarter = values.begin() + static_cast<ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), quarter, values.end());
  return *quarter;
}

/// A figure to three digits: it has no more.
static double roundFigure(double value) {
  double rounded = 0;
  std::string text = llvm::formatv("{0:e2}", value).str();
  return StringRef(text).getAsDouble(rounded) ? value : rounded;
}

namespace {
/// A call of a program's step.
struct Call {
  std::vector<double> times;   ///< seconds, of all runs
  double seconds = 0;          ///< that count
  double bytes = 0, flops = 0; ///< of one time
};
using Calls = std::map<std::string, Call>;

class Calibration {
public:
  Calibration(const CompileOptions &options) : options(options) {}

  ExitCode run();

private:
  ExitCode measure(const std::string &model, int64_t elements, int64_t ranks,
                   const std::string &layout, int64_t threads = 1);
  ExitCode execute(const std::vector<std::string> &arguments);
  ExitCode writeExamples(int64_t elements, int64_t columns);
  ExitCode readTrace();
  void chooseTimes();
  const Call *findLargest(const std::string &kind) const;
  ExitCode measureProducts(const char *type);
  ExitCode measureChain(const char *step, double operations, double &rate);
  ExitCode measureSorting();
  const Call *measureUpdate(int64_t elements, int64_t ranks, ExitCode &code);
  ExitCode measureLinks();
  ExitCode measureMemory();
  ExitCode measureThreads();
  void roundFigures();
  std::string getPath(const char *name) const { return folder + "/" + name; }

  const CompileOptions &options;
  std::string folder;
  cost::Machine machine;
  bool hasThreads = false; ///< whether it has the figures of threads
  /// Of the last program: "kernel", "product" and "collective".
  std::map<std::string, Calls> calls;
};
} // namespace

/// Writes rows × columns zeros as an NPY file, version 1.0.
ExitCode Calibration::writeExamples(int64_t rows, int64_t columns) {
  std::string header =
      llvm::formatv("{{'descr': '<f4', 'fortran_order': False, 'shape': ({0},"
                    "{1}), }",
                    rows, columns > 1 ? std::to_string(columns) : "")
          .str();
  header.resize((10 + header.size() + 64) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string text = "\x93NUMPY";
  text += '\1';
  text += '\0';
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.resize(text.size() + static_cast<size_t>(4 * rows * columns));
  if (auto error = link::writeFile(getPath("x.npy"), text))
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  return ExitCode::Success;
}

ExitCode Calibration::execute(const std::vector<std::string> &arguments) {
  SmallVector<StringRef> references(arguments.begin(), arguments.end());
  std::string output = getPath("output"), message;
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(output),
                                          StringRef(output)};
  int code =
      llvm::sys::ExecuteAndWait(arguments.front(), references, std::nullopt,
                                redirects, timeoutSeconds, 0, &message);
  if (code == 0)
    return ExitCode::Success;
  if (auto text = llvm::MemoryBuffer::getFile(output))
    message += (*text)->getBuffer().trim();
  return fail(ExitCode::Input,
              "'--calibrate' cannot measure: a program ended with code " +
                  Twine(code) + "; it said: " + message);
}

/// Adds the calls of rank 0 in the trace of a run; of a collective, each time
/// counts from when the last rank has begun it.
ExitCode Calibration::readTrace() {
  auto text = llvm::MemoryBuffer::getFile(getPath("trace.json"));
  Json trace;
  if (text)
    trace = Json::parse((*text)->getBuffer().str(), nullptr, false);
  if (!trace.is_object() || !trace.contains("traceEvents"))
    return fail(ExitCode::Internal,
                "a program of '--calibrate' wrote no trace");
  using Name = std::pair<std::string, std::string>; // kind and name
  std::map<Name, std::vector<double>> times;
  std::map<std::pair<Name, int64_t>, size_t> counts; // and rank
  for (const Json &event : trace["traceEvents"]) {
    auto kind = event.value("cat", std::string());
    if (kind != "kernel" && kind != "product" && kind != "collective")
      continue;
    Name name = {kind, event["name"].get<std::string>()};
    size_t number = counts[{name, event["pid"].get<int64_t>()}]++;
    double duration = event["dur"].get<double>() * 1e-6;
    std::vector<double> &all = times[name];
    if (number >= all.size())
      all.push_back(duration);
    else
      all[number] = std::min(all[number], duration);
    Call &call = calls[kind][name.second];
    call.bytes = event["args"].value("bytes", 0.0);
    call.flops = event["args"].value("flops", 0.0);
  }
  for (auto &[name, all] : times)
    llvm::append_range(calls[name.first][name.second].times, all);
  return ExitCode::Success;
}

/// Other programs may disturb a computation, so the least of its times counts.
/// A collective may be faster than alone, too, if a rank comes late; hence the
/// median.
void Calibration::chooseTimes() {
  for (auto &[kind, named] : calls)
    for (auto &[name, call] : named)
      call.seconds = kind == "collective" ? getMedian(call.times)
                                          : *llvm::min_element(call.times);
}

/// Compiles a model whose input has `columns` columns, or one dim, and traces
/// its steps on so many ranks and threads of each.
ExitCode Calibration::measure(const std::string &model, int64_t columns,
                              int64_t ranks, const std::string &layout,
                              int64_t threads) {
  if (auto error = link::writeFile(getPath("model.mesh"), model))
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  CompileOptions compiling;
  compiling.input = getPath("model.mesh");
  compiling.output = getPath("program");
  compiling.march = options.march;
  compiling.tool = options.tool;
  compiling.mesh = "data=" + std::to_string(ranks);
  compiling.layout = layout;
  if (ExitCode code = compile(compiling); code != ExitCode::Success)
    return code;
  if (ExitCode code = writeExamples(1024, columns); code != ExitCode::Success)
    return code;
  calls.clear();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    ExitCode code = execute({compiling.output, "train", "--data",
                             "x=" + getPath("x.npy"), "--steps", "40", "--comm",
                             "threads", "--threads", std::to_string(threads),
                             "--quiet", "--trace", getPath("trace.json"),
                             "--trace-steps", std::to_string(tracedSteps)});
    if (code == ExitCode::Success)
      code = readTrace();
    if (code != ExitCode::Success)
      return code;
  }
  chooseTimes();
  return ExitCode::Success;
}

/// The call of a kind that moves most bytes; null if there is none.
const Call *Calibration::findLargest(const std::string &kind) const {
  const Call *largest = nullptr;
  auto found = calls.find(kind);
  if (found == calls.end())
    return nullptr;
  for (const auto &[name, call] : found->second)
    if (!largest || call.bytes > largest->bytes)
      largest = &call;
  return largest;
}

ExitCode Calibration::measureProducts(const char *type) {
  std::string clause =
      StringRef(type) == "f32" ? "" : std::string("precision ") + type;
  ExitCode code = measure(llvm::formatv(productsModel, clause).str(), 512,
                          options.ranks, "");
  const Call *product = findLargest("product");
  if (code == ExitCode::Success && !product)
    return fail(ExitCode::Internal,
                "a program of '--calibrate' has no matrix product");
  if (code == ExitCode::Success)
    machine.products[type] = product->flops / product->seconds;
  return code;
}

/// Operations per second of a kernel that applies `step` to each element again
/// and again; {0} in it is the number of the time. `operations`: of a step.
ExitCode Calibration::measureChain(const char *step, double operations,
                                   double &rate) {
  std::string chain;
  for (int i = 0; i < chainLength; ++i)
    chain += llvm::formatv(step, i + 1).str();
  ExitCode code =
      measure(llvm::formatv(chainModel, chain).str(), 1024, options.ranks, "");
  if (code != ExitCode::Success)
    return code;
  rate = 128 * 1024 * chainLength * operations / findLargest("kernel")->seconds;
  // The kernel that took least, the update of a scalar, has hardly any work.
  for (const auto &[name, call] : calls["kernel"])
    machine.launch = std::min(machine.launch, call.seconds);
  return code;
}

/// The sort is the kernel that takes longest.
ExitCode Calibration::measureSorting() {
  constexpr int64_t rows = 4, entries = 16384;
  if (ExitCode code = measure(llvm::formatv(sortModel, rows, entries).str(), 1,
                              options.ranks, "");
      code != ExitCode::Success)
    return code;
  double seconds = 0;
  for (const auto &[name, call] : calls["kernel"])
    seconds = std::max(seconds, call.seconds);
  nd::SortWork row{1, double(entries), double(entries)};
  machine.sorting = double(rows) * row.getHeapSteps() / seconds;
  return ExitCode::Success;
}

/// Traces the update of a parameter, which each rank has for itself; null after
/// an error, which `code` has.
const Call *Calibration::measureUpdate(int64_t elements, int64_t ranks,
                                       ExitCode &code) {
  code =
      measure(llvm::formatv(updateModel, elements, ranks).str(), 1, ranks, "");
  return code == ExitCode::Success ? findLargest("kernel") : nullptr;
}

/// Bytes of the third level's cache, as Linux names it; 0 if it does not.
static double readCacheBytes() {
  auto text = llvm::MemoryBuffer::getFileAsStream(
      "/sys/devices/system/cpu/cpu0/cache/index3/size");
  StringRef size = text ? (*text)->getBuffer().trim() : StringRef();
  double kilobytes = 0;
  if (!size.consume_back("K") || size.getAsDouble(kilobytes))
    return 0;
  return 1024 * kilobytes;
}

ExitCode Calibration::measureMemory() {
  constexpr int64_t large = 1 << 24, small = 1 << 20;
  ExitCode code;
  const Call *update = measureUpdate(large, 1, code);
  if (!update)
    return code;
  machine.memory = update->bytes / update->seconds;
  // All ranks at once: the fastest time is that of one whose peers rest.
  update = measureUpdate(large, options.ranks, code);
  if (!update)
    return code;
  machine.nodeMemory = static_cast<double>(options.ranks) * update->bytes /
                       getMedian(update->times);
  machine.cacheBytes = readCacheBytes();
  if (machine.cacheBytes == 0)
    return code;
  update = measureUpdate(small, options.ranks, code);
  if (update)
    machine.cacheMemory = update->bytes / update->seconds;
  return code;
}

/// Measures one rank with a thread on each core. A large product gives the
/// efficiency: its start takes no time worth counting. Small products give the
/// time of a start. The lower quartile counts, since few calls of a step are
/// among the fastest. `run` measures twice, and the figures with the shorter
/// start count: on some virtual machines, a start takes ten times as long for
/// some seconds (docs/rationale/cost-model.md).
ExitCode Calibration::measureThreads() {
  int64_t count = machine.nodeCores;
  if (count < 2)
    return ExitCode::Success;
  auto cores = static_cast<double>(count);
  ExitCode code =
      measure(llvm::formatv(productsModel, "").str(), 512, 1, "", count);
  if (code != ExitCode::Success)
    return code;
  const Call *product = findLargest("product");
  double efficiency = std::min(1.0, product->flops / product->seconds /
                                        (machine.products["f32"] * cores));
  double seconds[2] = {};
  for (int64_t threads : {int64_t(1), count}) {
    code = measure(rowModel, 256, 1, "", threads);
    if (code != ExitCode::Success)
      return code;
    seconds[threads > 1] = getLowerQuartile(findLargest("product")->times);
  }
  double start = std::max(0.0, seconds[1] - seconds[0] / (cores * efficiency));
  if (!hasThreads || start < machine.threadStart) {
    machine.threadStart = start;
    machine.threadEfficiency = efficiency;
  }
  hasThreads = true;
  return code;
}

/// α from an all_reduce of few bytes, β from larger ones.
ExitCode Calibration::measureLinks() {
  auto ranks = static_cast<double>(options.ranks);
  std::vector<double> bandwidths;
  for (int64_t elements : {16, 1 << 16, 1 << 19, 1 << 22}) {
    ExitCode code =
        measure(llvm::formatv(updateModel, elements, options.ranks).str(), 1,
                options.ranks, "n:data");
    if (code != ExitCode::Success)
      return code;
    const Call *sum = findLargest("collective");
    if (!sum)
      return fail(ExitCode::Internal,
                  "a program of '--calibrate' has no collective");
    double seconds = sum->seconds, messages = 2 * (ranks - 1);
    if (elements == 16)
      machine.node.latency = seconds / messages;
    else
      bandwidths.push_back(
          sum->bytes /
          std::max(seconds - messages * machine.node.latency, 1e-9));
  }
  machine.node.bandwidth = getMedian(bandwidths);
  return ExitCode::Success;
}

void Calibration::roundFigures() {
  for (cost::Rates *rates : {&machine.products, &machine.kernels})
    for (auto &[type, rate] : *rates)
      rate = roundFigure(rate);
  for (double *figure :
       {&machine.functions, &machine.sorting, &machine.memory,
        &machine.nodeMemory, &machine.cacheMemory, &machine.launch,
        &machine.threadStart, &machine.threadEfficiency, &machine.node.latency,
        &machine.node.bandwidth})
    *figure = roundFigure(*figure);
}

ExitCode Calibration::run() {
  llvm::SmallString<128> path;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("meshc-calibrate", path))
    return fail(ExitCode::Input,
                "cannot make a temporary folder: " + error.message());
  llvm::scope_exit remove(
      [&] { llvm::sys::fs::remove_directories(path, true); });
  folder = path.str().str();
  const cost::Machine &preset = cost::getPresets().front();
  machine.name = "calibrated";
  machine.source =
      llvm::formatv("meshc --calibrate --ranks {0}; network: assumed to be "
                    "that of preset '{1}'",
                    options.ranks, preset.name)
          .str();
  machine.nodeRanks = preset.nodeRanks;
  machine.nodeCores =
      std::max<int64_t>(1, llvm::hardware_concurrency().compute_thread_count());
  machine.network = preset.network;
  machine.launch = 1e-5; // at most
  for (const char *type : {"f32", "bf16", "f16"})
    if (ExitCode code = measureProducts(type); code != ExitCode::Success)
      return code;
  if (ExitCode code = measureThreads(); code != ExitCode::Success)
    return code;
  if (ExitCode code =
          measureChain("y = y * 1.{0} + 0.5\n", 2, machine.kernels["f32"]);
      code != ExitCode::Success)
    return code;
  // An exponential and a division; independent of each other, as in a kernel.
  if (ExitCode code =
          measureChain("y = y + sigmoid(x * 1.{0})\n", 2, machine.functions);
      code != ExitCode::Success)
    return code;
  if (ExitCode code = measureSorting(); code != ExitCode::Success)
    return code;
  if (ExitCode code = measureMemory(); code != ExitCode::Success)
    return code;
  if (ExitCode code = measureLinks(); code != ExitCode::Success)
    return code;
  if (ExitCode code = measureThreads(); code != ExitCode::Success)
    return code;
  roundFigures();
  std::string output = options.output.empty() ? "-" : options.output;
  if (auto error = link::writeFile(output, cost::writeMachine(machine)))
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  return ExitCode::Success;
}

ExitCode calibrate(const CompileOptions &options) {
  if (options.target == Target::Cuda)
    return fail(ExitCode::Usage,
                "'--calibrate' measures the processors of this host; it does "
                "not measure GPUs. Write a machine file for them, from "
                "the fields of preset 'h100' (docs/machines.md)");
  if (std::string conflict = findConflict(options); !conflict.empty())
    return fail(ExitCode::Usage, conflict);
  if (!options.input.empty())
    return fail(ExitCode::Usage, "'--calibrate' takes no model; leave '" +
                                     options.input + "' out");
  if (options.ranks < 2)
    return fail(ExitCode::Usage,
                "'--ranks' is " + Twine(options.ranks) +
                    "; '--calibrate' needs 2 ranks or more to measure "
                    "collectives");
  return Calibration(options).run();
}

} // namespace meshc
