// RUN: attune-opt %s --split-input-file --verify-diagnostics

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}) {
  // expected-error @below {{'gemm' is not a class of ops}}
  transform.attune.match %t is ["gemm"] : !transform.any_op
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.consumed}, %p: !transform.param<i64> {transform.readonly}) {
  // expected-error @below {{2 loops need as many sizes, not 1}}
  %r = transform.attune.tile %t loops ["m", "n"] sizes(%p) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.consumed}, %p: !transform.param<i64> {transform.readonly}) {
  // expected-error @below {{'rows' is not a role of loops: batch, m, n, k or window}}
  %r = transform.attune.tile %t loops ["rows"] sizes(%p) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}, %p: !transform.param<i64> {transform.readonly}) {
  // expected-error @below {{panels lie along m or n, not 'k'}}
  transform.attune.pack %t panel "k" lanes(%p) : (!transform.any_op, !transform.param<i64>) -> ()
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%p: !transform.param<i64> {transform.readonly}) {
  // expected-error @below {{the map takes 2 operands, not 1}}
  %r = transform.attune.compute affine_map<()[s0, s1] -> (s0 * s1)> (%p) : (!transform.param<i64>) -> !transform.param<i64>
  transform.yield
}
}
