// Prints the FLOP/s of a loop of multiply-adds in registers: what no product on this core exceeds. machine.py compiles it
// for this processor. Usage: fma f32|bf16. For bf16 it takes the products of pairs, or 0 if the processor has none.
#include <stdio.h>
#include <string.h>
#include <time.h>
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#ifdef __AVX512F__
typedef float Vector __attribute__((vector_size(64)));
#else
typedef float Vector __attribute__((vector_size(32)));
#endif
enum { sums = 12, rounds = 1 << 20, lanes = sizeof(Vector) / sizeof(float) };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

// Keeps all sums in registers, and the compiler from dropping them.
#define USE(s) __asm__ volatile("" : "+x"(s[0]), "+x"(s[1]), "+x"(s[2]), "+x"(s[3]), "+x"(s[4]), "+x"(s[5]))
#define USE_ALL(s) USE(s); USE((s + 6))

static double f32(void) {
  Vector s[sums] = {{0}}, a = (Vector){0} + 0.5f, b = (Vector){0} + 1.0f;
  __asm__ volatile("" : "+x"(a), "+x"(b));
  for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i)
      s[i] = s[i] * a + b;
    USE_ALL(s);
  }
  return 2.0 * lanes * sums * rounds;
}

static double bf16(void) {
#ifdef __AVX512BF16__
  __m512 s[sums] = {0};
  __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f80), b = a;
  __asm__ volatile("" : "+x"(a), "+x"(b));
  for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i)
      s[i] = _mm512_dpbf16_ps(s[i], a, b);
    USE_ALL(s);
  }
  return 4.0 * lanes * sums * rounds;
#else
  return 0;
#endif
}

int main(int argc, char **argv) {
  double best = 0;
  for (int run = 0; run < 40; ++run) {
    double start = now(), flops = argc > 1 && !strcmp(argv[1], "bf16") ? bf16() : f32();
    double rate = flops / (now() - start);
    best = rate > best ? rate : best;
  }
  printf("%.6g\n", best);
  return 0;
}
