// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: attune-import %s --clean-up | FileCheck %s

// y = conv(x, w) with scale 3 and 4 and shift 1 and 0 for the two channels, as frontends
// write a BatchNorm: mean, variance with epsilon, scale and shift in ops of their own.
// One convolution with another filter and one addition are left.

// CHECK: note: 2 scales or biases after convolutions and products
// CHECK-LABEL: func.func @batch_norm
// CHECK-NOT: linalg.generic
// CHECK: %[[W:.*]] = arith.constant dense<{{\[\[\[\[}}1.000000e+00{{\]\], \[\[}}2.000000e+00{{\]\]\], \[\[\[}}6.000000e+00{{\]\], \[\[}}8.000000e+00
// CHECK: %[[C:.*]] = linalg.conv_2d_nchw_fchw {{.*}} ins(%arg0, %[[W]]
// CHECK: linalg.generic {{.*}} ins(%[[C]], %[[B:.*]] :
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK-NOT: rsqrt
#x = affine_map<(n, c, h, w) -> (n, c, h, w)>
#c = affine_map<(n, c, h, w) -> (c, 0, 0)>
#v = affine_map<(c) -> (c)>
func.func @batch_norm(%x: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %w = arith.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  %mean = arith.constant dense<[[[1.0]], [[5.0]]]> : tensor<2x1x1xf32>
  %variance = arith.constant dense<[0.75, 0.0]> : tensor<2xf32>
  %beta = arith.constant dense<[[[7.0]], [[0.0]]]> : tensor<2x1x1xf32>
  %eps = arith.constant 0.25 : f32
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2x3x3xf32>
  %e1 = tensor.empty() : tensor<2xf32>
  %s = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%variance : tensor<2xf32>) outs(%e1 : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %eps : f32
    %r = math.rsqrt %t : f32
    linalg.yield %r : f32
  } -> tensor<2xf32>
  %s3 = tensor.expand_shape %s [[0, 1, 2]] output_shape [2, 1, 1] : tensor<2xf32> into tensor<2x1x1xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
      ins(%x, %w : tensor<1x2x3x3xf32>, tensor<2x2x1x1xf32>) outs(%i : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %0 = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %mean : tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) outs(%e : tensor<1x2x3x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<1x2x3x3xf32>
  %1 = linalg.generic {indexing_maps = [#x, #c, #c, #x], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%0, %s3, %beta : tensor<1x2x3x3xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>) outs(%e : tensor<1x2x3x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %p = arith.mulf %b, %a : f32
    %r = arith.addf %p, %c : f32
    linalg.yield %r : f32
  } -> tensor<1x2x3x3xf32>
  return %1 : tensor<1x2x3x3xf32>
}

// A scale by something that is not constant for the channel stays, and so does what
// follows a result with two readers.
// CHECK-LABEL: func.func @not_affine
// CHECK: linalg.matmul
// CHECK: arith.mulf
// CHECK: return
#m = affine_map<(i, j) -> (i, j)>
func.func @not_affine(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%i : tensor<2x2xf32>) -> tensor<2x2xf32>
  %0 = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.mulf %a, %a : f32
    linalg.yield %r : f32
  } -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// A bias that is the product's initial value becomes an addition after it.
// CHECK-LABEL: func.func @bias
// CHECK: %[[F:.*]] = linalg.fill
// CHECK: %[[P:.*]] = linalg.matmul {{.*}} outs(%[[F]]
// CHECK: linalg.generic {{.*}} ins(%[[P]], %{{.*}} : tensor<2x2xf32>, tensor<2xf32>)
func.func @bias(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<2x2xf32>
  %i = linalg.broadcast ins(%b : tensor<2xf32>) outs(%e : tensor<2x2xf32>) dimensions = [0]
  %y = linalg.matmul ins(%x, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%i : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
