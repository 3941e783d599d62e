// RUN: attune-opt %s --attune-decompose --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-NOT: linalg.softmax
// CHECK: arith.max{{imum|num}}f
// CHECK: math.exp
// CHECK: arith.divf
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Outside of the source a pack reads its padding, never the tensor.
// CHECK-LABEL: func.func @pack
// CHECK-NOT: linalg.pack
// CHECK: %[[IN:.*]] = arith.cmpi slt
// CHECK: scf.if %[[IN]]
// CHECK-NEXT: tensor.extract
func.func @pack(%x: tensor<5x8xf32>) -> tensor<2x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x4xf32>
  %r = linalg.pack %x padding_value(%zero : f32) inner_dims_pos = [0] inner_tiles = [4] into %e : tensor<5x8xf32> -> tensor<2x8x4xf32>
  return %r : tensor<2x8x4xf32>
}

// CHECK-LABEL: func.func @unpack
// CHECK-NOT: linalg.unpack
// CHECK: tensor.extract
func.func @unpack(%x: tensor<2x8x4xf32>) -> tensor<5x8xf32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %r = linalg.unpack %x inner_dims_pos = [0] inner_tiles = [4] into %e : tensor<2x8x4xf32> -> tensor<5x8xf32>
  return %r : tensor<5x8xf32>
}
