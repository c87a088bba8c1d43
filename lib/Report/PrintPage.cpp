//===- PrintPage.cpp - the report as a page for browsers ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Report.h"
#include "llvm/ADT/StringRef.h"

namespace meshc::report {

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
static constexpr char page[] = {
#embed "page.html"
};
#pragma clang diagnostic pop

/// JSON that may stand in a <script>: no text in it can end the element.
static std::string quoteForScript(const Json &data) {
  std::string quoted;
  for (char c : toText(data))
    if (c == '<')
      quoted += "\\u003c";
    else
      quoted += c;
  return quoted;
}

std::string makePage(const Json &report, llvm::StringRef source,
                     llvm::StringRef model) {
  auto [before, after] = llvm::StringRef(page, sizeof(page)).split("@DATA@");
  Json data = {
      {"model", model.str()}, {"source", source.str()}, {"report", report}};
  return (before + quoteForScript(data) + after).str();
}

} // namespace meshc::report
