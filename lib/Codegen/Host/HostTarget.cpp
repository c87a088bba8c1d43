//===- HostTarget.cpp - the processor that code is made for ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/HostTarget.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace llvm;

namespace meshc::codegen {

/// What generated code may use beyond the x86-64 baseline: features for which
/// LLVM generates code on its own, and those that they imply. Compiled programs
/// look for each before they run generated code (ProcessorFeatures.cpp).
static constexpr StringRef checkedFeatures[] = {"sse3",
                                                "ssse3",
                                                "sse4.1",
                                                "sse4.2",
                                                "popcnt",
                                                "aes",
                                                "pclmul",
                                                "avx",
                                                "avx2",
                                                "fma",
                                                "f16c",
                                                "bmi",
                                                "bmi2",
                                                "lzcnt",
                                                "movbe",
                                                "gfni",
                                                "vaes",
                                                "vpclmulqdq",
                                                "avx512f",
                                                "avx512cd",
                                                "avx512dq",
                                                "avx512bw",
                                                "avx512vl",
                                                "avx512ifma",
                                                "avx512vbmi",
                                                "avx512vbmi2",
                                                "avx512vnni",
                                                "avx512bf16",
                                                "avx512fp16",
                                                "avx512bitalg",
                                                "avx512vpopcntdq",
                                                "avxvnni",
                                                "avxifma",
                                                "avxneconvert",
                                                "avxvnniint8",
                                                "avxvnniint16",
                                                "sse4a",
                                                "fma4",
                                                "xop",
                                                "tbm"};

/// These only say that REP MOVSB, which every x86 has, is fast.
static constexpr StringRef hints[] = {"ermsb", "fsrm"};

/// The names of a processor's features, without what it is tuned for.
static StringSet<> getEnabled(MCSubtargetInfo &processor, StringRef name,
                              StringRef features) {
  processor.setDefaultFeatures(name, /*TuneCPU=*/"", features);
  StringSet<> names;
  for (const SubtargetFeatureKV &feature :
       processor.getEnabledProcessorFeatures())
    names.insert(feature.Key);
  return names;
}

/// The processor's name, and the features in which it differs from that name.
/// Features that programs do not check are off: their instructions would end a
/// program with SIGILL on another processor.
static std::pair<std::string, std::string>
getProcessor(StringRef march, MCSubtargetInfo &known) {
  SubtargetFeatures features;
  std::string name = march.str();
  if (march == "native") {
    name = sys::getHostCPUName().str();
    for (const auto &feature : sys::getHostCPUFeatures())
      features.AddFeature(feature.getKey(), feature.getValue());
  }
  if (!known.getTargetTriple().isX86())
    return {name, features.getString()};
  StringSet<> allowed = getEnabled(known, "x86-64", "");
  allowed.insert_range(checkedFeatures);
  allowed.insert_range(hints);
  StringSet<> enabled = getEnabled(known, name, features.getString());
  // In the order of LLVM's table, so that the same code comes out each time.
  for (const SubtargetFeatureKV &feature : known.getAllProcessorFeatures())
    if (enabled.contains(feature.Key) && !allowed.contains(feature.Key))
      features.AddFeature(feature.Key, /*Enable=*/false);
  return {name, features.getString()};
}

static int64_t countLanes(const TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return 4;
  const MCSubtargetInfo &processor = *machine.getMCSubtargetInfo();
  if (processor.checkFeatures("+avx512f"))
    return 16;
  return processor.checkFeatures("+avx") ? 8 : 4;
}

Expected<HostTarget> HostTarget::get(StringRef march) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  Triple triple(sys::getProcessTriple());
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return createStringError("no code generator for '" + triple.str() +
                             "': " + message);
  std::unique_ptr<MCSubtargetInfo> known(
      target->createMCSubtargetInfo(triple, "", ""));
  if (march != "native" && !known->isCPUStringValid(march))
    return createStringError("unknown processor '" + march + "' for '" +
                             triple.str() +
                             "'; give 'native', or a name that LLVM knows, as "
                             "in '--march=x86-64-v3'");
  if (march != "native" && triple.isX86() && triple.isArch64Bit()) {
    std::unique_ptr<MCSubtargetInfo> processor(
        target->createMCSubtargetInfo(triple, march, ""));
    if (!processor->checkFeatures("+64bit"))
      return createStringError("processor '" + march +
                               "' has no 64-bit mode, which '" + triple.str() +
                               "' needs; give another '--march'");
  }
  auto [name, features] = getProcessor(march, *known);
  TargetOptions options;
  // Only fmuladd is fused: an op has one value, whether a product that it adds
  // is computed beside it or comes through memory.
  options.AllowFPOpFusion = FPOpFusion::Standard;
  HostTarget host;
  host.machine.reset(
      target->createTargetMachine(triple, name, features, options, Reloc::PIC_,
                                  std::nullopt, CodeGenOptLevel::Default));
  if (!host.machine)
    return createStringError("cannot make code for processor '" + name + "'");
  host.lanes = countLanes(*host.machine);
  return host;
}

bool HostTarget::scalesByPowers() const {
  // With AVX512F alone, LLVM 22 forgets to convert the exponents of a vector of
  // 8 lanes.
  return machine->getTargetTriple().isX86() &&
         machine->getMCSubtargetInfo()->checkFeatures("+avx512f,+avx512vl");
}

std::string HostTarget::getFeatures() const {
  std::string text;
  if (!machine->getTargetTriple().isX86())
    return text;
  const MCSubtargetInfo &processor = *machine->getMCSubtargetInfo();
  for (StringRef feature : checkedFeatures)
    if (processor.checkFeatures(("+" + feature).str()))
      text += (text.empty() ? "" : ",") + feature.str();
  return text;
}

void HostTarget::prepare(Module &module) const {
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  module.setPICLevel(PICLevel::BigPIC);
}

void HostTarget::setAttributes(Module &module) const {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine->getTargetCPU());
    if (!machine->getTargetFeatureString().empty())
      function.addFnAttr("target-features", machine->getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", utostr(32 * lanes));
  }
}

} // namespace meshc::codegen
