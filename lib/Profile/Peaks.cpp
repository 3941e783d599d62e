//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What this machine can do, measured: multiply-adds in registers, and reading
// blocks of several sizes.

#include "attune/Profile/Hot.h"
#include "attune/Support/Clock.h"

#include "llvm/ADT/STLExtras.h"
#include <atomic>
#include <thread>

using namespace attune;

namespace {

/// Enough independent sums for the latency of a multiply-add, few enough for
/// sixteen registers.
constexpr int sums = 12;
constexpr int stepsPerCall = 1000;

/// Multiply-adds of vectors of `bytes` bytes, nothing else.
template <int bytes>
__attribute__((always_inline)) inline float multiplyAdd(float seed) {
#pragma clang fp contract(fast)
  using Vector = float __attribute__((vector_size(bytes)));
  Vector a[sums], x = Vector{} + seed, y = Vector{} + 0.5f;
#pragma clang loop unroll(full)
  for (int i = 0; i < sums; ++i)
    a[i] = x + static_cast<float>(i);
  for (int step = 0; step < stepsPerCall; ++step)
#pragma clang loop unroll(full)
    for (int i = 0; i < sums; ++i)
      a[i] = a[i] * y + x;
  Vector sum = {};
#pragma clang loop unroll(full)
  for (int i = 0; i < sums; ++i)
    sum += a[i];
  return sum[0];
}

template <int bytes>
__attribute__((always_inline)) inline float readAll(const char *from,
                                                    size_t size) {
  using Vector = float __attribute__((vector_size(bytes)));
  const auto *data = reinterpret_cast<const Vector *>(from);
  size_t count = size / bytes;
  Vector a = {}, b = {}, c = {}, d = {};
  for (size_t i = 0; i + 4 <= count; i += 4) {
    a += data[i];
    b += data[i + 1];
    c += data[i + 2];
    d += data[i + 3];
  }
  return (a + b + c + d)[0];
}

/// The two for one kind of processor.
struct Kernels {
  int vectorBytes;
  float (*multiplyAdd)(float seed);
  float (*readAll)(const char *from, size_t size);
};

// The program runs on any machine, and measures what this one has.
#define ATTUNE_KERNELS(NAME, BYTES, ...)                                       \
  __VA_ARGS__ float multiplyAdd##NAME(float seed) {                            \
    return multiplyAdd<BYTES>(seed);                                           \
  }                                                                            \
  __VA_ARGS__ float readAll##NAME(const char *from, size_t size) {             \
    return readAll<BYTES>(from, size);                                         \
  }
ATTUNE_KERNELS(Plain, 16)
#if defined(__x86_64__)
ATTUNE_KERNELS(V3, 32, __attribute__((target("arch=x86-64-v3"))))
ATTUNE_KERNELS(V4, 64, __attribute__((target("arch=x86-64-v4"))))
#endif

Kernels chooseKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4"))
    return {64, multiplyAddV4, readAllV4};
  if (__builtin_cpu_supports("x86-64-v3"))
    return {32, multiplyAddV3, readAllV3};
#endif
  return {16, multiplyAddPlain, readAllPlain};
}

/// Calls a second of `work` by all threads together: of each the best of many
/// short stretches, since what disturbs can only take.
template <typename Work>
double callsPerSecond(int threads, double seconds, Work work) {
  SystemClock clock;
  constexpr int stretches = 40;
  std::vector<std::vector<double>> rates(threads,
                                         std::vector<double>(stretches));
  auto run = [&](int thread) {
    for (int stretch = 0; stretch < stretches; ++stretch) {
      double begin = clock.now(), end = begin;
      int64_t calls = 0;
      for (; end - begin < seconds / stretches; ++calls) {
        work(thread);
        end = clock.now();
      }
      rates[thread][stretch] = calls / (end - begin);
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread)
    others.emplace_back(run, thread);
  run(0);
  for (std::thread &other : others)
    other.join();
  double sum = 0;
  for (const std::vector<double> &mine : rates)
    sum += *llvm::max_element(mine);
  return sum;
}

/// Keeps a result from being thrown away.
std::atomic<float> sink;

} // namespace

MachinePeaks attune::measurePeaks(int threads, double seconds) {
  threads = std::max(1, threads);
  constexpr size_t kibi = 1024;
  // Of one thread: in its first cache, its second, one that is shared, none.
  constexpr size_t sizes[] = {16 * kibi, 256 * kibi, 4096 * kibi, 32768 * kibi};
  double part = seconds / (std::size(sizes) + 1);
  MachinePeaks peaks;
  Kernels kernels = chooseKernels();
  double calls = callsPerSecond(threads, part, [&](int thread) {
    sink = kernels.multiplyAdd(1.0f + thread);
  });
  peaks.operationsPerSecond =
      calls * stepsPerCall * sums * 2 * kernels.vectorBytes / 4;
  struct alignas(64) Line {
    float values[16] = {};
  };
  std::vector<std::vector<Line>> blocks(
      threads, std::vector<Line>(sizes[std::size(sizes) - 1] / sizeof(Line)));
  for (size_t size : sizes) {
    calls = callsPerSecond(threads, part, [&](int thread) {
      sink = kernels.readAll(
          reinterpret_cast<const char *>(blocks[thread].data()), size);
    });
    peaks.levels.push_back({static_cast<double>(size) * threads, calls * size});
  }
  // A larger block can seem quicker than a smaller one only by noise.
  for (size_t i = peaks.levels.size() - 1; i-- > 0;)
    peaks.levels[i].bytesPerSecond = std::max(
        peaks.levels[i].bytesPerSecond, peaks.levels[i + 1].bytesPerSecond);
  return peaks;
}
