// What upstream's bufferization does not take, as smaller ops: for naive.py.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %functions = transform.structured.match ops{["func.func"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.tensor.decompose_concat
      transform.apply_patterns.tensor.reassociative_reshape_folding
    } : !transform.any_op
    %softmax = transform.structured.match ops{["linalg.softmax"]} in %module : (!transform.any_op) -> !transform.any_op
    %parts = transform.structured.decompose_interface %softmax : (!transform.any_op) -> !transform.any_op
    %packs = transform.structured.match ops{["linalg.pack"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.foreach %packs : !transform.any_op {
    ^bb0(%any: !transform.any_op):
      %pack = transform.cast %any : !transform.any_op to !transform.op<"linalg.pack">
      %pad, %expand, %transpose = transform.structured.lower_pack %pack : (!transform.op<"linalg.pack">)
        -> (!transform.op<"tensor.pad">, !transform.op<"tensor.expand_shape">, !transform.op<"linalg.transpose">)
    }
    %unpacks = transform.structured.match ops{["linalg.unpack"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.foreach %unpacks : !transform.any_op {
    ^bb0(%any: !transform.any_op):
      %unpack = transform.cast %any : !transform.any_op to !transform.op<"linalg.unpack">
      %empty, %transpose, %collapse, %slice = transform.structured.lower_unpack %unpack : (!transform.op<"linalg.unpack">)
        -> (!transform.op<"tensor.empty">, !transform.op<"linalg.transpose">, !transform.op<"tensor.collapse_shape">,
            !transform.op<"tensor.extract_slice">)
    }
    transform.yield
  }
}
