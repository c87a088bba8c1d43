//===- Layout.cpp - the checks of a layout's rules ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Declarations.h"
#include "lib/Frontend/Syntax/Spelling.h"

#include <algorithm>
#include <map>

using namespace meshc::syntax;

/// The classes of tensors that a rule's scope may name. [L3.3]
static constexpr std::string_view classScopes[] = {"parameter", "gradient",
                                                   "optimizer", "activation"};

std::vector<const LayoutRule *>
Declarations::checkLayout(const std::vector<Name> &tensors) {
  std::vector<const LayoutRule *> applying;
  std::map<std::pair<std::string_view, std::string_view>, Span> seen;
  for (const LayoutRule *rule : rules) {
    if (!checkRule(*rule, tensors))
      continue;
    std::string_view scope;
    if (rule->scope)
      scope = rule->scope->text;
    auto [entry, isNew] = seen.insert({{scope, rule->dim.text}, rule->span});
    if (isNew) {
      applying.push_back(rule);
      continue;
    }
    // [L3.6]
    diagnostics
        .error(rule->span, "dim " + quote(rule->dim.text) +
                               " has a second rule" +
                               (rule->scope ? " in scope " + quote(scope) : ""))
        .note(entry->second, "the first rule is here; list several axes in one "
                             "rule, as in dim -> (axis, axis)");
  }
  return applying;
}

/// Whether the rule applies; if not, reports it unless it is optional.
bool Declarations::checkRule(const LayoutRule &rule,
                             const std::vector<Name> &tensors) {
  // [L3.4]
  bool hasDim = dims.count(rule.dim.text) != 0;
  if (!hasDim && !rule.isOptional && !incomplete.dims)
    noteDeclaration(
        diagnostics.error(rule.dim.span,
                          "layout names dim " + quote(rule.dim.text) +
                              ", which the program does not have" +
                              didYouMean(rule.dim.text, dimNames()) +
                              " (a rule that may not apply is written with "
                              "'->?')"),
        nearestName(rule.dim.text, dimNames()));
  bool hasScope = checkScope(rule, tensors);
  return checkAxes(rule) && hasDim && hasScope;
}

/// The tensor that an unknown scope may mean: the parameter of a loop or
/// function whose name ends with it, or the tensor called `nearest`.
static std::vector<Name>::const_iterator
findNear(std::string_view scope, const std::vector<Name> &tensors,
         std::string_view nearest) {
  auto inner =
      std::find_if(tensors.begin(), tensors.end(), [&](const Name &tensor) {
        return tensor.text.ends_with("." + std::string(scope));
      });
  if (inner != tensors.end())
    return inner;
  return std::find_if(tensors.begin(), tensors.end(), [&](const Name &tensor) {
    return tensor.text == nearest;
  });
}

/// [L3.3]
bool Declarations::checkScope(const LayoutRule &rule,
                              const std::vector<Name> &tensors) {
  if (!rule.scope)
    return true;
  std::string_view scope = rule.scope->text;
  std::vector<std::string_view> known(std::begin(classScopes),
                                      std::end(classScopes));
  for (const Name &tensor : tensors)
    known.push_back(tensor.text);
  if (std::find(known.begin(), known.end(), scope) != known.end())
    return true;
  if (rule.isOptional)
    return false;
  auto near = findNear(scope, tensors, nearestName(scope, known));
  std::string hint = near == tensors.end()
                         ? didYouMean(scope, known)
                         : "; did you mean " + quote(near->text) + "?";
  Diagnostic &unknown = diagnostics.error(
      rule.scope->span, "scope " + quote(scope) +
                            " is neither a class of tensors (parameter, "
                            "gradient, optimizer, activation) nor a tensor of "
                            "the model" +
                            hint);
  if (near != tensors.end())
    unknown.note(near->span, quote(near->text) + " is defined here");
  return false;
}

/// [L3.4], [L3.5]
bool Declarations::checkAxes(const LayoutRule &rule) {
  std::vector<std::string_view> known;
  for (const AxisInfo &axis : axes)
    known.push_back(axis.name);
  std::map<std::string_view, Span> used;
  bool ok = true;
  for (const Name &axis : rule.axes) {
    auto [first, isNew] = used.insert({axis.text, axis.span});
    if (!isNew) {
      diagnostics
          .error(axis.span, "mesh axis " + quote(axis.text) +
                                " stands twice in the rule of dim " +
                                quote(rule.dim.text))
          .note(first->second, "first named here");
      ok = false;
    }
    if (std::find(known.begin(), known.end(), axis.text) != known.end())
      continue;
    ok = false;
    if (rule.isOptional || incomplete.axes)
      continue;
    if (axes.empty()) {
      diagnostics.error(
          axis.span, "layout names mesh axis " + quote(axis.text) +
                         ", but there is no mesh; declare one, as in 'mesh " +
                         std::string(axis.text) + " = 2' or --mesh " +
                         std::string(axis.text) + "=2");
      continue;
    }
    Diagnostic &unknown = diagnostics.error(
        axis.span, "layout names mesh axis " + quote(axis.text) +
                       ", which the mesh does not have" +
                       didYouMean(axis.text, known) +
                       " (a rule that may not apply is written with '->?')");
    unknown.note(axes.front().span, "the mesh is declared here");
  }
  return ok;
}
