// RUN: attune-opt %s --split-input-file --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 schedule=convolution print-config=true" | FileCheck %s

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

// -----

// Every second element of a row: two reads and a shuffle, no scalar loads.
// CHECK-LABEL: func.func @pool_nchw
// CHECK-SAME: attune.applied = "convolution
// CHECK: %[[A:.*]] = vector.transfer_read {{.*}} vector<32xf32>
// CHECK: %[[B:.*]] = vector.transfer_read {{.*}} vector<32xf32>
// CHECK: vector.shuffle %[[A]], %[[B]] [0, 2, 4, {{.*}}, 30, 33, 35, {{.*}}, 63] : vector<32xf32>, vector<32xf32>
func.func @pool_nchw(%i: tensor<8x2x64xf32>, %o: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %z = arith.constant -1.0e30 : f32
  %k = tensor.empty() : tensor<2x2xf32>
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, kh, kw) -> (c, kh, 2 * w + kw)>, affine_map<(c, w, kh, kw) -> (kh, kw)>, affine_map<(c, w, kh, kw) -> (c, w)>],
                       iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%i, %k : tensor<8x2x64xf32>, tensor<2x2xf32>) outs(%f : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.maximumf %a, %c : f32
    linalg.yield %m : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// -----

// The padding of a channel moves into the loop over channels.
// CHECK-LABEL: func.func @depthwise
// CHECK: scf.for
// CHECK: tensor.pad {{.*}} low[0, 1, 1] high[0, 1, 1]
// CHECK: tensor<1x16x32xf32> to tensor<1x18x34xf32>
func.func @depthwise(%i: tensor<24x16x32xf32>, %w: tensor<24x3x3xf32>, %o: tensor<24x16x32xf32>) -> tensor<24x16x32xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %i low[0, 1, 1] high[0, 1, 1] {
  ^bb0(%c: index, %y: index, %x: index):
    tensor.yield %z : f32
  } : tensor<24x16x32xf32> to tensor<24x18x34xf32>
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<24x16x32xf32>) -> tensor<24x16x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, y, x, kh, kw) -> (c, y + kh, x + kw)>, affine_map<(c, y, x, kh, kw) -> (c, kh, kw)>, affine_map<(c, y, x, kh, kw) -> (c, y, x)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %w : tensor<24x18x34xf32>, tensor<24x3x3xf32>) outs(%f : tensor<24x16x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %c : f32
    linalg.yield %s : f32
  } -> tensor<24x16x32xf32>
  return %r : tensor<24x16x32xf32>
}
