// RUN: attune-opt %s --attune-plan-arena | FileCheck %s

func.func private @use(memref<16x16xf32>, memref<16x16xf32>)

// Three buffers of 1024 bytes, one after the other: two are alive at once, so the
// third lies where the first was.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<?xi8>
// CHECK-SAME: attune.arena_bytes = 2048
// CHECK: %[[FIRST:.*]] = arith.constant 0 : index
// CHECK: %[[A:.*]] = memref.view %[[ARENA]][%[[FIRST]]][] : memref<?xi8> to memref<16x16xf32>
// CHECK: %[[SECOND:.*]] = arith.constant 1024 : index
// CHECK: %[[B:.*]] = memref.view %[[ARENA]][%[[SECOND]]][]
// CHECK: call @use(%[[A]], %[[B]])
// CHECK: %[[AGAIN:.*]] = arith.constant 0 : index
// CHECK: %[[C:.*]] = memref.view %[[ARENA]][%[[AGAIN]]][]
// CHECK: call @use(%[[B]], %[[C]])
// CHECK-NOT: memref.alloc
func.func @chain(%arena: memref<?xi8>) {
  %a = memref.alloc() : memref<16x16xf32>
  %b = memref.alloc() : memref<16x16xf32>
  call @use(%a, %b) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %c = memref.alloc() : memref<16x16xf32>
  call @use(%b, %c) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  return
}

// A view keeps its buffer alive, and so does a use inside a loop.
// CHECK-LABEL: func.func @views
// CHECK-SAME: attune.arena_bytes = 3072
func.func @views(%arena: memref<?xi8>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = memref.alloc() : memref<16x16xf32>
  %flat = memref.collapse_shape %a [[0, 1]] : memref<16x16xf32> into memref<256xf32>
  %b = memref.alloc() : memref<16x16xf32>
  %c = memref.alloc() : memref<16x16xf32>
  call @use(%b, %c) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  scf.for %i = %zero to %n step %one {
    %v = memref.load %flat[%i] : memref<256xf32>
    memref.store %v, %b[%zero, %zero] : memref<16x16xf32>
  }
  return
}

// What has no static size stays an allocation.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: attune.arena_bytes = 0
// CHECK: memref.alloc(%{{.*}}) : memref<?xf32>
func.func @dynamic(%arena: memref<?xi8>, %n: index) -> f32 {
  %zero = arith.constant 0 : index
  %a = memref.alloc(%n) : memref<?xf32>
  %v = memref.load %a[%zero] : memref<?xf32>
  return %v : f32
}

// Small ones are aligned to a cache line; i1 takes a byte.
// CHECK-LABEL: func.func @small
// CHECK-SAME: attune.arena_bytes = 128
func.func @small(%arena: memref<?xi8>) -> i1 {
  %zero = arith.constant 0 : index
  %a = memref.alloc() : memref<3xi1>
  %b = memref.alloc() : memref<f64>
  %x = memref.load %b[] : memref<f64>
  %v = memref.load %a[%zero] : memref<3xi1>
  return %v : i1
}
