module attributes {transform.with_named_sequence} {
  transform.named_sequence @any_size(%op: !transform.any_op {transform.readonly}) {
    transform.attune.match.contraction %op {m = [unit], types = [f32, f32, f32]} : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @no_size(%op: !transform.any_op {transform.readonly}) {
    transform.attune.match.contraction %op {m = [3]} : (!transform.any_op) -> ()
    transform.yield
  }
}
