//===- RunPrograms.cpp - random programs, compiled and run ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///     random_programs [--seed N] [--skip N] [--count N] [--meshc PATH]
///
/// Runs `meshc --verify` on random models: on one rank and on several, with
/// host kernels and with emulated GPU kernels, half of them with
/// --recompute=full. Without --seed, the first seed is that of the environment
/// variable MESHC_RANDOM_SEED, or differs from run to run. A program that fails
/// is reduced, and printed with its command. Exits with 1 if one failed.
///
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/Nd/NdInterfaces.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::reference;

namespace {

namespace cl = llvm::cl;
cl::opt<uint64_t> firstSeed("seed", cl::desc("Seed of the first program"));
cl::opt<uint64_t> skipped("skip", cl::desc("Seeds to leave out first"));
cl::opt<unsigned> wantedCount("count", cl::desc("Number of programs"),
                              cl::init(400));
cl::opt<std::string> compiler("meshc", cl::desc("Path of meshc"),
                              cl::init("meshc"));
cl::opt<bool> reduces("reduce", cl::desc("Reduce programs that fail"),
                      cl::init(true));

constexpr int64_t mostRanks = 8;
constexpr unsigned timeoutSeconds = 300;
constexpr int layoutTries = 8;
/// ExitCode of lib/Pipeline/Compile.h.
constexpr int inputCode = 3, mismatchCode = 8;

using Lines = std::vector<std::string>;

/// How one run of meshc ended.
struct Verdict {
  int code = 0;
  std::string output;

  /// A layout that a tensor of the model does not allow: drawLayout knows no
  /// tensors that later phases make.
  bool isRefusal() const {
    return code == inputCode &&
           StringRef(output).contains("both map to mesh axis '");
  }
};

class ProgramRunner {
public:
  ProgramRunner();
  ~ProgramRunner() { llvm::sys::fs::remove_directories(folder); }

  void run(uint64_t seed);
  int finish() const;

private:
  Verdict verify(const Lines &lines, const std::vector<std::string> &options);
  OwningOpRef<ModuleOp> parse(const Lines &lines);
  /// Removes lines as long as the program fails in the same way.
  Lines reduce(Lines lines, const std::vector<std::string> &options, int code);
  void report(uint64_t seed, Lines lines,
              const std::vector<std::string> &options, Verdict verdict);

  MLIRContext context;
  llvm::SmallString<128> folder;
  std::string model;
  unsigned count = 0, refused = 0, mismatches = 0, failures = 0;
  unsigned ranked[2] = {0, 0}, emulated = 0, looped = 0, recomputed = 0;
};

} // namespace

ProgramRunner::ProgramRunner() : context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<nd::NdDialect, func::FuncDialect>();
  if (llvm::sys::fs::createUniqueDirectory("random-programs", folder))
    llvm::report_fatal_error("cannot make a temporary folder");
  model = (folder + "/random.mesh").str();
}

OwningOpRef<ModuleOp> ProgramRunner::parse(const Lines &lines) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::join(lines, "\n"), model),
      llvm::SMLoc());
  ScopedDiagnosticHandler silence(&context,
                                  [](Diagnostic &) { return success(); });
  auto module = parseModel(sources, context);
  PassManager passes(&context);
  steps::addStepsPasses(passes);
  if (module && failed(passes.run(*module)))
    module = nullptr;
  return module;
}

Verdict ProgramRunner::verify(const Lines &lines,
                              const std::vector<std::string> &options) {
  std::error_code error;
  llvm::raw_fd_ostream(model, error) << llvm::join(lines, "\n") << '\n';
  std::string output = (folder + "/output").str();
  llvm::sys::fs::remove(output); // else a longer one of before remains
  auto path = llvm::sys::findProgramByName(compiler);
  std::string tool = path ? *path : compiler.getValue();
  SmallVector<StringRef> arguments = {tool, model, "--verify"};
  arguments.append(options.begin(), options.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(output),
                                          StringRef(output)};
  Verdict verdict;
  verdict.code =
      llvm::sys::ExecuteAndWait(tool, arguments, std::nullopt, redirects,
                                timeoutSeconds, 0, &verdict.output);
  if (auto text = llvm::MemoryBuffer::getFile(output))
    verdict.output += (*text)->getBuffer();
  return verdict;
}

Lines ProgramRunner::reduce(Lines lines,
                            const std::vector<std::string> &options, int code) {
  // The first two lines are the dims and the model's head.
  for (size_t i = lines.size(); i-- > 2;) {
    Lines shorter = lines;
    shorter.erase(shorter.begin() + i);
    if (verify(shorter, options).code == code)
      lines = shorter;
  }
  return lines;
}

void ProgramRunner::report(uint64_t seed, Lines lines,
                           const std::vector<std::string> &options,
                           Verdict verdict) {
  ++(verdict.code == mismatchCode ? mismatches : failures);
  if (reduces && verdict.code != inputCode) {
    lines = reduce(lines, options, verdict.code);
    verdict = verify(lines, options);
  }
  llvm::outs() << "FAILED with code " << verdict.code << ", seed " << seed
               << " (repeat: random_programs --seed " << seed
               << " --count 1):\n"
               << llvm::join(lines, "\n") << "\n// meshc random.mesh --verify";
  for (const std::string &option : options)
    llvm::outs() << ' ' << (option.empty() ? "''" : option);
  llvm::outs() << '\n';
  // Agreement is of no interest.
  SmallVector<StringRef> said;
  StringRef(verdict.output).split(said, '\n');
  for (StringRef line : said)
    if (!line.starts_with("  ") || line.ends_with("DIFFERS"))
      llvm::outs() << line << '\n';
  llvm::outs().flush();
}

void ProgramRunner::run(uint64_t seed) {
  bool hasLoops = seed % 3 == 0;
  Lines lines = RandomProgram(seed, hasLoops).write();
  std::mt19937_64 random(seed);
  bool isCut = seed % 2, isEmulated = seed / 2 % 2, recomputes = seed / 4 % 2;
  std::vector<std::string> options = {"--seed", std::to_string(seed)};
  if (isEmulated)
    options.push_back("--gpu-kernels=emulated");
  if (recomputes)
    options.push_back("--recompute=full");
  size_t common = options.size();
  OwningOpRef<ModuleOp> steps = isCut ? parse(lines) : nullptr;
  Verdict verdict;
  for (int tries = 0; tries < layoutTries; ++tries) {
    options.resize(common);
    if (steps) {
      RandomLayout layout = drawLayout(*steps, random, mostRanks);
      options.insert(options.end(),
                     {"--mesh", layout.mesh, "--layout", layout.layout});
    }
    verdict = verify(lines, options);
    if (!steps || !verdict.isRefusal())
      break;
    ++refused;
  }
  ++count;
  ++ranked[isCut];
  emulated += isEmulated;
  looped += hasLoops;
  recomputed += recomputes;
  if (verdict.code != 0 && !(steps && verdict.isRefusal()))
    report(seed, lines, options, verdict);
}

int ProgramRunner::finish() const {
  llvm::outs() << count << " programs (" << ranked[0] << " on one rank, "
               << ranked[1] << " with a layout, " << emulated
               << " with emulated GPU kernels, " << looped << " with loops, "
               << recomputed << " with --recompute=full, " << refused
               << " other layouts refused): " << mismatches << " mismatches, "
               << failures << " crashes or rejections\n";
  return mismatches + failures ? 1 : 0;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv,
                              "random programs, compiled and run\n");
  uint64_t seed = firstSeed;
  const char *given = std::getenv("MESHC_RANDOM_SEED");
  if (firstSeed.getNumOccurrences() == 0 && !given)
    seed = std::random_device()() % 1000000000;
  else if (firstSeed.getNumOccurrences() == 0 &&
           !llvm::to_integer(given, seed)) {
    llvm::errs() << "random_programs: MESHC_RANDOM_SEED is '" << given
                 << "', expected a number from 0\n";
    return 2;
  }
  seed += skipped;
  llvm::outs() << "seeds " << seed << " to " << seed + wantedCount - 1 << '\n';
  llvm::outs().flush();
  ProgramRunner runner;
  for (uint64_t i = 0; i < wantedCount; ++i)
    runner.run(seed + i);
  return runner.finish();
}
