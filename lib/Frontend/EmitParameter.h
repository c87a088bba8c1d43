//===- EmitParameter.h - parameters and their names -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMITPARAMETER_H
#define MESHC_FRONTEND_EMITPARAMETER_H

#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Frontend/OpEmitter.h"

namespace meshc::frontend {

class Emitter;

/// The names of parameters in the program: the calls and loops around a
/// parameter, and its own name. [L4.9]
class ParameterNames {
public:
  explicit ParameterNames(Emission &emission) : emission(emission) {}

  /// The current place enters a call or loop, which names a function or dim.
  void enter(std::string_view name, syntax::Span span) {
    path.push_back({name, span, {}});
  }
  void leave() { path.pop_back(); }
  /// The name of a parameter at the current place; null after an error.
  mlir::StringAttr make(const syntax::Name &name);

private:
  /// A call or loop around the current place.
  struct Part {
    std::string_view name; ///< of the function or dim
    syntax::Span span;
    std::string path; ///< the whole path; empty until a parameter needs it
  };

  std::string makePath(const std::string &text, syntax::Span span);

  Emission &emission;
  std::vector<Part> path;
  /// Names of parameters and paths to them, and their places.
  std::map<std::string, syntax::Span> paths;
  std::map<std::string, unsigned> numbers; ///< the last one tried, by path
};

/// Emits parameters with their initial values.
class ParameterEmitter {
public:
  explicit ParameterEmitter(Emitter &emitter) : emitter(emitter) {}

  /// [L6.2], [L4.8] Parameters are ops of the model, outside of all loops.
  void emit(const syntax::ParamStatement &param);

private:
  bool declareParameter(const syntax::Name &name);
  nd::TensorType parameterType(const syntax::TensorDeclaration &tensor);
  nd::TensorType stackType(nd::TensorType declared, syntax::Span at);
  // Initializer.cpp
  void emitInitializer(const syntax::ParamStatement &param,
                       nd::ParameterOp parameter, nd::TensorType declared);

  Emitter &emitter;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMITPARAMETER_H
