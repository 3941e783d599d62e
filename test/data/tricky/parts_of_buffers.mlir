// Lowered half-way: linalg on parts of buffers inside loops, between tensors.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (i, 0)>
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4x8xf32>
  %sum = linalg.add ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %source = bufferization.to_buffer %sum : tensor<4x8xf32> to memref<4x8xf32>
  %target = memref.alloc() : memref<4x8xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c8 step %c2 {
      %from = memref.subview %source[%i, %j] [1, 2] [1, 1] : memref<4x8xf32> to memref<1x2xf32, strided<[8, 1], offset: ?>>
      %to = memref.subview %target[%i, %j] [1, 2] [1, 1] : memref<4x8xf32> to memref<1x2xf32, strided<[8, 1], offset: ?>>
      linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
          ins(%from, %from : memref<1x2xf32, strided<[8, 1], offset: ?>>, memref<1x2xf32, strided<[8, 1], offset: ?>>)
          outs(%to : memref<1x2xf32, strided<[8, 1], offset: ?>>) {
      ^bb0(%a: f32, %first: f32, %out: f32):
        %d = arith.subf %a, %first : f32
        linalg.yield %d : f32
      }
    }
  }
  %t = bufferization.to_tensor %target restrict : memref<4x8xf32> to tensor<4x8xf32>
  %r = linalg.mul ins(%t, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r, %sum : tensor<4x8xf32>, tensor<4x8xf32>
}
