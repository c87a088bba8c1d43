//===- describe-ops.cpp - docs/generated/ops.md ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// describe-ops [--check] PAGE EXAMPLES RECORDS…: writes the page about the ops
/// of nd; with --check, fails if the page differs from what it would write.
/// RECORDS are the families of ops as `llvm-tblgen --dump-json` writes them,
/// EXAMPLES is MLIR text with an example of each op.
///
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Pipeline.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "tools/describe-ops/OpPage.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

static cl::opt<bool> check("check", cl::desc("Fail if the page would change"));
static cl::opt<std::string> pagePath(cl::Positional, cl::Required,
                                     cl::desc("PAGE"));
static cl::opt<std::string> examplesPath(cl::Positional, cl::Required,
                                         cl::desc("EXAMPLES"));
static cl::list<std::string> recordPaths(cl::Positional, cl::OneOrMore,
                                         cl::desc("RECORDS"));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "describe-ops: error: " << message << "\n";
  return 1;
}

static int writePage(llvm::StringRef page) {
  std::string message;
  auto file = openOutputFile(pagePath, &message);
  if (!file)
    return fail(message);
  file->os() << page;
  file->keep();
  return 0;
}

static int checkPage(llvm::StringRef page) {
  auto file = llvm::MemoryBuffer::getFile(pagePath, /*IsText=*/true);
  if (!file || (*file)->getBuffer() != page)
    return fail(pagePath + " is not what the ops are now; build the target "
                           "ops-page and look at the difference");
  return 0;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "The page about the ops of nd\n");
  std::vector<meshc::OpFamily> families;
  for (const std::string &path : recordPaths) {
    auto ops = meshc::readOpRecords(path);
    if (!ops)
      return fail(llvm::toString(ops.takeError()));
    families.push_back({llvm::sys::path::stem(path).str(), std::move(*ops)});
  }
  DialectRegistry dialects;
  meshc::registerDialects(dialects);
  MLIRContext context(dialects);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto examples = parseSourceFile<ModuleOp>(examplesPath, sources, &context);
  if (!examples)
    return 1;
  FailureOr<std::string> page = meshc::writeOpPage(families, *examples);
  if (failed(page))
    return 1;
  return check ? checkPage(*page) : writePage(*page);
}
