//===- ThreadsTest.cpp - threads, memory, and what the interpreter finds --===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/RunPtx.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace meshc::ptx;

namespace {

/// %d2 = out + 4 · thread, and %d3 = in + 4 · thread.
const std::string own = "mul.wide.u32 %d4, %r0, 4; add.s64 %d2, %d0, %d4;"
                        "add.s64 %d3, %d1, %d4;\n";
/// %d5: this thread's word of `memory` in shared memory.
const std::string shared = ".shared .align 16 .b8 memory[512];";
const std::string ownShared =
    own + "mov.b64 %d6, memory; add.s64 %d5, %d6, %d4;\n";

std::vector<uint32_t> firstOf(const Words &words, size_t count) {
  return {words.out.begin(), words.out.begin() + static_cast<long>(count)};
}

/// Expects a fault whose message contains each of these.
void expectFault(const std::string &module,
                 std::initializer_list<const char *> parts, uint32_t blocks = 1,
                 uint32_t threads = 1) {
  std::string message = getFault(module, blocks, threads);
  for (const char *part : parts)
    EXPECT_NE(message.find(part), std::string::npos)
        << "'" << message << "' does not say '" << part << "'";
}

/// The line on which makeModule puts a body's first line.
std::string firstLine(const std::string &declarations = "") {
  auto lines = std::count(declarations.begin(), declarations.end(), '\n');
  return "PTX line " + std::to_string(11 + lines) + ":";
}

} // namespace

TEST(PtxThreads, EachBlockAndThreadRunsOnce) {
  std::string add = "mad.lo.s32 %r2, %r1, 64, %r0; mul.wide.u32 %d4, %r2, 4;"
                    "add.s64 %d2, %d0, %d4; mov.u32 %r3, %nctaid.x;"
                    "mov.u32 %r4, %ntid.x; mad.lo.s32 %r5, %r3, %r4, %r2;"
                    "st.global.u32 [%d2], %r5;";
  Words words = run(makeModule(add), 5, 64);
  for (uint32_t i = 0; i < 320; ++i)
    EXPECT_EQ(words.out[i], 320 + i);
  EXPECT_EQ(words.out[320], 0xdeadbeef);
}

TEST(PtxThreads, BarriersExchangeSharedMemory) {
  std::string body = ownShared +
                     "ld.global.nc.u32 %r2, [%d3]; st.shared.u32 [%d5], %r2;"
                     "bar.sync 0; sub.s32 %r3, 127, %r0;"
                     "mul.wide.u32 %d7, %r3, 4; add.s64 %d8, %d6, %d7;"
                     "ld.shared.u32 %r4, [%d8]; st.global.u32 [%d2], %r4;";
  for (uint64_t seed : {1, 2, 3}) {
    Words words = run(makeModule(body, shared), 1, 128, seed);
    for (uint32_t i = 0; i < 128; ++i)
      ASSERT_EQ(words.out[i], 127 - i);
  }
}

/// What other blocks left is not there.
TEST(PtxThreads, SharedMemoryBeginsWithoutValues) {
  std::string body = "ld.shared.u32 %r2, [memory]; st.shared.u32 [memory], 1;"
                     "mul.wide.u32 %d4, %r1, 4; add.s64 %d2, %d0, %d4;"
                     "st.global.u32 [%d2], %r2;";
  EXPECT_EQ(firstOf(run(makeModule(body, shared), 9, 1), 9),
            std::vector<uint32_t>(9, 0xffffffff));
}

TEST(PtxThreads, BarriersReduce) {
  std::string body = own + "setp.lt.u32 %p1, %r0, 5;"
                           "bar.red.popc.u32 %r2, 0, %p1;"
                           "st.global.u32 [%d2], %r2;";
  EXPECT_EQ(firstOf(run(makeModule(body), 1, 64), 2),
            (std::vector<uint32_t>{5, 5}));
}

TEST(PtxThreads, ShufflesInAllModes) {
  auto shuffle = [](const std::string &mode, const std::string &by,
                    const std::string &clamp) {
    Words words =
        run(makeModule(own + "add.s32 %r5, %r0, 100; shfl.sync." + mode +
                       ".b32 %r2|%p1, %r5, " + by + ", " + clamp +
                       ", -1; selp.b32 %r3, 1000, 0, %p1;" +
                       "add.s32 %r4, %r2, %r3;" + "st.global.u32 [%d2], %r4;"),
            1, 32);
    return firstOf(words, 32);
  };
  auto up = shuffle("up", "1", "0"), down = shuffle("down", "2", "31"),
       exchanged = shuffle("bfly", "3", "31"), one = shuffle("idx", "7", "31"),
       halves = shuffle("idx", "1", "0x101f"),
       part = shuffle("down", "1", "15");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    // 1000 is added where the source is in range.
    EXPECT_EQ(up[lane], lane ? 1100 + lane - 1 : 100);
    EXPECT_EQ(down[lane], lane < 30 ? 1100 + lane + 2 : 100 + lane);
    EXPECT_EQ(exchanged[lane], 1100 + (lane ^ 3));
    EXPECT_EQ(one[lane], 1107u);
    EXPECT_EQ(halves[lane], lane < 16 ? 1101u : 1117u);
    EXPECT_EQ(part[lane], lane < 15 ? 1100 + lane + 1 : 100 + lane);
  }
}

TEST(PtxThreads, VotesAndReductionsOfAWarp) {
  std::string body = own + R"(
    setp.gt.u32 %p1, %r0, 29;
    vote.sync.ballot.b32 %r2, %p1, -1;
    vote.sync.any.pred %p2, %p1, -1; selp.b32 %r3, 1, 0, %p2;
    vote.sync.all.pred %p3, !%p1, -1; selp.b32 %r4, 1, 0, %p3;
    redux.sync.add.s32 %r5, %r0, -1;
    redux.sync.max.u32 %r6, %r0, -1;
    redux.sync.or.b32 %r7, %r0, -1;
    setp.ne.s32 %p4, %r0, 0; @%p4 bra END;
    st.global.v4.u32 [%d0], {%r2, %r3, %r4, %r5};
    st.global.v2.u32 [%d0+16], {%r6, %r7};
    END:)";
  EXPECT_EQ(firstOf(run(makeModule(body), 1, 32), 6),
            (std::vector<uint32_t>{0xc0000000, 1, 0, 496, 31, 31}));
}

TEST(PtxThreads, AtomicOperations) {
  std::string body = own + R"(
    red.global.add.u32 [%d0], 2;
    atom.global.max.s32 %r2, [%d0+4], %r0;
    atom.global.inc.u32 %r3, [%d0+8], 9;
    atom.global.cas.b32 %r4, [%d0+12], 0, 55;
    atom.global.add.f32 %r5, [%d0+16], 0f3F000000;
    red.global.or.b32 [%d0+20], 64;
    atom.global.exch.b64 %d9, [%d0+24], 3;)";
  std::string zero = "st.global.v4.u32 [%d0], {%r0, %r0, %r0, %r0};"
                     "st.global.v4.u32 [%d0+16], {%r0, %r0, %r0, %r0};";
  Words words;
  HostMemory memory;
  memory.add(words.out.data(), 4096);
  memory.add(words.in.data(), 4096);
  uint32_t *addresses[] = {words.out.data(), words.in.data()};
  void *parameters[] = {&addresses[0], &addresses[1]};
  Machine machine;
  Module clear(makeModule(zero)), count(makeModule(body));
  machine.launch(clear, "k", {1, 1, 0}, parameters, memory);
  machine.launch(count, "k", {2, 32, 0}, parameters, memory);
  EXPECT_EQ(firstOf(words, 8),
            (std::vector<uint32_t>{128, 31, 4, 55, 0x42000000, 64, 3, 0}));
}

TEST(PtxThreads, FunctionsAreCalled) {
  std::string square = R"(
.func (.param .b32 result) square(.param .b32 x) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [x];
  mul.lo.s32 %r2, %r1, %r1;
  st.param.b32 [result], %r2;
  ret;
})";
  std::string body = own + R"(
    { .param .b32 argument; .param .b32 value;
      st.param.b32 [argument], %r0;
      call.uni (value), square, (argument);
      ld.param.b32 %r2, [value]; }
    st.global.u32 [%d2], %r2;)";
  EXPECT_EQ(firstOf(run(makeModule(body, square), 1, 4), 4),
            (std::vector<uint32_t>{0, 1, 4, 9}));
}

TEST(PtxThreads, BranchesByTableAndGuards) {
  std::string body = own + R"(
    TABLE: .branchtargets A, B, C;
    mov.b32 %r2, 0; setp.eq.s32 %p1, %r0, 1;
    brx.idx %r0, TABLE;
    A: add.s32 %r2, %r2, 100; bra.uni END;
    B: add.s32 %r2, %r2, 10;
    C: add.s32 %r2, %r2, 1;
    END: @%p1 add.s32 %r2, %r2, 5; @!%p1 add.s32 %r2, %r2, 7;
    st.global.u32 [%d2], %r2;)";
  EXPECT_EQ(firstOf(run(makeModule(body), 1, 3), 3),
            (std::vector<uint32_t>{107, 16, 8}));
}

TEST(PtxMemory, VectorsPartsAndGenericAddresses) {
  std::string declarations =
      ".global .align 4 .b32 table[3] = {5, 6, 7};\n" + shared;
  std::string body = R"(
    .local .align 8 .b8 depot[16];
    mov.b64 %d2, depot; cvta.local.u64 %d3, %d2;
    st.b64 [%d3+8], 0x1122334455667788; ld.local.b32 %r2, [%d2+12];
    mov.b64 %d4, memory; cvta.shared.u64 %d5, %d4;
    st.shared.b32 [%d4+4], 77; ld.b32 %r3, [%d5+4];
    ld.global.b32 %r4, [table+8];
    mov.b64 {%r5, _}, 0x0000000900000008;
    mov.b64 %d6, {%r3, %r5};
    ld.global.s8 %r6, [%d1+1020];
    st.global.v4.b32 [%d0], {%r2, %r3, %r4, %r6};
    st.global.b64 [%d0+16], %d6;
    ld.global.v2.b16 {%h1, %h2}, [%d1+8]; cvt.u32.u16 %r7, %h1;
    st.global.b32 [%d0+24], %r7;)";
  EXPECT_EQ(firstOf(run(makeModule(body, declarations)), 7),
            (std::vector<uint32_t>{0x11223344, 77, 7, 0xffffffff, 77, 8, 2}));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(PtxErrors, NameOpcodeAndLine) {
  expectFault(makeModule("\nadd.s33 %r2, %r0, 1;"),
              {"PTX line 12:", "'add.s33' is an unknown opcode"});
  // An unknown modifier is not left out.
  expectFault(makeModule("add.rn.fast.f32 %r2, %r0, 1;"),
              {firstLine().c_str(), "'add.rn.fast.f32' is an unknown opcode"});
  expectFault(makeModule("mma.sync.aligned.m16n8k8 %r2, %r0, 1;"),
              {"'mma.sync.aligned.m16n8k8' is an unknown opcode"});
  expectFault(makeModule("add.s64 %d2, %d0, %r0;"),
              {"'add.s64' expects 64 bits, but register '%r0' has 32"});
  expectFault(makeModule("add.s32 %r2, %r0;"), {"has 2 operands, not 3"});
  expectFault(makeModule("add.s32 %r2, %r0, %r99;"),
              {"uses register '%r99', which is not declared"});
  expectFault(makeModule("bra NOWHERE;"), {"goes to 'NOWHERE'"});
  expectFault(makeModule("add.s32 %r2, %r3, 1;"),
              {"'add.s32' reads register '%r3', which nothing writes before"});
  expectFault(makeModule(".frobnicate 3;"),
              {"unknown directive '.frobnicate'"});
  expectFault(makeModule("add.s32 %r2, %r0, 1 }"), {"expected ';'"});
  expectFault(makeModule("div.s32 %r2, 1, %r0;"), {"divides by zero"});
  expectFault(makeModule("trap;"), {"'trap' is executed"});
  expectFault(makeModule("L: bra L;"), {"the grid does not end"});
}

TEST(PtxErrors, AccessesOutsideOfMemory) {
  expectFault(makeModule("\nld.global.u32 %r2, [%d0+4096];"),
              {"PTX line 12: 'ld.global.u32' accesses address",
               "in no memory, in thread 0 of block 0"});
  expectFault(makeModule("st.global.v4.u32 [%d0+4088], {%r0, %r0, %r0, %r0};"),
              {"is not aligned"});
  expectFault(makeModule("ld.global.u32 %r2, [16];"), {"in no memory"});
  expectFault(makeModule("ld.global.u32 %r2, [%d0+2];"),
              {"accesses 4 bytes at", "is not aligned"});
  expectFault(makeModule("st.shared.u32 [memory+512], 0;", shared),
              {"outside of 512 bytes of shared memory"});
  expectFault(makeModule(".local .b8 depot[8]; ld.local.u32 %r2, [depot+16];"),
              {"outside of 16 bytes of local memory"});
  expectFault(makeModule("st.global.u32 [table], 0;", ".const .b32 table[2];"),
              {"writes to constant memory"});
  expectFault(makeModule("cvta.to.shared.u64 %d2, %d0;"),
              {"gets an address of another space"});
  expectFault(makeModule("ld.param.u32 %r2, [out+8];"), {"which has 8"});
}

TEST(PtxErrors, RacesInABlock) {
  std::string write = "st.shared.u32 [%d5], %r0;";
  std::string readNext = "xor.b32 %r3, %r0, 1; mul.wide.u32 %d7, %r3, 4;"
                         "add.s64 %d8, %d6, %d7; ld.shared.u32 %r4, [%d8];";
  std::string good = ownShared + write + "bar.sync 0;" + readNext;
  EXPECT_EQ(getFault(makeModule(good, shared), 1, 64), "");
  for (uint64_t seed : {1, 2, 3, 4})
    EXPECT_NE(
        getFault(makeModule(ownShared + write + readNext, shared), 1, 64, seed),
        "");
  // A second write needs a barrier behind the reads.
  expectFault(makeModule(good + write, shared), {"has a race: it"}, 1, 64);
  expectFault(makeModule("st.global.u32 [%d0], %r0;"),
              {"has a race: it writes what thread"}, 1, 2);
  // Neighbouring bytes of one word do not race.
  std::string bytes = "cvt.u64.u32 %d2, %r0; add.s64 %d3, %d0, %d2;"
                      "st.global.u8 [%d3], %h1;";
  EXPECT_EQ(getFault(makeModule("mov.b16 %h1, 1;" + bytes), 1, 64), "");
  // An atomic operation and a plain one.
  expectFault(makeModule("atom.global.add.u32 %r2, [%d0], 1;"
                         "ld.global.u32 %r3, [%d0];"),
              {"has a race"}, 1, 2);
}

TEST(PtxErrors, RacesBetweenBlocks) {
  // Each block stores a value, and the last one to count adds them.
  auto count = [](const std::string &before, const std::string &after) {
    return makeModule("mul.wide.u32 %d4, %r1, 4; add.s64 %d2, %d0, %d4;"
                      "st.global.u32 [%d2], %r1;" +
                          before + "atom.global.add.u32 %r2, [counter], 1;" +
                          after +
                          "setp.ne.s32 %p1, %r2, 1; @%p1 bra END;"
                          "ld.global.u32 %r3, [%d0];"
                          "ld.global.u32 %r4, [%d0+4]; add.s32 %r5, %r3, %r4;"
                          "st.global.u32 [%d0+8], %r5; END:",
                      ".global .b32 counter;");
  };
  std::string fence = "fence.acq_rel.gpu;";
  for (uint64_t seed : {1, 2, 3}) {
    EXPECT_EQ(run(count(fence, fence), 2, 1, seed).out[2], 1u);
    EXPECT_NE(getFault(count("", fence), 2, 1, seed), "");
    EXPECT_NE(getFault(count(fence, ""), 2, 1, seed), "");
  }
  expectFault(count("", ""), {"has a race", "of block"}, 2, 1);
  // Barriers are for a block alone.
  expectFault(makeModule("st.global.u32 [%d0], %r1; bar.sync 0;"),
              {"has a race"}, 2, 1);
}

TEST(PtxErrors, ReadOnlyLoadsOfWrittenMemory) {
  std::string load = "ld.global.nc.u32 %r2, [%d2];",
              store = "st.global.u32 [%d2], 1;";
  expectFault(makeModule(own + store + "bar.sync 0;" + load),
              {"'ld.global.nc.u32' accesses memory that is both read by "
               "ld.global.nc and written"});
  expectFault(makeModule(own + load + "bar.sync 0;" + store),
              {"'st.global.u32' accesses memory that is both read"});
  EXPECT_EQ(getFault(makeModule(own + load)), "");
}

TEST(PtxErrors, BarriersThatDiverge) {
  std::string half = "setp.lt.u32 %p1, %r0, 16; @%p1 bra A;";
  expectFault(makeModule(half + "bar.sync 0; bra B;\nA: bar.sync 0; B:"),
              {"is a barrier that diverges"}, 1, 32);
  expectFault(makeModule(half + "bar.sync 0;\nA:"),
              {"would hang: it waits for thread", "which has ended"}, 1, 32);
  expectFault(makeModule("setp.lt.u32 %p1, %r0, 32; @%p1 bra A;"
                         "bar.sync 1; bra B; A: bar.sync 0; B:"),
              {"waits at another barrier"}, 1, 64);
  expectFault(makeModule("bar.sync 0, 32;"), {"waits for 32 threads"}, 1, 64);
}

TEST(PtxErrors, ShufflesOfOtherLanes) {
  std::string half = "setp.lt.u32 %p1, %r0, 16; @%p1 bra A;";
  auto shuffle = [](const std::string &mask, const std::string &by = "1") {
    return "shfl.sync.bfly.b32 %r2, %r0, " + by + ", 31, " + mask + ";";
  };
  expectFault(makeModule(half + shuffle("0xffff0000") +
                         "bra B;\nA: " + shuffle("0xffff0000") + "B:"),
              {"has a membermask without the lane that executes it"}, 1, 32);
  expectFault(makeModule(half + shuffle("0xffff0000", "16") +
                         "bra B;\nA: " + shuffle("0x0000ffff", "16") + "B:"),
              {"which takes no part"}, 1, 32);
  // Lanes that have ended need not come, but have no value.
  EXPECT_EQ(getFault(makeModule(half + shuffle("-1") + "\nA:"), 1, 32), "");
  expectFault(makeModule(half + shuffle("-1", "16") + "\nA:"),
              {"reads from lane", "which takes no part"}, 1, 32);
  expectFault(makeModule(half + shuffle("-1") + "bra B;\nA: bar.sync 0; B:"),
              {"would hang"}, 1, 32);
  expectFault(makeModule(half + "shfl.sync.up.b32 %r2, %r0, 1, 0, -1; bra B;" +
                         "\nA: " + shuffle("-1") + "B:"),
              {"meets 'shfl.sync."}, 1, 32);
}

TEST(PtxErrors, OtherGrids) {
  std::string module = makeModule("");
  module.insert(module.find("\n{\n"), "\n.reqntid 64, 1, 1");
  EXPECT_EQ(getFault(module, 1, 64), "");
  expectFault(module, {"for which it was not compiled"}, 1, 32);
  expectFault(makeModule(""), {"is launched with 1 blocks of 2048 threads"}, 1,
              2048);
}
