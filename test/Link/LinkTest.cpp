//===- LinkTest.cpp - executables, and what can go wrong ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Link/Link.h"
#include "dialects/Exec/Exec.h"
#include "lib/Codegen/Program.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <gtest/gtest.h>

using namespace meshc;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

/// y = relu(x·w + c), its column sums, and the gradient step w -= g: a product,
/// row kernels and a column reduction on one arena.
static constexpr const char *programText = R"(
module attributes {nd.mesh = #nd.mesh<data = 1>, exec.arena_bytes = 1024 : i64} {
  exec.tensor "w" parameter ["i", "h"] at 0 : !exec.buffer<!nd.tensor<f32, [h = 8, i = 4]>, ["i", "h"]>
  exec.tensor "c" parameter ["h"] at 128 : !exec.buffer<!nd.tensor<f32, [h = 8]>, ["h"]>
  exec.tensor "x" input ["b", "i"] at 192 : !exec.buffer<!nd.tensor<f32, [b = 6, i = 4]>, ["b", "i"]>
  exec.tensor "total" metric [] at 704 : !exec.buffer<!nd.tensor<f32, []>, []>
  exec.kernel @fill #exec.plan<parallel = ["i", "h"], reduce = [], lanes = "h", sizes = [4, 8]>
      in [] out [["i", "h"]] {
    %0 = nd.constant 0.5 : f32 -> !nd.tensor<f32, [h = 8, i = 4]>
    exec.yield %0 : !nd.tensor<f32, [h = 8, i = 4]>
  }
  exec.kernel @relu #exec.plan<parallel = ["b", "h"], reduce = [], lanes = "h", sizes = [6, 8]>
      in [["b", "h"], ["h"]] out [["b", "h"]] {
  ^bb0(%p: !nd.tensor<f32, [b = 6, h = 8]>, %c: !nd.tensor<f32, [h = 8]>):
    %0 = nd.add %p, %c : (!nd.tensor<f32, [b = 6, h = 8]>, !nd.tensor<f32, [h = 8]>) -> !nd.tensor<f32, [b = 6, h = 8]>
    %1 = nd.relu %0 : (!nd.tensor<f32, [b = 6, h = 8]>) -> !nd.tensor<f32, [b = 6, h = 8]>
    exec.yield %1 : !nd.tensor<f32, [b = 6, h = 8]>
  }
  exec.kernel @total_of #exec.plan<parallel = [], reduce = ["b", "h"], lanes = "h", sizes = [6, 8]>
      in [["b", "h"]] out [[]] {
  ^bb0(%y: !nd.tensor<f32, [b = 6, h = 8]>):
    %0 = nd.reduce_sum %y {dims = ["b", "h"]} : (!nd.tensor<f32, [b = 6, h = 8]>) -> !nd.tensor<f32, []>
    exec.yield %0 : !nd.tensor<f32, []>
  }
  exec.func @initialize {
    %w = exec.buffer at 0 : !exec.buffer<!nd.tensor<f32, [h = 8, i = 4]>, ["i", "h"]>
    exec.launch @fill() -> (%w) : () -> !exec.buffer<!nd.tensor<f32, [h = 8, i = 4]>, ["i", "h"]>
  }
  exec.func @eval_step {
    %w = exec.buffer at 0 : !exec.buffer<!nd.tensor<f32, [h = 8, i = 4]>, ["i", "h"]>
    %c = exec.buffer at 128 : !exec.buffer<!nd.tensor<f32, [h = 8]>, ["h"]>
    %x = exec.buffer at 192 : !exec.buffer<!nd.tensor<f32, [b = 6, i = 4]>, ["b", "i"]>
    %p = exec.buffer at 320 : !exec.buffer<!nd.tensor<f32, [b = 6, h = 8]>, ["b", "h"]>
    %t = exec.buffer at 704 : !exec.buffer<!nd.tensor<f32, []>, []>
    exec.gemm %x, %w -> %p [6, 8, 4, 4, 8, 8, 1, 0, 0, 0] : !exec.buffer<!nd.tensor<f32, [b = 6, i = 4]>, ["b", "i"]>, !exec.buffer<!nd.tensor<f32, [h = 8, i = 4]>, ["i", "h"]> -> !exec.buffer<!nd.tensor<f32, [b = 6, h = 8]>, ["b", "h"]>
    exec.launch @relu(%p, %c) -> (%p) : (!exec.buffer<!nd.tensor<f32, [b = 6, h = 8]>, ["b", "h"]>, !exec.buffer<!nd.tensor<f32, [h = 8]>, ["h"]>) -> !exec.buffer<!nd.tensor<f32, [b = 6, h = 8]>, ["b", "h"]>
    exec.launch @total_of(%p) -> (%t) : (!exec.buffer<!nd.tensor<f32, [b = 6, h = 8]>, ["b", "h"]>) -> !exec.buffer<!nd.tensor<f32, []>, []>
  }
})";

namespace {
class Link : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("meshc-link", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string inFolder(StringRef name) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }
  unsigned countFiles() {
    std::error_code error;
    unsigned count = 0;
    for (llvm::sys::fs::directory_iterator file(folder, error), end;
         !error && file != end; file.increment(error))
      ++count;
    return count;
  }
  static SmallVector<char> makeObject() {
    mlir::MLIRContext context;
    context.loadDialect<nd::NdDialect, exec::ExecDialect>();
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>(programText, &context);
    EXPECT_TRUE(module);
    codegen::ProgramOptions options;
    options.name = "tiny";
    options.manifest = "{\"model\": \"tiny\"}";
    auto program = codegen::Program::generate(*module, options);
    EXPECT_TRUE(succeeded(program));
    SmallVector<char> object;
    llvm::cantFail((*program)->emit(llvm::CodeGenFileType::ObjectFile, object));
    return object;
  }

  llvm::SmallString<128> folder;
};
} // namespace

TEST_F(Link, MakesAnExecutableThatRuns) {
  std::string output = inFolder("tiny"), log = inFolder("log");
  llvm::Error error = link::linkProgram(makeObject(), output);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  EXPECT_EQ(countFiles(), 1u);
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(output, {output, "info"}, std::nullopt,
                                         redirects);
  auto text = llvm::MemoryBuffer::getFile(log);
  ASSERT_TRUE(bool(text));
  EXPECT_EQ(status, 0) << (*text)->getBuffer().str();
  EXPECT_TRUE((*text)->getBuffer().contains("tiny"))
      << (*text)->getBuffer().str();
}

TEST_F(Link, SaysWhatIsMissing) {
  link::LinkOptions options;
  options.runtime = inFolder("none.a");
  std::string text =
      llvm::toString(link::linkProgram({}, inFolder("out"), options));
  EXPECT_NE(text.find("there is no runtime at"), std::string::npos) << text;
  options = {};
  options.driver = "no-such-compiler";
  text = llvm::toString(link::linkProgram({}, inFolder("out"), options));
  EXPECT_EQ(text, "there is no linker driver 'no-such-compiler'");
  EXPECT_EQ(countFiles(), 0u);
}

TEST_F(Link, LeavesNothingBehindWhereTheLinkerFails) {
  StringRef nonsense = "this is not an object";
  std::string text = llvm::toString(link::linkProgram(
      ArrayRef(nonsense.data(), nonsense.size()), inFolder("out")));
  EXPECT_NE(text.find("failed:\n"), std::string::npos) << text;
  EXPECT_EQ(countFiles(), 0u);
}

TEST_F(Link, SaysWhereItCannotWrite) {
  std::string output = inFolder("absent/out");
  std::string text = llvm::toString(link::linkProgram({}, output));
  EXPECT_EQ(text, "cannot write '" + output + "': No such file or directory");
  text = llvm::toString(link::writeFile(output, {}));
  EXPECT_EQ(text, "cannot write '" + output + "': No such file or directory");
}

TEST_F(Link, CreatesTheTargetOfALink) {
  std::string output = inFolder("link");
  ASSERT_FALSE(llvm::sys::fs::create_link("file", output));
  StringRef bytes = "content";
  llvm::Error error =
      link::writeFile(output, ArrayRef(bytes.data(), bytes.size()));
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  auto text = llvm::MemoryBuffer::getFile(inFolder("file"));
  ASSERT_TRUE(bool(text));
  EXPECT_EQ((*text)->getBuffer(), bytes);
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(output));
}

TEST_F(Link, WritesAFileWhole) {
  std::string output = inFolder("file");
  StringRef first = "first", second = "2nd";
  for (StringRef bytes : {first, second}) {
    llvm::Error error =
        link::writeFile(output, ArrayRef(bytes.data(), bytes.size()));
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    auto text = llvm::MemoryBuffer::getFile(output);
    ASSERT_TRUE(bool(text));
    EXPECT_EQ((*text)->getBuffer(), bytes);
  }
  EXPECT_EQ(countFiles(), 1u);
}
