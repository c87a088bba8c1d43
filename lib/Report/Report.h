//===- Report.h - what a program moves between ranks, and why -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `meshc --report`: the mesh, the layout, and for each function its
/// collectives with the source values that caused them and the bytes they move
/// on each mesh axis, as JSON for programs and as text for people.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REPORT_REPORT_H
#define MESHC_LIB_REPORT_REPORT_H

#include "lib/Cost/Machine.h"
#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json.hpp>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace meshc::report {

using Json = nlohmann::ordered_json;

/// JSON as text, indented by so many spaces; on one line if that is negative.
/// Bytes in it that are not UTF-8 become U+FFFD.
std::string toText(const Json &json, int indent = -1);

/// Builds the report of a module after the collectives phase:
///
///     {"mesh": [{"axis": "data", "size": 2}, …], "ranks": 4,
///      "layout": ["batch -> data", …],
///      "functions": [{"name": "train_step",
///        "collectives": [{"kind": "all_reduce", "reduction": "sum",
///          "axes": ["data"], "type": "f32",
///          "tensors": [{"name": "gradient of w", "elements": 512,
///                       "location": "mlp.mesh:12:7"}, …],
///          "elements": 512, "calls": 1,
///          "bytes": {"data": 2048}}, …],
///        "elements": {"data": 512}, "bytes": {"data": 2048},
///        "paddedWork": [0, 0, 0, 0.5]}, …]}
///
/// `elements` of a tensor counts the whole that dialects/Spmd/Traffic.h calls
/// n, on one rank: the operand's block where data is reduced or exchanged, the
/// result's block where it is gathered. `calls` is how often the collective
/// runs: once for each iteration of the loops around it, and at most so often
/// if it has `"atMost": true`, since one of them has a 'while'. `bytes` are
/// those that each rank sends on the axis by the ring algorithms, in all calls;
/// with `"onAverage": true` some ranks send none, and `bytes` are the mean.
/// The function's `elements` add up those of all calls of its collectives by
/// their axes (joined by "," where there are several). A tensor without a name
/// has name "", one without a place in a file location "". `paddedWork` is the
/// share of the function's operations that compute padding, of each rank: those
/// on entries behind the end of a tensor. Empty if no rank computes padding.
Json buildReport(mlir::ModuleOp module);

/// Whether JSON text that was read has the shape of buildReport, with the
/// limits of findTargets and findIndices.
bool isReport(const Json &json);
/// Whether it has that of findTargets and findIndices, or is null.
bool isLimits(const Json &json);

/// Of a module after the parse phase, the inputs that are targets of a
/// `cross_entropy` themselves, and the size of its dim: `{"labels": 10}`. Other
/// numbers than 0 to 9 in `labels` make a loss that is not a number. The report
/// has it as "targets".
Json findTargets(mlir::ModuleOp module);

/// Of such a module, the inputs that are indices of a `gather` or `one_hot`
/// themselves, and the size of the dim that they index: `{"tokens": 256}`. The
/// report has it as "indices".
Json findIndices(mlir::ModuleOp module);

/// Of such a module, the targets that no `cross_entropy` counts where it has
/// this number: `{"labels": -100}`. The report has it as "ignored".
Json findIgnored(mlir::ModuleOp module);

/// Adds what the schedule phase knows: `"memory": {"arenaBytes": n}`, the bytes
/// of the one arena that each rank allocates.
void setArenaBytes(Json &report, int64_t bytes);

/// Adds the results of the schedule phase: the kernels of the module, and for
/// each function its launches and matrix products in the order of their calls:
///
///     "kernels": [{"name": "k0", "location": "mlp.mesh:12:7", "lines":
///     "12-14",
///                  "read": 4096, "written": 1024}, …]
///     "launches": [{"kernel": "k0", "calls": 1,
///                   "ops": ["exp mlp.mesh:12:7", …],
///                   "inputs": [4096, …],
///                   "results": [{"name": "h", "location": "mlp.mesh:12:7",
///                                "type": "f32", "elements": 256}, …]}, …]
///     "products": [{"location": "mlp.mesh:11:9", "name": "y", "calls": 1,
///                   "m": 64, "n": 16, "k": 32, "batch": 1, "type": "f32",
///                   "flops": 65536, "read": 10240, "written": 4096}, …]
///     "loops": [{"dim": "layers", "size": 4, "backwards": false,
///                "launches": [2, 5], "products": [1, 2]}, …]
///
/// A result or a product whose blocks have padding has its dims in memory
/// order: `"dims": [{"dim": "i", "size": 10, "axes": ["data"]}, …]`. What a
/// collective receives is listed by the number of its site in MeshcProgram, if
/// it has padding. The list of a tensor without padding is empty:
///
///     "received": [{"site": 0, "results": [[{"dim": "i", …}, …], []]}, …]
///
/// `calls` is how often a call runs: once per iteration of the loops around it,
/// at most so often if one of them may end early, which has `"while": true`. A
/// loop has the numbers of its first launch and product and those behind its
/// last; outer loops come before those in them.
///
/// Launches of one kernel may come from several lines: `ops` are those of this
/// one. `inputs` are bytes; names come from the model or are empty. A product
/// with an "epilogue" (exec.product) stands for the call that computes both and
/// has the kernel's `inputs` and `results`. Its kernel is also listed, because
/// it runs if the library has no such call.
///
/// `read` and `written` are bytes on one rank if every element is moved once:
/// the minimum with a cold cache. For a lookup table, only the entries looked
/// up count. `location` is that of the first result; `tensor`, if present, is
/// the parameter or optimizer state that the kernel writes.
void addCalls(Json &report, mlir::ModuleOp module);

/// Adds the mesh, how tensors are cut and where they lie, of a module after the
/// schedule phase. Of the module, what the runtime sees; of each function, its
/// calls in order, and its buffers with the numbers of the first and the last
/// call that use them:
///
///     "tensors": [{"name": "w", "class": "parameter", "type": "f32",
///                  "dims": [{"dim": "i", "size": 64, "axes": ["data"]}, …],
///                  "offset": 0, "bytes": 8192,
///                  "location": "m.mesh:3:9"}, …]
///     "calls": [{"location": "m.mesh:12:7", "kind": "kernel", "calls": 1,
///                "name": "k0"}, …]  (kinds: kernel, product, collective, wait)
///     "buffers": [{"offset": 8192, "bytes": 256, "first": 0, "last": 3,
///                  "class": "temporary", "dims": […], "location": "…",
///                  "name": "h"}, …]
///
/// Offsets and bytes are those of one rank's arena; sizes of dims are of the
/// whole tensor. Dims are in memory order, axes outermost first. The scratch
/// memory of a product has the class "scratch" and no dims. The calls of a loop
/// are listed once. A buffer that moves with the iterations has all its bytes,
/// and the dims of one entry. It is in use during the whole loop, like what
/// one iteration leaves to the next.
void addMemory(Json &report, mlir::ModuleOp module);

/// Adds what occupies the arena when most of it is in use, to a report with
/// setArenaBytes and addMemory:
///
///     "memory": {"arenaBytes": n, "peak": {
///       "function": "train_step", "location": "gpt.mesh:14:7",
///       "parameter": n, "optimizer": n, "average": n, "cache": n, "input": n,
///       "metric": n, "gradient": n, "activation": n, "scratch": n, "unused":
///       n, "padding": [n, …], "lines": [{"location": "gpt.mesh:14", "bytes":
///       n,
///                  "names": ["h", …]}, …],
///       "largest": [{"name": "w", "class": "parameter",
///                    "location": "gpt.mesh:3:9", "bytes": n}, …]}}
///
/// `location` is that of the call. The bytes add up to arenaBytes: "gradient"
/// are gradients of parameters, "activation" all other temporary values, and
/// "unused" is what no value occupies at that time. "padding" has, of each
/// rank, how many of the other bytes belong to entries that do not exist; it is
/// empty if none do. `lines` divide the activations by source line, and
/// `largest` are at most 8 tensors and values; both begin with the largest.
void addPeak(Json &report);

/// Adds what --memory-budget chose, to a report with setArenaBytes:
///
///     "memory": {"budget": {"bytes": n,
///       "loops": [{"dim": "layers", "location": "gpt.mesh:8:3"}, …],
///       "tried": [{"recompute": "cheap", "arenaBytes": n, "keptBytes": n},
///                 …]}}
///
/// `loops` are those whose gradients --recompute is about. `tried` are the
/// values of --recompute that were planned; the last one is chosen.
/// `keptBytes` is the arena if nothing outside of loops were computed again.
void addBudget(Json &report, const Json &budget);

/// Adds the times that lib/Cost/StepTime.h predicts for a module after the
/// schedule phase: the machine, how the time of each function divides, and of
/// each collective the number of its site in MeshcProgram, the seconds of all
/// its calls, and those in which the rank computes nothing because of it:
///
///     "machine": {"name": "host", "source": "…", "cores": 2, "sharing": 4},
///     "functions": [{"time": {"seconds": 0.012, "products": 0.008,
///                             "kernels": 0.003, "exposed": 0.001},
///                    "collectives": [{"site": 0, "seconds": 0.002,
///                                     "exposed": 0.001, …}, …], …}, …]
///
/// `cores` are those of a host, and `sharing` the ranks of one host if they are
/// more than its cores, otherwise 0; machines of GPUs have neither.
///
/// A collective that later phases have removed has none of them. The manifest
/// has them, too: `--trace` prints them beside measured times.
void addTimes(Json &report, mlir::ModuleOp module,
              const cost::Machine &machine);

/// Prints a report of buildReport as lines of text.
void printReport(const Json &report, llvm::raw_ostream &out);

/// A page (HTML) with the report, which needs no other file and no network: the
/// mesh with the blocks of each tensor, the model's text with the collectives
/// of each line, and the arena over the calls of a step. The report needs
/// setArenaBytes and addMemory. `source` is the model's text, `model` its name.
std::string makePage(const Json &report, llvm::StringRef source,
                     llvm::StringRef model);

} // namespace meshc::report

#endif // MESHC_LIB_REPORT_REPORT_H
