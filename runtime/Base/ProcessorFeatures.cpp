//===- ProcessorFeatures.cpp - what the processor here has ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/ProcessorFeatures.h"

#include "runtime/Base/Failure.h"

#include <cstdint>
#include <sstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace meshc::runtime;

#if defined(__x86_64__)

namespace {

enum class Register { Eax, Ebx, Ecx, Edx };

/// Registers whose contents the operating system must save.
enum class State { Sse, Avx, Avx512 };

/// Where the CPUID instruction reports a feature (Intel SDM, volume 2A, and
/// AMD's manual, volume 3, appendix E).
struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register from;
  int bit;
  State state;
};

constexpr Feature knownFeatures[] = {
    {"sse3", 1, 0, Register::Ecx, 0, State::Sse},
    {"pclmul", 1, 0, Register::Ecx, 1, State::Sse},
    {"ssse3", 1, 0, Register::Ecx, 9, State::Sse},
    {"fma", 1, 0, Register::Ecx, 12, State::Avx},
    {"sse4.1", 1, 0, Register::Ecx, 19, State::Sse},
    {"sse4.2", 1, 0, Register::Ecx, 20, State::Sse},
    {"movbe", 1, 0, Register::Ecx, 22, State::Sse},
    {"popcnt", 1, 0, Register::Ecx, 23, State::Sse},
    {"aes", 1, 0, Register::Ecx, 25, State::Sse},
    {"avx", 1, 0, Register::Ecx, 28, State::Avx},
    {"f16c", 1, 0, Register::Ecx, 29, State::Avx},
    {"bmi", 7, 0, Register::Ebx, 3, State::Sse},
    {"avx2", 7, 0, Register::Ebx, 5, State::Avx},
    {"bmi2", 7, 0, Register::Ebx, 8, State::Sse},
    {"avx512f", 7, 0, Register::Ebx, 16, State::Avx512},
    {"avx512dq", 7, 0, Register::Ebx, 17, State::Avx512},
    {"avx512ifma", 7, 0, Register::Ebx, 21, State::Avx512},
    {"avx512cd", 7, 0, Register::Ebx, 28, State::Avx512},
    {"avx512bw", 7, 0, Register::Ebx, 30, State::Avx512},
    {"avx512vl", 7, 0, Register::Ebx, 31, State::Avx512},
    {"avx512vbmi", 7, 0, Register::Ecx, 1, State::Avx512},
    {"avx512vbmi2", 7, 0, Register::Ecx, 6, State::Avx512},
    {"gfni", 7, 0, Register::Ecx, 8, State::Sse},
    {"vaes", 7, 0, Register::Ecx, 9, State::Avx},
    {"vpclmulqdq", 7, 0, Register::Ecx, 10, State::Avx},
    {"avx512vnni", 7, 0, Register::Ecx, 11, State::Avx512},
    {"avx512bitalg", 7, 0, Register::Ecx, 12, State::Avx512},
    {"avx512vpopcntdq", 7, 0, Register::Ecx, 14, State::Avx512},
    {"avx512fp16", 7, 0, Register::Edx, 23, State::Avx512},
    {"avxvnni", 7, 1, Register::Eax, 4, State::Avx},
    {"avx512bf16", 7, 1, Register::Eax, 5, State::Avx512},
    {"avxifma", 7, 1, Register::Eax, 23, State::Avx},
    {"avxvnniint8", 7, 1, Register::Edx, 4, State::Avx},
    {"avxneconvert", 7, 1, Register::Edx, 5, State::Avx},
    {"avxvnniint16", 7, 1, Register::Edx, 10, State::Avx},
    {"lzcnt", 0x80000001, 0, Register::Ecx, 5, State::Sse},
    {"sse4a", 0x80000001, 0, Register::Ecx, 6, State::Sse},
    {"xop", 0x80000001, 0, Register::Ecx, 11, State::Avx},
    {"fma4", 0x80000001, 0, Register::Ecx, 16, State::Avx},
    {"tbm", 0x80000001, 0, Register::Ecx, 21, State::Sse}};

/// One register of a leaf; 0 where the processor has no such leaf.
uint32_t readRegister(uint32_t leaf, uint32_t subleaf, Register which) {
  uint32_t values[4] = {};
  if (!__get_cpuid_count(leaf, subleaf, &values[0], &values[1], &values[2],
                         &values[3]))
    return 0;
  return values[static_cast<int>(which)];
}

/// XCR0: what the operating system saves; 0 where it does not say.
uint64_t savedState() {
  constexpr uint32_t osxsave = 1u << 27;
  if (!(readRegister(1, 0, Register::Ecx) & osxsave))
    return 0;
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

bool isSaved(State state) {
  constexpr uint64_t avx = 0x6, avx512 = 0xe6;
  uint64_t wanted = state == State::Sse   ? 0
                    : state == State::Avx ? avx
                                          : avx512;
  return (savedState() & wanted) == wanted;
}

} // namespace

bool meshc::runtime::hasProcessorFeature(const std::string &name) {
  for (const Feature &feature : knownFeatures)
    if (name == feature.name)
      return (readRegister(feature.leaf, feature.subleaf, feature.from) >>
                  feature.bit &
              1) &&
             isSaved(feature.state);
  return false;
}

#else

bool meshc::runtime::hasProcessorFeature(const std::string &) { return false; }

#endif

std::string
meshc::runtime::findMissingFeature(const char *features,
                                   bool (*has)(const std::string &name)) {
  std::istringstream list(features ? features : "");
  std::string name;
  while (std::getline(list, name, ','))
    if (!name.empty() && !has(name))
      return name;
  return "";
}

void meshc::runtime::checkProcessor(const char *features) {
  std::string missing = findMissingFeature(features);
  if (!missing.empty())
    throw Failure(
        ExitCode::Device,
        "the program was compiled for processors with '" + missing +
            "', which this machine's processor does not have; "
            "compile it with '--march=native' on this machine, or with "
            "a lower one, as in '--march=x86-64-v3'");
}
