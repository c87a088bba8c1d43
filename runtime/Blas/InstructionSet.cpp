//===- InstructionSet.cpp - what products compute with --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Blas/InstructionSet.h"

#include "runtime/Base/ProcessorFeatures.h"
#include "runtime/Blas/OneDnn.h"

#include <cstdint>
#include <cstring>
#include <gnu/libc-version.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace meshc::runtime;

bool meshc::runtime::usesAvx2() {
  static const bool uses = hasProcessorFeature("avx2") &&
                           hasProcessorFeature("fma") &&
                           oneDnnUses(dnnl_cpu_isa_avx2);
  return uses;
}

bool meshc::runtime::usesAvx512() {
  static const bool uses = usesAvx2() && hasProcessorFeature("avx512f") &&
                           hasProcessorFeature("avx512dq") &&
                           oneDnnUses(dnnl_cpu_isa_avx512_core);
  return uses;
}

bool meshc::runtime::usesBf16Pairs() {
  static const bool uses =
      usesAvx512() && oneDnnUses(dnnl_cpu_isa_avx512_core_bf16) &&
      hasProcessorFeature("avx512bf16") && !__builtin_cpu_is("intel");
  return uses;
}

std::string meshc::runtime::mostInstructions() {
  constexpr struct {
    dnnl_cpu_isa_t instructions;
    const char *name;
  } names[] = {{dnnl_cpu_isa_sse41, "SSE41"},
               {dnnl_cpu_isa_avx, "AVX"},
               {dnnl_cpu_isa_avx2, "AVX2"},
               {dnnl_cpu_isa_avx2_vnni, "AVX2_VNNI"},
               {dnnl_cpu_isa_avx512_core, "AVX512_CORE"},
               {dnnl_cpu_isa_avx512_core_vnni, "AVX512_CORE_VNNI"},
               {dnnl_cpu_isa_avx512_core_bf16, "AVX512_CORE_BF16"},
               {dnnl_cpu_isa_avx512_core_amx, "AVX512_CORE_AMX"}};
  for (const auto &entry : names)
    if (entry.instructions == dnnl_get_effective_cpu_isa())
      return entry.name;
  return "";
}

int64_t meshc::runtime::instructionLevel() {
  return static_cast<int64_t>(dnnl_get_effective_cpu_isa());
}

std::string meshc::runtime::describeInstructions() {
  std::string own = usesBf16Pairs() ? "AVX-512 with pairs of bf16"
                    : usesAvx512()  ? "AVX-512"
                    : usesAvx2()    ? "AVX2"
                                    : "SSE2";
  const std::string name = mostInstructions();
  return own + " (oneDNN: " +
         (name.empty() ? "number " + std::to_string(instructionLevel())
                       : name) +
         ")";
}

std::string meshc::runtime::describeLibraries() {
  const dnnl_version_t *version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + '.' +
         std::to_string(version->minor) + '.' + std::to_string(version->patch) +
         " and glibc " + gnu_get_libc_version();
}

std::string meshc::runtime::describeProcessor() {
#if defined(__x86_64__)
  // Three leaves of 16 characters (Intel SDM, volume 2A, CPUID).
  constexpr unsigned first = 0x80000002, last = 0x80000004;
  char text[49] = {};
  uint32_t registers[4] = {};
  for (unsigned leaf = first; leaf <= last; ++leaf) {
    if (!__get_cpuid(leaf, &registers[0], &registers[1], &registers[2],
                     &registers[3]))
      return "unknown";
    std::memcpy(text + size_t(16) * (leaf - first), registers, 16);
  }
  std::string name = text;
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name.empty() ? "unknown" : name;
#else
  return "unknown";
#endif
}
