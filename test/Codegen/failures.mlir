// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a program asserts reaches the user in one line, once.
// RUN: not attune run %s --input=4xi64=1 --input=4xi64=2 2>&1 | FileCheck %s --implicit-check-not=error:
// CHECK: error: {{.*}}failures.mlir: SIGABRT (Aborted): sizes differ
// CHECK-NOT: sizes differ
#i = affine_map<(d) -> (d)>
func.func @main(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi64> {
  %e = tensor.empty() : tensor<4xi64>
  %r = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]} ins(%a, %b : tensor<4xi64>, tensor<4xi64>) outs(%e : tensor<4xi64>) {
  ^bb0(%p: i64, %q: i64, %o: i64):
    %same = arith.cmpi eq, %p, %q : i64
    cf.assert %same, "sizes differ"
    linalg.yield %p : i64
  } -> tensor<4xi64>
  return %r : tensor<4xi64>
}
