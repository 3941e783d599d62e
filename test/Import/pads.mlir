// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A pad of less than nothing is a slice: frontends crop so, and lowerings of pads
// would read beside the source.

// RUN: attune-import %s | FileCheck %s

// CHECK-LABEL: func.func @crop
// CHECK: tensor.extract_slice %arg0[1, 2] [3, 4] [1, 1] : tensor<6x8xf32> to tensor<3x4xf32>
// CHECK-NOT: tensor.pad
// CHECK: return
func.func @crop(%x: tensor<6x8xf32>) -> tensor<3x4xf32> {
  %zero = arith.constant 0.0 : f32
  %c-1 = arith.constant -1 : index
  %r = tensor.pad %x low[%c-1, -2] high[-2, -2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<6x8xf32> to tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @shift
// CHECK: %[[S:.*]] = tensor.extract_slice %arg0[0, 3] [6, 5] [1, 1]
// CHECK: tensor.pad %[[S]] low[2, 0] high[0, 3]
func.func @shift(%x: tensor<6x8xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %r = tensor.pad %x low[2, -3] high[0, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<6x8xf32> to tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @open
// CHECK: %[[D:.*]] = tensor.dim %arg0, %{{.*}}
// CHECK: %[[N:.*]] = arith.{{.*}} %[[D]]
// CHECK: tensor.extract_slice %arg0[1] [%[[N]]] [1]
func.func @open(%x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %r = tensor.pad %x low[-1] high[-1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}

// Nothing of the source is left.
// CHECK-LABEL: func.func @gone
// CHECK: tensor.pad %{{.*}} low[0] high[2] {
// CHECK: tensor<0xf32> to tensor<2xf32>
func.func @gone(%x: tensor<5xf32>) -> tensor<2xf32> {
  %one = arith.constant 1.0 : f32
  %r = tensor.pad %x low[-7] high[4] {
  ^bb0(%i: index):
    tensor.yield %one : f32
  } : tensor<5xf32> to tensor<2xf32>
  return %r : tensor<2xf32>
}
