//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What this machine can do, measured: multiply-adds in registers, and reading
// blocks of several sizes.

#include "attune/Profile/Hot.h"
#include "attune/Support/Clock.h"

#include <atomic>
#include <thread>

using namespace attune;

// The program runs on any machine, and measures what this one has.
#if defined(__x86_64__)
#define ATTUNE_CLONES                                                          \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ATTUNE_CLONES __attribute__((noinline))
#endif

namespace {

using Vector = float __attribute__((vector_size(64)));

/// Enough independent sums for the latency of a multiply-add, few enough for
/// the registers of every target.
constexpr int sums = 12;
constexpr int stepsPerCall = 2000;

ATTUNE_CLONES float multiplyAdd(float seed) {
#pragma clang fp contract(fast)
  Vector a[sums], x = Vector{} + seed, y = Vector{} + 0.5f;
  for (int i = 0; i < sums; ++i)
    a[i] = x + static_cast<float>(i);
  for (int step = 0; step < stepsPerCall; ++step)
#pragma clang loop unroll(full)
    for (int i = 0; i < sums; ++i)
      a[i] = a[i] * y + x;
  Vector sum = {};
  for (int i = 0; i < sums; ++i)
    sum += a[i];
  return sum[0];
}

ATTUNE_CLONES float readAll(const Vector *data, size_t count) {
  Vector a = {}, b = {}, c = {}, d = {};
  for (size_t i = 0; i + 4 <= count; i += 4) {
    a += data[i];
    b += data[i + 1];
    c += data[i + 2];
    d += data[i + 3];
  }
  return (a + b + c + d)[0];
}

/// Calls a second of `work` by all threads together: the best of several
/// stretches, since what disturbs can only take.
template <typename Work>
double callsPerSecond(int threads, double seconds, Work work) {
  SystemClock clock;
  constexpr int stretches = 4;
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
  double calls = callsPerSecond(
      threads, part, [](int thread) { sink = multiplyAdd(1.0f + thread); });
  peaks.operationsPerSecond =
      calls * stepsPerCall * sums * 2 * static_cast<double>(sizeof(Vector) / 4);
  std::vector<std::vector<Vector>> blocks(
      threads, std::vector<Vector>(sizes[std::size(sizes) - 1] / sizeof(Vector),
                                   Vector{} + 1.0f));
  for (size_t size : sizes) {
    calls = callsPerSecond(threads, part, [&](int thread) {
      sink = readAll(blocks[thread].data(), size / sizeof(Vector));
    });
    peaks.levels.push_back({static_cast<double>(size) * threads, calls * size});
  }
  // A larger block can seem quicker than a smaller one only by noise.
  for (size_t i = peaks.levels.size() - 1; i-- > 0;)
    peaks.levels[i].bytesPerSecond = std::max(
        peaks.levels[i].bytesPerSecond, peaks.levels[i + 1].bytesPerSecond);
  return peaks;
}
