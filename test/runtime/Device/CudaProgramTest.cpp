//===- CudaProgramTest.cpp - programs for GPUs, as a user runs them -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The program that test/runtime/Commands runs on the host, run by the CUDA
/// plugin on fake libraries, whose GPUs are as late and as disordered as real
/// ones may be: it must produce the same bytes. Also the program's messages if
/// there is no GPU.
///
//===----------------------------------------------------------------------===//
#include "test/runtime/Commands/TraceFile.h"
#include "test/runtime/Device/Libraries/FakeImage.h"

using namespace meshc::test;

/// Tests of traces need CUPTI's headers at the build.
#define NEEDS_CUPTI                                                            \
  if (!HAS_CUPTI)                                                              \
  GTEST_SKIP() << "there was no CUDA toolkit with CUPTI at the build"

namespace {

/// A setting of the fake: its GPUs, and the seed of its order.
std::string fake(int gpus, int seed) {
  return "env " ON_FAKES " FAKE_CUDA_GPUS=" + std::to_string(gpus) +
         " FAKE_CUDA_SEED=" + std::to_string(seed) + " ";
}

void expectIn(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "no '" << part << "' in: " << text;
}

/// The values of a log, without times.
std::string withoutTimes(const std::string &log) {
  std::istringstream lines(log);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    kept += line.substr(0, line.find(",\"examples_per_second\"")) + "\n";
  return kept;
}

/// After fake(): NCCL and CUPTI cannot be opened.
const std::string broken = "LD_LIBRARY_PATH=" BROKEN_LIBRARIES " ";

/// One rank; ranks that share a GPU; a GPU for each, by NCCL.
struct Setting {
  std::string mesh;
  int gpus;
};
const Setting settings[] = {{"1x1", 1}, {"2x2", 1}, {"2x2", 4}};

} // namespace

TEST(CudaProgram, trainsToTheBytesOfTheHost) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const Setting &setting : settings) {
    auto command = [&](const std::string &program, const std::string &name) {
      return line(program + setting.mesh) +
             " train --quiet --steps 23 --save-every 7 --overwrite "
             "--eval-every 5 --seed 4 "
             "--eval-data x=" +
             folder.file("x.npy") +
             " --eval-data target=" + folder.file("y.npy") + " --checkpoint " +
             folder.file(name) + " --log " + folder.file(name + ".log") + data;
    };
    Outcome host = run(command("", "host"));
    ASSERT_EQ(host.code, 0) << host.err;
    for (int seed = 1; seed <= 6; ++seed) {
      Outcome cuda = run(fake(setting.gpus, seed) + command("cuda_", "cuda"));
      ASSERT_EQ(cuda.code, 0) << cuda.err;
      EXPECT_EQ(cuda.out, host.out);
      EXPECT_EQ(readFile(folder.file("cuda")), readFile(folder.file("host")))
          << setting.mesh << " on " << setting.gpus << ", seed " << seed;
      EXPECT_EQ(withoutTimes(readFile(folder.file("cuda.log"))),
                withoutTimes(readFile(folder.file("host.log"))));
    }
  }
}

/// What LineProgram writes after `text`, up to its last position.
static std::string goOn(std::string text) {
  while (text.size() < 17) {
    size_t sum = 0;
    for (size_t p = 0; p < text.size(); ++p)
      sum += (p + 1) * static_cast<size_t>(text[p]);
    text += static_cast<char>('a' + sum % 26);
  }
  return text;
}

/// Steps of single positions and of blocks, eager, captured and replayed; and
/// caches that change places with their texts, also between ranks.
TEST(CudaProgram, generatesTheTextOfTheHost) {
  Folder folder;
  std::string weights = folder.file("weights");
  ASSERT_EQ(run(line("1x1") + " train --quiet --steps 1 --checkpoint " +
                weights + writeLineData(folder))
                .code,
            0);
  // 15 and 12 bytes: of 11 known positions the first 8 come in two blocks.
  const std::string greedy = " --greedy --prompt abcdefghijklmno "
                             "--prompt zyxwvutsrqpo",
                    shorter = " --greedy --prompt ab",
                    beams = " --beams 2 --prompt onmlkjihgfed";
  for (const Setting &setting : settings) {
    auto generate = [&](const std::string &program, const std::string &what) {
      Outcome outcome = run(program + setting.mesh + " generate --quiet " +
                            "--threads 1 --weights " + weights + what);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      return outcome.out;
    };
    std::string searched = generate(line(""), beams);
    EXPECT_EQ(searched.substr(0, 12), "onmlkjihgfed");
    const std::string wanted =
        goOn("abcdefghijklmno") + "\n" + goOn("zyxwvutsrqpo") + "\n";
    EXPECT_EQ(generate(line(""), greedy), wanted);
    for (int seed = 1; seed <= 4; ++seed) {
      std::string cuda = fake(setting.gpus, seed) + line("cuda_");
      EXPECT_EQ(generate(cuda, greedy), wanted);
      EXPECT_EQ(generate(cuda, shorter), goOn("ab") + "\n");
      EXPECT_EQ(generate(cuda, beams), searched);
    }
  }
}

TEST(CudaProgram, resumesToTheBit) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const Setting &setting : settings) {
    auto train = [&](int seed, const std::string &options) {
      Outcome outcome =
          run(fake(setting.gpus, seed) + line("cuda_" + setting.mesh) +
              " train --quiet " + options + data);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
    };
    std::string whole = folder.file("whole"), parts = folder.file("parts");
    train(1, "--steps 19 --checkpoint " + whole);
    train(2, "--steps 8 --overwrite --checkpoint " + parts);
    train(3, "--steps 19 --resume --checkpoint " + parts);
    EXPECT_EQ(readFile(whole), readFile(parts));
    std::string eval = " eval --checkpoint " + whole + data;
    EXPECT_EQ(
        run(fake(setting.gpus, 4) + line("cuda_" + setting.mesh) + eval).out,
        run(line(setting.mesh) + eval).out);
  }
}

/// The device is a step ahead; reports and checkpoints are not.
TEST(CudaProgram, stopsAtABadLoss) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const Setting &setting : settings) {
    Outcome outcome =
        run("env LINE_NAN=9 " + fake(setting.gpus, 1) +
            line("cuda_" + setting.mesh) +
            " train --quiet --steps 30 --save-every 5 --checkpoint " +
            folder.file("c") + data);
    EXPECT_EQ(outcome.code, 7) << outcome.err;
    expectIn(outcome.err, "the loss of step 10 is not a number: the first NaN "
                          "is in 'loss', which kernel 'update' computes at "
                          "line.mesh:9:1");
    expectIn(outcome.err, "of step 5");
    outcome =
        run("env LINE_SPOIL=2 " + fake(setting.gpus, 1) +
            line("cuda_" + setting.mesh) +
            " train --quiet --steps 3 --checkpoint " + folder.file("d") + data);
    EXPECT_EQ(outcome.code, 7) << outcome.err;
    expectIn(outcome.err, "parameter 'w' is not finite after step 3");
  }
}

/// Each step is looked at, and its update taken back on the GPU.
TEST(CudaProgram, skipsUpdatesThatAreNotFinite) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const Setting &setting : settings) {
    auto train = [&](const std::string &program, const std::string &name) {
      return run("env LINE_INF=0:5 " + fake(setting.gpus, 1) +
                 line(program + setting.mesh) +
                 " train --quiet --steps 12 --on-nonfinite skip --checkpoint " +
                 folder.file(name) + data);
    };
    Outcome outcome = train("cuda_", "gpu");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    expectIn(outcome.err, "the update of step 6 is skipped, as it is not "
                          "finite: the first infinite value is in 'y', which "
                          "kernel 'subtract' computes at line.mesh:6:3");
    expectIn(outcome.out, "skipped the updates of 1 of 12 steps");
    EXPECT_EQ(train("", "host").code, 0);
    EXPECT_EQ(readFile(folder.file("gpu")), readFile(folder.file("host")));
  }
}

/// A rank that fails ends the others, which wait for it on their GPUs.
TEST(CudaProgram, endsWhereARankFails) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (int gpus : {1, 4}) {
    Outcome outcome =
        run("env LINE_THROW=2:1 " + fake(gpus, 1) + line("cuda_2x2") +
            " train --quiet --steps 30" + data);
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    expectIn(outcome.err, "rank 2 failed: asked to fail");
  }
}

/// Other chips may choose other algorithms, which round differently.
TEST(CudaProgram, wantsGpusOfOneKind) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("c");
  Outcome outcome =
      run("env FAKE_CUDA_OTHER_GPU=2 " + fake(4, 1) + line("cuda_2x2") +
          " train --quiet --steps 3 --checkpoint " + file + data);
  expectError(outcome, 10,
              "line: error: the ranks disagree: the GPU is 'fake (sm_90)' on "
              "ranks 0, 1, 3 and 'other (sm_90)' on rank 2; run all ranks on "
              "GPUs of one kind");
  EXPECT_NE(access(file.c_str(), F_OK), 0);
}

/// Errors that NCCL reports late, and operations that it never finishes.
TEST(CudaProgram, namesTheCollectiveThatFails) {
  Folder folder;
  std::string train =
      line("cuda_2x2") + " train --quiet --steps 30" + writeLineData(folder);
  Outcome outcome = run("env FAKE_CUDA_NCCL_FAILS=1 " + fake(4, 1) + train);
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  expectIn(outcome.err, " at line.mesh:");
  expectIn(outcome.err, "): NCCL: remote process exited");
  outcome =
      run("env FAKE_CUDA_NCCL_HANGS=1 MESHC_TIMEOUT=1 " + fake(4, 1) + train);
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  expectIn(outcome.err, " at line.mesh:");
  expectIn(outcome.err,
           "waited for the other ranks longer than MESHC_TIMEOUT, 1 s");
}

/// A kernel that never ends is waited for as long as another rank is.
TEST(CudaProgram, namesWhatTheGpuDoesNotFinish) {
  Folder folder;
  std::string train = " train --quiet --steps 30" + writeLineData(folder);
  auto ends = [&](const std::string &mesh, const std::string &part) {
    Outcome outcome = run("env FAKE_CUDA_ENDLESS=sum MESHC_TIMEOUT=1 " +
                          fake(1, 1) + line("cuda_" + mesh) + train);
    EXPECT_EQ(outcome.code, 6) << outcome.err;
    expectIn(outcome.err, part);
    expectIn(outcome.err, " for longer than MESHC_TIMEOUT, 1 s\n");
  };
  ends("1x1", "line: error: the GPU has not finished a step");
  ends("2x2", "the GPU has not finished what comes before line.mesh:");
}

TEST(CudaProgram, tellsWhatMemoryItTakes) {
  Folder folder;
  std::string data = writeLineData(folder);
  Outcome info = run(line("cuda_2x2") + " info");
  EXPECT_EQ(info.code, 0);
  expectIn(info.out, "GPU code for sm_90\n");
  expectIn(info.out, "  arena 6272 bytes\n");
  expectIn(info.out,
           "  workspace of matrix products 33554432 bytes (32.0 MiB)");
  Outcome train = run(fake(4, 1) + line("cuda_2x2") +
                      " train --quiet --steps 3 --memory" + data);
  EXPECT_EQ(train.code, 0) << train.err;
  // What the fake allocates when six kernels and groups along two axes are
  // first used, and its two coordinates.
  expectIn(train.out, "device memory of rank 0: ");
  expectIn(train.out, " + code, graphs and NCCL " +
                          std::to_string(6 * meshc::fake::kernelBytes +
                                         2 * meshc::fake::groupBytes + 16) +
                          "\n");
  EXPECT_EQ(run(fake(1, 1) + line("cuda_1x1") +
                " train --quiet --steps 3 --matmul tf32" + data)
                .code,
            0);
}

//===----------------------------------------------------------------------===//
// Traces. The fake's times: 20 us for a kernel, 30 and 10 for a product, 5 for
// a copy, 40 for NCCL's, and 2 between them.
//===----------------------------------------------------------------------===//

/// One copy of two inputs and one of two metrics, five kernels and a product:
/// 150 us and nine gaps. The first gap of the first step is before it.
TEST(CudaProgram, tracesSteps) {
  NEEDS_CUPTI;
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("t.json");
  std::string train = " train --quiet --steps 20 --trace " + file + data;
  Outcome outcome = run(fake(1, 3) + line("cuda_1x1") + train);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expectIn(outcome.out, "step                     167.6 us 100.00 %\n"
                        "inside kernels           150.0 us  89.50 %\n"
                        "outside kernels           17.6 us  10.50 %\n");
  EXPECT_EQ(
      findLine(outcome.out, "product 8 x 1 x 6 f32, line.mesh:5:7"),
      "      1         40.0   23.87       0.0080       0.0001        0.2  "
      "      2.4  product 8 x 1 x 6 f32, line.mesh:5:7");
  EXPECT_EQ(findLine(outcome.out, "kernel subtract, line.mesh:6:3 (lines 5-6)")
                .substr(0, 28),
            "      1         20.0   11.93");
  EXPECT_EQ(findLine(outcome.out, "copies of inputs and metrics").substr(0, 28),
            "      2         10.0    5.97");
  TraceFile trace(file);
  ASSERT_TRUE(trace.isJson);
  EXPECT_EQ(trace.steps, 5);
  EXPECT_EQ(trace.events["kernel update"], 5);
  EXPECT_EQ(trace.events["product 8 x 1 x 6 f32"], 2 * 5); // of two kernels
  EXPECT_EQ(trace.find("8 x 1 x 6 f32")["args"]["location"], "line.mesh:5:7");
  EXPECT_EQ(trace.find("update")["tid"], 0);
  EXPECT_EQ(
      trace.find("copies of inputs from the host, beside the step")["tid"], 2);
}

/// Ranks that share a GPU, whose steps are no graphs, and ranks by NCCL.
TEST(CudaProgram, tracesCollectives) {
  NEEDS_CUPTI;
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("t.json");
  for (int gpus : {1, 4}) {
    Outcome outcome = run(fake(gpus, 5) + line("cuda_2x2") +
                          " train --quiet --steps 20 --trace " + file + data);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    TraceFile trace(file);
    ASSERT_TRUE(trace.isJson);
    EXPECT_EQ(trace.ranks, (std::set<int>{0, 1, 2, 3}));
    EXPECT_EQ(trace.steps, 5 * 4);
    EXPECT_EQ(trace.events["kernel update"], 5 * 4);
    // Of ranks that share a GPU, one of two sums all of so few elements.
    EXPECT_GE(trace.events["collective all_reduce of 'y' over tensor"],
              gpus == 4 ? 5 * 4 : 5 * 2);
    EXPECT_EQ(trace.find("all_reduce of 'y' over tensor")["tid"],
              gpus == 4 ? 1 : 0);
    expectIn(outcome.out, "all_reduce of gradients over data, line.mesh:9:1\n");
  }
}

/// A plugin that cannot tell which call an activity belongs to.
TEST(CudaProgram, tracesByNames) {
  NEEDS_CUPTI;
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("t.json");
  Outcome outcome =
      run("env FAKE_CUDA_NO_CALLS=1 " + fake(1, 3) + line("cuda_1x1") +
          " train --quiet --steps 20 --trace " + file + data);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(findLine(outcome.out, "kernel subtract, line.mesh:6:3 (lines 5-6)")
                .substr(0, 28),
            "      1         20.0   11.93");
  EXPECT_EQ(findLine(outcome.out, "  fake_gemm_128x64").substr(0, 28),
            "      1         30.0   17.90");
  TraceFile trace(file);
  EXPECT_EQ(trace.events["kernel update"], 5);
  EXPECT_EQ(trace.events["other fake_gemm_sum_parts"], 5);
}

TEST(CudaProgram, tracingChangesNothing) {
  NEEDS_CUPTI;
  Folder folder;
  std::string data = writeLineData(folder);
  for (const Setting &setting : settings) {
    std::string train = fake(setting.gpus, 2) + line("cuda_" + setting.mesh) +
                        " train --quiet --steps 20 --eval-every 3 --eval-data "
                        "x=" +
                        folder.file("x.npy") +
                        " --eval-data target=" + folder.file("y.npy") +
                        " --save-every 4 --overwrite --checkpoint ";
    ASSERT_EQ(run(train + folder.file("plain") + data).code, 0);
    Outcome outcome = run(train + folder.file("traced") + " --trace " +
                          folder.file("t") + " --trace-steps 9" + data);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(readFile(folder.file("plain")), readFile(folder.file("traced")));
    TraceFile trace(folder.file("t"));
    EXPECT_EQ(trace.events["kernel tell"], trace.events["kernel update"]);
    EXPECT_EQ(trace.steps % 9, 0);
  }
}

TEST(CudaProgram, keepsATraceThatIsInterrupted) {
  NEEDS_CUPTI;
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("t.json");
  std::string log = folder.file("log");
  Process process("env LINE_SLEEP=10 " + fake(1, 1) + line("cuda_2x2") +
                  " train --steps 100000 --trace-steps 1000 --trace " + file +
                  " --log " + log + data);
  ASSERT_TRUE(process.waitForLines(log, 20)); // traced from step 10
  process.signal(SIGINT);
  Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  TraceFile trace(file);
  ASSERT_TRUE(trace.isJson) << readFile(file);
  EXPECT_EQ(trace.ranks.size(), 4u);
  expectIn(outcome.out, "trace: ");
}

TEST(CudaProgram, namesCuptiWhereItIsMissing) {
  NEEDS_CUPTI;
  Folder folder;
  std::string data = writeLineData(folder);
  for (const Setting &setting : settings)
    expectError(
        run(fake(setting.gpus, 1) + broken + line("cuda_" + setting.mesh) +
            " train --quiet --steps 3 --trace " + folder.file("t") + data),
        8, "line: error: '--trace' on a GPU needs NVIDIA's CUPTI: ");
}

//===----------------------------------------------------------------------===//
// No usable device: code 8
//===----------------------------------------------------------------------===//

TEST(CudaProgram, saysWhatIsMissing) {
  Folder folder;
  std::string train = " train --quiet --steps 3" + writeLineData(folder);
  auto refuses = [&](const std::string &setting, const std::string &mesh,
                     const std::string &part) {
    Outcome outcome = run(setting + line(mesh) + train);
    EXPECT_EQ(outcome.code, 8) << outcome.err;
    expectIn(outcome.err, "line: error: ");
    expectIn(outcome.err, part);
    EXPECT_EQ(outcome.out, "");
  };
  refuses(fake(0, 1), "cuda_1x1",
          "no usable GPU: no CUDA-capable device is detected (driver for CUDA: "
          "13.0, CUDA runtime: 13.0)");
  refuses("env FAKE_CUDA_CHIP=75 " + fake(1, 1), "cuda_1x1",
          "the GPU is of chip sm_75, and the program holds code for sm_90; "
          "compile it with '--chip=sm_75'");
  refuses("env FAKE_CUDA_CHIP=100 " + fake(1, 1), "cuda_1x1", "chip sm_100");
  refuses(fake(4, 1) + broken, "cuda_2x2",
          "a program of several ranks on GPUs needs NCCL: ");
  Outcome outcome = run("env FAKE_CUDA_MEMORY=33555432 " + fake(1, 1) +
                        line("cuda_1x1") + train);
  EXPECT_EQ(outcome.code, 1);
  expectIn(outcome.err, "a rank needs an arena of 6272 bytes and GPU fake has "
                        "1000 left (out of memory");
}

/// Processes do not share a GPU.
TEST(CudaProgram, wantsAGpuForEachProcess) {
  if (std::system("mpirun --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "mpirun is not installed";
  Folder folder;
  Outcome outcome = run(
      fake(3, 1) +
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "OMPI_MCA_rmaps_base_oversubscribe=1 mpirun -n 4 " +
      line("cuda_2x2") + " train --quiet --steps 3" + writeLineData(folder));
  EXPECT_EQ(outcome.code, 8) << outcome.err;
  expectIn(outcome.err, "4 processes were started on a host with 3 GPUs, and "
                        "each needs its own");
  expectIn(outcome.err, "without mpirun, --ranks 4");
}

TEST(CudaProgram, namesThePluginThatIsMissing) {
  Folder folder;
  std::string data = writeLineData(folder);
  Outcome outcome = run("env -u MESHC_PLUGIN_PATH " + line("cuda_lost") +
                        " train --steps 3" + data);
  EXPECT_EQ(outcome.code, 8) << outcome.err;
  expectIn(outcome.err,
           "the CUDA plugin 'libmeshc_cuda.so' was not found in '");
  expectIn(outcome.err, "', '/nowhere'; set MESHC_PLUGIN_PATH");
  // Something else under that name.
  folder.write("libmeshc_cuda.so", "no library");
  outcome = run("env MESHC_PLUGIN_PATH=" + folder.file("") + " " +
                line("cuda_lost") + " train --steps 3" + data);
  EXPECT_EQ(outcome.code, 8) << outcome.err;
  expectIn(outcome.err, "cannot open the CUDA plugin: ");
}

/// With the plugin that is linked to CUDA, if there is a toolkit: there is no
/// driver here.
TEST(CudaProgram, saysThatThereIsNoDriver) {
  if (access("/dev/nvidiactl", F_OK) == 0)
    GTEST_SKIP() << "there is a driver";
  Folder folder;
  Outcome outcome = run("env -u MESHC_PLUGIN_PATH " + line("cuda_1x1") +
                        " train --steps 3" + writeLineData(folder));
  EXPECT_EQ(outcome.code, 8) << outcome.err;
  expectIn(outcome.err, PLUGIN_IS_BUILT
                            ? "no usable GPU: the NVIDIA driver is not "
                              "installed (driver for CUDA: none, CUDA runtime: "
                            : "'libmeshc_cuda.so' was not found");
}

//===----------------------------------------------------------------------===//
// The conformance suite, which is skipped for one reason only
//===----------------------------------------------------------------------===//

TEST(CudaConformance, isSkippedWhereThereIsNoGpu) {
  for (const char *section : {"", " --section 0"}) {
    Outcome outcome = run(fake(0, 1) + CONFORMANCE + section);
    EXPECT_EQ(outcome.code, 77) << outcome.err;
    expectIn(outcome.out, "skipped: no CUDA device\n"
                          "0 passed, 0 failed, 1 skipped\n");
  }
  Outcome outcome = run(fake(1, 1) + CONFORMANCE + " --section 5");
  EXPECT_EQ(outcome.code, 77) << outcome.err;
  expectIn(outcome.out, "by NCCL      all                           0  "
                        "skipped: needs 2 GPUs\n"
                        "0 passed, 0 failed, 1 skipped\n");
}

TEST(CudaConformance, runsASectionByItself) {
  Outcome outcome = run(fake(1, 1) + CONFORMANCE + " --section 1");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  expectIn(outcome.out, "1      alone        products, tf32 ");
  expectIn(outcome.out, " passed, 0 failed, 0 skipped\n");
  EXPECT_EQ(run(std::string(CONFORMANCE) + " --section 99").code, 2);
}

TEST(CudaConformance, reducesOnSeveralHosts) {
  Outcome outcome = run(fake(4, 1) + CONFORMANCE + " --section 10");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  expectIn(outcome.out, "2x2    2 hosts      collectives: sizes ");
}

TEST(CudaConformance, failsWhereAGpuCannotBeUsed) {
  auto fails = [](const std::string &setting, const std::string &part) {
    Outcome outcome = run(setting + CONFORMANCE);
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    expectIn(outcome.out, part);
    expectIn(outcome.out, "FAILED: the GPUs cannot be used\n"
                          "0 passed, 1 failed, 0 skipped\n");
  };
  fails("env FAKE_CUDA_REFUSES=1 " + fake(1, 1),
        "no usable GPU: the driver is older than the runtime\n");
  Folder folder;
  folder.write("libmeshc_cuda.so", "no library");
  fails("env MESHC_PLUGIN_PATH=" + folder.file("") + " ",
        "cannot open the CUDA plugin: ");
}
