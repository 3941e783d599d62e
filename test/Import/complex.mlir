// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: attune-import %s | FileCheck %s

// CHECK: note: @main: complex numbers are passed as pairs
// CHECK-LABEL: func.func @main(%arg0: tensor<4x2xf32>) -> tensor<4x2xf32>
#v = affine_map<(i) -> (i)>
func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %e = tensor.empty() : tensor<4xcomplex<f32>>
  %y = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%x : tensor<4xcomplex<f32>>) outs(%e : tensor<4xcomplex<f32>>) {
  ^bb0(%a: complex<f32>, %o: complex<f32>):
    %r = complex.mul %a, %a : complex<f32>
    linalg.yield %r : complex<f32>
  } -> tensor<4xcomplex<f32>>
  return %y : tensor<4xcomplex<f32>>
}
