// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: attune-import %s | FileCheck %s
// RUN: mlir-opt %s --emit-bytecode -o %t.mlirbc && attune-import %t.mlirbc | FileCheck %s

// TOSA, as text and as bytecode; quantised layers with their rescale, f64 constants.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tosa.
// CHECK: linalg.
func.func @main(%x: tensor<3x21xi8>, %y: tensor<2xf32>) -> (tensor<3x21xi8>, tensor<2xf32>) {
  %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<30> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zi = "tosa.const"() <{values = dense<-128> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zo = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %r = tosa.rescale %x, %m, %s, %zi, %zo {input_unsigned = true, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true}
      : (tensor<3x21xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<3x21xi8>
  %t = tosa.tanh %y : (tensor<2xf32>) -> tensor<2xf32>
  return %r, %t : tensor<3x21xi8>, tensor<2xf32>
}
