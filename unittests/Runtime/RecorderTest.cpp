//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The recorder: events of dispatches, by thread, with counters from perf events
// and from a fake.

#include "attune/Runtime/program.h"
extern "C" {
#include "recorder.h"
}

#include "gmock/gmock.h"
#include <cerrno>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class RecorderTest : public testing::Test {
protected:
  ~RecorderTest() override { attune_recorder_destroy(recorder); }

  void create(int64_t capacity = 0, const AttuneCounters *counters = nullptr) {
    AttuneRecorderOptions options = {capacity, counters};
    ASSERT_EQ(attune_recorder_create(&options, &recorder), 0)
        << attune_error(nullptr);
  }

  void dispatch(int32_t number) {
    const AttuneHooks *hooks = attune_recorder_hooks(recorder);
    hooks->begin(hooks->user, number);
    hooks->end(hooks->user, number);
  }

  std::vector<AttuneEvent> take(int64_t capacity = 100) {
    std::vector<AttuneEvent> events(capacity);
    events.resize(
        attune_recorder_take(recorder, events.data(), capacity, &lost));
    return events;
  }

  AttuneRecorder *recorder = nullptr;
  int64_t lost = -1;
};

TEST_F(RecorderTest, EventsHaveTimesInTheirOrder) {
  create();
  for (int32_t number : {3, 1, 3})
    dispatch(number);
  auto events = take();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].dispatch, 3);
  EXPECT_EQ(events[1].dispatch, 1);
  EXPECT_GT(events[0].begin, 0);
  for (const AttuneEvent &event : events)
    EXPECT_LE(event.begin, event.end);
  EXPECT_LE(events[0].end, events[1].begin);
  EXPECT_THAT(events[0].counters, testing::Each(0));
  EXPECT_TRUE(take().empty()) << "they are taken once";
}

TEST_F(RecorderTest, ASmallTakerGetsThemInPieces) {
  create();
  for (int32_t number : {0, 1, 2})
    dispatch(number);
  EXPECT_EQ(take(2).size(), 2u);
  auto rest = take(2);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].dispatch, 2);
}

TEST_F(RecorderTest, WhatDoesNotFitIsCounted) {
  create(2);
  for (int i = 0; i < 5; ++i)
    dispatch(i);
  EXPECT_EQ(take().size(), 2u);
  EXPECT_EQ(lost, 3);
  dispatch(7);
  EXPECT_EQ(take().front().dispatch, 7) << "there is place again";
  EXPECT_EQ(lost, 0);
}

TEST_F(RecorderTest, AnEndWithoutItsBeginIsLost) {
  create();
  const AttuneHooks *hooks = attune_recorder_hooks(recorder);
  hooks->begin(hooks->user, 1);
  hooks->end(hooks->user, 2);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(lost, 1);
}

TEST_F(RecorderTest, EachThreadHasABufferAndANumber) {
  create(1000);
  dispatch(0);
  std::vector<std::thread> threads;
  for (int t = 1; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i)
        dispatch(t);
    });
  for (std::thread &thread : threads)
    thread.join();
  auto events = take(10'000);
  EXPECT_EQ(lost, 0);
  ASSERT_EQ(events.size(), 3001u);
  std::vector<std::vector<int32_t>> dispatchesOf(4);
  for (const AttuneEvent &event : events)
    dispatchesOf.at(event.thread).push_back(event.dispatch);
  EXPECT_THAT(dispatchesOf[0], ElementsAre(0)) << "the thread that created it";
  for (int t = 1; t < 4; ++t) {
    EXPECT_EQ(dispatchesOf[t].size(), 1000u);
    EXPECT_THAT(dispatchesOf[t], testing::Each(dispatchesOf[t].front()));
  }
}

TEST_F(RecorderTest, TwoRecordersInTurnOnOneThread) {
  create();
  AttuneRecorder *first = recorder;
  create();
  AttuneRecorder *second = recorder;
  for (int i = 0; i < 3; ++i) {
    recorder = first;
    dispatch(1);
    recorder = second;
    dispatch(2);
  }
  auto events = take();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].dispatch, 2);
  attune_recorder_destroy(second);
  recorder = first;
  EXPECT_EQ(take().size(), 3u);
}

/// Counts up by one, two, three and four at each read.
struct FakeCounters {
  int opened = 0, closed = 0;
  uint64_t reads = 0;
  bool refuse = false;
  AttuneCounters table = {
      this,
      [](void *user) -> void * {
        auto *fake = static_cast<FakeCounters *>(user);
        ++fake->opened;
        errno = fake->refuse ? EACCES : 0;
        return fake->refuse ? nullptr : fake;
      },
      [](void *state, uint64_t *values) {
        auto *fake = static_cast<FakeCounters *>(state);
        ++fake->reads;
        for (uint64_t i = 0; i < ATTUNE_MAX_COUNTERS; ++i)
          values[i] = fake->reads * (i + 1);
      },
      [](void *state) { ++static_cast<FakeCounters *>(state)->closed; }};
};

TEST_F(RecorderTest, CountersAreDifferencesOfADispatch) {
  FakeCounters fake;
  create(0, &fake.table);
  dispatch(0);
  dispatch(0);
  for (const AttuneEvent &event : take())
    EXPECT_THAT(event.counters, ElementsAre(1, 2, 3, 4));
  std::thread([&] { dispatch(1); }).join();
  EXPECT_EQ(fake.opened, 2) << "once a thread";
  attune_recorder_destroy(std::exchange(recorder, nullptr));
  EXPECT_EQ(fake.closed, 2);
}

TEST_F(RecorderTest, CountersThatAreRefusedAreAnError) {
  FakeCounters fake;
  fake.refuse = true;
  AttuneRecorderOptions options = {0, &fake.table};
  EXPECT_EQ(attune_recorder_create(&options, &recorder), 1);
  EXPECT_EQ(recorder, nullptr);
  EXPECT_THAT(attune_error(nullptr),
              HasSubstr("counters cannot be opened: Permission denied"));
}

TEST_F(RecorderTest, NoMemoryIsAnError) {
  AttuneRecorderOptions options = {int64_t(1) << 55, nullptr};
  EXPECT_EQ(attune_recorder_create(&options, &recorder), 1);
  EXPECT_THAT(attune_error(nullptr), HasSubstr("out of memory"));
}

/// The kernel's own counters are there on every Linux, virtual or not; the
/// processor's need not be.
TEST(PerfCounters, ReadThroughTheKernel) {
  const AttunePerfEvent events[] = {
      {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
      {PERF_TYPE_SOFTWARE, 0xFFFF}, // is refused, and stays 0
      {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}};
  void *state = attune_perf_open(events, 3);
  if (!state)
    GTEST_SKIP() << "perf events are forbidden here: " << strerror(errno);
  // Pages not from malloc, which may have been touched before.
  constexpr size_t bytes = 8 << 20;
  void *fresh = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(fresh, MAP_FAILED);
  uint64_t before[ATTUNE_MAX_COUNTERS] = {}, after[ATTUNE_MAX_COUNTERS] = {};
  rusage begin = {}, end = {};
  attune_perf_read(state, before);
  ::getrusage(RUSAGE_THREAD, &begin);
  std::memset(fresh, 1, bytes);
  ::getrusage(RUSAGE_THREAD, &end);
  attune_perf_read(state, after);
  ::munmap(fresh, bytes);
  EXPECT_GT(after[0], before[0]);
  EXPECT_EQ(after[1], 0u);
  // Every one, from the first on.
  EXPECT_GT(end.ru_minflt, begin.ru_minflt);
  EXPECT_GE(after[2] - before[2], uint64_t(end.ru_minflt - begin.ru_minflt));
  EXPECT_EQ(after[3], 0u);
  attune_perf_close(state);
}

TEST(PerfCounters, AllRefusedIsNull) {
  const AttunePerfEvent event = {PERF_TYPE_SOFTWARE, 0xFFFF};
  errno = 0;
  EXPECT_EQ(attune_perf_open(&event, 1), nullptr);
  EXPECT_NE(errno, 0);
}

} // namespace
