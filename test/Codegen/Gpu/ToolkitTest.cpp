//===- ToolkitTest.cpp - where the CUDA toolkit is looked for -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/Toolkit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace meshc::codegen;

namespace {
class Toolkit : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("meshc-cuda", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string makeFile(const std::string &path, bool isProgram = false) {
    llvm::SmallString<128> full(folder);
    llvm::sys::path::append(full, path);
    llvm::sys::fs::create_directories(llvm::sys::path::parent_path(full));
    std::error_code error;
    llvm::raw_fd_ostream stream(full, error);
    EXPECT_FALSE(error);
    if (isProgram)
      EXPECT_FALSE(llvm::sys::fs::setPermissions(
          full, llvm::sys::fs::all_read | llvm::sys::fs::all_exe));
    return full.str().str();
  }

  llvm::SmallString<128> folder;
};
} // namespace

TEST_F(Toolkit, OfAFolder) {
  std::string ptxas = makeFile("cuda/bin/ptxas", true);
  std::string root = (folder + "/cuda").str();
  auto found = findCudaToolkit(root);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(found->ptxas, ptxas);
  EXPECT_EQ(found->libdevice, "");
  std::string library = makeFile("cuda/nvvm/libdevice/libdevice.10.bc");
  found = findCudaToolkit(root);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(found->libdevice, library);
}

TEST_F(Toolkit, OfTheEnvironment) {
  std::string ptxas = makeFile("home/bin/ptxas", true);
  const char *before = std::getenv("CUDA_HOME");
  std::string kept = before ? before : "";
  setenv("CUDA_HOME", (folder + "/home").str().c_str(), 1);
  auto found = findCudaToolkit("");
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(found->ptxas, ptxas);
  if (before)
    setenv("CUDA_HOME", kept.c_str(), 1);
  else
    unsetenv("CUDA_HOME");
}

TEST_F(Toolkit, ThatIsMissing) {
  makeFile("bin/ptxas"); // of no use: it cannot be run
  auto found = findCudaToolkit(folder);
  ASSERT_FALSE(bool(found));
  std::string message = llvm::toString(found.takeError());
  EXPECT_NE(message.find("'" + folder.str().str() + "' of '--cuda-path'"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("install CUDA"), std::string::npos) << message;
}
