//===- ModelPlacesTest.cpp - the lines of the model that ops come from ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/ModelPlaces.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshc::nd;

namespace {

class ModelPlacesTest : public ::testing::Test {
protected:
  Location place(StringRef file, unsigned line) {
    return FileLineColLoc::get(&context, file, line, 1);
  }
  Location fuse(ArrayRef<Location> parts) {
    return FusedLoc::get(parts, Attribute(), &context);
  }
  Location name(StringRef text, Location location) {
    return NameLoc::get(StringAttr::get(&context, text), location);
  }

  /// "m:3 m:7": the places in the model's file.
  std::string describe(Location location) {
    std::string text;
    for (FileLineColLoc each : getModelPlaces(location))
      text += (text.empty() ? "" : " ") + each.getFilename().str() + ":" +
              std::to_string(each.getLine());
    return text;
  }

  MLIRContext context;
};

TEST_F(ModelPlacesTest, CallsInTheModelsFileAreInnermostFirst) {
  Location function = CallSiteLoc::get(place("m", 3), place("m", 7));
  EXPECT_EQ(describe(place("m", 3)), "m:3");
  EXPECT_EQ(describe(function), "m:3 m:7");
  EXPECT_EQ(describe(CallSiteLoc::get(place("nn", 40), function)), "m:3 m:7");
  EXPECT_EQ(describe(UnknownLoc::get(&context)), "");
}

TEST_F(ModelPlacesTest, PartsOfOneCallAreAtTheCall) {
  Location call = place("m", 7);
  Location first = CallSiteLoc::get(place("nn", 40), call);
  Location second = CallSiteLoc::get(place("nn", 41), call);
  EXPECT_EQ(describe(fuse({first, second})), "m:7");
  EXPECT_EQ(describe(name("h", fuse({second, first}))), "m:7");
  EXPECT_EQ(describe(fuse({name("mul", first), name("add", second)})), "m:7");
}

TEST_F(ModelPlacesTest, PartsOfSeveralCallsAreAtEachCall) {
  Location first = CallSiteLoc::get(place("nn", 40), place("m", 7));
  Location second = CallSiteLoc::get(place("nn", 40), place("m", 9));
  EXPECT_EQ(describe(fuse({first, second})), "m:7 m:9");
  EXPECT_EQ(describe(fuse({second, place("m", 3), first})), "m:9 m:3 m:7");
  EXPECT_EQ(describe(fuse({UnknownLoc::get(&context), second})), "m:9");
}

} // namespace
