// RUN: attune-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: attune.weight 3 hash "9f86d081" : tensor<8x2xf32>
// CHECK: attune.dispatch @product ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x2xf32>) outs(%{{.*}} : tensor<4x2xf32>)
func.func @main(%a: tensor<4x8xf32>) -> tensor<4x2xf32> {
  %w = attune.weight 3 hash "9f86d081" : tensor<8x2xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %r = attune.dispatch @product ins(%a, %w : tensor<4x8xf32>, tensor<8x2xf32>) outs(%e : tensor<4x2xf32>)
  return %r : tensor<4x2xf32>
}
func.func private @product(tensor<4x8xf32>, tensor<8x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>

// -----

// A dispatch without inputs, with two results.
// CHECK: attune.dispatch @numbers ins() outs(%{{.*}}, %{{.*}} : tensor<4xi64>, tensor<f32>)
func.func @none() -> (tensor<4xi64>, tensor<f32>) {
  %e = tensor.empty() : tensor<4xi64>
  %f = tensor.empty() : tensor<f32>
  %r:2 = attune.dispatch @numbers ins() outs(%e, %f : tensor<4xi64>, tensor<f32>)
  return %r#0, %r#1 : tensor<4xi64>, tensor<f32>
}
func.func private @numbers(tensor<4xi64>, tensor<f32>) -> (tensor<4xi64>, tensor<f32>)

// -----

func.func @nobody(%e: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'nowhere' is not a function}}
  %r = attune.dispatch @nowhere ins() outs(%e : tensor<4xf32>)
  return %r : tensor<4xf32>
}

// -----

func.func @misfit(%e: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{operands and results do not fit 'other'}}
  %r = attune.dispatch @other ins() outs(%e : tensor<4xf32>)
  return %r : tensor<4xf32>
}
func.func private @other(tensor<5xf32>) -> tensor<5xf32>
