//===- OptionRules.h - which options go together --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each option of a run has its effect, or the run is refused. The table of
/// options is in OptionRules.cpp.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_OPTIONRULES_H
#define MESHC_LIB_PIPELINE_OPTIONRULES_H

#include "lib/Pipeline/Compile.h"
#include "llvm/ADT/StringRef.h"

namespace meshc {

/// Whether a program, or the text of one, is to be written. --verify, --explain
/// and --shapes alone write none.
bool isToWrite(const CompileOptions &options);

/// What is wrong with the options, whatever the input holds: an option needs
/// another one, the run ends before the phase that obeys an option, or two
/// outputs have the same place. Empty if nothing is.
std::string findConflict(const CompileOptions &options);

/// Which option comes too late for an input that is a dump after `phase`; empty
/// if none does. A model is a dump after the phase parse. `isText` says that it
/// is a .mesh file.
std::string findLateOption(const CompileOptions &options, llvm::StringRef phase,
                           bool isText);

/// What files without a name of their own are named after: the input's name
/// without its ending, or "a" if the input is stdin.
std::string getStem(const CompileOptions &options);

/// The file of the program or its text: -o, or a file named after the input;
/// "-" is standard output.
std::string getOutputPath(const CompileOptions &options);

/// The file of the report; "-" is standard output.
std::string getReportPath(const CompileOptions &options);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_OPTIONRULES_H
