// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: attune-import %s --clean-up --weights=3 | FileCheck %s

// The transpose of a weight is done once, at import.
// CHECK-LABEL: func.func @transposed_weight
// CHECK: %[[W:.*]] = arith.constant dense<{{\[\[}}1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]>
// CHECK-NOT: linalg.transpose
// CHECK: linalg.matmul ins(%arg0, %[[W]]
func.func @transposed_weight(%x: tensor<?x2xf32>, %o: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2xf32>
  %t = linalg.transpose ins(%w : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) permutation = [1, 0]
  %y = linalg.matmul ins(%x, %t : tensor<?x2xf32>, tensor<2x2xf32>) outs(%o : tensor<?x2xf32>) -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// The addition reads the vector.
// CHECK-LABEL: func.func @broadcast
// CHECK-NOT: linalg.broadcast
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<4x?xf32>, tensor<?xf32>)
// CHECK: arith.addf
func.func @broadcast(%x: tensor<4x?xf32>, %v: tensor<?xf32>, %o: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %b = linalg.broadcast ins(%v : tensor<?xf32>) outs(%o : tensor<4x?xf32>) dimensions = [0]
  %y = linalg.add ins(%x, %b : tensor<4x?xf32>, tensor<4x?xf32>) outs(%o : tensor<4x?xf32>) -> tensor<4x?xf32>
  return %y : tensor<4x?xf32>
}

// A batch that shares its right side is one product of more rows.
// CHECK-LABEL: func.func @batch
// CHECK: %[[A:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2]] : tensor<3x4x5xf32> into tensor<12x5xf32>
// CHECK: linalg.matmul ins(%[[A]], %arg1
// CHECK: tensor.expand_shape
func.func @batch(%x: tensor<3x4x5xf32>, %w: tensor<5x6xf32>, %o: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> {
  %e = tensor.empty() : tensor<3x5x6xf32>
  %b = linalg.broadcast ins(%w : tensor<5x6xf32>) outs(%e : tensor<3x5x6xf32>) dimensions = [0]
  %y = linalg.batch_matmul ins(%x, %b : tensor<3x4x5xf32>, tensor<3x5x6xf32>) outs(%o : tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  return %y : tensor<3x4x6xf32>
}

// To NHWC, something elementwise, and back to NCHW: no transpose is left.
// CHECK-LABEL: func.func @there_and_back
// CHECK-NOT: linalg.transpose
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<1x2x3x4xf32>, tensor<2xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.mulf
// CHECK-NOT: linalg.transpose
// CHECK: return
#n = affine_map<(n, h, w, c) -> (n, h, w, c)>
#c = affine_map<(n, h, w, c) -> (c)>
func.func @there_and_back(%x: tensor<1x2x3x4xf32>, %s: tensor<2xf32>) -> tensor<1x2x3x4xf32> {
  %e = tensor.empty() : tensor<1x3x4x2xf32>
  %f = tensor.empty() : tensor<1x2x3x4xf32>
  %t = linalg.transpose ins(%x : tensor<1x2x3x4xf32>) outs(%e : tensor<1x3x4x2xf32>) permutation = [0, 2, 3, 1]
  %y = linalg.generic {indexing_maps = [#n, #c, #n], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%t, %s : tensor<1x3x4x2xf32>, tensor<2xf32>) outs(%e : tensor<1x3x4x2xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<1x3x4x2xf32>
  %u = linalg.transpose ins(%y : tensor<1x3x4x2xf32>) outs(%f : tensor<1x2x3x4xf32>) permutation = [0, 3, 1, 2]
  return %u : tensor<1x2x3x4xf32>
}

// A size is never negative; an assert about anything else stays.
// CHECK-LABEL: func.func @asserts
// CHECK-NOT: "never"
// CHECK: cf.assert {{.*}} "perhaps"
func.func @asserts(%x: tensor<?xf32>, %i: i64) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i64
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %n = arith.index_cast %d : index to i64
  %never = arith.cmpi sge, %n, %z : i64
  cf.assert %never, "never"
  %perhaps = arith.cmpi sge, %i, %z : i64
  cf.assert %perhaps, "perhaps"
  return %x : tensor<?xf32>
}

// A table made of indices alone; a large one would be left to the program.
// CHECK-LABEL: func.func @table
// CHECK: arith.constant dense<[0, 2, 4]> : tensor<3xi64>
// CHECK-NOT: linalg
// CHECK: return
#v = affine_map<(i) -> (i)>
func.func @table() -> tensor<3xi64> {
  %two = arith.constant 2 : i64
  %e = tensor.empty() : tensor<3xi64>
  %y = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<3xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i64
    %r = arith.muli %k, %two : i64
    linalg.yield %r : i64
  } -> tensor<3xi64>
  return %y : tensor<3xi64>
}
