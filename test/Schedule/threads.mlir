// RUN: attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 threads=2 print-config=true" | FileCheck %s

// Little work stays on one thread, much is shared.
// CHECK-LABEL: func.func @little
// CHECK-SAME: parallel=0
// CHECK-NOT: scf.forall
// CHECK-LABEL: func.func @much
// CHECK-SAME: parallel=1
// CHECK: scf.forall
func.func @little(%i: tensor<64x64xf32>, %o: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = linalg.exp ins(%i : tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
func.func @much(%i: tensor<1024x64xf32>, %o: tensor<1024x64xf32>) -> tensor<1024x64xf32> {
  %r = linalg.exp ins(%i : tensor<1024x64xf32>) outs(%o : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %r : tensor<1024x64xf32>
}
