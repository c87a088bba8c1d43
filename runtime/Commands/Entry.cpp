//===- Entry.cpp - what main does -----------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Entry.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Counted.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/ProcessMemory.h"
#include "runtime/Base/ProcessorFeatures.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Blas/Gemm.h"
#include "runtime/Blas/OneDnn.h"
#include "runtime/Checkpoint/Saver.h"
#include "runtime/Comm/World.h"
#include "runtime/Commands/Agreement.h"
#include "runtime/Commands/Evaluate.h"
#include "runtime/Commands/Generate.h"
#include "runtime/Commands/Info.h"
#include "runtime/Commands/Options.h"
#include "runtime/Commands/Report.h"
#include "runtime/Commands/RunFiles.h"
#include "runtime/Commands/StartLines.h"
#include "runtime/Commands/Train.h"
#include "runtime/Commands/UpdateGuard.h"
#include "runtime/Commands/Weights.h"
#include "runtime/Data/Dataset.h"
#include "runtime/Device/Device.h"
#include "runtime/Device/Session.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <sstream>

using namespace meshc::runtime;

static int64_t meshSize(const MeshcProgram &program) {
  int64_t size = 1;
  for (uint32_t i = 0; i < program.axisCount; ++i)
    size *= program.axes[i].size;
  return size;
}

/// Whether the command needs the ranks of the mesh.
static bool runsModel(const Options &options) {
  return options.command != Command::Info && options.command != Command::Export;
}

static void checkProgram(const MeshcProgram &program, const Options &options) {
  if (program.abiVersion != MESHC_ABI_VERSION)
    throw Failure(ExitCode::Internal,
                  "the program was compiled for runtime ABI " +
                      std::to_string(program.abiVersion) +
                      " and linked with a runtime of ABI " +
                      std::to_string(MESHC_ABI_VERSION) + "; compile it again");
  if (runsModel(options)) {
    checkProcessor(program.features);
    if (program.target == MESHC_HOST)
      openOneDnn();
  }
  for (auto [command, function, statement] :
       {std::tuple(Command::Train, program.trainStep, "train"),
        std::tuple(Command::Generate, program.generateStep, "generate")})
    if (options.command == command && !function)
      throw Failure(ExitCode::Usage, std::string("model '") + program.name +
                                         "' has no '" + statement +
                                         "' statement");
}

static void checkRanks(const MeshcProgram &program, int got, bool underMpi) {
  int64_t wanted = meshSize(program);
  if (got == wanted)
    return;
  std::string number = std::to_string(wanted);
  throw Failure(ExitCode::Mesh,
                "got " + std::to_string(got) + (got == 1 ? " rank" : " ranks") +
                    (program.axisCount ? "; the " + describeMesh(program) +
                                             " needs " + number + ": "
                                       : "; the program is for one rank: ") +
                    (underMpi ? "mpirun -n " + number + " " +
                                    program_invocation_name + " ..."
                              : std::string(program_invocation_name) +
                                    " ... --ranks " + number) +
                    ", or compile for a '--mesh' of " + counted(got, "rank"));
}

static void printMemory(const MeshcProgram &program, const Options &options,
                        const RunFiles &files, int ranksHere,
                        const std::vector<MemoryUse> &deviceUse) {
  int64_t peak = peakMemory();
  int64_t arenas =
      program.target == MESHC_HOST ? program.arenaBytes * ranksHere : 0;
  // The system may have moved a part to swap before the peak, so that the parts
  // as they are now exceed it.
  arenas = std::min(arenas, peak);
  int64_t copy = savesInBackground(options) ? stateCopyBytes(program) : 0;
  if (options.skipNonFinite)
    copy += UpdateGuard::bytes(program) * ranksHere;
  copy = std::min(copy, peak - arenas);
  int64_t data = std::min(files.residentBytes(), peak - arenas - copy);
  std::ostringstream out;
  out << "memory: peak " << peak << " bytes = arena " << arenas << " + data "
      << data << (copy ? " + copy of the state " + std::to_string(copy) : "")
      << " + fixed " << peak - arenas - data - copy << '\n';
  int64_t total = 0;
  for (const MemoryUse &use : deviceUse)
    total += use.bytes;
  if (!deviceUse.empty())
    out << "device memory of rank 0: " << total << " bytes";
  for (size_t i = 0; i < deviceUse.size(); ++i)
    out << (i ? " + " : " = ") << deviceUse[i].name << ' ' << deviceUse[i].bytes
        << (i + 1 == deviceUse.size() ? "\n" : "");
  printOut(out.str());
}

/// What the ranks of this process and of its host will take beside their data:
/// arenas, and copies of the state.
static MemoryNeed plannedNeed(const MeshcProgram &program,
                              const Options &options, const World &world,
                              const MpiLaunch &launch) {
  std::string kind = world.kind();
  int64_t ranks = world.size();
  int64_t ranksOnHost = countRanksOnHost(world, launch);
  MemoryNeed need = {program.target == MESHC_HOST ? program.arenaBytes : 0,
                     kind == "threads" ? ranks : 1, ranksOnHost};
  if (options.skipNonFinite) {
    int64_t bytes = UpdateGuard::bytes(program);
    need.bytesPerRank += bytes;
    need.savings.push_back("leave out '--on-nonfinite skip', which takes " +
                           describeBytes(bytes) + " per rank");
  }
  if (launch.rank == 0 && savesInBackground(options)) {
    need.bytesOfRankZero = stateCopyBytes(program);
    need.savings.push_back("give '--save sync'");
  }
  // oneDNN generates code at its first product. Where it finds no room, it
  // throws an exception through the C library, which ends the process.
  if (program.target == MESHC_HOST)
    need.bytesOfLibraries = int64_t(32) << 20;
  return need;
}

/// Looks for the device, and opens the files of this process. Returns what was
/// wrong with them, or null.
static std::exception_ptr prepare(const MeshcProgram &program,
                                  const Options &options,
                                  const DeviceOptions &deviceOptions,
                                  bool hasRankZero, RunFiles &files) {
  try {
    checkDevice(program, deviceOptions);
    checkForcedImplementation();
    files.open(program, options, hasRankZero);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

/// What the ranks compare before they open their files.
static std::vector<Agreed> listAgreed(const MeshcProgram &program,
                                      const Options &options, int threads) {
  std::vector<Agreed> agreed = options.agreed;
  agreed.insert(agreed.begin(), agreedProgram(program.name));
  agreed.push_back(
      {"'--threads'", std::to_string(threads), {}, "give '--threads'"});
  if (program.target == MESHC_HOST)
    for (Agreed &entry : agreedArithmetic())
      agreed.push_back(std::move(entry));
  return agreed;
}

/// Returns 0 if rank 0 continues, otherwise the code with which all end in an
/// orderly way, since they usually have the same problem; a rank with its own
/// problem fails.
static int agreeToStart(Communicator &communicator,
                        const std::exception_ptr &problem) {
  int code = problem ? reportError("", problem, "", /*silent=*/true) : 0;
  communicator.broadcast(&code, sizeof(code), 0);
  if (!code && problem)
    std::rethrow_exception(problem);
  return code;
}

namespace {

/// The shared state of this process's ranks. Each holds a reference, so that a
/// rank abandoned by a failed run does not lose what it uses.
struct Run {
  const MeshcProgram &program;
  Options options;
  DeviceOptions device;
  int threads;
  bool speaks;
  std::vector<Agreed> agreed; ///< among all ranks, except for files
  MemoryNeed need;
  RunFiles files{};
  std::exception_ptr problem{}; ///< with the device, the files or memory
  std::once_flag memoryLook{};
  std::atomic<int> code{0}, ranksHere{0};
  std::atomic<bool> started{false};
  std::vector<MemoryUse> deviceUse{}; ///< of rank 0
};

} // namespace

/// Whether the ranks start: with the same program and options, no problem, and
/// the same data.
static bool agreeToBegin(Run &run, Communicator &communicator) {
  auto agree = [&](const std::vector<Agreed> &own) {
    bool agreed = agreeOn(communicator, run.program.name, own);
    if (!agreed)
      run.code = static_cast<int>(ExitCode::Disagreement);
    return agreed;
  };
  if (!agree(run.agreed))
    return false;
  // Now all processes have unpacked their data, and none has an arena until the
  // ranks agree on the data.
  std::call_once(run.memoryLook, [&] {
    try {
      if (!run.problem)
        checkMemory(run.need);
    } catch (...) {
      run.problem = std::current_exception();
    }
  });
  if (int refused = agreeToStart(communicator, run.problem)) {
    run.code = refused;
    return false;
  }
  if (!run.files.data)
    return true;
  std::vector<Agreed> data = agreedData("--data", *run.files.data);
  if (run.files.evalData)
    for (Agreed &entry : agreedData("--eval-data", *run.files.evalData))
      data.push_back(std::move(entry));
  return agree(data);
}

static void runRank(Run &run, Communicator &communicator) {
  if (!agreeToBegin(run, communicator))
    return;
  run.started = true;
  ++run.ranksHere;
  Session session(run.program, communicator, run.threads, run.device);
  ExitCode result = ExitCode::Success;
  const std::string gpu = session.device().gpuKind();
  if (!gpu.empty() &&
      !agreeOn(communicator, run.program.name, agreedGpu(gpu))) {
    run.code = static_cast<int>(ExitCode::Disagreement);
    return;
  }
  if (run.options.command == Command::Train)
    result = train(session, run.options, *run.files.data,
                   run.files.evalData ? &*run.files.evalData : nullptr);
  else if (run.options.command == Command::Eval)
    result = evaluate(session, run.options, *run.files.data);
  else
    result = generate(session, run.options, run.files.prompts);
  session.device().synchronize();
  if (run.speaks && communicator.rank() == 0)
    run.deviceUse = session.device().memoryUse();
  run.code = static_cast<int>(result);
}

static int runRanks(const MeshcProgram &program, const Options &options,
                    const DeviceOptions &device, World &world,
                    const MpiLaunch &launch, int threads) {
  const bool speaks = launch.rank == 0;
  std::shared_ptr<Run> run(
      new Run{program, options, device, threads, speaks,
              listAgreed(program, options, threads),
              plannedNeed(program, options, world, launch)});
  run->problem = prepare(program, options, device, speaks, run->files);
  if (!run->problem && speaks && !options.quiet && run->files.data)
    printStart(program, world, launch, run->files, threads,
               options.command == Command::Train);
  world.run([run](Communicator &communicator) { runRank(*run, communicator); });
  if (!run->started) { // rank 0 reports why
    bool told = run->code == static_cast<int>(ExitCode::Disagreement);
    if (run->problem && !told)
      reportError(program.name, run->problem, "", !speaks);
    return run->code;
  }
  if (speaks && options.memory)
    printMemory(program, options, run->files, run->ranksHere, run->deviceUse);
  return run->code;
}

static int runWorld(const MeshcProgram &program, const Options &options,
                    const MpiLaunch &launch) {
  std::unique_ptr<World> world;
  int code = 0;
  bool orderly = true, speaks = launch.rank == 0;
  try {
    WorldOptions wanted;
    wanted.kind = parseCommunicatorKind(options.communicator);
    wanted.ranks = options.ranks;
    bool asThreads = wanted.kind == CommunicatorKind::Threads;
    if (wanted.kind == CommunicatorKind::Auto)
      asThreads = !launch.launched || (launch.size == 1 && options.ranks > 0);
    if (asThreads && options.ranks == 0)
      wanted.ranks = static_cast<int>(meshSize(program));
    int got = asThreads ? wanted.ranks : launch.size;
    // Some launchers do not say; the world then knows. It also refuses --ranks
    // together with a different number of processes.
    if (got && (asThreads || !options.ranks || options.ranks == got))
      checkRanks(program, got, !asThreads);
    int threads =
        options.threads
            ? options.threads
            : defaultThreads(asThreads, static_cast<int>(meshSize(program)),
                             launch);
    wanted.threadsPerRank = threads;
    wanted = withEnvironment(wanted);
    DeviceOptions device;
    device.matmul = parseMatmulPrecision(options.matmul);
    device.epilogues = !options.noEpilogues;
    device.ncclSums = options.ncclSums;
    device.ncclMemory = options.ncclMemory;
    device.holdsInputs = options.holdBatch;
    if (std::getenv("MESHC_TIMEOUT"))
      device.timeoutSeconds = wanted.timeoutSeconds;
    device.trace = !options.trace.empty();
    world = openWorld(wanted);
    checkRanks(program, world->size(), !asThreads);
    code = static_cast<int>(
        runRanks(program, options, device, *world, launch, threads));
  } catch (const RankFailure &failure) {
    orderly = false;
    std::string rank = "rank " + std::to_string(failure.rank()) + " failed: ";
    code = reportError(program.name,
                       failure.cause() ? failure.cause()
                                       : std::current_exception(),
                       meshSize(program) > 1 ? rank : "", failure.isSecond());
  } catch (...) {
    orderly = false;
    code =
        world ? reportError(program.name, std::current_exception(), "", !speaks)
              : reportEarlyError(program.name, std::current_exception(),
                                 launch.rank);
  }
  // A run that all ranks ended with the same code shuts down in an orderly way,
  // whatever the code.
  if (world)
    world->finish(orderly ? 0 : code);
  return code;
}

/// Only the first of several processes writes.
static int runExport(const MeshcProgram &program, const Options &options,
                     const MpiLaunch &launch) {
  if (launch.rank != 0)
    return static_cast<int>(ExitCode::Success);
  try {
    exportCheckpoint(program, options);
  } catch (...) {
    return reportEarlyError(program.name, std::current_exception(),
                            launch.rank);
  }
  return static_cast<int>(ExitCode::Success);
}

static int runCommand(const MeshcProgram &program, int argc, char **argv) {
  MpiLaunch launch = findMpiLaunch();
  Options options;
  if (std::optional<int> code =
          parseOptions(program, argc, argv, launch.rank, options))
    return *code;
  try {
    checkProgram(program, options);
  } catch (...) {
    return reportEarlyError(program.name, std::current_exception(),
                            launch.rank);
  }
  if (runsModel(options) && !launch.obstacle.empty()) {
    if (options.communicator != "threads") // all processes know, and one tells
      return reportError(program.name,
                         std::make_exception_ptr(
                             Failure(ExitCode::Communication, launch.obstacle)),
                         "", launch.rank != 0);
    launch = MpiLaunch(); // each is a run of its own
  }
  if (runsModel(options))
    return runWorld(program, options, launch);
  if (options.command == Command::Export)
    return runExport(program, options, launch);
  std::ostringstream out;
  try {
    printInfo(program, options.json, out);
    if (!options.checkpoint.empty())
      printRun(options.checkpoint, out);
  } catch (...) {
    return reportEarlyError(program.name, std::current_exception(),
                            launch.rank);
  }
  if (launch.rank == 0)
    printOut(out.str());
  return static_cast<int>(ExitCode::Success);
}

int meshc::runtime::runProgram(const MeshcProgram &program, int argc,
                               char **argv) {
  openStandardStreams();
  shareHeapWithinLimit();
  int code = codeAfterOutput(program.name, runCommand(program, argc, argv));
  if (workIsLeft()) {
    std::fflush(nullptr);
    std::_Exit(code);
  }
  return code;
}
