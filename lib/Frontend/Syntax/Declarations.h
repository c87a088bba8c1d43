//===- Declarations.h - the declarations of a program ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_DECLARATIONS_H
#define MESHC_FRONTEND_SYNTAX_DECLARATIONS_H

#include "lib/Frontend/Syntax/Module.h"

namespace meshc::syntax {

/// Command-line options that replace parts of the text. [L8]
struct Overrides {
  std::optional<std::vector<Definition>> mesh;   ///< --mesh: all axes
  std::optional<std::vector<LayoutRule>> layout; ///< --layout: all rules
  std::vector<Definition> values; ///< --set: sizes of dims, constants
  bool isMeshIncomplete = false;  ///< --mesh has a parse error
  bool isWholeBatch = false;      ///< `accumulate` divides nothing
};

/// The size of a dim, the place that sets it, and whether that is a `dim`
/// declaration or an operation such as rename. [L2.5]
struct DimInfo {
  int64_t size = 0;
  Span span;
  bool isDeclared = true;
  const Expr *value = nullptr; ///< what a declaration computes it from
};

struct AxisInfo {
  std::string_view name;
  int64_t size = 0;
  Span span;
};

/// The declarations of the model's file, checked and evaluated. Dims are those
/// of the whole program.
class Declarations : public Module {
public:
  using Module::Module;

  /// The greatest size of a dim, and the most ranks of a mesh. [L2.2], [L3.1]
  static constexpr int64_t maxDimSize = int64_t(1) << 40;
  static constexpr int64_t maxRanks = int64_t(1) << 24;

  /// Collects the declarations of the file, whose imports must be known;
  /// continues after errors.
  void collect(const Program &program, const Overrides &overrides);

  /// The layout's rules that apply, with known dims and axes; reports the
  /// others. To be called after the bodies are read, since they may introduce
  /// dims. `tensors` are the names that may be a rule's scope. [L3.2]-[L3.6]
  std::vector<const LayoutRule *> checkLayout(const std::vector<Name> &tensors);

  /// The size of a dim, or null after an error with a hint.
  const DimInfo *dim(const Name &name);
  /// Introduces a dim by an operation, or compares its size if the dim is
  /// known; false after an error. `name` must outlive this. [L2.5]
  bool introduceDim(const Name &name, int64_t size);
  std::vector<std::string_view> dimNames() const;

  std::optional<Constant> constant(const Name &name) override;
  std::optional<Constant> dimSize(const Name &name) override;

  std::map<std::string_view, DimInfo> dims;
  std::vector<AxisInfo> axes;
  const ModelDeclaration *model = nullptr;
  const TrainDeclaration *train = nullptr;
  const GenerateDeclaration *generate = nullptr;
  /// Into how many micro-batches a step divides its batch. The batch's dim, the
  /// first of each input, has the size of a micro-batch in `dims`. [L7.7]
  int64_t microBatches = 1;

private:
  std::optional<Span> findPlace(std::string_view name) const override;
  std::vector<std::string_view> declaredNames() const override;
  const Expr *findValue(const Definition &definition) const override;

  void findMicroBatches(const Program &whole, bool isWholeBatch);
  int64_t divideBatch(const Definition &definition, int64_t batch);
  void collectDims(const std::vector<Definition> &list);
  void collectAxes(const std::vector<Definition> &list);
  void collectModel(const ModelDeclaration &declared);
  void collectTrain(const TrainDeclaration &declared);
  void collectGenerate(const GenerateDeclaration &declared);
  void checkValuesUsed();
  bool checkRule(const LayoutRule &rule, const std::vector<Name> &tensors);
  bool checkScope(const LayoutRule &rule, const std::vector<Name> &tensors);
  bool checkAxes(const LayoutRule &rule);

  std::map<std::string_view, const Definition *> values;
  const Expr *divisor = nullptr; ///< of `accumulate`
  std::string_view batchDim;     ///< that it divides; empty for none
  std::vector<const LayoutRule *> rules;
};

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_DECLARATIONS_H
