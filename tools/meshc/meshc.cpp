//===- meshc.cpp - the compiler's command line - ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Compile.h"
#include <CLI/CLI.hpp>

using namespace meshc;

int main(int argc, char **argv) {
  CompileOptions options;
  options.tool = argv[0];
  CLI::App app{"meshc compiles a model whose tensor dims have names, and a "
               "layout that maps them onto a device mesh, into one program.\n"};
  app.footer("Phases: " + getPhaseNames() +
             ".\nExit codes: 0 success, 1 defect of meshc, 2 usage, 3 error in "
             "the input, 8 --verify found a difference.");
  app.set_version_flag("--version", "meshc " MESHC_VERSION);
  app.add_option("input", options.input,
                 "the model: a .mesh file, a .mlir file, or - for .mesh text "
                 "on standard input")
      ->required();
  app.add_option("-o", options.output,
                 "file to write (default: the input's name without ending; "
                 "standard output for text)");
  app.add_option("--mesh", options.mesh,
                 "mesh axes instead of the text's, as in data=2,tensor=4");
  app.add_option("--layout", options.layout,
                 "layout rules instead of the text's, as in "
                 "batch:data,ffn:tensor");
  app.add_option("--set", options.set,
                 "size of a dim or value of a constant, as in batch=64")
      ->allow_extra_args(false);
  app.add_option("--emit", options.emit, "what to write")
      ->check(CLI::IsMember({"mlir", "llvm", "asm", "obj", "exe"}))
      ->capture_default_str();
  app.add_option("--stop-after", options.stopAfter,
                 "print the program after this phase");
  app.add_option("--dump-dir", options.dumpDirectory,
                 "write the program after each phase into this folder");
  app.add_option("--march", options.march,
                 "CPU to generate code for, as in x86-64-v3")
      ->capture_default_str();
  app.add_option("--report", options.report,
                 "print collectives, bytes and memory: text or json")
      ->expected(0, 1)
      ->default_str("text")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--verify", options.verify,
               "run one step on virtual ranks and on one device, on random "
               "inputs, and compare");
  app.add_option("--seed", options.verifySeed, "seed of --verify")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::Usage);
  }
  return static_cast<int>(compile(options));
}
