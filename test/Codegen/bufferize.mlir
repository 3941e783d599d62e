// RUN: attune-opt %s --attune-bufferize-dispatch | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>

// Results are written to their destinations: no allocation, no copy.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[A:[a-z0-9]+]]: memref<4x8xf32>, %[[B:[a-z0-9]+]]: memref<8x2xf32>, %[[OUT:[a-z0-9]+]]: memref<4x2xf32>) {
// CHECK-NOT: memref.alloc
// CHECK-NOT: copy
// CHECK: linalg.fill {{.*}} outs(%[[OUT]] : memref<4x2xf32>)
// CHECK: linalg.matmul ins(%[[A]], %[[B]] : {{.*}}) outs(%[[OUT]] :
// CHECK: return{{$}}
func.func @product(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>, %out: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<4x2xf32>) -> tensor<4x2xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>) outs(%f : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// An input is only read: what would be computed in place goes to the destination.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<4x8xf32>, %[[OUT:[a-z0-9]+]]: memref<4x8xf32>)
// CHECK-NOT: outs(%[[X]]
// CHECK: return
func.func @twice(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<4x8xf32>) {
  ^bb0(%o: f32):
    %s = arith.addf %o, %o : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Scalars stay scalars; sizes that are not known stay in the buffer.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: (%{{[a-z0-9]+}}: f32, %[[OUT:[a-z0-9]+]]: memref<?xf32>) {
// CHECK: linalg.fill {{.*}} outs(%[[OUT]] : memref<?xf32>)
func.func @dynamic(%v: f32, %out: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.fill ins(%v : f32) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
