//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The runtime with a module written by hand in place of compiled code: what it
// hands to the code, and what it says to the caller.

#include "PrepackEntries.h"
#include "attune/Runtime/module_info.h"
#include "attune/Runtime/program.h"
extern "C" {
#include "workspace.h"
}

#include "gmock/gmock.h"
#include <cmath>
#include <fcntl.h>
#include <functional>
#include <iterator>
#include <malloc.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

//===-- The module --------------------------------------------------------===//

constexpr int64_t arenaBytes = 256;
/// What the arena held when the code began, and its address.
thread_local std::vector<unsigned char> arenaSeen;
thread_local void *arenaAt = nullptr;
/// Called inside the next `add`, for tests of what happens during a run.
thread_local std::function<void()> during;

AttuneDescriptor *descriptor(void *pointer) {
  return static_cast<AttuneDescriptor *>(pointer);
}
float *floats(void *pointer) {
  return static_cast<float *>(descriptor(pointer)->aligned);
}

/// add(2x3xf32, 2x3xf32) -> 2x3xf32, two dispatches.
void add(void **arguments) {
  const auto *arena =
      static_cast<unsigned char *>(descriptor(arguments[1])->aligned);
  arenaAt = descriptor(arguments[1])->aligned;
  arenaSeen.assign(arena, arena + arenaBytes);
  memset(arenaAt, 1, arenaBytes);
  if (auto action = std::exchange(during, nullptr))
    action();
  attune_rt_begin(0);
  for (int i = 0; i < 6; ++i)
    floats(arguments[5])[i] = floats(arguments[3])[i] + floats(arguments[4])[i];
  attune_rt_end(0);
  attune_rt_begin(1);
  attune_rt_end(1);
}

/// twice(?xf32) -> 1xi64 (its size), ?xf32 of double the size.
void twice(void **arguments) {
  const AttuneDescriptor *input = descriptor(arguments[3]);
  int64_t size = input->sizesAndStrides[0];
  *static_cast<int64_t *>(descriptor(arguments[4])->aligned) = size;
  int64_t sizes[1] = {2 * size};
  struct {
    void *allocated, *aligned;
    int64_t offset, size, stride;
  } found = {sizes, sizes, 0, 1, 1};
  auto *output = reinterpret_cast<float *>(_mlir_ciface_attune_rt_output(
      1, reinterpret_cast<AttuneDescriptor *>(&found)));
  for (int64_t i = 0; i < 2 * size; ++i)
    output[i] = floats(arguments[3])[i / 2];
}

const int64_t matrix[] = {2, 3}, any[] = {-1}, one[] = {1};
const AttuneTypeInfo addInputs[] = {{ATTUNE_F32, 2, matrix},
                                    {ATTUNE_F32, 2, matrix}};
const AttuneTypeInfo addOutputs[] = {{ATTUNE_F32, 2, matrix}};
const AttuneTypeInfo twiceInputs[] = {{ATTUNE_F32, 1, any}};
const AttuneTypeInfo twiceOutputs[] = {{ATTUNE_I64, 1, one},
                                       {ATTUNE_F32, 1, any}};
const int64_t three[] = {3};
const AttuneTypeInfo weighInputs[] = {{ATTUNE_F32, 1, three},
                                      {ATTUNE_F32, 1, three}};
const AttuneTypeInfo weighOutputs[] = {{ATTUNE_F32, 1, three}};
const int32_t weighPrepackInputs[] = {1};
const AttuneEntryInfo entries[] = {
    {"add", add, nullptr, arenaBytes, 0, nullptr, 0, 2, 1, addInputs,
     addOutputs, nullptr},
    {"twice", twice, nullptr, 64, 0, nullptr, 0, 1, 2, twiceInputs,
     twiceOutputs, nullptr},
    {"weigh", weigh, packForWeigh, 0, 12, weighPrepackInputs, 1, 2, 1,
     weighInputs, weighOutputs, nullptr},
    {"bias", bias, packForBias, 0, 12, nullptr, 0, 1, 1, weighInputs,
     weighOutputs, nullptr},
};

} // namespace

extern "C" const AttuneModuleInfo attune_module_info = {
    ATTUNE_MODULE_INFO_VERSION,
    std::size(entries),
    entries,
    "{\"version\": 1}",
    nullptr,
    0,
    2,
    1};

namespace {

//===-- The caller --------------------------------------------------------===//

AttuneTensor describe(std::vector<float> &values, std::vector<int64_t> sizes,
                      std::vector<int64_t> strides, int64_t first = 0) {
  AttuneTensor tensor = {values.data() + first,
                         ATTUNE_F32,
                         static_cast<int32_t>(sizes.size()),
                         {},
                         {}};
  std::copy(sizes.begin(), sizes.end(), tensor.sizes);
  std::copy(strides.begin(), strides.end(), tensor.strides);
  return tensor;
}

class RuntimeTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(attune_create(ATTUNE_ABI_VERSION, &program), 0);
  }
  void TearDown() override {
    attune_set_checked(program, 0);
    attune_destroy(program);
    during = nullptr;
  }

  /// add(left, row-major ones); what it gave.
  std::vector<float> addTo(const AttuneTensor &left) {
    AttuneTensor inputs[] = {left, describe(ones, {2, 3}, {3, 1})};
    AttuneTensor output = {};
    EXPECT_EQ(attune_run(program, "add", inputs, 2, &output, 1), 0)
        << attune_error(program);
    if (!output.data)
      return {};
    const float *data = static_cast<float *>(output.data);
    std::vector<float> result(data, data + 6);
    attune_release(program, &output);
    EXPECT_EQ(output.data, nullptr);
    return result;
  }

  std::string errorOf(const char *entry, std::vector<AttuneTensor> inputs,
                      std::vector<AttuneTensor> outputs) {
    EXPECT_NE(attune_run(program, entry, inputs.data(), inputs.size(),
                         outputs.data(), outputs.size()),
              0);
    return attune_error(program);
  }

  AttuneProgram *program = nullptr;
  std::vector<float> ones = std::vector<float>(6, 1.0f);
  std::vector<float> counting = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
};

TEST_F(RuntimeTest, RowMajorInputs) {
  EXPECT_THAT(addTo(describe(counting, {2, 3}, {3, 1})),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(RuntimeTest, TransposedInputs) {
  EXPECT_THAT(addTo(describe(counting, {2, 3}, {1, 2})),
              ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST_F(RuntimeTest, EverySecondElement) {
  EXPECT_THAT(addTo(describe(counting, {2, 3}, {6, 2})),
              ElementsAre(1, 3, 5, 7, 9, 11));
}

TEST_F(RuntimeTest, BroadcastAndBackwards) {
  EXPECT_THAT(addTo(describe(counting, {2, 3}, {0, 1})),
              ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(addTo(describe(counting, {2, 3}, {-3, -1}, 5)),
              ElementsAre(6, 5, 4, 3, 2, 1));
}

TEST_F(RuntimeTest, GivenOutputsAreWrittenInPlace) {
  std::vector<float> result(6, -1);
  AttuneTensor inputs[] = {describe(counting, {2, 3}, {3, 1}),
                           describe(ones, {2, 3}, {3, 1})};
  AttuneTensor output = describe(result, {2, 3}, {3, 1});
  ASSERT_EQ(attune_run(program, "add", inputs, 2, &output, 1), 0);
  EXPECT_EQ(output.data, result.data());
  EXPECT_THAT(result, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(RuntimeTest, AllocatedOutputsAreDescribed) {
  AttuneTensor input = describe(counting, {4}, {1});
  AttuneTensor outputs[2] = {};
  ASSERT_EQ(attune_run(program, "twice", &input, 1, outputs, 2), 0);
  EXPECT_EQ(outputs[0].type, ATTUNE_I64);
  EXPECT_EQ(*static_cast<int64_t *>(outputs[0].data), 4);
  EXPECT_EQ(outputs[1].rank, 1);
  EXPECT_EQ(outputs[1].sizes[0], 8);
  EXPECT_EQ(outputs[1].strides[0], 1);
  EXPECT_EQ(static_cast<float *>(outputs[1].data)[7], 3);
  for (AttuneTensor &output : outputs)
    attune_release(program, &output);
}

TEST_F(RuntimeTest, DynamicSizesMayBeZero) {
  AttuneTensor input = describe(counting, {0}, {1});
  AttuneTensor outputs[2] = {};
  ASSERT_EQ(attune_run(program, "twice", &input, 1, outputs, 2), 0);
  EXPECT_EQ(outputs[1].sizes[0], 0);
  EXPECT_NE(outputs[1].data, nullptr);
  for (AttuneTensor &output : outputs)
    attune_release(program, &output);
}

TEST_F(RuntimeTest, DynamicOutputsMayBeGiven) {
  std::vector<float> result(8);
  AttuneTensor input = describe(counting, {4}, {1});
  AttuneTensor outputs[2] = {{}, describe(result, {8}, {1})};
  ASSERT_EQ(attune_run(program, "twice", &input, 1, outputs, 2), 0);
  EXPECT_THAT(result, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  attune_release(program, &outputs[0]);
}

TEST_F(RuntimeTest, AGivenOutputOfTheWrongDynamicSizeStaysTheCallers) {
  std::vector<float> result(7, -1);
  AttuneTensor input = describe(counting, {4}, {1});
  AttuneTensor outputs[2] = {{}, describe(result, {7}, {1})};
  EXPECT_NE(attune_run(program, "twice", &input, 1, outputs, 2), 0);
  EXPECT_STREQ(attune_error(program),
               "output 1 has 8 elements in dimension 0, not 7");
  EXPECT_EQ(outputs[1].data, result.data());
  EXPECT_EQ(outputs[1].sizes[0], 7);
  EXPECT_THAT(result, testing::Each(-1));
  EXPECT_EQ(outputs[0].data, nullptr) << "allocated before the error";
}

TEST_F(RuntimeTest, ErrorsSayWhatWasGivenAndWhatIsWanted) {
  AttuneTensor fine = describe(counting, {2, 3}, {3, 1});
  AttuneTensor wide = describe(counting, {2, 4}, {4, 1});
  AttuneTensor flat = describe(counting, {6}, {1});
  AttuneTensor doubles = fine, nothing = fine, deep = fine;
  doubles.type = ATTUNE_F64;
  nothing.data = nullptr;
  deep.rank = 99;
  EXPECT_EQ(errorOf("sub", {fine, fine}, {{}}), "no entry function 'sub'");
  EXPECT_EQ(errorOf("add", {fine}, {{}}), "'add' takes 2 inputs, not 1");
  EXPECT_EQ(errorOf("add", {fine, fine}, {}), "'add' gives 1 outputs, not 0");
  EXPECT_EQ(errorOf("add", {fine, wide}, {{}}),
            "input 1 is 2x4xf32, but 'add' takes 2x3xf32");
  EXPECT_EQ(errorOf("add", {flat, fine}, {{}}),
            "input 0 is 6xf32, but 'add' takes 2x3xf32");
  EXPECT_EQ(errorOf("add", {doubles, fine}, {{}}),
            "input 0 is 2x3xf64, but 'add' takes 2x3xf32");
  EXPECT_THAT(errorOf("add", {deep, fine}, {{}}), HasSubstr("input 0 is "));
  EXPECT_EQ(errorOf("add", {nothing, fine}, {{}}), "input 0 has no data");
  EXPECT_EQ(errorOf("add", {fine, fine}, {wide}),
            "output 0 is 2x4xf32, but 'add' takes 2x3xf32");
  AttuneTensor transposed = describe(counting, {2, 3}, {1, 2});
  EXPECT_EQ(errorOf("add", {fine, fine}, {transposed}),
            "output 0 is not row-major");
  // And it still works afterwards.
  EXPECT_THAT(addTo(fine), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_STREQ(attune_error(program), "");
}

TEST(Runtime, AnotherVersionOfTheInterfaceIsRefused) {
  AttuneProgram *program = nullptr;
  EXPECT_NE(attune_create(7, &program), 0);
  EXPECT_EQ(program, nullptr);
  EXPECT_STREQ(attune_error(nullptr),
               "this library speaks version 1 of the interface, not 7");
  attune_destroy(nullptr);
}

TEST_F(RuntimeTest, HooksComeInPairsInOrder) {
  std::vector<int> seen; // n + 1: begin, -(n + 1): end
  AttuneHooks hooks = {
      &seen,
      [](void *user, int32_t dispatch) {
        static_cast<std::vector<int> *>(user)->push_back(dispatch + 1);
      },
      [](void *user, int32_t dispatch) {
        static_cast<std::vector<int> *>(user)->push_back(-(dispatch + 1));
      }};
  AttuneTensor fine = describe(counting, {2, 3}, {3, 1});
  attune_set_hooks(program, &hooks);
  addTo(fine);
  EXPECT_THAT(seen, ElementsAre(1, -1, 2, -2));
  attune_set_hooks(program, nullptr);
  addTo(fine);
  EXPECT_EQ(seen.size(), 4u);
  hooks.end = nullptr;
  attune_set_hooks(program, &hooks);
  addTo(fine);
  EXPECT_EQ(seen.size(), 6u) << "one of the two may be left out";
}

TEST_F(RuntimeTest, HooksBelongToTheirInstance) {
  int calls = 0;
  AttuneHooks hooks = {&calls,
                       [](void *user, int32_t) { ++*static_cast<int *>(user); },
                       nullptr};
  AttuneProgram *other = nullptr;
  ASSERT_EQ(attune_create(ATTUNE_ABI_VERSION, &other), 0);
  attune_set_hooks(other, &hooks);
  addTo(describe(counting, {2, 3}, {3, 1}));
  EXPECT_EQ(calls, 0);
  // An instance that runs inside a run of another.
  std::swap(program, other);
  during = [&] {
    std::swap(program, other);
    addTo(describe(counting, {2, 3}, {3, 1}));
    std::swap(program, other);
  };
  addTo(describe(counting, {2, 3}, {3, 1}));
  EXPECT_EQ(calls, 2) << "both dispatches of the outer, none of the inner";
  std::swap(program, other);
  attune_destroy(other);
}

TEST_F(RuntimeTest, CheckedRunsBeginWithNaN) {
  AttuneTensor fine = describe(counting, {2, 3}, {3, 1});
  addTo(fine);
  addTo(fine);
  EXPECT_THAT(arenaSeen, testing::Each(1)) << "left from the run before";
  attune_set_checked(program, 1);
  addTo(fine);
  EXPECT_THAT(arenaSeen, testing::Each(0xFF));
  float *block = static_cast<float *>(_mlir_memref_to_llvm_alloc(400));
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(std::isnan(block[i]));
  _mlir_memref_to_llvm_free(block);
}

TEST_F(RuntimeTest, InstancesHaveArenasOfTheirOwnAndRunSideBySide) {
  AttuneTensor fine = describe(counting, {2, 3}, {3, 1});
  addTo(fine);
  void *first = arenaAt;
  auto work = [&](void *&where) {
    AttuneProgram *mine = nullptr;
    ASSERT_EQ(attune_create(ATTUNE_ABI_VERSION, &mine), 0);
    std::vector<float> values = {5, 5, 5, 5, 5, 5};
    AttuneTensor inputs[] = {describe(values, {2, 3}, {1, 2}),
                             describe(values, {2, 3}, {3, 1})};
    for (int i = 0; i < 2000; ++i) {
      AttuneTensor output = {};
      ASSERT_EQ(attune_run(mine, "add", inputs, 2, &output, 1), 0);
      ASSERT_EQ(static_cast<float *>(output.data)[5], 10);
      attune_release(mine, &output);
    }
    where = arenaAt;
    attune_destroy(mine);
  };
  void *second = nullptr, *third = nullptr;
  std::thread left([&] { work(second); }), right([&] { work(third); });
  left.join();
  right.join();
  EXPECT_NE(first, second);
  EXPECT_NE(first, third);
}

TEST(Runtime, CreatingAndDestroyingManyTimesDoesNotGrow) {
  std::vector<float> values(6, 1);
  auto once = [&] {
    AttuneProgram *program = nullptr;
    ASSERT_EQ(attune_create(ATTUNE_ABI_VERSION, &program), 0);
    AttuneTensor inputs[] = {describe(values, {2, 3}, {1, 2}),
                             describe(values, {2, 3}, {3, 1})};
    AttuneTensor output = {};
    ASSERT_EQ(attune_run(program, "add", inputs, 2, &output, 1), 0);
    attune_release(program, &output);
    inputs[0].rank = 1; // errors allocate nothing that stays
    ASSERT_NE(attune_run(program, "add", inputs, 2, &output, 1), 0);
    _mlir_memref_to_llvm_free(_mlir_memref_to_llvm_alloc(1 << 20));
    attune_destroy(program);
  };
  for (int i = 0; i < 100; ++i)
    once();
  size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 2000; ++i)
    once();
  EXPECT_LE(mallinfo2().uordblks, before + 4096);
}

TEST(Workspace, BlocksAreAlignedDistinctAndReused) {
  void *first = attune_workspace_alloc(1000);
  void *second = attune_workspace_alloc(1000);
  EXPECT_NE(first, second);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  memset(first, 1, 1000);
  memset(second, 2, 1000);
  EXPECT_EQ(static_cast<char *>(first)[999], 1);
  attune_workspace_free(first);
  EXPECT_EQ(attune_workspace_alloc(990), first);
  attune_workspace_free(first);
  attune_workspace_free(second);
  attune_workspace_free(nullptr);
  void *big = attune_workspace_alloc(5u << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(big) % 64, 0u);
  attune_workspace_free(big);
  EXPECT_EQ(attune_workspace_alloc(SIZE_MAX), nullptr);
  EXPECT_EQ(attune_workspace_alloc(SIZE_MAX / 5), nullptr);
  attune_workspace_trim();
}

TEST(WorkspaceDeathTest, CompiledCodeEndsWithALineWhenMemoryIsOut) {
  EXPECT_DEATH(_mlir_memref_to_llvm_alloc(UINT64_MAX / 8),
               "attune: out of memory: .* bytes of workspace");
}

} // namespace
