// RUN: attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3" | FileCheck %s
// RUN: attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 schedule=contraction_packed config=k_block=64;m_block=4;m_tile=6;n_tile=16;pack_a=true" | FileCheck %s --check-prefix=BLOCKS
// RUN: attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 schedule=contraction_packed config=pack_a=true;m_tile=4" | FileCheck %s --check-prefix=PACKA
// RUN: attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver4 threads=2" | FileCheck %s --check-prefix=WIDE
// RUN: not attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 schedule=contraction_packed config=m_tile=16" 2>&1 | FileCheck %s --check-prefix=REGS
// RUN: not attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 schedule=contraction_packed config=m_tile=99" 2>&1 | FileCheck %s --check-prefix=DOMAIN
// RUN: not attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 schedule=contraction_packed config=m_title=6" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 schedule=reduction" 2>&1 | FileCheck %s --check-prefix=MISFIT

// REGS: constraint violated: the register tile needs whole vectors that fit the registers
// DOMAIN: knob 'm_tile': 99 is not in #attune.range<1, 16>
// UNKNOWN: schedule 'contraction_packed' has no knob 'm_title'
// MISFIT: the root op is of class 'contraction'

// The epilogue sits on the register tile, the accumulators stay in registers
// through all of k, and the result goes straight to its destination.
// CHECK-LABEL: func.func @bias_relu
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: tensor<96x64xf32>)
// CHECK: tensor.empty() : tensor<4x128x16xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[OUT]])
// CHECK: scf.for {{.*}} -> (vector<6x16xf32>)
// CHECK: vector.contract {{.*}} into vector<6x16xf32>
// CHECK: arith.addf {{.*}} : vector<6x16xf32>
// CHECK: arith.maximumf {{.*}} : vector<6x16xf32>
// CHECK: vector.transfer_write {{.*}} : vector<6x16xf32>, tensor<96x64xf32>
// CHECK-NOT: attune.

// Rows of A are moved, not transposed: they are broadcast.
// PACKA-LABEL: func.func @bias_relu
// PACKA: tensor.empty() : tensor<24x4x128xf32>

// With blocks of k the sums go through the result, in each a panel of B and, in
// blocks of m, one of A; the epilogue comes afterwards.
// BLOCKS-LABEL: func.func @bias_relu
// BLOCKS: scf.for {{.*}} step %c64
// BLOCKS: -> (tensor<4x64x16xf32>)
// BLOCKS: scf.for {{.*}} step %c24
// BLOCKS: vector.contract {{.*}} into vector<6x16xf32>
// BLOCKS: arith.maximumf {{.*}} : vector<6x16xf32>
// BLOCKS-NOT: vector.contract

// WIDE-LABEL: func.func @bias_relu
// WIDE: scf.forall
// WIDE: vector.contract {{.*}} into vector<{{[0-9]+}}x{{16|32|64}}xf32>
func.func @bias_relu(%a: tensor<96x128xf32>, %b: tensor<128x64xf32>, %bias: tensor<64xf32>, %out: tensor<96x64xf32>) -> tensor<96x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x64xf32>) -> tensor<96x64xf32>
  %p = linalg.matmul ins(%a, %b : tensor<96x128xf32>, tensor<128x64xf32>) outs(%f : tensor<96x64xf32>) -> tensor<96x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%p, %bias : tensor<96x64xf32>, tensor<64xf32>) outs(%out : tensor<96x64xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    %m = arith.maximumf %s, %z : f32
    linalg.yield %m : f32
  } -> tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}
