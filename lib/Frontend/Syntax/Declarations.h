//===- Declarations.h - the declarations of a program ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_DECLARATIONS_H
#define MESHC_FRONTEND_SYNTAX_DECLARATIONS_H

#include "lib/Frontend/Syntax/Constant.h"

#include <map>

namespace meshc::syntax {

/// Command-line options that replace parts of the text. [L8]
struct Overrides {
  std::optional<std::vector<Definition>> mesh;   ///< --mesh: all axes
  std::optional<std::vector<LayoutRule>> layout; ///< --layout: all rules
  std::vector<Definition> values; ///< --set: sizes of dims, constants
  bool isMeshIncomplete = false;  ///< --mesh has a parse error
};

/// The size of a dim, the place that sets it, and whether that is a `dim`
/// declaration or an operation such as rename. [L2.5]
struct DimInfo {
  int64_t size = 0;
  Span span;
  bool isDeclared = true;
};

struct ConstantInfo {
  Constant value;
  Span span;
};

struct AxisInfo {
  std::string_view name;
  int64_t size = 0;
  Span span;
};

/// The declarations of a program, checked and evaluated. Maps are ordered by
/// name, so that everything built from them is deterministic.
class Declarations : public ConstantScope {
public:
  explicit Declarations(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  /// The greatest size of a dim, and the most ranks of a mesh. [L2.2], [L3.1]
  static constexpr int64_t maxDimSize = int64_t(1) << 40;
  static constexpr int64_t maxRanks = int64_t(1) << 24;

  /// Collects the declarations of a program; continues after errors.
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
  void noteDeclaration(Diagnostic &diagnostic,
                       std::string_view name) const override;

  std::map<std::string_view, DimInfo> dims;
  std::map<std::string_view, ConstantInfo> constants;
  std::vector<AxisInfo> axes;
  std::map<std::string_view, const FunctionDeclaration *> functions;
  const ModelDeclaration *model = nullptr;
  const TrainDeclaration *train = nullptr;
  Incomplete incomplete;

private:
  void collectDims(const std::vector<Definition> &list);
  void collectConstants(const std::vector<Definition> &list);
  bool isNewName(const Name &name);
  std::optional<Constant> valueOf(const Definition &definition);
  void collectAxes(const std::vector<Definition> &list);
  void collectFunction(const FunctionDeclaration &function);
  void collectModel(const ModelDeclaration &declared);
  void collectTrain(const TrainDeclaration &declared);
  void checkValuesUsed();
  /// Where the whole program declares a dim or constant, read so far or not;
  /// null if it does not.
  const Name *findLater(std::string_view name) const;
  bool checkRule(const LayoutRule &rule, const std::vector<Name> &tensors);
  bool checkScope(const LayoutRule &rule, const std::vector<Name> &tensors);
  bool checkAxes(const LayoutRule &rule);

  Diagnostics &diagnostics;
  std::map<std::string_view, const Definition *> values;
  std::vector<const LayoutRule *> rules;
  const Program *program = nullptr;
};

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_DECLARATIONS_H
