// RUN: attune-opt %s --split-input-file --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 print-config=true" | FileCheck %s

// Rows of 7 are no vectors: the default is the product of matrices, over 49
// columns, written straight to the destination.
// CHECK-LABEL: func.func @small_image
// CHECK-SAME: attune.applied = "convolution_product
// CHECK: tensor.empty() : tensor<512x3x3x7x7xf32>
// CHECK: tensor.collapse_shape {{.*}} into tensor<4608x49xf32>
// CHECK: vector.contract
func.func @small_image(%i: tensor<1x512x9x9xf32>, %w: tensor<64x512x3x3xf32>, %o: tensor<1x64x7x7xf32>) -> tensor<1x64x7x7xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<1x64x7x7xf32>) -> tensor<1x64x7x7xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%i, %w : tensor<1x512x9x9xf32>, tensor<64x512x3x3xf32>) outs(%f : tensor<1x64x7x7xf32>) -> tensor<1x64x7x7xf32>
  return %r : tensor<1x64x7x7xf32>
}

// -----

// Long rows stay as they are.
// CHECK-LABEL: func.func @large_image
// CHECK-SAME: attune.applied = "convolution m_tile
func.func @large_image(%i: tensor<1x64x10x66xf32>, %w: tensor<64x64x3x3xf32>, %o: tensor<1x64x8x64xf32>) -> tensor<1x64x8x64xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<1x64x8x64xf32>) -> tensor<1x64x8x64xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%i, %w : tensor<1x64x10x66xf32>, tensor<64x64x3x3xf32>) outs(%f : tensor<1x64x8x64xf32>) -> tensor<1x64x8x64xf32>
  return %r : tensor<1x64x8x64xf32>
}

// -----

// Channels last, with what comes after it in the same form.
// CHECK-LABEL: func.func @channels_last
// CHECK-SAME: attune.applied = "convolution_product
// CHECK: tensor.empty() : tensor<7x7x3x3x64xf32>
// CHECK: tensor.collapse_shape {{.*}} into tensor<49x576xf32>
// CHECK: arith.maximumf {{.*}} : vector<
func.func @channels_last(%i: tensor<1x9x9x64xf32>, %w: tensor<3x3x64x128xf32>, %o: tensor<1x7x7x128xf32>) -> tensor<1x7x7x128xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x7x7x128xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x7x7x128xf32>) -> tensor<1x7x7x128xf32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%i, %w : tensor<1x9x9x64xf32>, tensor<3x3x64x128xf32>) outs(%f : tensor<1x7x7x128xf32>) -> tensor<1x7x7x128xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(n, y, x, c) -> (n, y, x, c)>, affine_map<(n, y, x, c) -> (n, y, x, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%r : tensor<1x7x7x128xf32>) outs(%o : tensor<1x7x7x128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %x = arith.maximumf %a, %z : f32
    linalg.yield %x : f32
  } -> tensor<1x7x7x128xf32>
  return %m : tensor<1x7x7x128xf32>
}
