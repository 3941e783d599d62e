// RUN: attune-opt %s --split-input-file --verify-diagnostics

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}) {
  // expected-error @below {{"many" is not what a size can be}}
  transform.attune.match.contraction %t {m = ["many"]} : (!transform.any_op) -> ()
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}) {
  // expected-error @below {{3 types are needed, not 1}}
  transform.attune.match.convolution %t {types = [f32]} : (!transform.any_op) -> ()
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}) {
  // expected-error @below {{gives the sizes of batch, m, n and k, or nothing; not 1 results}}
  %m = transform.attune.match.contraction %t : (!transform.any_op) -> !transform.param<i64>
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}) {
  // expected-error @below {{3 indexing maps are needed, not 1}}
  transform.attune.match.contraction %t {indexing_maps = [affine_map<(i) -> (i)>]} : (!transform.any_op) -> ()
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}) {
  // expected-error @below {{indexing maps of a contraction name loops}}
  transform.attune.match.contraction %t {indexing_maps = [affine_map<(i) -> (i + 1)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>]} : (!transform.any_op) -> ()
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}) {
  // expected-error @below {{'average' is not a combiner: add, mul, max, min, and, or or xor}}
  transform.attune.match.reduction %t {combiner = "average"} : (!transform.any_op) -> ()
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}) {
  // expected-error @below {{4 types are needed, not 2}}
  transform.attune.match.attention %t {types = [f32, f32]} : (!transform.any_op) -> ()
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}) {
  // expected-error @below {{the example ends in an op with a result}}
  transform.attune.match.example %t : !transform.any_op {
  ^bb0(%x: tensor<8xf32>):
  }
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
transform.named_sequence @f(%t: !transform.any_op {transform.readonly}) {
  // expected-error @below {{a list of sizes for each of the 1 arguments is needed, not 2}}
  transform.attune.match.example %t {sizes = [[unit], [unit]]} : !transform.any_op {
  ^bb0(%x: tensor<8xf32>):
    %e = math.exp %x : tensor<8xf32>
  }
  transform.yield
}
}

// -----

// expected-error @below {{multiples of a positive number, not of 0}}
module attributes {test.a = #attune.multiple<0>} {}

// -----

// expected-error @below {{'attune.sizes' op has no ranges}}
attune.sizes "main" []

// -----

// expected-error @below {{is not a range of sizes: #attune.range<8, 16>}}
attune.sizes "main" [#attune.range<8, 16, step = 8>]
