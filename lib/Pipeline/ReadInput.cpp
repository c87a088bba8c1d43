//===- ReadInput.cpp - the model, or a dump of a phase --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Codegen/Gpu/Toolkit.h"
#include "lib/Cost/CostModel.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Pipeline/OptionRules.h"
#include "lib/Pipeline/RunPhase.h"
#include "lib/Reshard/ReshardPlan.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace meshc {

/// Checks what kernels are to run on, before the model is looked at.
ExitCode Compilation::chooseTarget() {
  if (options.target != Target::Cuda ||
      (options.emulateGpu && options.verify != Verify::Compiled))
    return ExitCode::Success;
  if (!options.chips.empty())
    gpu.chips = options.chips;
  if (auto error = codegen::checkChips(gpu.chips))
    return fail(ExitCode::Usage, llvm::toString(std::move(error)));
  if (options.verify == Verify::Compiled) {
    options.target = Target::Host;
    options.emulateGpu = true;
    return ExitCode::Success;
  }
  bool stopsBefore =
      !options.stopAfter.empty() &&
      getPhaseNumber(options.stopAfter) < getPhaseNumber("codegen");
  bool needsNoCode =
      !isToWrite(options) && options.report == ReportFormat::None;
  if (options.emit == Emit::Mlir || stopsBefore || needsNoCode)
    return ExitCode::Success;
  auto toolkit = codegen::findCudaToolkit(options.cudaPath);
  if (toolkit) {
    gpu.libdevice = toolkit->libdevice;
    ptxas = toolkit->ptxas;
    return ExitCode::Success;
  }
  std::string message = llvm::toString(toolkit.takeError());
  // PTX needs no more than LLVM, unless a kernel calls libdevice.
  return options.emit == Emit::Ptx ? ExitCode::Success
                                   : fail(ExitCode::Input, message);
}

ExitCode Compilation::chooseMachine() {
  std::string name = options.machine;
  if (name.empty())
    name = options.target == Target::Cuda ? "h100" : "host";
  auto found = cost::findMachine(name);
  if (!found)
    return fail(ExitCode::Input, llvm::toString(found.takeError()));
  machine = std::move(*found);
  return ExitCode::Success;
}

/// Whether MLIR text begins here: an alias, as in "#loc = ", or a module.
static bool beginsMlir(StringRef text) {
  if (text.consume_front("#") || text.consume_front("!"))
    return text.drop_while([](char c) { return llvm::isAlnum(c) || c == '_'; })
        .ltrim(' ')
        .starts_with("=");
  return (text.consume_front("module") ||
          text.consume_front("builtin.module") ||
          text.consume_front("\"builtin.module\"")) &&
         !text.empty() && !llvm::isAlnum(text.front()) && text.front() != '_';
}

/// The ending of its name by which meshc would know a dump of a phase; empty if
/// the text is none.
static StringRef getDumpEnding(StringRef text) {
  text = text.ltrim();
  if (text.starts_with("; ModuleID"))
    return ".ll";
  return beginsMlir(text) ? ".mlir" : "";
}

ExitCode Compilation::parse(const Phase &) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(options.input, true);
  if (std::error_code error = buffer.getError())
    return fail(ExitCode::Input,
                "cannot read '" + options.input + "': " + error.message());
  StringRef ending = llvm::sys::path::extension(options.input);
  if (ending == ".ll")
    return parseProgram(std::move(*buffer));
  if (StringRef dump = getDumpEnding((*buffer)->getBuffer());
      ending != ".mlir" && !dump.empty())
    return fail(ExitCode::Input,
                "'" + options.input +
                    "' is read as a .mesh model, but looks like the dump of a "
                    "phase; give it a name that ends in '" +
                    dump + "'");
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  ExitCode code = ending == ".mlir" ? parseMlir() : parseModelText();
  if (code != ExitCode::Success)
    return code;
  if (options.memoryBound)
    reshard::setMemoryBound(*module, *options.memoryBound);
  if (auto mesh = nd::MeshAttr::of(*module)) {
    cost::CostModel model(machine, mesh);
    if (auto costs = model.getByteCosts(); !costs.empty())
      reshard::setByteCosts(*module, costs);
    if (machine.overlap > 0)
      reshard::setCallCosts(*module, model.getCallCosts());
  }
  return code;
}

/// Where modules are looked for that a model imports.
std::vector<std::string> Compilation::getModuleFolders() const {
  std::vector<std::string> folders = options.moduleFolders;
  folders.push_back(findModuleFolder(options.tool));
  return folders;
}

ExitCode Compilation::parseModelText() {
  module =
      parseModel(sources, context, {options.mesh, options.layout, options.set},
                 getModuleFolders());
  if (!module)
    return ExitCode::Input;
  if (failed(mlir::verify(*module)))
    return reportDefect("phase 'parse'");
  state.targets = report::findTargets(*module);
  state.indices = report::findIndices(*module);
  state.ignored = report::findIgnored(*module);
  return ExitCode::Success;
}

/// The model with `accumulate 1`; null if it has no `accumulate`.
OwningOpRef<ModuleOp> Compilation::parseWholeBatch() {
  auto trains = module->getOps<nd::TrainOp>();
  if (trains.empty() || (*trains.begin()).getMicroBatches() == 1 ||
      StringRef(options.input).ends_with(".mlir"))
    return {};
  ScopedDiagnosticHandler silence(&context,
                                  [](Diagnostic &) { return success(); });
  const llvm::MemoryBuffer *text =
      sources.getMemoryBuffer(sources.getMainFileID());
  llvm::SourceMgr copy;
  copy.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(
                              text->getBuffer(), text->getBufferIdentifier()),
                          llvm::SMLoc());
  return parseModel(copy, context,
                    {options.mesh, options.layout, options.set,
                     /*isWholeBatch=*/true},
                    getModuleFolders());
}

ExitCode Compilation::keepModel() {
  OwningOpRef<ModuleOp> wholeBatch = parseWholeBatch();
  return verification.keepModel(*module, wholeBatch ? *wholeBatch : ModuleOp());
}

/// A dump of the codegen phase.
ExitCode Compilation::parseProgram(std::unique_ptr<llvm::MemoryBuffer> text) {
  if (std::string late = findLateOption(options, "codegen", /*isText=*/false);
      !late.empty())
    return fail(ExitCode::Usage, late);
  auto read = codegen::Program::read(std::move(text), options.march);
  if (!read)
    return fail(ExitCode::Input, llvm::toString(read.takeError()));
  code = std::move(*read);
  state.phase = "codegen";
  return ExitCode::Success;
}

/// A model in MLIR, or a dump of another phase.
ExitCode Compilation::parseMlir() {
  module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return ExitCode::Input;
  auto read = takeDumpState(*module);
  if (failed(read))
    return ExitCode::Input;
  state = std::move(*read);
  if (std::string late = findLateOption(options, state.phase, /*isText=*/false);
      !late.empty())
    return fail(ExitCode::Usage, late);
  if (state.phase == "parse") {
    state.targets = report::findTargets(*module);
    state.indices = report::findIndices(*module);
    state.ignored = report::findIgnored(*module);
    return ExitCode::Success;
  }
  // Kernels were chosen for a target.
  bool hasKernels = state.phase == "kernels" || state.phase == "schedule";
  bool forGpus = exec::isForGpus(*module);
  if (hasKernels && forGpus != isForGpus(options))
    return fail(ExitCode::Usage,
                "'" + options.input + "' is a dump of a program for " +
                    (forGpus ? "GPUs; add '--target=cuda'"
                             : "the host; leave '--target=cuda' out"));
  const Phase &phase = getPhases()[getPhaseNumber(state.phase)];
  if (failed(verifyPromise(phase, *module)))
    return fail(ExitCode::Input,
                "'" + options.input + "' is a dump after phase '" +
                    state.phase +
                    "', whose guarantees it does not keep; see "
                    "the error above");
  return ExitCode::Success;
}

} // namespace meshc
