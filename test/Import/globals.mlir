// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: attune-import %s | FileCheck %s

// A global that nothing stores to is a constant; one that changes keeps its value in
// the library.
// CHECK: // note: @seed keeps its value from one call to the next
// CHECK: memref.global "private" @seed_state : memref<i64> = dense<7>
// CHECK-LABEL: func.func @main
// CHECK: %[[K:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: %[[S:.*]] = memref.get_global @seed_state
// CHECK: %[[V:.*]] = memref.load %[[S]][]
// CHECK: %[[N:.*]] = arith.addi %[[V]]
// CHECK: memref.store %[[N]], %[[S]][]
// CHECK: return %{{.*}}, %[[K]]
ml_program.global private @table(dense<[1.0, 2.0]> : tensor<2xf32>) : tensor<2xf32>
ml_program.global private mutable @seed(dense<7> : tensor<i64>) : tensor<i64>
func.func @main() -> (tensor<i64>, tensor<2xf32>) {
  %t = ml_program.global_load @table : tensor<2xf32>
  %s = ml_program.global_load @seed : tensor<i64>
  %v = tensor.extract %s[] : tensor<i64>
  %one = arith.constant 1 : i64
  %n = arith.addi %v, %one : i64
  %r = tensor.from_elements %n : tensor<i64>
  ml_program.global_store @seed = %r : tensor<i64>
  return %r, %t : tensor<i64>, tensor<2xf32>
}
