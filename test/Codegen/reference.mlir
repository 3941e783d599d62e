// Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A reference of many loops is many functions: one of them all took LLVM three
// times as long.
// RUN: mkdir -p %t
// RUN: env ATTUNE_DUMP_IR=%t attune run --reference %data/../../examples/mlp.mlir
// RUN: FileCheck %s --input-file=%t/host.loops.mlir
// CHECK: call @attune_loop_0
// CHECK: func.func private @attune_loop_0
