//===- Compile.h - meshc as a function ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// All that the command line needs of the compiler, free of MLIR.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_COMPILE_H
#define MESHC_LIB_PIPELINE_COMPILE_H

#include "lib/Steps/Autodiff/Recompute.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshc {

/// --target: where kernels run.
enum class Target { Host, Cuda };

/// --emit: what to write.
enum class Emit { Mlir, Llvm, Asm, Ptx, Object, Executable };

/// --report: how to print collectives, bytes and memory.
enum class ReportFormat { None, Text, Json, Html };

/// --verify: what to compare with the program on one device. Compiled compares
/// both the partitioned program and the compiled one.
enum class Verify { None, Program, Compiled };

/// An option as it was given on the command line.
struct GivenOption {
  std::string name;  ///< "--report", or "-o" and "-I"
  std::string value; ///< the last one; of flags "true" or their default
};

struct CompileOptions {
  /// All options of the command line, without --help and --version. What they
  /// say is below.
  std::vector<GivenOption> given;
  /// .mesh, "-" (.mesh text), .mlir (a model or a dump), or .ll (a dump)
  std::string input;
  std::optional<std::string> mesh;   ///< --mesh, replaces the text's
  std::optional<std::string> layout; ///< --layout, replaces the text's
  std::vector<std::string> set;      ///< --set NAME=VALUE, each
  /// -I FOLDER, each: where imported modules are looked for first
  std::vector<std::string> moduleFolders;
  std::string stopAfter;     ///< a phase's name; empty: go to the end
  std::string dumpDirectory; ///< empty: write no phases
  std::string depfile;       ///< --depfile: lists the files read; empty: none
  bool unrollLoops = false;  ///< --unroll: replace loops by iterations
  /// --recompute: what the gradients of loops compute again; Cheap if not given
  std::optional<steps::Recompute> recompute;
  /// --memory-budget: bytes of a rank's arena; chooses `recompute` unless that
  /// is given
  std::optional<int64_t> memoryBudget;
  /// --memory-bound: bytes of a step of a reshard (reshard::ReshardPlanner);
  /// none: twice the larger block
  std::optional<int64_t> memoryBound;
  bool timePhases = false;            ///< print the time of each phase
  std::vector<std::string> debugOnly; ///< passes that print their decisions
  Emit emit = Emit::Executable;
  std::string output;           ///< empty: named after the input
  std::string march = "native"; ///< an LLVM CPU name
  Target target = Target::Host;
  std::vector<std::string> chips; ///< of target cuda; empty: sm_90
  std::string cudaPath;           ///< CUDA toolkit; empty: look for it
  /// For tests: kernels are those of GPUs, emulated. The program of target host
  /// runs them itself, that of target cuda on fake libraries of CUDA.
  bool emulateGpu = false;
  ReportFormat report = ReportFormat::None;
  std::string reportFile; ///< empty: standard output, or for Html a file
                          ///< named after the input
  /// --machine: a preset or a file (lib/Cost/Machine.h); empty: "host" for
  /// target host, otherwise "h100". The speeds of its links weigh bytes in the
  /// choice of shardings
  std::string machine;
  /// Writes a program only if an output is named.
  Verify verify = Verify::None;
  std::optional<uint64_t> verifySeed; ///< none: 0
  /// --explain: a value's name or a line of the model; empty: nothing. Writes a
  /// program only if an output is named.
  std::string explain;
  /// --shapes: lists the values of the model, as Text or Json. Writes a program
  /// only if an output is named.
  ReportFormat shapes = ReportFormat::None;
  bool calibrate = false; ///< --calibrate: measure this machine instead
  int64_t ranks = 2;      ///< --ranks, of --calibrate
  std::string tool; ///< path of the running compiler, to find the runtime and
                    ///< modules by
};

/// Whether kernels are those of GPUs.
inline bool isForGpus(const CompileOptions &options) {
  return options.target == Target::Cuda || options.emulateGpu;
}

/// Exit codes of meshc (docs/exit-codes.md).
enum class ExitCode {
  Success = 0,
  Internal = 1, ///< the compiler broke a promise of its own
  Usage = 2,    ///< options
  Input = 3,    ///< the model, its layout, or files
  Memory = 4,   ///< there is too little of it
  Mismatch = 8  ///< --verify found a difference
};

/// Compiles by the options. Errors are printed to standard error with file,
/// line and column; after an error no output is written.
ExitCode compile(const CompileOptions &options);

/// The names of all phases in order, for --help and messages.
std::string getPhaseNames();

/// The names of the machines that --machine knows.
std::vector<std::string> getMachineNames();

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_COMPILE_H
