//===- Dump.cpp - a program between two phases, as text -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Dump.h"
#include "lib/Pipeline/Pipeline.h"

using namespace mlir;

namespace meshc {

static constexpr llvm::StringLiteral phaseAttribute = "nd.phase",
                                     targetsAttribute = "nd.targets",
                                     indicesAttribute = "nd.indices",
                                     ignoredAttribute = "nd.ignored",
                                     manifestAttribute = "nd.manifest";

std::string printDump(ModuleOp program, const DumpState &state) {
  Builder builder(program.getContext());
  auto set = [&](StringRef name, const std::string &text) {
    program->setAttr(name, builder.getStringAttr(text));
  };
  if (state.phase != "parse") {
    set(phaseAttribute, state.phase);
    set(targetsAttribute, report::toText(state.targets));
    set(indicesAttribute, report::toText(state.indices));
    set(ignoredAttribute, report::toText(state.ignored));
    if (!state.manifest.is_null())
      set(manifestAttribute, report::toText(state.manifest));
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo();
  program->print(stream, flags);
  for (StringRef name : {phaseAttribute, targetsAttribute, indicesAttribute,
                         ignoredAttribute, manifestAttribute})
    program->removeAttr(name);
  return text + "\n";
}

/// Removes and returns an attribute with JSON text; null if it is absent.
static FailureOr<report::Json> takeJson(ModuleOp program, StringRef name) {
  Attribute attribute = program->removeAttr(name);
  if (!attribute)
    return report::Json();
  auto text = dyn_cast<StringAttr>(attribute);
  report::Json json = report::Json::value_t::discarded;
  if (text)
    json = report::Json::parse(text.getValue().str(), nullptr,
                               /*allow_exceptions=*/false);
  if (json.is_discarded())
    return program.emitError() << "'" << name << "' must be JSON text";
  return json;
}

void DumpState::buildManifest(ModuleOp program) {
  manifest = report::buildReport(program);
  manifest["targets"] = targets;
  manifest["indices"] = indices;
  manifest["ignored"] = ignored;
}

/// Whether the state has the manifest that its phase wants; makes one that is
/// absent.
static LogicalResult checkManifest(ModuleOp program, DumpState &state) {
  size_t number = getPhaseNumber(state.phase);
  if (number < getPhaseNumber("collectives"))
    return success();
  if (!state.manifest.is_null())
    return report::isReport(state.manifest)
               ? success()
               : program.emitError()
                     << "'" << manifestAttribute
                     << "' must have the form that meshc writes; copy it from "
                        "the dump as meshc wrote it";
  if (number > getPhaseNumber("kernels"))
    return program.emitError()
           << "there is no '" << manifestAttribute
           << "', which a dump after phase '" << state.phase
           << "' needs; copy it from the dump as meshc wrote it";
  state.buildManifest(program);
  return success();
}

FailureOr<DumpState> takeDumpState(ModuleOp program) {
  DumpState state;
  if (Attribute attribute = program->removeAttr(phaseAttribute)) {
    auto name = dyn_cast<StringAttr>(attribute);
    size_t number = name ? getPhaseNumber(name.getValue()) : 0;
    if (number == 0 || number >= getPhaseNumber("codegen"))
      return program.emitError()
             << "'" << phaseAttribute << "' is " << attribute
             << ", which is no phase that a program can go on from";
    state.phase = name.str();
  }
  for (auto [name, json] : {std::pair(targetsAttribute, &state.targets),
                            std::pair(indicesAttribute, &state.indices),
                            std::pair(ignoredAttribute, &state.ignored),
                            std::pair(manifestAttribute, &state.manifest)}) {
    FailureOr<report::Json> taken = takeJson(program, name);
    if (failed(taken))
      return failure();
    *json = std::move(*taken);
  }
  for (auto [name, json] : {std::pair(targetsAttribute, &state.targets),
                            std::pair(indicesAttribute, &state.indices),
                            std::pair(ignoredAttribute, &state.ignored)})
    if (!report::isLimits(*json))
      return program.emitError()
             << "'" << name << "' must be a JSON object of whole numbers";
  if (failed(checkManifest(program, state)))
    return failure();
  return state;
}

} // namespace meshc
