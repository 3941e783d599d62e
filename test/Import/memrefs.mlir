// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: attune-import %s | FileCheck %s

// CHECK: // entry 'in_place': 2x2xf32 2x2xf32 2x2xf32 -> 2x2xf32(updates 2)
// CHECK: // entry 'slices': 4xf32 f32(scalar) -> 4xf32(updates 0)
// CHECK: // entry 'returned': 4xf32 -> 2x2xf32
// CHECK: // entry 'loop' on buffers: 4xf32 4xf32 -> 4xf32(updates 1)
// CHECK: // note: @loop works on memrefs

// What is written is a result.
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: %[[A:.*]]: tensor<2x2xf32>, %[[B:.*]]: tensor<2x2xf32>, %[[C:.*]]: tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK: %[[R:.*]] = linalg.matmul ins(%[[A]], %[[B]] : tensor<2x2xf32>, tensor<2x2xf32>) outs(%[[C]] : tensor<2x2xf32>)
// CHECK: return %[[R]]
func.func @in_place(%a: memref<2x2xf32>, %b: memref<2x2xf32>, %c: memref<2x2xf32>) {
  linalg.matmul ins(%a, %b : memref<2x2xf32>, memref<2x2xf32>) outs(%c : memref<2x2xf32>)
  return
}

// A write through a view changes the buffer behind it.
// CHECK-LABEL: func.func @slices(
// CHECK: %[[F:.*]] = linalg.fill {{.*}} -> tensor<2xf32>
// CHECK: %[[I:.*]] = tensor.insert_slice %[[F]] into %{{.*}}[1] [2] [1] : tensor<2xf32> into tensor<4xf32>
// CHECK: return %[[I]]
func.func @slices(%x: memref<4xf32>, %v: f32) {
  %s = memref.subview %x[1] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
  linalg.fill ins(%v : f32) outs(%s : memref<2xf32, strided<[1], offset: 1>>)
  return
}

// CHECK-LABEL: func.func @returned(
// CHECK: tensor.expand_shape
// CHECK: return %{{.*}} : tensor<2x2xf32>
func.func @returned(%x: memref<4xf32>) -> memref<2x2xf32> {
  %a = memref.alloc() : memref<4xf32>
  memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  %e = memref.expand_shape %a [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
  return %e : memref<2x2xf32>
}

// Loops stay as they are.
// CHECK-LABEL: func.func @loop(
// CHECK: scf.for
// CHECK: memref.store
func.func @loop(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %y[%i] : memref<4xf32>
  }
  return
}
