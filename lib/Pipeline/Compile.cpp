//===- Compile.cpp - one run of the compiler - ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Compile.h"
#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/Gpu/Toolkit.h"
#include "lib/Codegen/Program.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Link/Link.h"
#include "lib/Pipeline/Memory.h"
#include "lib/Pipeline/Pipeline.h"
#include "lib/Pipeline/PlaceDiagnostics.h"
#include "lib/Reference/CompareSteps.h"
#include "lib/Reference/EstimateMemory.h"
#include "lib/Report/MachineCode.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace meshc {

std::string getPhaseNames() {
  std::string names = "parse";
  for (const Phase &phase : getPhases())
    names += ", " + phase.name.str();
  return names;
}

namespace {

class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options),
        context(makeRegistry(), MLIRContext::Threading::DISABLED),
        handler(sources, &context, llvm::errs()),
        places(&context, options.input == "-" ? "<stdin>" : options.input,
               handler) {
    context.loadAllAvailableDialects();
    // Messages are about the model's text, not about ops made from it.
    context.printOpOnDiagnostic(false);
  }

  ExitCode run();

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  ExitCode chooseTarget();
  ExitCode parse();
  ExitCode runPhases();
  ExitCode afterPhase(StringRef phase, unsigned number);
  ExitCode checkMemory();
  ExitCode verify();
  ExitCode finish();
  ExitCode checkOutput(StringRef path);
  ExitCode write(StringRef path, StringRef text);
  ExitCode generate(llvm::SmallVectorImpl<char> &bytes);
  ExitCode generateKernels(codegen::GpuCode &code);
  void reportKernels(const codegen::GpuCode &code);
  std::string printModule();

  const CompileOptions &options;
  MLIRContext context;
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler;
  PlaceDiagnostics places;
  OwningOpRef<ModuleOp> module;
  OwningOpRef<ModuleOp> wholeProgram; ///< after layout, for --verify
  report::Json targets;               ///< of the model as it was written
  codegen::GpuCodeOptions gpu;        ///< of target cuda
  std::string ptxas;                  ///< empty: PTX alone
  codegen::GpuCode kernels;           ///< of target cuda
  report::Json manifest;              ///< from the collectives phase on
  std::optional<ExitCode> ended;      ///< set by --stop-after
};

} // namespace

/// Text to a file or, for "-", to standard output.
static llvm::Error writeText(StringRef path, StringRef text) {
  return link::writeFile(path, llvm::ArrayRef(text.data(), text.size()));
}

/// Prints an error that has no place in the model.
static ExitCode fail(ExitCode code, const Twine &message) {
  llvm::errs() << ("meshc: error: " + message + "\n").str();
  return code;
}

/// Fails where the file to write is the model.
ExitCode Compilation::checkOutput(StringRef path) {
  if (path == "-" || options.input == "-" ||
      !llvm::sys::fs::equivalent(path, options.input))
    return ExitCode::Success;
  return fail(ExitCode::Usage,
              "'" + path +
                  "' is the model, which would be lost; name another output "
                  "with -o");
}

ExitCode Compilation::write(StringRef path, StringRef text) {
  ExitCode code = checkOutput(path);
  if (code != ExitCode::Success)
    return code;
  if (auto error = writeText(path, text))
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  return code;
}

/// Checks what kernels are to run on, before the model is looked at.
ExitCode Compilation::chooseTarget() {
  if (options.target != "cuda") {
    const char *option = !options.chips.empty()      ? "--chip"
                         : options.emit == "ptx"     ? "--emit=ptx"
                         : !options.cudaPath.empty() ? "--cuda-path"
                                                     : nullptr;
    if (option)
      return fail(ExitCode::Usage,
                  option +
                      Twine(" is of programs for GPUs; add --target=cuda"));
    return ExitCode::Success;
  }
  if (options.emulateGpu) {
    if (options.chips.empty() && options.emit != "ptx")
      return ExitCode::Success;
    return fail(ExitCode::Usage, "emulated kernels are code of the host; leave "
                                 "'--chip' and '--emit=ptx' out");
  }
  if (!options.chips.empty())
    gpu.chips = options.chips;
  if (auto error = codegen::checkChips(gpu.chips))
    return fail(ExitCode::Usage, llvm::toString(std::move(error)));
  if (options.emit == "mlir" || !options.stopAfter.empty() || options.verify)
    return ExitCode::Success;
  auto toolkit = codegen::findCudaToolkit(options.cudaPath);
  if (toolkit) {
    gpu.libdevice = toolkit->libdevice;
    ptxas = toolkit->ptxas;
    return ExitCode::Success;
  }
  std::string message = llvm::toString(toolkit.takeError());
  // PTX needs no more than LLVM, unless a kernel calls libdevice.
  return options.emit == "ptx" ? ExitCode::Success
                               : fail(ExitCode::Input, message);
}

ExitCode Compilation::parse() {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(options.input, true);
  if (std::error_code error = buffer.getError())
    return fail(ExitCode::Input,
                "cannot read '" + options.input + "': " + error.message());
  bool isMlir = llvm::sys::path::extension(options.input) == ".mlir";
  if (isMlir && (options.mesh || options.layout || !options.set.empty()))
    return fail(ExitCode::Usage, "--mesh, --layout and --set need a .mesh "
                                 "model; edit nd.mesh and nd.rule in '" +
                                     options.input + "'");
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  if (isMlir)
    module = parseSourceFile<ModuleOp>(sources, &context);
  else
    module = parseModel(sources, context,
                        {options.mesh, options.layout, options.set});
  return module ? ExitCode::Success : ExitCode::Input;
}

std::string Compilation::printModule() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text + "\n";
}

/// What the options want of the program after a phase: a file in --dump-dir,
/// and the end of the road at --stop-after.
ExitCode Compilation::afterPhase(StringRef phase, unsigned number) {
  if (!options.dumpDirectory.empty()) {
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpDirectory))
      return fail(ExitCode::Input, "cannot make folder '" +
                                       options.dumpDirectory +
                                       "': " + error.message());
    SmallString<128> path(options.dumpDirectory);
    llvm::sys::path::append(path, (number < 10 ? "0" : "") + Twine(number) +
                                      "-" + phase + ".mlir");
    if (ExitCode code = write(path, printModule()); code != ExitCode::Success)
      return code;
  }
  if (options.stopAfter == phase)
    ended = write(options.output.empty() ? "-" : options.output, printModule());
  return ended.value_or(ExitCode::Success);
}

ExitCode Compilation::runPhases() {
  unsigned number = 0;
  ExitCode code = afterPhase("parse", number);
  for (const Phase &phase : getPhases()) {
    if (code != ExitCode::Success || ended)
      return code;
    // Kernels are chosen for the target: on GPUs, what follows a product is
    // done in its call.
    if (phase.name == "kernels" &&
        (options.target == "cuda" || options.emulateGpu))
      (*module)->setAttr("exec.epilogues", UnitAttr::get(&context));
    PassManager passes(&context);
    // Each phase ends in a verifier of its own; MLIR's runs after each pass
    // too.
    phase.addPasses(passes);
    if (failed(passes.run(*module)))
      return ExitCode::Input;
    code = afterPhase(phase.name, ++number);
    if (code != ExitCode::Success || ended)
      return code;
    // Whole tensors still, and already of primitive ops, whose constants are
    // those of the partitioned program to the bit.
    if (phase.name == "layout" && options.verify)
      wholeProgram = module->clone();
    if (phase.name == "collectives") {
      manifest = report::buildReport(*module);
      manifest["targets"] = targets;
      if (options.verify) {
        ended = verify();
        return *ended;
      }
    }
  }
  return code;
}

/// Fails where the values of --verify do not fit into memory. The system would
/// end the process without a word, or not until all else has been driven out.
ExitCode Compilation::checkMemory() {
  reference::MemoryNeed need =
      reference::estimateMemory(*wholeProgram, *module);
  double available = getAvailableMemory();
  if (need.bytes <= available)
    return ExitCode::Success;
  emitError(need.at->getLoc())
      << "--verify holds about " << formatMemory(need.bytes)
      << " here, the values of one device and of "
      << nd::MeshAttr::of(*module).getRankCount()
      << " virtual ranks in f64, and " << formatMemory(available)
      << " of memory are available; verify with smaller dims "
         "(--set), which are cut in the same way";
  return ExitCode::Memory;
}

ExitCode Compilation::verify() {
  if (ExitCode code = checkMemory(); code != ExitCode::Success)
    return code;
  reference::CompareOptions compare;
  compare.seed = options.verifySeed;
  auto differences = reference::compareSteps(*wholeProgram, *module, compare);
  if (failed(differences))
    return ExitCode::Internal;
  ExitCode code = ExitCode::Success;
  llvm::outs() << "largest differences, "
               << nd::MeshAttr::of(*module).getRankCount()
               << " virtual ranks from one device:\n";
  for (const reference::OutputDifference &output : *differences) {
    llvm::outs() << llvm::format(
        "  %-12s %-24s %10.3e of %10.3e, allowed %10.3e%s\n",
        output.function.c_str(), output.name.c_str(), output.largest,
        output.scale, output.tolerance, output.agrees ? "" : "  DIFFERS");
    if (!output.agrees)
      code = ExitCode::Mismatch;
  }
  if (auto error = link::flushOutput())
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  return code;
}

ExitCode Compilation::finish() {
  // The report says what kernels take.
  if (options.target == "cuda" && !options.emulateGpu)
    if (ExitCode code = generateKernels(kernels); code != ExitCode::Success)
      return code;
  if (auto bytes = (*module)->getAttrOfType<IntegerAttr>("exec.arena_bytes"))
    report::setArenaBytes(manifest, bytes.getInt());
  report::addCalls(manifest, *module);
  if (options.report == "json")
    llvm::outs() << manifest.dump(1) << '\n';
  else if (!options.report.empty())
    report::printReport(manifest, llvm::outs());
  if (auto error = link::flushOutput())
    return fail(ExitCode::Input, llvm::toString(std::move(error)));

  llvm::SmallVector<char> bytes;
  ExitCode code = generate(bytes);
  if (code != ExitCode::Success)
    return code;
  std::string output = options.output;
  llvm::Error error = llvm::Error::success();
  if (options.emit == "exe") {
    if (output.empty())
      output = llvm::sys::path::has_extension(options.input)
                   ? llvm::sys::path::stem(options.input).str()
                   : "a.out";
    if (ExitCode code = checkOutput(output); code != ExitCode::Success)
      return code;
    error = link::linkProgram(bytes, output, {"", "", options.tool});
  } else {
    if (output.empty())
      output = options.emit == "obj"
                   ? (llvm::sys::path::stem(options.input) + ".o").str()
                   : "-";
    if (ExitCode code = checkOutput(output); code != ExitCode::Success)
      return code;
    error = link::writeFile(output, bytes);
  }
  if (error)
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  return ExitCode::Success;
}

/// The kernels on GPUs.
ExitCode Compilation::generateKernels(codegen::GpuCode &code) {
  codegen::GpuFault fault;
  auto generated = codegen::GpuCode::generate(*module, gpu, &fault);
  if (failed(generated))
    return fault == codegen::GpuFault::Input ? ExitCode::Input
                                             : ExitCode::Internal;
  code = std::move(*generated);
  if (options.emit == "ptx")
    return ExitCode::Success;
  if (auto error = code.assemble(ptxas, gpu.chips))
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  reportKernels(code);
  return ExitCode::Success;
}

/// Enters what the assembler said into the report, and warns of spills.
void Compilation::reportKernels(const codegen::GpuCode &code) {
  std::vector<report::KernelUsage> table;
  llvm::StringMap<size_t> numbers;
  for (auto [kernel, launch] : code.launches) {
    std::string name = kernel.getSymName().str();
    numbers[name] = table.size();
    table.push_back({name, kernel.getLoc(), launch.blocks, launch.threads, {}});
  }
  for (const codegen::GpuImage &image : code.images)
    for (const codegen::KernelUsage &usage : image.usage) {
      auto number = numbers.find(usage.kernel);
      if (number == numbers.end())
        continue;
      report::KernelUsage &kernel = table[number->second];
      std::string chip = "sm_" + std::to_string(image.chip);
      kernel.chips.push_back({chip, usage.registers, usage.sharedBytes,
                              usage.spillBytes, usage.stackBytes});
      if (usage.spillBytes)
        emitWarning(kernel.location)
            << "kernel '" << kernel.name << "' spills on " << chip
            << ": each thread stores " << usage.spillBytes
            << " bytes for want of registers; its results are right, and it "
               "is slower than it could be";
    }
  report::addMachineCode(manifest, table);
}

/// The program as --emit wants it.
ExitCode Compilation::generate(llvm::SmallVectorImpl<char> &bytes) {
  codegen::ProgramOptions program;
  program.emulatesDevice = options.target == "cuda" && options.emulateGpu;
  if (options.target == "cuda" && !options.emulateGpu)
    program.gpu = &kernels;
  if (options.emit == "ptx") {
    if (!kernels.images.empty()) // the last one is of PTX, with a zero byte
      llvm::append_range(
          bytes, llvm::StringRef(kernels.images.back().bytes).drop_back());
    return ExitCode::Success;
  }
  program.march = options.march;
  if (auto name = (*module)->getAttrOfType<StringAttr>("nd.model"))
    program.name = name.str();
  program.manifest = manifest.dump();
  if (options.emulateGpu)
    program.emulated.emplace();
  auto code = codegen::Program::generate(*module, program);
  if (failed(code))
    return ExitCode::Internal;
  if (options.emit == "llvm") {
    llvm::raw_svector_ostream stream(bytes);
    (*code)->printIr(stream);
    return ExitCode::Success;
  }
  if (auto error = (*code)->emit(options.emit == "asm"
                                     ? llvm::CodeGenFileType::AssemblyFile
                                     : llvm::CodeGenFileType::ObjectFile,
                                 bytes))
    return fail(ExitCode::Internal, llvm::toString(std::move(error)));
  return ExitCode::Success;
}

ExitCode Compilation::run() {
  if (ExitCode code = chooseTarget(); code != ExitCode::Success)
    return code;
  if (ExitCode code = parse(); code != ExitCode::Success)
    return code;
  targets = report::findTargets(*module);
  if (options.emit == "mlir")
    return write(options.output.empty() ? "-" : options.output, printModule());
  ExitCode code = runPhases();
  if (code != ExitCode::Success || ended)
    return code;
  return finish();
}

ExitCode compile(const CompileOptions &options) {
  exitWhereMemoryEnds();
  // What cannot be told on stderr is in the exit code still.
  llvm::scope_exit clear([] { llvm::errs().clear_error(); });
  if (!options.stopAfter.empty() && options.stopAfter != "parse" &&
      llvm::none_of(getPhases(), [&](const Phase &phase) {
        return phase.name == options.stopAfter;
      }))
    return fail(ExitCode::Usage, "there is no phase '" + options.stopAfter +
                                     "'; phases are " + getPhaseNames());
  if (auto error = codegen::checkProcessor(options.march))
    return fail(ExitCode::Usage, llvm::toString(std::move(error)));
  return Compilation(options).run();
}

} // namespace meshc
