// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The loops of a reference: rows of the result run inside where all operands follow
// them, sums stay in their order. A product with a transposed operand stays as it is.
// RUN: mkdir -p %t
// RUN: env ATTUNE_DUMP_IR=%t attune run --reference %s
// RUN: FileCheck %s --input-file=%t/host.loops.mlir
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#t = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func @main(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %t: tensor<9x16xf32>) -> (tensor<4x8xf32>, tensor<4x9xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%z : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %n = arith.addf %s, %p : f32
    linalg.yield %n : f32
  } -> tensor<4x8xf32>
  %f = tensor.empty() : tensor<4x9xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<4x9xf32>) -> tensor<4x9xf32>
  %u = linalg.generic {indexing_maps = [#a, #t, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %t : tensor<4x16xf32>, tensor<9x16xf32>) outs(%y : tensor<4x9xf32>) {
  ^bb0(%x: f32, %w: f32, %s: f32):
    %p = arith.mulf %x, %w : f32
    %n = arith.addf %s, %p : f32
    linalg.yield %n : f32
  } -> tensor<4x9xf32>
  return %r, %u : tensor<4x8xf32>, tensor<4x9xf32>
}

// CHECK: func.func private @attune_loop_2
// CHECK: scf.for %[[I:.*]] = %c0 to %c4
// CHECK: scf.for %[[K:.*]] = %c0 to %c16
// CHECK: scf.for %[[J:.*]] = %c0 to %c8
// CHECK: memref.load %arg0[%[[I]], %[[K]]]
// CHECK: memref.load %arg1[%[[K]], %[[J]]]
// CHECK: func.func private @attune_loop_6
// CHECK: scf.for %[[I:.*]] = %c0 to %c4
// CHECK: scf.for %[[J:.*]] = %c0 to %c9
// CHECK: scf.for %[[K:.*]] = %c0 to %c16
