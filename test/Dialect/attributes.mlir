// RUN: attune-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: pow2 = #attune.pow2<8, 64>
// CHECK-SAME: range = #attune.range<1, 64>
// CHECK-SAME: step = #attune.range<1, 64, step = 4>
module attributes {test.domains = {
  pow2 = #attune.pow2<8, 64>, range = #attune.range<1, 64>,
  step = #attune.range<1, 64, step = 4>}} {}

// -----

// CHECK: #attune.config<"contraction_packed", {b = true, m_tile = 6 : i64, order = array<i64: 1, 0>}>
// CHECK: #attune.divisors<"m">
// CHECK: #attune.permutation<3>
// CHECK: #attune.target<cpu = "znver3", features = "+avx2", vectorBytes = 32, vectorRegisters = 16, cores = 2, l1 = 32768, l2 = 524288, l3 = 33554432>
module attributes {
  test.a = #attune.config<"contraction_packed", {m_tile = 6 : i64, b = true, order = array<i64: 1, 0>}>,
  test.b = #attune.divisors<"m">,
  test.c = #attune.permutation<3>,
  test.d = #attune.target<cpu = "znver3", features = "+avx2", vectorBytes = 32, vectorRegisters = 16, cores = 2, l1 = 32768, l2 = 524288, l3 = 33554432>
} {}

// -----

// expected-error @below {{step must be positive, got 0}}
module attributes {test.a = #attune.range<1, 4, step = 0>} {}

// -----

// expected-error @below {{empty range 5 .. 4}}
module attributes {test.a = #attune.range<5, 4>} {}

// -----

// expected-error @below {{12 is not a power of two}}
module attributes {test.a = #attune.pow2<12, 64>} {}

// -----

// expected-error @below {{empty range 16 .. 8}}
module attributes {test.a = #attune.pow2<16, 8>} {}

// -----

// expected-error @below {{permutations of 1 to 10 elements, not 0}}
module attributes {test.a = #attune.permutation<0>} {}
