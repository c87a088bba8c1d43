//===- OpcodesTest.cpp - what instructions on registers compute -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Values by the text of the "PTX ISA", worked out by hand.
///
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/RunPtx.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace meshc::ptx;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan32 = std::numeric_limits<float>::quiet_NaN();
constexpr uint64_t canonical = 0x7fffffff;
constexpr float least = 1.17549435e-38f; // the least normal number

/// The next float.
float next(float value) { return std::nextafter(value, inf); }

} // namespace

TEST(PtxIntegers, WrapAround) {
  EXPECT_EQ(compute("add.s32", {0x7fffffff, 1}), 0x80000000);
  EXPECT_EQ(compute("add.u64", {~0ull, 2}), 1u);
  EXPECT_EQ(compute("add.s16", {0xffff, 2}), 1u);
  EXPECT_EQ(compute("sub.s64", {0, 1}), ~0ull);
  EXPECT_EQ(compute("mul.lo.s32", {0x10001, 0x10001}), 0x20001u);
  EXPECT_EQ(compute("mul.lo.s16", {300, 300}), 90000u & 0xffff);
  EXPECT_EQ(compute("mul.hi.u32", {0xffffffff, 0xffffffff}), 0xfffffffe);
  EXPECT_EQ(compute("mul.hi.s32", {0xffffffff, 5}), 0xffffffff);
  EXPECT_EQ(compute("mul.hi.u64", {~0ull, 3}), 2u);
  EXPECT_EQ(compute("mul.hi.u16", {0xffff, 0xffff}), 0xfffeu);
  EXPECT_EQ(compute("mul.wide.s32", {0xffffffff, 5}), uint64_t(-5));
  EXPECT_EQ(compute("mul.wide.u32", {0xffffffff, 2}), 0x1fffffffeull);
  EXPECT_EQ(compute("mul.wide.u16", {0xffff, 0xffff}), 0xfffe0001);
  EXPECT_EQ(compute("mad.lo.s32", {3, 5, 7}), 22u);
  EXPECT_EQ(compute("mad.wide.u32", {0x80000000, 2, 1}), 0x100000001ull);
}

TEST(PtxIntegers, DivideTowardsZero) {
  EXPECT_EQ(compute("div.s32", {uint32_t(-7), 2}), uint32_t(-3));
  EXPECT_EQ(compute("rem.s32", {uint32_t(-7), 2}), uint32_t(-1));
  EXPECT_EQ(compute("div.u32", {uint32_t(-7), 2}), 0x7ffffffcu);
  EXPECT_EQ(compute("div.s32", {0x80000000, 0xffffffff}), 0x80000000);
  EXPECT_EQ(compute("rem.u64", {100, 7}), 2u);
}

TEST(PtxIntegers, SaturateAndCompare) {
  EXPECT_EQ(compute("add.sat.s32", {0x7fffffff, 1}), 0x7fffffffu);
  EXPECT_EQ(compute("sub.sat.s32", {0x80000000, 1}), 0x80000000);
  EXPECT_EQ(compute("min.s32", {0xffffffff, 1}), 0xffffffff);
  EXPECT_EQ(compute("min.u32", {0xffffffff, 1}), 1u);
  EXPECT_EQ(compute("min.relu.s32", {0xffffffff, 1}), 0u);
  EXPECT_EQ(compute("max.s64", {~0ull, 1}), 1u);
  EXPECT_EQ(compute("abs.s32", {0x80000000}), 0x80000000);
  EXPECT_EQ(compute("neg.s32", {5}), uint32_t(-5));
  EXPECT_EQ(compute("sad.u32", {3, 10, 1}), 8u);
  EXPECT_EQ(compute("setp.lt.s32", {0xffffffff, 0}), 1u);
  EXPECT_EQ(compute("setp.lt.u32", {0xffffffff, 0}), 0u);
  EXPECT_EQ(compute("setp.hi.u64", {2, 1}), 1u);
  EXPECT_EQ(compute("setp.eq.and.s32", {4, 4, 0}), 0u);
  EXPECT_EQ(compute("setp.eq.xor.s32", {4, 4, 0}), 1u);
  EXPECT_EQ(compute("set.ne.u32.s32", {4, 5}), 0xffffffff);
}

TEST(PtxIntegers, CarryFromInstructionToInstruction) {
  Words words = run(makeModule(R"(
    mov.b32 %r2, -1; mov.b32 %r3, 1;
    add.cc.u32 %r4, %r2, %r3;
    addc.cc.u32 %r5, %r2, 0;
    addc.u32 %r6, 0, 0;
    sub.cc.u32 %r7, 0, %r3;
    subc.u32 %r8, 5, 0;
    mad.lo.cc.u32 %r9, %r2, %r2, %r2;
    madc.hi.u32 %r10, %r2, %r2, 0;
    st.global.v4.u32 [%d0], {%r4, %r5, %r6, %r7};
    st.global.v2.u32 [%d0+16], {%r8, %r9};
    st.global.u32 [%d0+24], %r10;)"));
  // 0xffffffff · 0xffffffff + 0xffffffff = 0xffffffff00000000.
  std::vector<uint32_t> want = {0, 0, 1, 0xffffffff, 4, 0, 0xffffffff};
  EXPECT_EQ(std::vector<uint32_t>(words.out.begin(), words.out.begin() + 7),
            want);
}

TEST(PtxBits, ShiftsClampTheirAmount) {
  EXPECT_EQ(compute("shl.b32", {1, 31}), 0x80000000);
  EXPECT_EQ(compute("shl.b32", {1, 32}), 0u);
  EXPECT_EQ(compute("shr.u32", {0x80000000, 40}), 0u);
  EXPECT_EQ(compute("shr.s32", {0x80000000, 40}), 0xffffffff);
  EXPECT_EQ(compute("shr.s16", {0x8000, 4}), 0xf800u);
  EXPECT_EQ(compute("shl.b16", {0x00ff, 12}), 0xf000u);
  EXPECT_EQ(compute("shf.l.wrap.b32", {0x80000000, 1, 33}), 3u);
  EXPECT_EQ(compute("shf.l.clamp.b32", {0x80000000, 1, 33}), 0x80000000);
  EXPECT_EQ(compute("shf.r.wrap.b32", {2, 1, 1}), 0x80000001);
  EXPECT_EQ(compute("shf.r.clamp.b32", {2, 7, 99}), 7u);
}

TEST(PtxBits, Fields) {
  EXPECT_EQ(compute("bfe.u32", {0xabcd1234, 8, 8}), 0x12u);
  EXPECT_EQ(compute("bfe.s32", {0x0000f000, 12, 4}), 0xffffffff);
  EXPECT_EQ(compute("bfe.s32", {0x80000000, 28, 8}), 0xfffffff8);
  EXPECT_EQ(compute("bfe.u64", {0x123456789abcdef0, 60, 10}), 1u);
  EXPECT_EQ(compute("bfe.u32", {0xffffffff, 40, 4}), 0u);
  EXPECT_EQ(compute("bfi.b32", {0xff, 0, 4, 8}), 0xff0u);
  EXPECT_EQ(compute("popc.b64", {~0ull}), 64u);
  EXPECT_EQ(compute("clz.b32", {0}), 32u);
  EXPECT_EQ(compute("clz.b64", {1}), 63u);
  EXPECT_EQ(compute("brev.b32", {1}), 0x80000000);
  EXPECT_EQ(compute("bfind.u32", {0}), 0xffffffff);
  EXPECT_EQ(compute("bfind.s32", {0xfffffff0}), 3u);
  EXPECT_EQ(compute("prmt.b32", {0x33221100, 0x77665544, 0x7531}), 0x77553311u);
  EXPECT_EQ(compute("prmt.b32", {0x00800000, 0, 0x000a}), 0x000000ffu);
  EXPECT_EQ(compute("lop3.b32", {0xf0, 0xcc, 0xaa, 0x96}), 0x96u);
  EXPECT_EQ(compute("selp.b64", {7, 9, 0}), 9u);
  EXPECT_EQ(compute("slct.b32.s32", {7, 9, 0}), 7u);
}

TEST(PtxFloats, RoundInEachDirection) {
  const float one = 1, tiny = std::ldexp(1.0f, -30);
  EXPECT_EQ(computeFloat("add.rn.f32", {one, tiny}), one);
  EXPECT_EQ(computeFloat("add.f32", {one, tiny}), one);
  EXPECT_EQ(computeFloat("add.rz.f32", {-one, -tiny}), -one);
  EXPECT_EQ(computeFloat("add.rp.f32", {one, tiny}), next(one));
  EXPECT_EQ(computeFloat("add.rm.f32", {one, -tiny}), std::nextafter(one, 0.f));
  EXPECT_EQ(computeFloat("sub.rm.f32", {one, tiny}), std::nextafter(one, 0.f));
  EXPECT_EQ(computeFloat("div.rp.f32", {1, 3}), 1.0f / 3);
  EXPECT_EQ(next(computeFloat("div.rm.f32", {1, 3})), 1.0f / 3);
  EXPECT_EQ(computeFloat("sqrt.rn.f32", {2}), std::sqrt(2.0f));
  EXPECT_LT(computeFloat("sqrt.rm.f32", {3}), computeFloat("sqrt.rp.f32", {3}));
  EXPECT_EQ(computeFloat("rcp.rn.f32", {3}), 1.0f / 3);
  // The product is exact before the sum.
  float a = 1 + std::ldexp(1.0f, -12);
  EXPECT_EQ(computeFloat("fma.rn.f32", {a, a, -1 - std::ldexp(1.0f, -11)}),
            std::ldexp(1.0f, -24));
  EXPECT_EQ(computeFloat("fma.rp.f32", {1, 1, tiny}), next(one));
}

TEST(PtxFloats, TwoAtOnce) {
  auto pair = [](float low, float high) {
    return uint64_t(bitsOf(high)) << 32 | bitsOf(low);
  };
  EXPECT_EQ(compute("mul.rn.f32x2", {pair(2, 3), pair(5, -7)}), pair(10, -21));
  EXPECT_EQ(compute("fma.rn.f32x2", {pair(2, 3), pair(5, 7), pair(1, 2)}),
            pair(11, 23));
}

TEST(PtxFloats, FlushAndSaturateWhereWritten) {
  EXPECT_EQ(computeFloat("mul.rn.f32", {least, 0.5f}), least / 2);
  EXPECT_EQ(computeFloat("mul.rn.ftz.f32", {least, 0.5f}), 0);
  EXPECT_EQ(compute("mul.rn.ftz.f32", {bitsOf(-least), bitsOf(0.5f)}),
            0x80000000);
  EXPECT_EQ(computeFloat("add.rn.ftz.f32", {least / 2, least}), least);
  EXPECT_EQ(computeFloat("add.rn.sat.f32", {3, 4}), 1);
  EXPECT_EQ(computeFloat("add.rn.sat.f32", {-3, 1}), 0);
  EXPECT_EQ(computeFloat("fma.rn.sat.f32", {nan32, 1, 1}), 0);
}

TEST(PtxFloats, NanIsCanonicalAndLosesMinima) {
  EXPECT_EQ(compute("add.rn.f32", {bitsOf(inf), bitsOf(-inf)}), canonical);
  EXPECT_EQ(compute("mul.rn.f32", {0xffc12345, bitsOf(1)}), canonical);
  EXPECT_EQ(computeFloat("min.f32", {nan32, 3}), 3);
  EXPECT_EQ(compute("max.NaN.f32", {bitsOf(nan32), bitsOf(3)}), canonical);
  EXPECT_EQ(compute("min.f32", {0, 0x80000000}), 0x80000000);
  EXPECT_EQ(compute("max.f32", {0x80000000, 0}), 0u);
  EXPECT_EQ(compute("setp.lt.f32", {bitsOf(nan32), 0}), 0u);
  EXPECT_EQ(compute("setp.ltu.f32", {bitsOf(nan32), 0}), 1u);
  EXPECT_EQ(compute("setp.ne.f32", {bitsOf(nan32), 0}), 0u);
  EXPECT_EQ(compute("setp.neu.f32", {bitsOf(nan32), 0}), 1u);
  EXPECT_EQ(compute("setp.num.f32", {bitsOf(nan32), 0}), 0u);
  EXPECT_EQ(compute("setp.eq.f32", {0, 0x80000000}), 1u);
  EXPECT_EQ(compute("neg.f32", {0}), 0x80000000);
  EXPECT_EQ(compute("abs.f32", {0xbf800000}), 0x3f800000u);
  EXPECT_EQ(compute("copysign.f32", {0x80000000, bitsOf(2)}), bitsOf(-2));
  EXPECT_EQ(compute("testp.infinite.f32", {bitsOf(-inf)}), 1u);
}

/// The ISA bounds their errors: 2 ulp for ex2, 1 for rcp.
TEST(PtxFloats, Approximations) {
  EXPECT_EQ(computeFloat("ex2.approx.f32", {3}), 8);
  EXPECT_EQ(computeFloat("ex2.approx.ftz.f32", {-140}), 0);
  EXPECT_EQ(computeFloat("lg2.approx.f32", {0.125f}), -3);
  EXPECT_EQ(computeFloat("lg2.approx.f32", {0}), -inf);
  EXPECT_EQ(computeFloat("rcp.approx.ftz.f32", {4}), 0.25f);
  EXPECT_EQ(computeFloat("rsqrt.approx.f32", {0.25f}), 2);
  EXPECT_EQ(computeFloat("sqrt.approx.f32", {9}), 3);
  EXPECT_NEAR(computeFloat("sin.approx.f32", {1}), std::sin(1.0), 6e-7);
  EXPECT_NEAR(computeFloat("cos.approx.f32", {1}), std::cos(1.0), 6e-7);
  EXPECT_NEAR(computeFloat("tanh.approx.f32", {0.5f}), std::tanh(0.5), 6e-7);
  EXPECT_EQ(computeFloat("div.full.f32", {1, 4}), 0.25f);
}

TEST(PtxConversions, FloatsToIntegersClamp) {
  EXPECT_EQ(compute("cvt.rni.s32.f32", {bitsOf(2.5f)}), 2u);
  EXPECT_EQ(compute("cvt.rni.s32.f32", {bitsOf(3.5f)}), 4u);
  EXPECT_EQ(compute("cvt.rzi.s32.f32", {bitsOf(-2.7f)}), uint32_t(-2));
  EXPECT_EQ(compute("cvt.rmi.s32.f32", {bitsOf(-2.1f)}), uint32_t(-3));
  EXPECT_EQ(compute("cvt.rpi.s32.f32", {bitsOf(2.1f)}), 3u);
  EXPECT_EQ(compute("cvt.rzi.s32.f32", {bitsOf(3e9f)}), 0x7fffffffu);
  EXPECT_EQ(compute("cvt.rzi.u32.f32", {bitsOf(-5)}), 0u);
  EXPECT_EQ(compute("cvt.rzi.u64.f32", {bitsOf(inf)}), ~0ull);
  EXPECT_EQ(compute("cvt.rzi.s32.f32", {bitsOf(nan32)}), 0u);
  EXPECT_EQ(compute("cvt.rzi.s64.f32", {bitsOf(nan32)}), 1ull << 63);
  EXPECT_EQ(computeFloat("cvt.rmi.f32.f32", {-0.5f}), -1);
  EXPECT_EQ(computeFloat("cvt.rni.f32.f32", {0.5f}), 0);
}

TEST(PtxConversions, IntegersAndFloats) {
  EXPECT_EQ(compute("cvt.rn.f32.u32", {0xffffffff}), bitsOf(4294967296.0f));
  EXPECT_EQ(compute("cvt.rz.f32.u32", {0xffffffff}), bitsOf(4294967040.0f));
  EXPECT_EQ(compute("cvt.rn.f32.s32", {0xffffffff}), bitsOf(-1));
  EXPECT_EQ(compute("cvt.rn.f32.u64", {1ull << 40}), bitsOf(1099511627776.0f));
  EXPECT_EQ(compute("cvt.u64.u32", {0xffffffff}), 0xffffffffull);
  EXPECT_EQ(compute("cvt.s64.s32", {0xffffffff}), ~0ull);
  EXPECT_EQ(compute("cvt.u32.u64", {0x123456789ull}), 0x23456789u);
  EXPECT_EQ(compute("cvt.s32.s8", {0x80}), 0xffffff80);
  EXPECT_EQ(compute("cvt.u32.u8", {0x1280}), 0x80u);
  EXPECT_EQ(compute("cvt.sat.u8.s32", {300}) & 0xff, 255u);
  EXPECT_EQ(compute("cvt.rn.f32.f64", {0x3ff0000010000001}), 0x3f800001u);
  EXPECT_EQ(compute("cvt.rz.f32.f64", {0x3ff0000010000001}), 0x3f800000u);
  EXPECT_EQ(compute("cvt.f64.f32", {0x3f800000}), 0x3ff0000000000000ull);
}

TEST(PtxConversions, HalvesRoundOnce) {
  EXPECT_EQ(compute("cvt.rn.bf16.f32", {0x3f808000}), 0x3f80u); // a tie
  EXPECT_EQ(compute("cvt.rn.bf16.f32", {0x3f818000}), 0x3f82u);
  EXPECT_EQ(compute("cvt.rn.bf16.f32", {0x3f808001}), 0x3f81u);
  EXPECT_EQ(compute("cvt.rz.bf16.f32", {0x3f81ffff}), 0x3f81u);
  EXPECT_EQ(compute("cvt.rn.bf16.f32", {0x7f7fffff}), 0x7f80u);
  EXPECT_EQ(compute("cvt.rn.bf16.f32", {0x7f800001}), 0x7fffu);
  EXPECT_EQ(compute("cvt.rn.bf16.f32", {0x00008000}), 0u);
  EXPECT_EQ(compute("cvt.rn.f16.f32", {bitsOf(65504)}), 0x7bffu);
  EXPECT_EQ(compute("cvt.rn.f16.f32", {bitsOf(65520)}), 0x7c00u);
  EXPECT_EQ(compute("cvt.rz.f16.f32", {bitsOf(1e9f)}), 0x7bffu);
  EXPECT_EQ(compute("cvt.rn.f16.f32", {bitsOf(6e-8f)}), 1u);
  EXPECT_EQ(compute("cvt.rn.f16.f32", {bitsOf(-1)}), 0xbc00u);
  EXPECT_EQ(compute("cvt.f32.f16", {0x0001}), bitsOf(5.9604645e-8f));
  EXPECT_EQ(compute("cvt.f32.f16", {0xfc00}), bitsOf(-inf));
  EXPECT_EQ(compute("cvt.f32.bf16", {0xc040}), bitsOf(-3));
  EXPECT_EQ(compute("cvt.rn.bf16x2.f32", {bitsOf(1), bitsOf(2)}), 0x3f804000u);
  EXPECT_EQ(compute("cvt.rn.f16x2.f32", {bitsOf(1), bitsOf(2)}), 0x3c004000u);
}

TEST(PtxHalves, Arithmetic) {
  EXPECT_EQ(compute("add.f16", {0x3c00, 0x4000}), 0x4200u);
  EXPECT_EQ(compute("mul.bf16", {0x3fc0, 0x3fc0}), 0x4010u);
  EXPECT_EQ(compute("sub.f16x2", {0x40003c00, 0x3c003c00}), 0x3c000000u);
  // (1 + 3 · 2^-10)² - 1 = 6 · 2^-10 + 9 · 2^-20, rounded once.
  EXPECT_EQ(compute("fma.rn.f16", {0x3c03, 0x3c03, 0xbc00}), 0x1e02u);
  EXPECT_EQ(compute("max.NaN.bf16x2", {0x3f807fc0, 0x40003f80}), 0x40007fffu);
  EXPECT_EQ(compute("max.bf16", {0x7fc0, 0x3f80}), 0x3f80u);
  EXPECT_EQ(compute("setp.gt.bf16", {0x4000, 0x3f80}), 1u);
  EXPECT_EQ(compute("setp.lt.bf16", {0x7fc0, 0x3f80}), 0u);
  EXPECT_EQ(compute("add.rn.f32.bf16", {0x3f80, bitsOf(0.1f)}), bitsOf(1.1f));
  EXPECT_EQ(compute("fma.rn.f32.f16", {0x4000, 0x4200, bitsOf(1)}), bitsOf(7));
  EXPECT_EQ(compute("neg.bf16x2", {0x3f80bf80}), 0xbf803f80u);
  EXPECT_EQ(compute("abs.f16", {0xbc00}), 0x3c00u);
}
