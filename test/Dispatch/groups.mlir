// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: split-file %s %t
// RUN: attune-dispatches %t/reshape.mlir | FileCheck %t/reshape.mlir
// RUN: attune-dispatches %t/transpose.mlir | FileCheck %t/transpose.mlir
// RUN: attune-dispatches %t/norm.mlir | FileCheck %t/norm.mlir
// RUN: attune-dispatches %t/constants.mlir | FileCheck %t/constants.mlir
// RUN: attune-dispatches %t/unit.mlir | FileCheck %t/unit.mlir
// RUN: attune-dispatches %t/stride.mlir | FileCheck %t/stride.mlir
// RUN: attune-dispatches %t/pixels.mlir | FileCheck %t/pixels.mlir

//--- reshape.mlir
// A reshape between a product and its bias hinders nobody.
// CHECK: attune.dispatch @contraction_1
// CHECK-NOT: attune.dispatch @
// CHECK: tensor.expand_shape
// CHECK: func.func private @contraction_1
// CHECK: arith.mulf
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.maximumf
func.func @main(%x: tensor<6x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<2x3x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x16xf32>) -> tensor<6x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<6x8xf32>, tensor<8x16xf32>) outs(%f : tensor<6x16xf32>) -> tensor<6x16xf32>
  %v = tensor.expand_shape %p [[0, 1], [2]] output_shape [2, 3, 16] : tensor<6x16xf32> into tensor<2x3x16xf32>
  %o = tensor.empty() : tensor<2x3x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%v, %b : tensor<2x3x16xf32>, tensor<16xf32>) outs(%o : tensor<2x3x16xf32>) {
  ^bb0(%a: f32, %c: f32, %_: f32):
    %s = arith.addf %a, %c : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  } -> tensor<2x3x16xf32>
  return %r : tensor<2x3x16xf32>
}

//--- transpose.mlir
// A product reads a transposed operand as it is.
// CHECK-NOT: @copy
// CHECK: attune.dispatch @contraction_1 ins(%arg0, %arg1
// CHECK-NOT: attune.dispatch @
// CHECK: affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @main(%q: tensor<16x8xf32>, %k: tensor<16x8xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<8x16xf32>
  %kt = linalg.transpose ins(%k : tensor<16x8xf32>) outs(%t : tensor<8x16xf32>) permutation = [1, 0]
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = linalg.matmul ins(%q, %kt : tensor<16x8xf32>, tensor<8x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %p : tensor<16x16xf32>
}

//--- norm.mlir
// Two reductions over the same rows, and what follows: one dispatch.
// CHECK: attune.dispatch @reduction_1
// CHECK-NOT: attune.dispatch @
func.func @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x32xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.mulf %a, %a : f32
    %s = arith.addf %m, %acc : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x32xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %sums, %squares : tensor<4x32xf32>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4x32xf32>) {
  ^bb0(%a: f32, %s: f32, %q: f32, %_: f32):
    %c = arith.subf %a, %s : f32
    %d = arith.divf %c, %q : f32
    linalg.yield %d : f32
  } -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

//--- constants.mlir
// The same op with another bias is the same dispatch.
// CHECK: attune.dispatch @elementwise_1
// CHECK: attune.dispatch @elementwise_1
// CHECK: func.func private @elementwise_1({{.*}}: tensor<4xf32> {attune.constant}
// CHECK-NOT: @elementwise_2
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %b = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %c = arith.constant dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.add ins(%x, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.add ins(%y, %c : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r, %s : tensor<4xf32>, tensor<4xf32>
}

//--- unit.mlir
// An input that is larger than what its window reads: the loop of extent 1 stays.
// CHECK: attune.dispatch @convolution_1
// CHECK: affine_map<({{.*}}) -> ({{.*}}d1 * 2 + d3)>
func.func @main(%x: tensor<1x64x4xf32>, %w: tensor<64x64x3xf32>) -> tensor<1x64x1xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x64x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x64x1xf32>) -> tensor<1x64x1xf32>
  %r = linalg.conv_1d_ncw_fcw {strides = dense<2> : tensor<1xi64>} ins(%x, %w : tensor<1x64x4xf32>, tensor<64x64x3xf32>)
      outs(%f : tensor<1x64x1xf32>) -> tensor<1x64x1xf32>
  return %r : tensor<1x64x1xf32>
}

//--- stride.mlir
// A convolution of 1 by 1 with a stride stays a convolution.
// CHECK: attune.dispatch @convolution_1
func.func @main(%x: tensor<1x8x15x15xf32>, %w: tensor<16x8x1x1xf32>) -> tensor<1x16x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %r = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<1x8x15x15xf32>, tensor<16x8x1x1xf32>)
      outs(%f : tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  return %r : tensor<1x16x8x8xf32>
}

//--- pixels.mlir
// The pixels of a convolution of 1 by 1 are rows of a product; what follows it
// follows. (Sinking reshapes of both kinds at once did not end here.)
// CHECK: attune.dispatch @contraction_1
// CHECK-NOT: attune.dispatch @
// CHECK: shapes = "16x25x8xf32"
func.func @main(%x: tensor<1x8x5x5xf32>, %w: tensor<16x8x1x1xf32>, %y: tensor<1x16x5x5xf32>) -> tensor<1x16x5x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16x5x5xf32>) -> tensor<1x16x5x5xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x8x5x5xf32>, tensor<16x8x1x1xf32>)
      outs(%f : tensor<1x16x5x5xf32>) -> tensor<1x16x5x5xf32>
  %s = linalg.add ins(%r, %y : tensor<1x16x5x5xf32>, tensor<1x16x5x5xf32>) outs(%e : tensor<1x16x5x5xf32>) -> tensor<1x16x5x5xf32>
  return %s : tensor<1x16x5x5xf32>
}
