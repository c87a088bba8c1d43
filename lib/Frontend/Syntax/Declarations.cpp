//===- Declarations.cpp - the declarations of a program -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Declarations.h"

#include "lib/Frontend/Syntax/Spelling.h"
#include "meshc/RuntimeAbi.h"

#include <algorithm>

using namespace meshc::syntax;

void Declarations::collect(const Program &whole, const Overrides &overrides) {
  program = &whole;
  incomplete = whole.incomplete;
  if (overrides.mesh)
    incomplete.axes = overrides.isMeshIncomplete;
  for (const Definition &definition : overrides.values) {
    auto [entry, isNew] = values.insert({definition.name.text, &definition});
    if (!isNew)
      diagnostics
          .error(definition.name.span,
                 quote(definition.name.text) + " is set twice")
          .note(entry->second->name.span, "first set here");
  }
  if (overrides.mesh)
    collectAxes(*overrides.mesh);
  if (overrides.layout)
    for (const LayoutRule &rule : *overrides.layout)
      rules.push_back(&rule);
  findMicroBatches(whole, overrides.isWholeBatch);
  for (const Declaration &declaration : whole.declarations) {
    if (const auto *list = std::get_if<DimDeclaration>(&declaration))
      collectDims(list->dims);
    else if (const auto *list = std::get_if<ConstantDeclaration>(&declaration))
      collectConstants(list->constants);
    else if (const auto *mesh = std::get_if<MeshDeclaration>(&declaration);
             mesh && !overrides.mesh)
      collectAxes(mesh->axes);
    else if (const auto *layout = std::get_if<LayoutDeclaration>(&declaration);
             layout && !overrides.layout)
      for (const LayoutRule &rule : layout->rules)
        rules.push_back(&rule);
    else if (const auto *function =
                 std::get_if<FunctionDeclaration>(&declaration))
      collectFunction(*function);
    else if (const auto *declared = std::get_if<ModelDeclaration>(&declaration))
      collectModel(*declared);
    else if (const auto *declared = std::get_if<TrainDeclaration>(&declaration))
      collectTrain(*declared);
    else if (const auto *declared =
                 std::get_if<GenerateDeclaration>(&declaration))
      collectGenerate(*declared);
  }
  checkValuesUsed();
}

/// [L2.4] Dims and constants share one namespace.
std::optional<Span> Declarations::findPlace(std::string_view name) const {
  if (auto dim = dims.find(name); dim != dims.end())
    return dim->second.span;
  return Module::findPlace(name);
}

std::vector<std::string_view> Declarations::declaredNames() const {
  std::vector<std::string_view> names = dimNames();
  for (std::string_view name : Module::declaredNames())
    names.push_back(name);
  return names;
}

/// [L8.3] --set gives a definition another value.
const Expr *Declarations::findValue(const Definition &definition) const {
  auto set = values.find(definition.name.text);
  return Module::findValue(set == values.end() ? definition : *set->second);
}

/// [L2.1], [L2.2]
/// Finds what `accumulate` divides, since the sizes of other dims may be
/// computed from it.
void Declarations::findMicroBatches(const Program &whole, bool isWholeBatch) {
  const ModelDeclaration *trained = nullptr;
  for (const Declaration &declaration : whole.declarations) {
    if (const auto *said = std::get_if<TrainDeclaration>(&declaration);
        said && !divisor)
      divisor = said->microBatches.get();
    if (const auto *said = std::get_if<ModelDeclaration>(&declaration);
        said && !trained)
      trained = said;
  }
  if (!divisor || !trained)
    return;
  const Name *first = nullptr;
  for (const TensorDeclaration &input : trained->inputs) {
    if (!input.dims || input.dims->empty())
      continue;
    const Name &dim = input.dims->front();
    if (first && dim.text != first->text)
      diagnostics
          .error(dim.span, "'accumulate' divides the first dim of each input, "
                           "which must be the same one; got " +
                               quote(first->text) + " and " + quote(dim.text))
          .note(first->span, "the other one is here")
          .note(divisor->span, "'accumulate' is here");
    else
      first = &dim;
  }
  if (first && !isWholeBatch)
    batchDim = first->text;
}

/// The size of a micro-batch; that of the batch after an error. [L7.7]
int64_t Declarations::divideBatch(const Definition &definition, int64_t batch) {
  std::optional<Constant> count = evaluate(*divisor, *this, diagnostics);
  if (!count)
    return batch;
  if (!count->isInteger || count->integer < 1) {
    diagnostics.error(divisor->span,
                      "the number of micro-batches must be a whole number "
                      "from 1, got " +
                          describeNotWhole(*count));
    return batch;
  }
  if (batch % count->integer) {
    diagnostics
        .error(divisor->span,
               "a batch of " + std::to_string(batch) +
                   " examples cannot be divided into " +
                   std::to_string(count->integer) +
                   " equal micro-batches; choose a number that divides dim " +
                   quote(batchDim))
        .note(definition.name.span, "the batch's dim is declared here");
    return batch;
  }
  microBatches = count->integer;
  return batch / microBatches;
}

void Declarations::collectDims(const std::vector<Definition> &list) {
  for (const Definition &definition : list) {
    if (!isNewName(definition.name))
      continue;
    std::optional<Constant> value = valueOf(definition);
    auto set = values.find(definition.name.text);
    if (value && (!value->isInteger || value->integer < 1 ||
                  value->integer > maxDimSize)) {
      const Definition &said = set == values.end() ? definition : *set->second;
      Diagnostic &error = diagnostics.error(
          said.value->span, "size of dim " + quote(definition.name.text) +
                                " must be a whole number from 1 to 2**40, "
                                "got " +
                                describeNotWhole(*value));
      if (set != values.end())
        error.note(definition.name.span, "the dim is declared here");
      value.reset();
    }
    if (value && definition.name.text == batchDim)
      value->integer = divideBatch(definition, value->integer);
    // After an error the dim gets size 1, so that its uses are not errors too.
    dims[definition.name.text] = {value ? value->integer : 1,
                                  definition.name.span, true,
                                  findValue(definition)};
  }
}

/// [L3.1]
void Declarations::collectAxes(const std::vector<Definition> &list) {
  for (const Definition &definition : list) {
    auto same = std::find_if(axes.begin(), axes.end(), [&](const AxisInfo &a) {
      return a.name == definition.name.text;
    });
    if (same != axes.end()) {
      diagnostics
          .error(definition.name.span, "mesh axis " +
                                           quote(definition.name.text) +
                                           " is already declared")
          .note(same->span, "first declared here");
      continue;
    }
    std::optional<Constant> value;
    if (definition.value)
      value = evaluate(*definition.value, *this, diagnostics);
    if (value && (!value->isInteger || value->integer < 1)) {
      diagnostics.error(definition.value->span,
                        "size of mesh axis " + quote(definition.name.text) +
                            " must be a whole number from 1, got " +
                            describeNotWhole(*value));
      value.reset();
    }
    int64_t size = value ? value->integer : 1;
    int64_t ranks = size;
    for (const AxisInfo &axis : axes)
      if (__builtin_mul_overflow(ranks, axis.size, &ranks))
        ranks = INT64_MAX;
    if (ranks > maxRanks) {
      Diagnostic &tooMany =
          diagnostics.error(definition.value->span,
                            "mesh has more than 2**24 ranks; axis " +
                                quote(definition.name.text) + " of size " +
                                std::to_string(size) + " makes it too large");
      for (const AxisInfo &axis : axes)
        if (axis.size > 1)
          tooMany.note(axis.span, "axis " + quote(axis.name) + " has size " +
                                      std::to_string(axis.size));
      size = 1;
    }
    if (axes.size() == MESHC_MAX_AXES)
      diagnostics.error(definition.name.span,
                        "mesh has more than " + std::to_string(MESHC_MAX_AXES) +
                            " axes; leave out axes of size 1");
    axes.push_back({definition.name.text, size, definition.name.span});
  }
}

/// [L6.1]
void Declarations::collectModel(const ModelDeclaration &declared) {
  if (model)
    diagnostics
        .error(declared.name.span, "a program has one model; " +
                                       quote(declared.name.text) +
                                       " is a second one")
        .note(model->name.span, "the first is declared here");
  else
    model = &declared;
}

/// [L7.1]
void Declarations::collectTrain(const TrainDeclaration &declared) {
  if (train)
    diagnostics.error(declared.span, "a program has one 'train'")
        .note(train->span, "the first is here");
  else
    train = &declared;
}

/// [L11.1]
void Declarations::collectGenerate(const GenerateDeclaration &declared) {
  if (generate)
    diagnostics.error(declared.span, "a program has one 'generate'")
        .note(generate->span, "the first is here");
  else
    generate = &declared;
}

/// [L8.3] --set may name only what the text declares.
void Declarations::checkValuesUsed() {
  if (incomplete.dims)
    return;
  std::vector<std::string_view> names = declaredNames();
  for (const auto &[name, definition] : values)
    if (std::find(names.begin(), names.end(), name) == names.end())
      noteDeclaration(
          diagnostics.error(definition->name.span,
                            "the text declares no dim or constant " +
                                quote(name) + didYouMean(name, names)),
          nearestName(name, names));
}

std::vector<std::string_view> Declarations::dimNames() const {
  std::vector<std::string_view> names;
  for (const auto &entry : dims)
    names.push_back(entry.first);
  return names;
}

const DimInfo *Declarations::dim(const Name &name) {
  auto found = dims.find(name.text);
  if (found != dims.end())
    return &found->second;
  if (!incomplete.dims)
    noteDeclaration(
        diagnostics.error(name.span, "unknown dim " + quote(name.text) +
                                         didYouMean(name.text, dimNames())),
        nearestName(name.text, dimNames()));
  return nullptr;
}

bool Declarations::introduceDim(const Name &name, int64_t size) {
  auto [entry, isNew] =
      dims.insert({name.text, {size, name.span, false, nullptr}});
  if (isNew || entry->second.size == size)
    return true;
  diagnostics
      .error(name.span, "dim " + quote(name.text) + " would have size " +
                            std::to_string(size) + ", but its size is " +
                            std::to_string(entry->second.size))
      .note(entry->second.span,
            entry->second.isDeclared ? "declared here" : "introduced here");
  return false;
}

std::optional<Constant> Declarations::constant(const Name &name) {
  if (auto found = dims.find(name.text); found != dims.end())
    return Constant::whole(found->second.size);
  return Module::constant(name);
}

std::optional<Constant> Declarations::dimSize(const Name &name) {
  if (const DimInfo *found = dim(name))
    return Constant::whole(found->size);
  return std::nullopt;
}
