//===- EmitGenerate.cpp - how text is generated ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmitGenerate.h"

#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Frontend/Syntax/Spelling.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

/// The value that `generate` names as the logits, a result of the model; null
/// without `generate` and after an error. The steps phase checks its dims, as
/// it does for any program. [L11.1]
Value GenerateEmitter::findLogits() {
  const syntax::GenerateDeclaration *generate = emitter.declarations.generate;
  if (!generate)
    return {};
  std::vector<std::string_view> inputs;
  for (const syntax::TensorDeclaration &input :
       emitter.declarations.model->inputs)
    inputs.push_back(input.name.text);
  const syntax::Name &tokens = generate->tokens;
  if (!llvm::is_contained(inputs, tokens.text))
    emitter
        .error(tokens.span, "model " +
                                quote(emitter.declarations.model->name.text) +
                                " has no input " + quote(tokens.text) +
                                syntax::didYouMean(tokens.text, inputs))
        .note(emitter.declarations.model->name.span,
              "the model is declared here");
  emitter.declaredDim(generate->vocab);
  emitter.declaredDim(generate->positions);
  const syntax::Name &logits = generate->logits;
  const Operand *found = emitter.findModelValue(logits);
  if (!found)
    return {};
  if (!found->value) {
    if (found->constant)
      emitter.noteOrigin(
          emitter.error(logits.span, "the logits are the constant " +
                                         quote(logits.text) +
                                         "; they depend on no token"),
          logits.span);
    else
      emitter.rejectUnusable(logits);
  }
  return found->value;
}

void GenerateEmitter::emit() {
  const syntax::GenerateDeclaration *generate = emitter.declarations.generate;
  if (!generate || !emitter.checkModel(generate->model))
    return;
  nd::GenerateOp::create(
      emitter.builder, emitter.locate(generate->span),
      StringRef(generate->model.text), StringRef(generate->tokens.text),
      StringRef(generate->logits.text), StringRef(generate->vocab.text),
      StringRef(generate->positions.text));
}
