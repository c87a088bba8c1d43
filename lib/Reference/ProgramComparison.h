//===- ProgramComparison.h - one comparison of a program --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to CompareProgram.cpp and CompareEvaluations.cpp.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_PROGRAMCOMPARISON_H
#define MESHC_LIB_REFERENCE_PROGRAMCOMPARISON_H

#include "dialects/Nd/StepNames.h"
#include "lib/Reference/CompareProgram.h"
#include "lib/Reference/EvaluationRun.h"
#include "lib/Reference/ProgramFiles.h"
#include <map>

namespace meshc::reference {

/// Steps that a comparison trains.
inline constexpr int stepCount = 2;
/// ExitCode::Numeric of runtime/Base/Failure.h: a loss or a parameter is not
/// finite.
inline constexpr int notFiniteCode = 7;

using Tensors = llvm::StringMap<nd::HostTensor>;
/// Moment and name.
using OutputKey = std::pair<std::string, std::string>;
using Outputs = std::map<OutputKey, nd::HostTensor>;

/// What an evaluation computes its metrics of.
struct EvaluatedData {
  Examples examples;
  std::vector<std::string> arguments; ///< of the program: its files
  int64_t perBatch = 1;               ///< examples; of the interpreter
  bool isPart = true;                 ///< of all examples
};

class ProgramComparison {
public:
  ProgramComparison(mlir::ModuleOp steps, const CompiledProgram &program,
                    const CompareOptions &options)
      : steps(steps), program(program), options(options),
        oneDevice(nd::MeshAttr::get(steps.getContext(),
                                    llvm::ArrayRef<nd::AxisAttr>())) {}

  llvm::FailureOr<std::vector<ProgramDifference>> run();

private:
  using Compute = llvm::function_ref<llvm::LogicalResult(RoundingNoise *noise,
                                                         Outputs &outputs)>;

  llvm::LogicalResult prepare();
  llvm::LogicalResult compareInitialState();
  llvm::LogicalResult compareTraining();
  llvm::LogicalResult explainEarlyEnd();
  llvm::LogicalResult compareEvaluations();
  llvm::LogicalResult compareEvaluation(mlir::func::FuncOp step,
                                        llvm::StringRef parameters,
                                        const EvaluatedData &data);
  llvm::LogicalResult addData(int64_t count, int64_t perBatch);

  llvm::LogicalResult call(nd::Step kind, const Tensors &state, int batch,
                           int64_t step, RoundingNoise *noise,
                           Tensors &results);
  llvm::LogicalResult train(RoundingNoise *noise, Outputs &outputs);
  llvm::LogicalResult evaluate(mlir::func::FuncOp step, llvm::StringRef moment,
                               const EvaluatedData &data, RoundingNoise *noise,
                               Outputs &outputs);

  /// Compares the program's output with the results of `compute`.
  llvm::LogicalResult compare(const Outputs &got, Compute compute);
  ProgramDifference judge(const OutputKey &key, const nd::HostTensor &got,
                          const nd::HostTensor &expected,
                          llvm::ArrayRef<double> spread);
  mlir::Location getLocation(llvm::StringRef name);
  void describeElement(ProgramDifference &difference, nd::TensorType type,
                       int64_t element);

  std::string getPath(llvm::StringRef file) {
    return program.folder + "/" + file.str();
  }
  /// Runs the program. Returns its exit code if it is 0 or `allowed`.
  llvm::FailureOr<int> execute(std::vector<std::string> arguments,
                               int allowed = 0,
                               llvm::ArrayRef<std::string> data = {});
  llvm::LogicalResult report(llvm::Error error) {
    return steps.emitError() << llvm::toString(std::move(error));
  }

  mlir::ModuleOp steps;
  const CompiledProgram &program;
  const CompareOptions &options;
  nd::MeshAttr oneDevice;
  mlir::func::FuncOp trainStep;
  llvm::StringMap<StoredTensor> stored;
  std::vector<std::string> metrics, dataArguments;
  std::vector<Tensors> batches;
  Examples all;                     ///< of all batches
  std::vector<EvaluatedData> parts; ///< others that evaluations compare
  Tensors initialState, finalState; ///< as the program wrote them
  bool endedEarly = false;          ///< a loss is not finite
  std::string said;                 ///< by the last run of the program
  std::vector<ProgramDifference> differences;
};

/// The name; empty if there is none.
llvm::StringRef getTextName(const nd::TensorAttributes &tensor);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_PROGRAMCOMPARISON_H
