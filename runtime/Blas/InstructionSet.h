//===- InstructionSet.h - what products compute with ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The instructions that this machine's products and attention use. They decide
/// in which order a sum is added, and so its last bits: ranks with different
/// instructions would compute different values of what they all hold.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BLAS_INSTRUCTIONSET_H
#define MESHC_RUNTIME_BLAS_INSTRUCTIONSET_H

#include <cstdint>
#include <string>

namespace meshc::runtime {

/// Whether products use AVX2 with FMA, and AVX-512: the processor has them, and
/// DNNL_MAX_CPU_ISA does not forbid them. Both throw Failure(Device) if oneDNN
/// cannot be opened.
bool usesAvx2();
bool usesAvx512();

/// Whether products of bf16 multiply pairs of bf16 (AVX512_BF16). Intel's
/// processors start one multiplication of pairs where they start four
/// multiplications of f32: there, the factors are converted.
bool usesBf16Pairs();

/// All that a product's bits depend on beside its shape, its implementation and
/// the number of threads, as text: "AVX-512 with pairs of bf16 (oneDNN:
/// AVX512_CORE_BF16)". Equal texts mean equal bits, given equal libraries.
std::string describeInstructions();

/// The value of DNNL_MAX_CPU_ISA that allows just the instructions which
/// products use here: "AVX2". Empty if it has no name.
std::string mostInstructions();
/// Where this number is smaller, products use fewer instructions.
int64_t instructionLevel();

/// The libraries that compute a part of a step, with their versions: "oneDNN
/// 2.6.3 and glibc 2.36".
std::string describeLibraries();

/// What the processor calls itself, as in "AMD EPYC 7B13"; "unknown" if it does
/// not say.
std::string describeProcessor();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_INSTRUCTIONSET_H
