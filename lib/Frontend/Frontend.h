//===- Frontend.h - model text to nd IR -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_FRONTEND_H
#define MESHC_FRONTEND_FRONTEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace llvm {
class SourceMgr;
}

namespace meshc {

/// Command-line options that replace parts of the text (docs/language.md,
/// section 8). Errors in these lists have `<--mesh>` and so on as their file.
struct ModelOverrides {
  std::optional<std::string> mesh;   ///< --mesh data=2,tensor=2
  std::optional<std::string> layout; ///< --layout batch:data,heads:tensor
  std::vector<std::string> values;   ///< --set batch=64, each time it is given
  bool isWholeBatch = false;         ///< reads `accumulate n` as `accumulate 1`
};

/// The folder of the modules that ship with meshc: share/meshc in the tree
/// (installed or built) that contains the running tool. `tool` is its argv[0].
std::string findModuleFolder(llvm::StringRef tool);

/// The nd program of the main buffer of `sources` (docs/language.md): a module
/// with attribute `nd.mesh`, `nd.rule` ops, the model as a func.func whose
/// arguments are the inputs and whose results are the loss and the metrics by
/// name (`nd.name`), and `nd.train` if the text has a `train`. The location of
/// every op is the place of its expression, within call sites if functions are
/// inlined; values that the text names carry `nd.name`.
///
/// The program is not verified yet: if MLIR's verifier rejects it, that is a
/// defect of the front end. Null after errors; those, and warnings,
/// go to the context's diagnostic engine. Imported files, found in
/// `moduleFolders` or relative to the name of the main buffer, and the
/// overrides' texts are added to `sources`, so that a
/// SourceMgrDiagnosticHandler over it can show their lines.
mlir::OwningOpRef<mlir::ModuleOp>
parseModel(llvm::SourceMgr &sources, mlir::MLIRContext &context,
           const ModelOverrides &overrides = {},
           llvm::ArrayRef<std::string> moduleFolders = {});

} // namespace meshc

#endif // MESHC_FRONTEND_FRONTEND_H
