// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs of every kind, through the command line; the numbers are by hand.
// RUN: split-file %s %t
// RUN: attune run %t/memref_scf.mlir '--input=8x8xf32=1.0' '--input=8x8xf32=2.0' '--input=8x8xf32=3.0' | FileCheck %t/memref_scf.mlir
// RUN: attune run %t/memref_linalg.mlir '--input=8x8xf32=1.0' '--input=8x8xf32=2.0' '--input=8x8xf32=3.0' | FileCheck %t/memref_linalg.mlir
// RUN: attune run %t/memref_for_linalg.mlir '--input=8x8xf32=1.0' '--input=8x8xf32=3.0' | FileCheck %t/memref_for_linalg.mlir
// RUN: attune run %t/several.mlir '--input=4xf32=0.0' '--input=f32=2.5' '--input=index=3' '--input=i1=1' | FileCheck %t/several.mlir
// RUN: attune run %t/same_twice.mlir '--input=4xf32=0.0' '--input=2xf32=5.0' | FileCheck %t/same_twice.mlir
// RUN: attune run %t/zero.mlir '--input=2x3x0xf32' '--input=2x0x5xf32' | FileCheck %t/zero.mlir
// RUN: attune run %t/zero_static.mlir '--input=4x0xf32' '--input=0x8xf32' '--input=0x4xf32' | FileCheck %t/zero_static.mlir
// RUN: attune run %t/mm_i8.mlir '--input=33x47xi8=3' '--input=47x29xi8=3' '--input=33x29xi8=0' | FileCheck %t/mm_i8.mlir
// RUN: attune run %t/mm_bf16.mlir '--input=33x47xbf16=1.0' '--input=47x29xbf16=16.0' '--input=33x29xbf16=0.0' | FileCheck %t/mm_bf16.mlir
// RUN: attune run %t/i4.mlir '--input=5x9xi4=5' '--input=5x9xi4=4' '--input=5x9xi1=1' | FileCheck %t/i4.mlir
// RUN: attune run %t/index_t.mlir '--input=7xindex=2' '--input=10x3xf32=4.0' | FileCheck %t/index_t.mlir
// RUN: attune run %t/while.mlir '--input=4xf32=1.0' '--input=i64=3' | FileCheck %t/while.mlir
// RUN: attune run %t/if.mlir '--input=4x4xf32=2.0' '--input=i1=0' | FileCheck %t/if.mlir
// RUN: attune run %t/for.mlir '--input=6x4xf32=0.0' '--input=4x4xf32=1.0' '--input=1x4xf32=0.0' | FileCheck %t/for.mlir
// RUN: attune run %t/private.mlir '--input=4x4xf32=0.0' | FileCheck %t/private.mlir
// RUN: attune run %t/complex.mlir '--input=5x2xf32=1.0' '--input=5x2xf32=2.0' | FileCheck %t/complex.mlir
// RUN: attune run %t/concat.mlir '--input=2x3xf32=1.0' '--input=0x3xf32' | FileCheck %t/concat.mlir
// RUN: attune run %t/pack.mlir '--input=13x15xf32=1.0' | FileCheck %t/pack.mlir
// RUN: attune run %t/softmax.mlir '--input=2x7xf32=1.0' '--input=3x5x4xf32=1.0' | FileCheck %t/softmax.mlir
// RUN: attune run %t/scalar_only.mlir '--input=f32=4.0' '--input=f64=3.0' '--input=i8=100' '--input=bf16=1.5' | FileCheck %t/scalar_only.mlir
// RUN: attune run %t/zerod.mlir '--input=f32=0.0' '--input=8xf32=1.0' | FileCheck %t/zerod.mlir
// RUN: mlir-opt %t/if.mlir --emit-bytecode -o %t/if.mlirbc
// RUN: attune run %t/if.mlirbc --input=4x4xf32=2.0 --input=i1=1 | FileCheck %s --check-prefix=BYTECODE
// BYTECODE: output 0: 4x4xf32 = 4 4 4 4

//--- memref_scf.mlir
// CHECK: output 0: 8x8xf32 = 19 19 19
func.func @main(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c8 step %c1 {
        %x = memref.load %a[%i, %k] : memref<8x8xf32>
        %y = memref.load %b[%k, %j] : memref<8x8xf32>
        %z = memref.load %c[%i, %j] : memref<8x8xf32>
        %m = arith.mulf %x, %y : f32
        %s = arith.addf %z, %m : f32
        memref.store %s, %c[%i, %j] : memref<8x8xf32>
      }
    }
  }
  return
}

//--- memref_linalg.mlir
// CHECK: output 0: 8x8xf32 = 17 17
func.func @main(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  %z = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x8xf32>
  linalg.fill ins(%z : f32) outs(%t : memref<8x8xf32>)
  linalg.matmul ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%t : memref<8x8xf32>)
  linalg.add ins(%t, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  memref.dealloc %t : memref<8x8xf32>
  return
}

//--- memref_for_linalg.mlir
// CHECK: output 0: 8x8xf32 = 27 27
func.func @main(%a: memref<8x8xf32>, %c: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  }
  return
}

//--- several.mlir
// CHECK: output 0: 4xf32 = 0 0 0 0
// CHECK: output 1: f32 = 2.5
// CHECK: output 2: f32 = 2.5
// CHECK: output 3: index = 3
// CHECK: output 4: i1 = 1
// CHECK: output 5: 4xf32 = 1 1 1 1
func.func @main(%a: tensor<4xf32>, %s: f32, %i: index, %b: i1) -> (tensor<4xf32>, f32, tensor<f32>, index, i1, tensor<4xf32>) {
  %e = tensor.empty() : tensor<f32>
  %z = tensor.insert %s into %e[] : tensor<f32>
  %e4 = tensor.empty() : tensor<4xf32>
  %r = linalg.exp ins(%a : tensor<4xf32>) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  return %a, %s, %z, %i, %b, %r : tensor<4xf32>, f32, tensor<f32>, index, i1, tensor<4xf32>
}

//--- same_twice.mlir
// CHECK: output 0: 4xf32 = 1 1 1 1
// CHECK: output 1: 4xf32 = 1 1 1 1
// CHECK: output 2: 2xf32 = 5 5
// CHECK: output 3: 2xf32 = 5 5
func.func @main(%a: tensor<4xf32>, %b: tensor<?xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<?xf32>, tensor<?xf32>) {
  %e4 = tensor.empty() : tensor<4xf32>
  %r = linalg.exp ins(%a : tensor<4xf32>) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  return %r, %r, %b, %b : tensor<4xf32>, tensor<4xf32>, tensor<?xf32>, tensor<?xf32>
}

//--- zero.mlir
// CHECK: output 0: 2x3x5xf32 = 0 0 0 0
func.func @main(%a: tensor<?x?x?xf32>, %b: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0.0 : f32
  %B = tensor.dim %a, %c0 : tensor<?x?x?xf32>
  %M = tensor.dim %a, %c1 : tensor<?x?x?xf32>
  %N = tensor.dim %b, %c2 : tensor<?x?x?xf32>
  %e = tensor.empty(%B, %M, %N) : tensor<?x?x?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<?x?x?xf32>, tensor<?x?x?xf32>) outs(%f : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %r : tensor<?x?x?xf32>
}

//--- zero_static.mlir
// CHECK: output 0: 4x8xf32 = 1 1 1
// CHECK: output 1: 0x4xf32 =
func.func @main(%a: tensor<4x0xf32>, %b: tensor<0x8xf32>, %c: tensor<0x4xf32>) -> (tensor<4x8xf32>, tensor<0x4xf32>) {
  %z = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4x0xf32>, tensor<0x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %e2 = tensor.empty() : tensor<0x4xf32>
  %s = linalg.exp ins(%c : tensor<0x4xf32>) outs(%e2 : tensor<0x4xf32>) -> tensor<0x4xf32>
  return %r, %s : tensor<4x8xf32>, tensor<0x4xf32>
}

//--- mm_i8.mlir
// CHECK: output 0: 33x29xi8 = -89 -89
func.func @main(%a: tensor<33x47xi8>, %b: tensor<47x29xi8>, %c: tensor<33x29xi8>) -> tensor<33x29xi8> {
  %r = linalg.matmul ins(%a, %b : tensor<33x47xi8>, tensor<47x29xi8>) outs(%c : tensor<33x29xi8>) -> tensor<33x29xi8>
  return %r : tensor<33x29xi8>
}

//--- mm_bf16.mlir
// CHECK: output 0: 33x29xbf16 = 752 752
func.func @main(%a: tensor<33x47xbf16>, %b: tensor<47x29xbf16>, %c: tensor<33x29xbf16>) -> tensor<33x29xbf16> {
  %r = linalg.matmul ins(%a, %b : tensor<33x47xbf16>, tensor<47x29xbf16>) outs(%c : tensor<33x29xbf16>) -> tensor<33x29xbf16>
  return %r : tensor<33x29xbf16>
}

//--- i4.mlir
// CHECK: output 0: 5x9xi4 = -7 -7
// CHECK: output 1: 5x9xi1 = 0 0
// CHECK: output 2: 5x9xi8 = -7 -7
#m = affine_map<(i, j) -> (i, j)>
func.func @main(%a: tensor<5x9xi4>, %b: tensor<5x9xi4>, %p: tensor<5x9xi1>) -> (tensor<5x9xi4>, tensor<5x9xi1>, tensor<5x9xi8>) {
  %e = tensor.empty() : tensor<5x9xi4>
  %e1 = tensor.empty() : tensor<5x9xi1>
  %e8 = tensor.empty() : tensor<5x9xi8>
  %r:3 = linalg.generic {indexing_maps = [#m, #m, #m, #m, #m, #m], iterator_types = ["parallel", "parallel"]} ins(%a, %b, %p : tensor<5x9xi4>, tensor<5x9xi4>, tensor<5x9xi1>) outs(%e, %e1, %e8 : tensor<5x9xi4>, tensor<5x9xi1>, tensor<5x9xi8>) {
  ^bb0(%x: i4, %y: i4, %q: i1, %o: i4, %o1: i1, %o8: i8):
    %s = arith.addi %x, %y : i4
    %c = arith.cmpi slt, %x, %y : i4
    %d = arith.andi %c, %q : i1
    %w = arith.extsi %s : i4 to i8
    linalg.yield %s, %d, %w : i4, i1, i8
  } -> (tensor<5x9xi4>, tensor<5x9xi1>, tensor<5x9xi8>)
  return %r#0, %r#1, %r#2 : tensor<5x9xi4>, tensor<5x9xi1>, tensor<5x9xi8>
}

//--- index_t.mlir
// CHECK: output 0: 7xindex = 2 3 4 5 6 7 8
// CHECK: output 1: 7x3xf32 = 4 4
#m = affine_map<(i) -> (i)>
func.func @main(%a: tensor<7xindex>, %t: tensor<10x3xf32>) -> (tensor<7xindex>, tensor<7x3xf32>) {
  %e = tensor.empty() : tensor<7xindex>
  %r = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]} ins(%a : tensor<7xindex>) outs(%e : tensor<7xindex>) {
  ^bb0(%x: index, %o: index):
    %i = linalg.index 0 : index
    %s = arith.addi %x, %i : index
    linalg.yield %s : index
  } -> tensor<7xindex>
  %ei = tensor.expand_shape %a [[0, 1]] output_shape [7, 1] : tensor<7xindex> into tensor<7x1xindex>
  %g = tensor.gather %t[%ei] gather_dims([0]) : (tensor<10x3xf32>, tensor<7x1xindex>) -> tensor<7x3xf32>
  return %r, %g : tensor<7xindex>, tensor<7x3xf32>
}

//--- while.mlir
// CHECK: output 0: 4xf32 = 4 4 4 4
// CHECK: output 1: i64 = 3
func.func @main(%a: tensor<4xf32>, %n: i64) -> (tensor<4xf32>, i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r:2 = scf.while (%i = %c0, %t = %a) : (i64, tensor<4xf32>) -> (i64, tensor<4xf32>) {
    %p = arith.cmpi slt, %i, %n : i64
    scf.condition(%p) %i, %t : i64, tensor<4xf32>
  } do {
  ^bb0(%i: i64, %t: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %u = linalg.add ins(%t, %a : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %j = arith.addi %i, %c1 : i64
    scf.yield %j, %u : i64, tensor<4xf32>
  }
  return %r#1, %r#0 : tensor<4xf32>, i64
}

//--- if.mlir
// CHECK: output 0: 4x4xf32 = 16 16
func.func @main(%a: tensor<4x4xf32>, %p: i1) -> tensor<4x4xf32> {
  %r = scf.if %p -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32>
    %u = linalg.add ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %u : tensor<4x4xf32>
  } else {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %u = linalg.matmul ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %u : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}

//--- for.mlir
// CHECK: output 0: 6x4xf32 = 0 0
// CHECK: output 1: 1x4xf32 = 0 0 0 0
func.func @main(%x: tensor<6x4xf32>, %w: tensor<4x4xf32>, %h: tensor<1x4xf32>) -> (tensor<6x4xf32>, tensor<1x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %e = tensor.empty() : tensor<6x4xf32>
  %z = arith.constant 0.0 : f32
  %r:2 = scf.for %i = %c0 to %c6 step %c1 iter_args(%o = %e, %s = %h) -> (tensor<6x4xf32>, tensor<1x4xf32>) {
    %xi = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<6x4xf32> to tensor<1x4xf32>
    %m = linalg.matmul ins(%s, %w : tensor<1x4xf32>, tensor<4x4xf32>) outs(%xi : tensor<1x4xf32>) -> tensor<1x4xf32>
    %e1 = tensor.empty() : tensor<1x4xf32>
    %t = linalg.tanh ins(%m : tensor<1x4xf32>) outs(%e1 : tensor<1x4xf32>) -> tensor<1x4xf32>
    %o2 = tensor.insert_slice %t into %o[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<6x4xf32>
    scf.yield %o2, %t : tensor<6x4xf32>, tensor<1x4xf32>
  }
  return %r#0, %r#1 : tensor<6x4xf32>, tensor<1x4xf32>
}

//--- private.mlir
// CHECK: output 0: 4x4xf32 = 2.71828 2.71828
func.func private @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %u = linalg.exp ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %u : tensor<4x4xf32>
}
func.func @"my entry <1>"(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = call @f(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = call @f(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

//--- complex.mlir
// CHECK: output 0: 5x2xf32 = 0 4 0 4
#m = affine_map<(i) -> (i)>
func.func @main(%a: tensor<5xcomplex<f32>>, %b: tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>> {
  %e = tensor.empty() : tensor<5xcomplex<f32>>
  %r = linalg.generic {indexing_maps = [#m, #m, #m], iterator_types = ["parallel"]} ins(%a, %b : tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) outs(%e : tensor<5xcomplex<f32>>) {
  ^bb0(%x: complex<f32>, %y: complex<f32>, %o: complex<f32>):
    %p = complex.mul %x, %y : complex<f32>
    linalg.yield %p : complex<f32>
  } -> tensor<5xcomplex<f32>>
  return %r : tensor<5xcomplex<f32>>
}

//--- concat.mlir
// CHECK: output 0: 4x3xf32 = 1 1 1
func.func @main(%a: tensor<2x3xf32>, %b: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %r = tensor.concat dim(0) %a, %b, %a : (tensor<2x3xf32>, tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}

//--- pack.mlir
// CHECK: output 0: 2x4x8x4xf32 = 1 1 1 1
// CHECK: output 1: 13x15xf32 = 1 1
func.func @main(%a: tensor<13x15xf32>) -> (tensor<2x4x8x4xf32>, tensor<13x15xf32>) {
  %p = arith.constant 7.0 : f32
  %e = tensor.empty() : tensor<2x4x8x4xf32>
  %r = linalg.pack %a padding_value(%p : f32) inner_dims_pos = [0, 1] inner_tiles = [8, 4] into %e : tensor<13x15xf32> -> tensor<2x4x8x4xf32>
  %e2 = tensor.empty() : tensor<13x15xf32>
  %u = linalg.unpack %r inner_dims_pos = [0, 1] inner_tiles = [8, 4] into %e2 : tensor<2x4x8x4xf32> -> tensor<13x15xf32>
  return %r, %u : tensor<2x4x8x4xf32>, tensor<13x15xf32>
}

//--- softmax.mlir
// CHECK: output 0: 2x7xf32 = 0.142857 0.142857
// CHECK: output 1: 3x5x4xf32 = 0.2 0.2
func.func @main(%a: tensor<?x7xf32>, %b: tensor<3x5x4xf32>) -> (tensor<?x7xf32>, tensor<3x5x4xf32>) {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x7xf32>
  %e = tensor.empty(%d) : tensor<?x7xf32>
  %r = linalg.softmax dimension(1) ins(%a : tensor<?x7xf32>) outs(%e : tensor<?x7xf32>) -> tensor<?x7xf32>
  %e2 = tensor.empty() : tensor<3x5x4xf32>
  %s = linalg.softmax dimension(1) ins(%b : tensor<3x5x4xf32>) outs(%e2 : tensor<3x5x4xf32>) -> tensor<3x5x4xf32>
  return %r, %s : tensor<?x7xf32>, tensor<3x5x4xf32>
}

//--- scalar_only.mlir
// CHECK: output 0: f32 = 2
// CHECK: output 1: f64 = 6
// CHECK: output 2: i8 = -56
// CHECK: output 3: bf16 = 2.25
func.func @main(%a: f32, %b: f64, %c: i8, %d: bf16) -> (f32, f64, i8, bf16) {
  %r = math.sqrt %a : f32
  %s = arith.addf %b, %b : f64
  %t = arith.addi %c, %c : i8
  %u = arith.mulf %d, %d : bf16
  return %r, %s, %t, %u : f32, f64, i8, bf16
}

//--- zerod.mlir
// CHECK: output 0: f32 = 1
// CHECK: output 1: f32 = 9
#s = affine_map<() -> ()>
func.func @main(%a: tensor<f32>, %b: tensor<8xf32>) -> (tensor<f32>, tensor<f32>) {
  %e = tensor.empty() : tensor<f32>
  %r = linalg.generic {indexing_maps = [#s, #s], iterator_types = []} ins(%a : tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<f32>
  %d = linalg.dot ins(%b, %b : tensor<8xf32>, tensor<8xf32>) outs(%r : tensor<f32>) -> tensor<f32>
  return %r, %d : tensor<f32>, tensor<f32>
}
