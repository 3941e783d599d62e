// RUN: attune-opt %s --split-input-file --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 print-config=true" | FileCheck %s

// Channels last: output columns by output channels.
// CHECK-LABEL: func.func @nhwc
// CHECK-SAME: attune.applied = "convolution m_tile=4 n_tile=16
// CHECK: scf.for {{.*}} -> (vector<4x16xf32>)
// CHECK: vector.contract {{.*}} into vector<4x16xf32>
func.func @nhwc(%i: tensor<1x10x18x32xf32>, %w: tensor<3x3x32x64xf32>, %o: tensor<1x8x16x64xf32>) -> tensor<1x8x16x64xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<1x8x16x64xf32>) -> tensor<1x8x16x64xf32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%i, %w : tensor<1x10x18x32xf32>, tensor<3x3x32x64xf32>) outs(%f : tensor<1x8x16x64xf32>) -> tensor<1x8x16x64xf32>
  return %r : tensor<1x8x16x64xf32>
}

// -----

// Channels first: output channels by output columns.
// CHECK-LABEL: func.func @nchw
// CHECK-SAME: attune.applied = "convolution
// CHECK: scf.for {{.*}} -> (vector<4x16xf32>)
// CHECK: vector.contract
func.func @nchw(%i: tensor<1x32x10x18xf32>, %w: tensor<64x32x3x3xf32>, %o: tensor<1x64x8x16xf32>) -> tensor<1x64x8x16xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<1x64x8x16xf32>) -> tensor<1x64x8x16xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%i, %w : tensor<1x32x10x18xf32>, tensor<64x32x3x3xf32>) outs(%f : tensor<1x64x8x16xf32>) -> tensor<1x64x8x16xf32>
  return %r : tensor<1x64x8x16xf32>
}

// -----

// CHECK-LABEL: func.func @pool
// CHECK-SAME: attune.applied = "convolution
// CHECK: arith.maximumf {{.*}} : vector<
func.func @pool(%i: tensor<1x31x31x32xf32>, %o: tensor<1x15x15x32xf32>) -> tensor<1x15x15x32xf32> {
  %z = arith.constant -1.0e30 : f32
  %k = tensor.empty() : tensor<3x3xf32>
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<1x15x15x32xf32>) -> tensor<1x15x15x32xf32>
  %r = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins(%i, %k : tensor<1x31x31x32xf32>, tensor<3x3xf32>) outs(%f : tensor<1x15x15x32xf32>) -> tensor<1x15x15x32xf32>
  return %r : tensor<1x15x15x32xf32>
}
